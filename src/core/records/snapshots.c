/* SPDX-License-Identifier: MIT */
/* snapshots.c - see snapshots.h. */
#include "core/records/snapshots.h"

#include <errno.h>

#include "core/arch.h"
#include "core/clock.h"
#include "core/cold.h"
#include "core/records/paths.h"
#include "core/sys.h"
#include "core/text.h"

#define WAIT_DOZES 100 /* of 1 ms each */
#define ATTEMPTS 100000u

/* The one snapshot that is being taken. Only the owner of process->copying may use it. */
static struct {
    struct pl_header header;
    char path[PL_PATH_MAX];
    struct pl_text name;
    uint64_t ns;
} now;

static void make_snapshot(struct pl_header *header)
{
    header->flags |= PL_FLAG_SNAPSHOT;
    header->snapshot_name = now.name;
    header->snapshot_ns = now.ns;
    header->destination = (struct pl_text){0, 0};
}

static long begin(struct pl_process *process)
{
    uintptr_t self = pl_arch_thread_pointer();
    if (!pl_process_start(process) || !pl_process_open(process))
        return -ENODATA;
    if (process->sandboxed || process->pid != pl_sys_getpid())
        return -EPERM;
    for (int i = 0; !swap_if(&process->copying, 0, self); i++) {
        if (load_relaxed(&process->copying) == self || i == WAIT_DOZES)
            return -EBUSY;
        pl_sys_doze(1000000);
    }
    process->copying_from = pl_arch_stack_pointer();
    pl_cold_bring_up_to_date(process, true);
    now.ns = pl_sys_clock_ns(CLOCK_MONOTONIC);
    now.name = (struct pl_text){0, 0};
    return 0;
}

static long end(struct pl_process *process, long result)
{
    store_release(&process->copying, 0);
    return result;
}

long pl_snapshot_write(struct pl_process *process, const char *path)
{
    long r = begin(process);
    return r ? r : end(process, pl_file_copy(&process->file, path, &now.header, make_snapshot));
}

/* process->snapshots is the next number to try, so that used numbers are not tried again. */
static long copy_beside(struct pl_process *process, const char *name)
{
    long r = -EEXIST;
    for (unsigned i = name ? 0 : process->snapshots; i < ATTEMPTS && r == -EEXIST; i++) {
        if (!pl_path_snapshot(process, name, i, now.path, sizeof now.path))
            return -ENAMETOOLONG;
        r = pl_file_copy(&process->file, now.path, &now.header, make_snapshot);
        if (!name)
            process->snapshots = i + 1;
    }
    return r;
}

long pl_snapshot_take(struct pl_process *process, const char *name)
{
    long r = begin(process);
    if (r)
        return r;
    size_t bytes = name ? pl_text_bytes(name) : 0;
    if (bytes)
        now.name = pl_file_text(&process->file, name, bytes < PL_PATH_MAX ? bytes : PL_PATH_MAX);
    return end(process, copy_beside(process, bytes ? name : NULL));
}

/* The ticks at which `ns` will have passed, by the mean length of a tick so far. */
static uint64_t ticks_after(const struct pl_process *process, uint64_t ns)
{
    uint64_t ticks = pl_clock(), so_far = pl_sys_clock_ns(CLOCK_MONOTONIC) - process->start_ns;
    uint64_t per_us = so_far >= 1000 ? (ticks - process->start_ticks) / (so_far / 1000) : 1000;
    return ticks + ns / 1000 * per_us;
}

long pl_snapshot_if_due(struct pl_process *process)
{
    uint64_t due = load_relaxed(&process->snapshot_due);
    if (!pl_config.snapshot_every_ns || (due && pl_clock() < due))
        return 0;
    if (process->sandboxed || !pl_process_start(process) ||
        !swap_if(&process->snapshot_due, due, ticks_after(process, pl_config.snapshot_every_ns)))
        return 0;
    if (!due) /* the first snapshot is due one interval after the first call */
        return 0;
    long r = pl_snapshot_take(process, NULL);
    return r ? r : 1;
}
