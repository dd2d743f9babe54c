/* SPDX-License-Identifier: MIT */
/*
 * tags.h - names, and the tree of tags.
 *
 * A name is an interned text: equal texts are one name. A tag is (parent, name); tags are numbered from 0, the root.
 * All threads of the process share them. They are never freed, and are found and made without a lock.
 *
 * Fork keeps names, tags and their numbers: a child continues in the tag in which it was forked, and names that the
 * program has prepared stay valid. The number of a tag's record in the file is different: each file has its own, which
 * is assigned when it is first needed.
 *
 * Invariant: a tag's parent has a smaller number. If a tag has a record, so has its parent.
 */
#ifndef PL_TAGS_H
#define PL_TAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

struct pl_process;

/* struct plimsoll_name in the public API. */
struct pl_tag_name {
    uint64_t hash;
    uint32_t bytes;
    char text[]; /* with a NUL */
};

enum pl_tag_number {
    PL_TAG_AT_ROOT = 0,
    PL_TAG_AT_OFF,
    PL_TAG_AT_PAUSED,
    PL_TAG_FIRST, /* the first that the program makes */
};

/* The name for a text; NULL if there is no room. */
const struct pl_tag_name *pl_tag_name_of(const struct pl_process *process, const char *text);

/* The tag of this name below `parent`; 0 if there is no room. */
uint32_t pl_tag_below(uint32_t parent, const struct pl_tag_name *name);

/* Is this the root or a tag that the program has made? */
bool pl_tag_exists(uint32_t tag);

uint32_t pl_tag_parent(uint32_t tag);

/* How many tags the program has made. */
uint32_t pl_tag_count(void);

/* The number of the tag's record in the file, which is written now if it is missing. 0 for the root, and if there is no
 * room. */
uint32_t pl_tag_record(struct pl_process *process, uint32_t tag);

/* Forgets all tags: their memory has been given back. */
void pl_tag_forget_all(void);

#endif
