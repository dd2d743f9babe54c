/* SPDX-License-Identifier: MIT */
/* attach.c - see attach.h. */
#include "attach/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>

#include "attach/backtrace.h"
#include "attach/hooking.h"
#include "attach/moment.h"

#define STOP_NS 1000000000ull
#define CALL_NS 60000000000ull
#define TRIES_IN_THE_WAY 500

struct work {
    struct pl_tracee tracee;
    struct pl_loaded loaded;
    struct pl_hooking hooking;
    struct pl_visitor visitor;
    struct pl_attach_report *report;
};

static bool fail(struct work *work, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(work->report->problem, sizeof work->report->problem, format, list);
    va_end(list);
    return false;
}

static void nap(uint64_t ns)
{
    nanosleep(&(struct timespec){(time_t) (ns / 1000000000u), (long) (ns % 1000000000u)}, NULL);
}

/* ---- stopping ---- */

static bool stop(struct work *work)
{
    struct pl_tracee *tracee = &work->tracee;
    if (pl_tracee_stop(tracee, STOP_NS)) {
        work->report->threads = (uint32_t) tracee->count;
        return true;
    }
    if (tracee->error == ETIMEDOUT)
        return fail(work, "thread %d of it does not stop: it waits in the kernel, for a disk or for a vfork child",
                    tracee->culprit);
    if (tracee->error == EPERM || tracee->error == EACCES)
        return fail(work, "the kernel does not let us trace it (%s)", strerror(tracee->error));
    if (tracee->error == ESRCH || tracee->error == ENOENT)
        return fail(work, "it has ended");
    return fail(work, "its threads cannot be stopped: %s", strerror(tracee->error));
}

static const char *const obstacles[] = {
    [PL_MOMENT_NONE] = "",
    [PL_MOMENT_LOADER] = "it was loading or unloading a library all the time",
    [PL_MOMENT_INSIDE] = "all of its threads were inside libc or the allocator whenever we looked",
    [PL_MOMENT_UNKNOWN] = "no stack of its threads could be followed to its end",
    [PL_MOMENT_STACK] = "the stacks of its threads are too small",
};

static bool read_loaded(struct work *work)
{
    pl_backtrace_free(&work->loaded);
    pl_loaded_free(&work->loaded);
    return pl_loaded_read(&work->loaded, &work->tracee) || fail(work, "its loader has not finished yet; try again");
}

/* Stops all threads at a moment when one of them can load a library, and sends that one. The others go on. */
static bool send_safe_thread(struct work *work, uint64_t wait_ns)
{
    uint64_t until_ns = pl_tracee_now_ns() + wait_ns;
    enum pl_moment_obstacle why = PL_MOMENT_NONE;
    for (unsigned pause_us = 200; !work->report->looks || pl_tracee_now_ns() < until_ns;) {
        work->report->looks++;
        if (!stop(work))
            return false;
        bool read = read_loaded(work);
        struct pl_tracee_thread *thread = read ? pl_moment_find(&work->tracee, &work->loaded, &why) : NULL;
        if (thread && pl_visitor_send(&work->visitor, &work->tracee, &work->loaded, thread)) {
            pl_tracee_release(&work->tracee, work->visitor.tid);
            return true;
        }
        pl_tracee_release(&work->tracee, 0);
        if (!read)
            return false;
        if (thread)
            return fail(work, "there is no room for our code in its libraries");
        nap(1000ull * (pause_us + (unsigned) rand() % pause_us)); /* not in step with the program */
        pause_us = pause_us < 10000 ? pause_us * 2 : pause_us;
    }
    return fail(work, "there was no safe moment in %.0f s: %s; try again, or give it more time with --wait",
                (double) wait_ns / 1e9, obstacles[why]);
}

/* ---- loading ---- */

