/* SPDX-License-Identifier: MIT */
/* attach.c - see attach.h. */
#include "attach/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/hooking.h"
#include "attach/remote.h"

struct work {
    struct pl_remote remote;
    struct pl_hooking hooking;
};

static bool fail(struct work *work, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(work->remote.problem, sizeof work->remote.problem, format, list);
    va_end(list);
    return false;
}

static struct work *open_work(pid_t pid, struct pl_attach_report *out)
{
    struct work *work = calloc(1, sizeof *work);
    *out = (struct pl_attach_report){0};
    if (work && pl_remote_open(&work->remote, pid))
        return work;
    snprintf(out->problem, sizeof out->problem, "%s", work ? work->remote.problem : strerror(ENOMEM));
    free(work);
    return NULL;
}

static bool close_work(struct work *work, bool done, struct pl_attach_report *out)
{
    pl_remote_go(&work->remote);
    out->still_ns = work->remote.tracee.still_ns;
    pl_remote_close(&work->remote);
    out->threads = work->remote.threads;
    out->looks = work->remote.looks;
    if (!done)
        snprintf(out->problem, sizeof out->problem, "%s", work->remote.problem);
    free(work);
    return done;
}

/* ---- loading ---- */

static const uint64_t none[6];

/* dlerror() says more than we know. */
static void read_dlerror(struct pl_remote *remote, char *to, size_t bytes)
{
    uint64_t function, text = 0;
    to[0] = 0;
    if (pl_loaded_first(&remote->loaded, &remote->tracee, "dlerror", &function, NULL) &&
        pl_remote_call(remote, function, none, &text) && text)
        pl_tracee_text(&remote->tracee, text, to, bytes);
}

static bool load(struct work *work, const char *library)
{
    struct pl_remote *remote = &work->remote;
    uint64_t open, handle = 0;
    char why[256];
    if (!pl_loaded_first(&remote->loaded, &remote->tracee, "dlopen", &open, NULL))
        return fail(work, "it has no dlopen: its glibc is older than 2.34");
    if (!pl_visitor_write_text(&remote->visitor, library))
        return fail(work, "the path of %s is too long", library);
    const uint64_t argument[6] = {pl_visitor_text(&remote->visitor), RTLD_NOW | RTLD_LOCAL};
    if (!pl_remote_call(remote, open, argument, &handle))
        return false;
    if (!handle) {
        read_dlerror(remote, why, sizeof why);
        return fail(work, "it cannot load the profiler: %s", *why ? why : "dlopen failed");
    }
    return pl_remote_read_loaded(remote);
}

static bool end(struct work *work, bool keep)
{
    uint64_t error = 0;
    const uint64_t argument[6] = {keep};
    return pl_remote_call(&work->remote, work->hooking.desk.end, argument, &error);
}

/* A runtime that has begun without being attached: somebody was killed in between. It starts again. */
static bool prepare(struct work *work, const struct pl_attach_options *options)
{
    if (!load(work, options->library))
        return false;
    if (!pl_hooking_find(&work->hooking, &work->remote))
        return fail(work, "%s",
                    *work->hooking.problem ? work->hooking.problem : "the profiler is not what it should be");
    if (work->hooking.desk.state == PL_DESK_ATTACHED)
        return fail(work, "it is being profiled already");
    if (work->hooking.desk.state == PL_DESK_BEGUN && !end(work, false))
        return false;
    return pl_hooking_plan(&work->hooking, &work->remote) || fail(work, "%s", work->hooking.problem);
}

/* If we are killed from here on and before the hooks are switched on, the thread ends the runtime again. */
static bool begin(struct work *work, const struct pl_attach_options *options)
{
    uint64_t error = 0;
    struct pl_hooking *hooking = &work->hooking;
    if (options->settings_bytes > PL_DESK_SETTINGS_BYTES ||
        !pl_tracee_write(&work->remote.tracee, hooking->at + offsetof(struct pl_desk, settings), options->settings,
                         options->settings_bytes))
        return fail(work, "the settings are too long");
    if (!pl_visitor_if_abandoned(&work->remote.visitor, hooking->desk.abandon) ||
        !pl_remote_call(&work->remote, hooking->desk.begin, none, &error))
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
    const struct pl_tracee *tracee = &work->remote.tracee;
    for (size_t i = 0; i < tracee->count; i++) {
        struct pl_tracee_thread thread = tracee->thread[i];
        if (thread.tid == work->remote.visitor.tid)
            thread.registers = work->remote.visitor.before; /* where it will go on */
        if (!thread.gone && is(&work->hooking, tracee, &thread))
            return true;
    }
    return false;
}

