/* SPDX-License-Identifier: MIT */
/*
 * chunks.h - every block in use, from glibc's own heaps: for processes of whose blocks only a sample is recorded.
 *
 * Pointers lead from block to block, and most of the blocks in between are in no sample. glibc's chunks say where they
 * are (memory/heap.h). A chunk that malloc keeps for later looks as if it were in use: those in the caches of threads
 * and in the fastbins of arenas are found by their lists. A list counts only if all of it makes sense; a free chunk
 * that is taken for one in use may hide a lost block, but a block in use that is taken for free would make others look
 * lost.
 *
 *   in use             chunks of the main heap and of other arenas' heaps; chunks with mappings of their own
 *   free               by the flag of the next chunk; in a cache of glibc 2.26 to 2.41; in a fastbin
 *   not understood     what is behind a chunk that cannot be one, and an arena that is not in a heap: roots
 */
#ifndef PL_CHUNKS_H
#define PL_CHUNKS_H

#include "reach/census.h"

/* Adds all blocks in use to a census that has the recorded ones, sorts it, and gives these their exact addresses. The
 * space has mappings. False: no memory. */
bool pl_chunks_take(struct pl_census *census, struct pl_space *space);

#endif