static bool call(struct work *work, uint64_t function, const uint64_t argument[6], uint64_t *result)
{
    if (pl_visitor_call(&work->visitor, function, argument, CALL_NS, result))
        return true;
    for (size_t i = 0; i < work->tracee.count; i++) { /* it runs: to be let go, it must stop */
        work->tracee.thread[i].stopped = false;
        ptrace(PTRACE_INTERRUPT, work->tracee.thread[i].tid, NULL, NULL);
    }
    return fail(work, "its thread %d did not return from the call that we made; it goes on, and is not profiled",
                work->visitor.tid);
}

/* dlerror() says more than we know. */
static void read_dlerror(struct work *work, char *to, size_t bytes)
{
    uint64_t function, text = 0;
    const uint64_t none[6] = {0};
    to[0] = 0;
    if (pl_loaded_first(&work->loaded, &work->tracee, "dlerror", &function, NULL) &&
        call(work, function, none, &text) && text)
        pl_tracee_text(&work->tracee, text, to, bytes);
}

static bool load(struct work *work, const char *library)
{
    uint64_t open, handle = 0;
    char why[256];
    if (!pl_loaded_first(&work->loaded, &work->tracee, "dlopen", &open, NULL))
        return fail(work, "it has no dlopen: its glibc is older than 2.34");
    if (!pl_visitor_write_text(&work->visitor, library))
        return fail(work, "the path of %s is too long", library);
    const uint64_t argument[6] = {work->visitor.text, RTLD_NOW | RTLD_LOCAL};
    if (!call(work, open, argument, &handle))
        return false;
    if (!handle) {
        read_dlerror(work, why, sizeof why);
        return fail(work, "it cannot load the profiler: %s", *why ? why : "dlopen failed");
    }
    return read_loaded(work);
}

static bool begin(struct work *work, const struct pl_attach_options *options)
{
    uint64_t error = 0;
    const uint64_t none[6] = {0};
    struct pl_hooking *hooking = &work->hooking;
    if (options->settings_bytes > PL_DESK_SETTINGS_BYTES ||
        !pl_tracee_write(&work->tracee, hooking->at + offsetof(struct pl_desk, settings), options->settings,
                         options->settings_bytes))
        return fail(work, "the settings are too long");
    if (!call(work, hooking->desk.begin, none, &error))
        return false;
    if ((int) error == EPERM)
        return fail(work, "it is setuid or has file capabilities, and the profiler does nothing in such processes");
    return !error || fail(work, "it cannot make a profile: neither in the live directory nor in the output directory; "
                                "see --live-dir and --output");
}

/* ---- switching ---- */

static bool anybody(struct work *work,
                    bool (*is)(const struct pl_hooking *, const struct pl_tracee *, const struct pl_tracee_thread *))
{
    for (size_t i = 0; i < work->tracee.count; i++) {
        const struct pl_tracee_thread *thread = &work->tracee.thread[i];
        if (!thread->gone && thread->tid != work->visitor.tid && is(&work->hooking, &work->tracee, thread))
            return true;
    }
    return false;
}

static bool switch_on(struct work *work)
{
    for (int i = 0; i < TRIES_IN_THE_WAY; i++) {
        if (!stop(work))
            return false;
        if (!anybody(work, pl_hooking_is_in_the_way)) {
            bool on = pl_hooking_switch_on(&work->hooking, &work->tracee);
            pl_tracee_release(&work->tracee, 0);
            return on || fail(work, "%s", work->hooking.problem);
        }
        pl_tracee_release(&work->tracee, work->visitor.tid);
        nap(100000);
    }
    return fail(work, "its threads were in the way all the time");
}

static void close_work(struct work *work)
{
    pl_tracee_release(&work->tracee, 0);
    work->report->still_ns = work->tracee.still_ns;
    pl_backtrace_free(&work->loaded);
    pl_loaded_free(&work->loaded);
    pl_tracee_close(&work->tracee);
    free(work);
}

static struct work *open_work(pid_t pid, struct pl_attach_report *out)
{
    struct work *work = calloc(1, sizeof *work);
    *out = (struct pl_attach_report){0};
    if (!work) {
        snprintf(out->problem, sizeof out->problem, "%s", strerror(ENOMEM));
        return NULL;
    }
    work->report = out;
    if (pl_tracee_open(&work->tracee, pid))
        return work;
    fail(work, "its memory cannot be opened: %s", strerror(work->tracee.error));
    free(work);
    return NULL;
}

