/* SPDX-License-Identifier: MIT */
/*
 * mappings.h - what the program maps itself: a heap beside malloc's.
 *
 * A mapping is a block whose parts can be freed. The hooks (preload/mappings.c) see what the program calls; what
 * malloc, the loader and pthread_create map inside of the C library does not pass through them.
 *
 * What is about to be unmapped leaves the table before the real call, because right after it another thread may get the
 * addresses. It is booked when the call has succeeded, or put back. A mapping that is put where the table still has one
 * replaces that: somebody has unmapped it unseen.
 *
 * Addresses and sizes are those of the kernel: whole pages.
 */
#ifndef PL_MAPPINGS_H
#define PL_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/unwind/unwind.h"
#include "format/format.h"

/* What has left the table, until it is booked or put back; 0: nothing. */
typedef uint32_t pl_leaving;

pl_leaving pl_mapping_leaves(uintptr_t at, size_t bytes);
void pl_mapping_left(pl_leaving leaving, bool really);

/* A new mapping, that `start` has made. If it is one that mremap has changed, `before` has its size before (0: it is
 * not), and `moved` says whether it has another address now. */
struct pl_mapping {
    enum pl_heap_kind heap;
    uintptr_t at;
    size_t bytes;
    size_t before;
    bool moved;
};
void pl_mapping_made(const struct pl_mapping *mapping, const struct pl_start *start);

/* The size of the mapping that begins here; 0: none is known. */
size_t pl_mapping_bytes(uintptr_t at);

#endif
