/* SPDX-License-Identifier: MIT */
/* reach.c - see reach.h. */
#include "reach/reach.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/remote.h"
#include "reach/chunks.h"

#define STOP_NS 2000000000ull
#define REMOVE_NS 10000000000ull

struct work {
    struct pl_remote remote;
    pid_t copy; /* 0: none */
    struct pl_roots roots;
    struct pl_census_table table;
    struct pl_space space;
    uint64_t expected_bytes; /* to be read; 0: not known yet */
    const struct pl_reach_options *options;
    struct pl_reach *reach;
};

static bool fail(struct work *work, const char *why)
{
    snprintf(work->reach->problem, sizeof work->reach->problem, "%s", why);
    return false;
}

/* Of a process that has ended nothing can be read, and it may have ended at any time. */
static bool fail_to_read(struct work *work, const char *what)
{
    char path[64], program[2];
    snprintf(path, sizeof path, "/proc/%d/exe", work->options->pid);
    bool ended = readlink(path, program, sizeof program) < 0 && errno == ENOENT;
    return fail(work, ended ? "it has ended" : what);
}

/* What must be done while it stands still, apart from copying it. */
static bool note(struct work *work)
{
    struct pl_space process;
    pl_space_begin(&process, work->options->pid);
    work->reach->threads = (uint32_t) work->remote.tracee.count;
    if (!pl_roots_note_threads(&work->roots, &work->remote.tracee))
        return fail(work, strerror(ENOMEM));
    bool found = pl_census_find_table(&work->table, &process, work->options->blocks_at, work->options->live_at);
    work->reach->read_bytes += process.read_bytes;
    pl_space_close(&process);
    return found || fail_to_read(work, "the profiler's table of blocks cannot be read");
}

static bool take_census(struct work *work, pid_t from)
{
    struct pl_space space;
    pl_space_begin(&space, from);
    bool taken = pl_census_take(&work->reach->census, &space, &work->table);
    work->reach->read_bytes += space.read_bytes;
    pl_space_close(&space);
    return taken || fail_to_read(work, "the profiler's table of blocks cannot be read");
}

/* ---- the copy ---- */

/* Copies are to have all slabs, which mostly lie side by side, and samples. False: they are too many, or the kernel
 * refused. */
static bool keep_tables(struct work *work)
{
    const struct pl_census_table *table = &work->table;
    struct pl_machine_range range[PL_MACHINE_RANGES];
    size_t count = 0;
    for (uint32_t i = 0, next; i < table->count; i = next) {
        uint64_t from = table->slab[i].from, to = table->slab[i].to;
        for (next = i + 1; next < table->count && (table->slab[next].from == to || table->slab[next].to == from);
             next++) {
            from = table->slab[next].from < from ? table->slab[next].from : from;
            to = table->slab[next].to > to ? table->slab[next].to : to;
        }
        if (count == PL_MACHINE_RANGES)
            return false;
        range[count++] = (struct pl_machine_range){from, to - from};
    }
    for (uint32_t i = 0; i < table->levels; i++) {
        if (count == PL_MACHINE_RANGES)
            return false;
        range[count++] = (struct pl_machine_range){table->level[i].from, table->level[i].to - table->level[i].from};
    }
    return pl_remote_keep(&work->remote, range, count);
}

/* Returns its pid; -1: there is none. If it has no tables, they are read first, from the process. */
static pid_t copy_process(struct work *work)
{
    bool kept = keep_tables(work);
    if (!kept && !take_census(work, work->options->pid))
        return -1;
    uint64_t start_ns = pl_tracee_now_ns();
    pid_t copy = pl_remote_copy(&work->remote);
    work->reach->copying_ns = pl_tracee_now_ns() - start_ns;
    if (kept)
        pl_remote_keep_no_more(&work->remote);
    return copy;
}

/* Of a process whose blocks are not all recorded, glibc knows those in between. */
static bool settle(struct work *work)
{
    struct pl_reach *reach = work->reach;
    if (reach->sampled && !work->table.granule_shift)
        reach->census.glibc = work->options->glibc;
    if (reach->sampled && reach->census.glibc && !pl_chunks_take(&reach->census, &work->space))
        return false;
    reach->complete = reach->sampled ? reach->census.walked : work->options->complete;
    return pl_census_settle(&reach->census, &work->space);
}

static bool is_interrupted(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
                                         sigismember(&pending, SIGHUP) == 1);
}

/* An interrupt waits until the copy has ended, so nothing more is read. When a program ends, it is for the program. */
static bool go_on(void *context, uint64_t read_bytes)
{
    struct work *work = context;
    const struct pl_reach_options *options = work->options;
    if (options->progress && work->expected_bytes)
        options->progress(options->what, fmin(0.99, (double) read_bytes / (double) work->expected_bytes));
    return options->ending || !is_interrupted();
}

