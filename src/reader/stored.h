/* SPDX-License-Identifier: MIT */
/*
 * stored.h - names that `plimsoll run` stored in the file when the process ended.
 */
#ifndef PL_STORED_H
#define PL_STORED_H

#include "text.h"
#include "trie.h"

/* Gives frames of a joined trie their stored places, if the file says that all of them are there. */
void pl_stored_places(struct pl_trie *trie, struct pl_texts *texts, struct pl_arena *scratch);

#endif
