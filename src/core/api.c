/* SPDX-License-Identifier: MIT */
/*
 * api.c - the functions of plimsoll.h, in a process that has the runtime.
 *
 * The work is done in the core. Errors are returned as negative numbers; errno is never touched.
 */
#define PLIMSOLL_IMPLEMENTATION
#include "plimsoll.h"

#include "core/cold.h"
#include "core/memory.h"
#include "core/pools.h"
#include "core/process.h"
#include "core/records/snapshots.h"
#include "core/records/scopes.h"
#include "core/records/tags.h"
#include "core/stats.h"
#include "core/text.h"
#include "format/settings.h"

/* ---- scopes ---- */

void plimsoll_push(const char *name)
{
    pl_scope_push(name ? name : "");
}

void plimsoll_pop(void)
{
    pl_scope_leave();
}

plimsoll_tag plimsoll_prepare(const char *name)
{
    return pl_process_on(pl_process) ? (plimsoll_tag) (const void *) pl_tag_name_of(pl_process, name ? name : "")
                                     : NULL;
}

void plimsoll_enter(plimsoll_tag tag)
{
    pl_scope_enter((const struct pl_tag_name *) (const void *) tag);
}

plimsoll_context plimsoll_capture(void)
{
    return pl_scope_now();
}

plimsoll_context plimsoll_adopt(plimsoll_context context)
{
    return pl_scope_go(context);
}

/* ---- heaps ---- */

static struct pl_pool *pool_of(plimsoll_heap heap)
{
    return (struct pl_pool *) (void *) heap;
}

plimsoll_heap plimsoll_heap_create(const char *name, plimsoll_heap above)
{
    return (plimsoll_heap) (void *) pl_pool_new(name ? name : "", pool_of(above));
}

void plimsoll_heap_clear(plimsoll_heap heap)
{
    if (heap)
        pl_pool_clear(pool_of(heap), false);
}

void plimsoll_heap_destroy(plimsoll_heap heap)
{
    if (heap)
        pl_pool_clear(pool_of(heap), true);
}

void plimsoll_heap_allocated(plimsoll_heap heap, void *block, size_t bytes)
{
    struct pl_start start;
    PL_START_HERE(&start);
    if (heap)
        pl_pool_allocated(pool_of(heap), NULL, block, bytes, &start);
}

void plimsoll_heap_reallocated(plimsoll_heap heap, const void *old, void *block, size_t bytes)
{
    struct pl_start start;
    PL_START_HERE(&start);
    if (heap)
        pl_pool_allocated(pool_of(heap), old, block, bytes, &start);
}

void plimsoll_heap_freed(plimsoll_heap heap, const void *block)
{
    if (heap)
        pl_pool_freed(pool_of(heap), block);
}

void plimsoll_heap_took(plimsoll_heap heap, void *chunk, size_t bytes)
{
    if (heap)
        pl_pool_took(pool_of(heap), chunk, bytes);
}

void plimsoll_heap_gave(plimsoll_heap heap, const void *chunk)
{
    if (heap)
        pl_pool_gave(pool_of(heap), chunk);
}

/* ---- control ---- */

int plimsoll_loaded(void)
{
    return 1;
}

int plimsoll_active(void)
{
    return pl_process_on(pl_process) && !pl_tls.paused && pl_process_interval(pl_process) != 0;
}

/* Brackets a change of settings. The calling thread applies it at once, or, if it is inside of a visit, when that
 * ends. */
static struct pl_thread *begin_change(struct pl_process *process)
{
    struct pl_thread *thread = pl_cold_begin(process, &pl_tls);
    if (thread)
        pl_process_open(process);
    return thread;
}

static void end_change(struct pl_process *process, struct pl_thread *thread)
{
    if (thread) {
        pl_cold_obey(process, thread);
        pl_cold_end(process, thread, &pl_tls);
        return;
    }
    pl_process_obey(process);
    if (pl_thread_mine(&pl_tls))
        store_relaxed(&pl_tls.thread->slept, 1);
}

static struct pl_control *control_of(const struct pl_process *process)
{
    return &pl_file_header(&process->file)->control;
}

static void switch_off(uint32_t off)
{
    struct pl_process *process = pl_process;
    struct pl_thread *thread = begin_change(process);
    pl_config.off = off;
    store_relaxed(&control_of(process)->off, off);
    end_change(process, thread);
}

void plimsoll_start(void)
{
    switch_off(0);
}

void plimsoll_stop(void)
{
    switch_off(1);
}

