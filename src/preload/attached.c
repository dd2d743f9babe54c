/* SPDX-License-Identifier: MIT */
/*
 * attached.c - the runtime in a process that `plimsoll attach` has attached to: plimsoll_desk, and what it leads to.
 *
 * Loading this library does nothing at all. The command reads the desk, lets a thread of the process call begin(), and
 * then makes the entries of the allocation functions lead to our hooks, while no thread runs. It calls end() when they
 * lead here no more and no thread is inside a hook. After that nothing of ours runs, until begin() is called again.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/process.h"
#include "core/sys.h"
#include "core/text.h"
#include "core/unwind/unwind.h"
#include "format/desk.h"
#include "preload/entries.h"
#include "preload/front.h"
#include "preload/hooks.h"
#include "preload/libc.h"

#define SETTINGS_MAX 64
#define TICKS_PER_SECOND 100u /* of /proc/PID/stat, on every machine */

EXPORT struct pl_desk plimsoll_desk PAGE_ALIGNED;

/* ---- what the core asks ---- */

/* The settings come from the command, not from the environment that the program was started with. */
static char **environment(void)
{
    static char *list[SETTINGS_MAX + 1];
    char *at = plimsoll_desk.settings;
    unsigned i = 0;
    for (; *at && i < SETTINGS_MAX; i++) {
        list[i] = at;
        while (*at++)
            ;
    }
    list[i] = NULL;
    return list;
}

/* Programs that the process starts are profiled, if the command has said where the library for them is. */
static void follow(bool on)
{
    char **list = environment();
    pl_lifecycle_follow = on && *list && (*list)[0] == 'L' ? list : NULL;
}

static struct {
    uint64_t bytes;
    enum pl_before how;
} before;

/* The second number in /proc/self/statm less the third. Not by stdio: another thread may hold a lock of it, and wait.
 */
static uint64_t resident_bytes(void)
{
    char text[128];
    uint64_t field[3] = {0};
    long fd = pl_sys_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
    long n = fd < 0 ? 0 : pl_sys_read((int) fd, text, sizeof text - 1);
    if (fd >= 0)
        pl_sys_close((int) fd);
    text[n > 0 ? n : 0] = 0;
    const char *at = text;
    for (int i = 0; i < 3; i++, at += *at == ' ')
        field[i] = pl_text_take_number(&at);
    return field[1] > field[2] ? (field[1] - field[2]) * pl_front_page_bytes() : 0;
}

/* mallinfo2() locks one arena after the other, so no thread may be stopped inside malloc now. */
static void measure_heap(void)
{
    struct mallinfo2 (*ask)(void) = (struct mallinfo2(*)(void)) dlsym(RTLD_DEFAULT, "mallinfo2");
    if (ask && pl_front_granule_shift() == 5) { /* 5: the allocator is glibc's */
        struct mallinfo2 heap = ask();
        before.bytes = heap.uordblks + heap.hblkhd;
        before.how = PL_BEFORE_MALLOC;
    } else {
        before.bytes = resident_bytes();
        before.how = before.bytes ? PL_BEFORE_RESIDENT : PL_BEFORE_UNKNOWN;
    }
}

static void describe_attached(struct pl_header *header)
{
    if (pl_process->forked) /* a child that was forked later: it has been profiled since it exists */
        return;
    uint64_t started_ns = header->start_ticks * (1000000000u / TICKS_PER_SECOND);
    uint64_t now_ns = pl_sys_clock_ns(CLOCK_BOOTTIME);
    header->flags |= PL_FLAG_ATTACHED;
    header->attached_ns = now_ns > started_ns ? now_ns - started_ns : 0;
    header->before_bytes = before.bytes;
    header->before_how = before.how;
}