static bool switch_on(struct work *work, uint64_t wait_ns)
{
    uint64_t until_ns = pl_tracee_now_ns() + wait_ns, pause_ns = 0;
    do {
        if (!pl_remote_stop(&work->remote, wait_ns))
            return false;
        if (!anybody(work, pl_hooking_is_in_the_way))
            return pl_hooking_switch_on(&work->hooking, &work->remote) || fail(work, "%s", work->hooking.problem);
        pl_remote_go(&work->remote);
        pl_remote_pause(&pause_ns);
    } while (pl_tracee_now_ns() < until_ns);
    return fail(work, "its threads were in the way all the time");
}

static bool is_attached(struct work *work)
{
    return pl_remote_read_loaded(&work->remote) && pl_hooking_find(&work->hooking, &work->remote) &&
           work->hooking.desk.state == PL_DESK_ATTACHED;
}

/* What has failed before is what we say. */
static void undo_begin(struct work *work)
{
    char problem[PL_REMOTE_PROBLEM];
    memcpy(problem, work->remote.problem, sizeof problem);
    end(work, false);
    memcpy(work->remote.problem, problem, sizeof problem);
}

static bool attach(struct work *work, const struct pl_attach_options *options)
{
    if (options->hold_interrupts)
        pl_remote_hold_interrupts(NULL);
    pl_remote_go(&work->remote); /* dlopen waits for locks that others may hold */
    if (!prepare(work, options) || !begin(work, options))
        return false;
    bool on = switch_on(work, options->wait_ns);
    pl_remote_go(&work->remote);
    if (!on)
        undo_begin(work);
    return on;
}

bool pl_attach(pid_t pid, const struct pl_attach_options *options, struct pl_attach_report *out)
{
    struct work *work = open_work(pid, out);
    if (!work)
        return false;
    if (is_attached(work)) {
        fail(work, "it is being profiled already; `plimsoll report %d` shows what there is", pid);
        return close_work(work, false, out);
    }
    bool done = pl_remote_borrow(&work->remote, PL_NEED_LOCKS, options->wait_ns);
    uint64_t borrowed_ns = pl_tracee_now_ns();
    done = done && attach(work, options);
    pl_remote_give_back(&work->remote);
    out->borrowed_ns = pl_tracee_now_ns() - borrowed_ns;
    return close_work(work, done, out);
}

/* ---- detaching ---- */

/* True: no entry leads to the runtime, no thread is inside, and all stand still. */
static bool switch_off(struct work *work, uint64_t wait_ns)
{
    uint64_t until_ns = pl_tracee_now_ns() + wait_ns, pause_ns = 0;
    do {
        if (!pl_remote_borrow(&work->remote, PL_NEED_CALLS, wait_ns))
            return false;
        if (!pl_hooking_switch_off(&work->hooking, &work->remote))
            return fail(work, "%s", work->hooking.problem);
        if (!anybody(work, pl_hooking_is_inside))
            return true;
        pl_remote_go(&work->remote);
        pl_remote_give_back(&work->remote);
        pl_remote_pause(&pause_ns);
    } while (pl_tracee_now_ns() < until_ns);
    return fail(work, "a thread of it did not leave the profiler in time; no new call goes there, so run detach again");
}

/* All threads stand still while one of them ends the runtime, which takes no lock: nobody starts or ends meanwhile. */
bool pl_detach(pid_t pid, uint64_t wait_ns, struct pl_attach_report *out)
{
    struct work *work = open_work(pid, out);
    if (!work)
        return false;
    bool done = pl_remote_read_loaded(&work->remote) && pl_hooking_find(&work->hooking, &work->remote) &&
                work->hooking.desk.state != PL_DESK_IDLE;
    if (done) {
        done = switch_off(work, wait_ns) && end(work, true);
        pl_remote_go(&work->remote);
        pl_remote_give_back(&work->remote);
    } else {
        out->left = !*work->hooking.problem;
        fail(work, "%s", *work->hooking.problem ? work->hooking.problem : "it was not attached to");
    }
    return close_work(work, done, out);
}
