/* SPDX-License-Identifier: MIT */
/*
 * tags.h - what memory is for: names, and the tree of tags.
 *
 * A name is a text, interned: equal texts are one name. A tag is (parent, name), numbered from 0, the root. Both are
 * the process's, are never given back, and are found and made without a lock.
 *
 * Fork keeps them, and the numbers: a child goes on in the tag that it was forked in, and what it has prepared is still
 * good. What a tag is called in the file, the number of its record, is another matter: each file has its own, given
 * when it is first asked for.
 *
 * Invariant: a tag's parent has a smaller number, and a record once the tag has.
 */
#ifndef PL_TAGS_H
#define PL_TAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

struct pl_process;

/* The program knows it as struct plimsoll_name. */
struct pl_name {
    uint64_t hash;
    uint32_t bytes;
    char text[]; /* and a NUL */
};

enum pl_tag_number {
    PL_TAG_AT_ROOT = 0,
    PL_TAG_AT_OFF,
    PL_TAG_AT_PAUSED,
    PL_TAG_FIRST, /* of the program's */
};

/* The name for a text; NULL when there is no room. */
const struct pl_name *pl_name_of(const struct pl_process *process, const char *text);

/* The tag of this name below `parent`; 0 when there is no room. */
uint32_t pl_tag_below(uint32_t parent, const struct pl_name *name);

/* Is there such a tag? */
bool pl_tag_exists(uint32_t tag);

uint32_t pl_tag_parent(uint32_t tag);

/* NULL for the root and the reserved ones. */
const struct pl_name *pl_tag_name(uint32_t tag);

/* How many the program has made. */
uint32_t pl_tag_count(void);

/* The number of its record in the file, written now if need be. 0 for the root, and when there is no room. */
uint32_t pl_tag_record(struct pl_process *process, uint32_t tag);

#endif