const struct pl_front pl_front = {
    .main_header = pl_front_main_header,
    .environment = environment,
    .unwanted = pl_front_secure,
    .describe = describe_attached,
    .thrown = pl_entries_thrown,
    .thread_started = pl_front_thread_started,
    .self = pl_front_self,
    .specific = pl_front_specific,
    .page_bytes = pl_front_page_bytes,
    .granule_shift = pl_front_granule_shift,
    .owns = pl_libc_owns,
    .allocator = pl_front_allocator,
};

/* exit() enters _exit() in the end, which we hook: we need no exit handler, which could not be taken back. */
bool pl_start_awaits_exit = true;
void pl_start_await_exit(void)
{
}

/* exit() itself is hooked as well, so the core knows which of the two the program has called. */
static void leave_process(int status)
{
    pl_process_end(pl_process, load_relaxed(&pl_process->exiting) ? PL_END_EXIT : PL_END_QUICK, status);
    for (;;)
        pl_sys3(SYS_exit_group, status, 0, 0);
}

/* ---- the desk ---- */

/* Where the malloc begins that is not libc's; 0: there is none. */
static uintptr_t linked_malloc(void)
{
    for (uint32_t i = 0; i < plimsoll_desk.hooks; i++)
        if (plimsoll_desk.hook[i].family == PL_DESK_LINKED && plimsoll_desk.patch[i].entry)
            return plimsoll_desk.patch[i].entry;
    return 0;
}

bool pl_front_linked(void)
{
    return linked_malloc() != 0;
}

static int begin_profile(void)
{
    int saved = errno;
    pl_libc_learn_modules();
    pl_bounds_stack_end = getauxval(AT_RANDOM); /* the kernel stores random bytes above the arguments */
    pl_front_malloc = plimsoll_desk.patch[0].entry ? plimsoll_desk.patch[0].entry : linked_malloc();
    pl_entries_start();
    pl_front_await_threads();
    measure_heap();
    bool on = pl_process_start(pl_process) && pl_process->file.base;
    if (on) {
        const char *linked = pl_loader_linked();
        if (linked && !pl_front_linked())
            pl_process_bypassed(pl_process, PL_BYPASS_LINKED, linked);
        pl_config.no_mappings |= !pl_mappings_entered(&plimsoll_desk);
        plimsoll_desk.state = PL_DESK_BEGUN;
    } else {
        pl_process_leave(pl_process, false);
        pl_front_forget_threads();
    }
    follow(on);
    errno = saved;
    return on ? 0 : pl_front_secure() ? EPERM : ENOSPC;
}

static int end_profile(int keep)
{
    follow(false);
    pl_process_leave(pl_process, keep);
    pl_front_forget_threads();
    plimsoll_desk.state = PL_DESK_IDLE;
    return 0;
}

/* The command was killed before it could switch on. */
static void abandon_profile(void)
{
    if (plimsoll_desk.state == PL_DESK_BEGUN)
        end_profile(false);
}

static uint64_t not_needed; /* leave_process() does not call the function that it replaces */

__attribute__((constructor)) static void lay_out(void)
{
    struct pl_desk *desk = &plimsoll_desk;
    desk->hooks = pl_entries_list(desk->hook, 0);
    desk->hooks = pl_entries_list_linked(desk->hook, desk->hooks);
    desk->hooks = pl_lifecycle_list(desk->hook, desk->hooks);
    desk->hooks = pl_mappings_list(desk->hook, desk->hooks);
    desk->hook[desk->hooks++] =
        (struct pl_desk_hook){"_exit", (uintptr_t) leave_process, &not_needed, PL_DESK_LIBC, false};
    desk->begin = (uintptr_t) begin_profile;
    desk->end = (uintptr_t) end_profile;
    desk->abandon = (uintptr_t) abandon_profile;
    desk->inside = (int64_t) ((uintptr_t) &pl_entry_tls.inside - pl_arch_thread_pointer());
    pl_front_code(&desk->code, &desk->code_end);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    desk->version = PL_DESK_VERSION;
}