static bool end(struct work *work, bool keep);

/* A runtime that has begun without being attached: somebody was killed in between. It starts again. */
static bool prepare(struct work *work, const struct pl_attach_options *options)
{
    if (!load(work, options->library))
        return false;
    if (!pl_hooking_find(&work->hooking, &work->tracee, &work->loaded))
        return fail(work, "%s",
                    *work->hooking.problem ? work->hooking.problem : "the profiler is not what it should be");
    if (work->hooking.desk.state == PL_DESK_ATTACHED)
        return fail(work, "it is being profiled already");
    if (work->hooking.desk.state == PL_DESK_BEGUN && !end(work, false))
        return false;
    if (!pl_hooking_plan(&work->hooking, &work->visitor, &work->loaded))
        return fail(work, "%s", work->hooking.problem);
    return begin(work, options);
}

static bool is_attached(struct work *work)
{
    return read_loaded(work) && pl_hooking_find(&work->hooking, &work->tracee, &work->loaded) &&
           work->hooking.desk.state == PL_DESK_ATTACHED;
}

bool pl_attach(pid_t pid, const struct pl_attach_options *options, struct pl_attach_report *out)
{
    struct work *work = open_work(pid, out);
    if (!work)
        return false;
    bool done = is_attached(work)
                    ? fail(work, "it is being profiled already; `plimsoll report %d` shows what there is", pid)
                    : send_safe_thread(work, options->wait_ns);
    uint64_t sent_ns = pl_tracee_now_ns();
    if (done) {
        done = prepare(work, options) && switch_on(work);
        out->borrowed_ns = pl_tracee_now_ns() - sent_ns;
    }
    close_work(work);
    return done;
}

/* ---- detaching ---- */

static bool end(struct work *work, bool keep)
{
    uint64_t error = 0;
    const uint64_t argument[6] = {keep};
    return call(work, work->hooking.desk.end, argument, &error);
}

static bool is_anyone(const struct pl_tracee_thread *thread, void *context)
{
    (void) thread, (void) context;
    return true;
}

/* All threads stand still while one of them ends the runtime, which takes no lock: nobody starts or ends meanwhile. */
static bool end_runtime(struct work *work)
{
    struct pl_tracee_thread *thread = pl_moment_any(&work->tracee, is_anyone, NULL);
    if (!thread)
        return fail(work, "the stacks of its threads are too small");
    if (!pl_visitor_send(&work->visitor, &work->tracee, &work->loaded, thread))
        return fail(work, "there is no room for our code in its libraries");
    return end(work, true);
}

static bool switch_off(struct work *work, uint64_t wait_ns)
{
    uint64_t until_ns = pl_tracee_now_ns() + wait_ns;
    do {
        if (!stop(work))
            return false;
        bool off = pl_hooking_switch_off(&work->hooking, &work->tracee);
        bool inside = anybody(work, pl_hooking_is_inside);
        if (!off || !inside) {
            bool ended = off ? end_runtime(work) : fail(work, "%s", work->hooking.problem);
            pl_tracee_release(&work->tracee, 0);
            return ended;
        }
        pl_tracee_release(&work->tracee, 0);
        nap(200000);
    } while (pl_tracee_now_ns() < until_ns);
    return fail(work, "a thread of it did not leave the profiler in time; no new call goes there, so run detach again");
}

bool pl_detach(pid_t pid, uint64_t wait_ns, struct pl_attach_report *out)
{
    struct work *work = open_work(pid, out);
    if (!work)
        return false;
    bool found = read_loaded(work) && pl_hooking_find(&work->hooking, &work->tracee, &work->loaded);
    bool done = found && work->hooking.desk.state != PL_DESK_IDLE;
    if (!done) {
        out->left = !*work->hooking.problem;
        fail(work, "%s", *work->hooking.problem ? work->hooking.problem : "it was not attached to");
    } else {
        done = switch_off(work, wait_ns);
    }
    close_work(work);
    return done;
}