void plimsoll_pause(void)
{
    struct pl_process *process = pl_process;
    struct pl_thread *thread = begin_change(process);
    pl_tls.paused++;
    end_change(process, thread);
}

void plimsoll_resume(void)
{
    struct pl_process *process = pl_process;
    struct pl_thread *thread = begin_change(process);
    pl_tls.paused -= pl_tls.paused > 0;
    end_change(process, thread);
}

void plimsoll_reset(void)
{
    struct pl_process *process = pl_process;
    struct pl_thread *thread = begin_change(process);
    pl_process_reset(process);
    end_change(process, thread);
}

int plimsoll_sample(uint64_t bytes)
{
    struct pl_process *process = pl_process;
    if (bytes > PL_SAMPLE_MAX)
        return -EINVAL;
    struct pl_thread *thread = begin_change(process);
    pl_config.wanted_bytes = bytes;
    store_relaxed(&control_of(process)->interval_bytes, bytes);
    end_change(process, thread);
    return process->file.base ? 0 : -ENODATA;
}

int plimsoll_sizes(uint64_t from, uint64_t to)
{
    struct pl_process *process = pl_process;
    if (from > to)
        return -EINVAL;
    struct pl_thread *thread = begin_change(process);
    struct pl_header *header = pl_file_header(&process->file);
    pl_config.size_from = header->size_from = from;
    pl_config.size_to = header->size_to = to;
    store_relaxed(&process->size_from, from);
    store_relaxed(&process->size_to, to);
    pl_process_changed(process);
    end_change(process, thread);
    return process->file.base ? 0 : -ENODATA;
}

int plimsoll_snapshot(const char *name)
{
    return (int) pl_snapshot_take(pl_process, name);
}

int plimsoll_snapshot_if_due(void)
{
    return (int) pl_snapshot_if_due(pl_process);
}

int plimsoll_write(const char *path)
{
    return path ? (int) pl_snapshot_write(pl_process, path) : -EINVAL;
}

void plimsoll_output(int wanted)
{
    struct pl_process *process = pl_process;
    struct pl_thread *thread = begin_change(process);
    uint32_t *flags = &pl_file_header(&process->file)->flags;
    if (wanted)
        __atomic_fetch_and(flags, ~PL_FLAG_NO_OUTPUT, __ATOMIC_RELAXED);
    else
        __atomic_fetch_or(flags, PL_FLAG_NO_OUTPUT, __ATOMIC_RELAXED);
    end_change(process, thread);
}

/* ---- statistics ---- */

_Static_assert((int) PLIMSOLL_FUNCTIONS == PL_FN_COUNT && PLIMSOLL_SIZES == PL_SIZE_BUCKETS, "as in plimsoll.h");

_Static_assert(sizeof(struct pl_stats) == sizeof(struct plimsoll_stats), "the two must have the same layout");

typedef int ask(struct pl_process *process, uint32_t tag, struct pl_stats *out);

static int ask_process(struct pl_process *process, uint32_t tag, struct pl_stats *out)
{
    (void) tag;
    return pl_stats_process(process, out);
}

static int ask_thread(struct pl_process *process, uint32_t tag, struct pl_stats *out)
{
    (void) tag;
    return pl_stats_thread(process, out);
}

/* The program may have been built with a smaller or larger struct plimsoll_stats than ours. If ours does not fit into
 * the program's, it needs memory of its own, because the stack may be small. */
static int give(ask *question, uint32_t tag, void *out, size_t bytes)
{
    bool fits = bytes >= sizeof(struct pl_stats);
    struct pl_stats *room = fits ? out : pl_memory_new(sizeof *room);
    if (!out || !room)
        return out ? -ENOMEM : -EINVAL;
    int error = question(pl_process, tag, room);
    if (!fits && !error)
        pl_memory_copy(out, room, bytes);
    if (!fits)
        pl_memory_free(room, sizeof *room);
    for (size_t i = sizeof *room; i < bytes && !error; i++)
        ((uint8_t *) out)[i] = 0;
    return error;
}

int plimsoll_stats(struct plimsoll_stats *out, size_t bytes)
{
    return give(ask_process, 0, out, bytes);
}

int plimsoll_thread_stats(struct plimsoll_stats *out, size_t bytes)
{
    return give(ask_thread, 0, out, bytes);
}

int plimsoll_tag_stats(plimsoll_context tag, struct plimsoll_stats *out, size_t bytes)
{
    return give(pl_stats_tag, (uint32_t) tag, out, bytes);
}

int plimsoll_pairs(plimsoll_see *see, void *context)
{
    return see ? pl_stats_pairs(pl_process, see, context) : -EINVAL;
}
