/* SPDX-License-Identifier: MIT */
/*
 * functions.h - frames of Python code: from a function record and a line to a frame that means the same in each file.
 *
 * Numbers of records differ from run to run, but profiles are merged and compared by frame. So in a profile the address
 * of such a frame is a hash of what it is: function, file and line. A file that was made from profiles has these.
 */
#ifndef PL_FUNCTIONS_H
#define PL_FUNCTIONS_H

#include "reader/fold/texts.h"
#include "reader/image.h"

struct pl_function_view {
    const char *function; /* NULL: there is no such record */
    const char *file;
    uint64_t hash;
};

struct pl_functions {
    struct pl_image *image;
    struct pl_function_view *view; /* by record */
    uint32_t count;                /* 0 or 1: the file has none */
};

struct pl_functions pl_functions_fold(struct pl_image *image, struct pl_texts *texts, struct pl_arena *scratch);

/* What `where` of a frame record becomes. */
uint64_t pl_functions_where(const struct pl_functions *functions, uint64_t where);

/* Gives frames of Python code their places, unless symbol records have. */
struct pl_trie;
void pl_functions_place(const struct pl_trie *trie);

#endif