static void expect_reading(struct work *work)
{
    const struct pl_census *census = &work->reach->census;
    work->expected_bytes = work->space.read_bytes;
    for (uint32_t i = 0; i < census->count; i++)
        work->expected_bytes += census->block[i].size;
}

static bool follow_all(struct work *work)
{
    struct pl_reach *reach = work->reach;
    const struct pl_reach_options *options = work->options;
    if (!settle(work) || !pl_roots_find(&work->roots, &work->space, &reach->census, reach->complete, options->inode))
        return false;
    expect_reading(work);
    return options->instead ? options->instead(options->context, &reach->census, &work->roots, &work->space)
                            : pl_verdicts_reach(&reach->census, &work->roots, &work->space);
}

static bool follow(struct work *work)
{
    struct pl_reach *reach = work->reach;
    const struct pl_reach_options *options = work->options;
    if (!reach->census.count && !take_census(work, work->copy ? work->copy : options->pid))
        return false;
    if (!pl_space_open(&work->space, work->copy ? work->copy : options->pid))
        return fail_to_read(work, "its mappings cannot be read");
    work->space.go_on = go_on;
    work->space.context = work;
    bool good = follow_all(work);
    reach->read_bytes += work->space.read_bytes;
    if (options->progress)
        options->progress(options->what, 1);
    if (work->space.stopped)
        return fail(work, "interrupted");
    return good || fail(work, strerror(ENOMEM));
}

/* Some programs exclude memory from copies that may have pointers: node does. Asked before it is stopped: the kernel
 * takes its time. */
static bool is_copied_whole(pid_t pid)
{
    struct pl_space space;
    bool whole = pl_space_open(&space, pid);
    for (size_t i = 0; i < space.count; i++)
        whole &= !space.part[i].uncopied || !space.part[i].writable || pl_space_is_device(&space.part[i]);
    pl_space_close(&space);
    return whole;
}

/* Without a copy, all threads stay stopped. */
static bool note_and_copy(struct work *work, bool borrowed)
{
    struct pl_reach *reach = work->reach;
    struct pl_remote *remote = &work->remote;
    if (!note(work))
        return false;
    pid_t copy = borrowed ? copy_process(work) : -1;
    if (copy <= 0) {
        if (!*reach->whole)
            snprintf(reach->whole, sizeof reach->whole, "%s", remote->problem);
        return true;
    }
    work->copy = copy;
    pl_remote_go(remote);
    pl_remote_give_back(remote); /* if it comes home later, or not at all: the copy is enough for us */
    return true;
}

static bool read_all(struct work *work)
{
    struct pl_reach *reach = work->reach;
    struct pl_remote *remote = &work->remote;
    if (work->options->ending)
        return pl_remote_stop(remote, STOP_NS) ? note(work) && follow(work) : fail(work, remote->problem);
    if (!is_copied_whole(work->options->pid))
        snprintf(reach->whole, sizeof reach->whole, "it excludes memory from copies (MADV_DONTFORK)");
    bool borrowed = !*reach->whole && pl_remote_borrow(remote, PL_NEED_CALLS, STOP_NS);
    if (!borrowed && !*reach->whole)
        snprintf(reach->whole, sizeof reach->whole, "%s", remote->problem);
    if (!borrowed) {
        pl_remote_go(remote);
        if (!pl_remote_stop(remote, STOP_NS))
            return fail(work, remote->problem);
    }
    return note_and_copy(work, borrowed) && follow(work);
}

/* A thread of the process is borrowed once more, to remove the copy from its children. */
static void end_copy(struct work *work)
{
    if (!work->copy)
        return;
    pl_remote_end_copy(work->copy);
    pl_remote_borrow(&work->remote, PL_NEED_CALLS, REMOVE_NS);
    pl_remote_forget_copy(&work->remote, work->copy);
}

bool pl_reach_read(struct pl_reach *reach, const struct pl_reach_options *options)
{
    struct work *work = calloc(1, sizeof *work);
    sigset_t before;
    *reach = (struct pl_reach){.sampled = options->live_at};
    if (!work)
        return false;
    work->space = PL_SPACE_NONE;
    work->reach = reach;
    work->options = options;
    pl_remote_hold_interrupts(&before); /* a copy must not be left behind */
    bool good = pl_remote_open(&work->remote, options->pid) ? read_all(work) : fail(work, work->remote.problem);
    end_copy(work);
    pl_remote_go(&work->remote);
    reach->still_ns = work->remote.tracee.still_ns;
    pl_remote_close(&work->remote);
    sigprocmask(SIG_SETMASK, &before, NULL);
    pl_space_close(&work->space);
    pl_roots_free(&work->roots);
    pl_census_free_table(&work->table);
    free(work);
    return good;
}

void pl_reach_free(struct pl_reach *reach)
{
    pl_census_free(&reach->census);
}
