/* SPDX-License-Identifier: MIT */
/*
 * probe.h - tells a profiler of the host about sampled blocks: the USDT probes of OpenTelemetry's contract
 * `otel_memory`.
 *
 *   otel_memory:alloc(block, size, weighted_bytes)   a sampled block was allocated; it stands for so many bytes
 *   otel_memory:free(block)                          a block that alloc() had named is about to be freed
 *
 * A probe is a function that does nothing, and a note in the library that says where it is. A listener lets the kernel
 * put a breakpoint there, which finds the arguments in registers, and count it in pl_probe_listeners. While that is 0,
 * no probe is called.
 *
 * A sample is a sample: if blocks are sampled anyway, these are announced, with the weight that they have. Exact mode
 * has none, so each thread samples a second time, every 512 KiB, but only while somebody listens. Such a block is in
 * the table of samples as well (live.h), with PL_ROW_PROBED for a row, so that its free is noticed.
 *
 * A free is announced before the real free or realloc, because right after it another thread may get the address. If a
 * realloc fails, the block is announced again.
 *
 * Invariant: between two alloc() of an address there is a free(), unless nobody listened then.
 */
#ifndef PL_PROBE_H
#define PL_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

#define PL_PROBE_INTERVAL (512u << 10) /* mean bytes between exact mode's samples, as the contract recommends */
#define PL_ROW_PROBED (UINT32_MAX - 1) /* in struct pl_record: counted exactly, and not sampled but for the probes */

/* How many listeners both probes have together: the kernel adds and subtracts. It must lie in a part of the library
 * that is mapped from the file, private and writable. */
extern HIDDEN uint16_t pl_probe_listeners;

INLINE bool pl_probe_is_heard(void)
{
    return unlikely(load_relaxed(&pl_probe_listeners) != 0);
}

/* The probes themselves. */
HIDDEN void pl_probe_alloc(const void *block, uint64_t size, uint64_t weighted_bytes);
HIDDEN void pl_probe_free(const void *block);

/* Somebody listens, and exact mode has counted this block. */
COLD void pl_probe_counted(uint64_t size, void *block);

/* What a sample of this weight stands for. */
INLINE uint64_t pl_probe_bytes(uint64_t size, double weight)
{
    return (uint64_t) (int64_t) ((double) (int64_t) size * weight + 0.5);
}

#endif
