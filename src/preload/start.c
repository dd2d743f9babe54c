/* SPDX-License-Identifier: MIT */
/*
 * start.c - starts and ends the runtime in a process, and provides what the core needs from its front end.
 *
 * The core starts at the first allocation, which may come before our constructor. The constructor makes sure that it
 * has started, and registers handlers for forks, for the end of threads and for the end of the process.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "core/process.h"
#include "core/unwind/rules.h"
#include "core/unwind/unwind.h"
#include "preload/front.h"
#include "preload/hooks.h"
#include "preload/libc.h"
#include "preload/linked.h"
#include "preload/next.h"

/* ---- what the core needs ---- */

/* The loader allocates before libc has set `environ`. The kernel put the environment after the arguments, at the start
 * of the main thread's stack. */
extern void *__libc_stack_end __attribute__((weak));

static char **environment(void)
{
    if (environ || !&__libc_stack_end || !__libc_stack_end)
        return environ;
    char **arguments = (char **) __libc_stack_end + 1;
    return arguments + *(const long *) __libc_stack_end + 1;
}

static void started(void)
{
    pl_next_pool_keep_on_fork();
}

static uint32_t linked_flags; /* PL_FLAG_LINKED, PL_FLAG_LATE */

static void describe(struct pl_header *header)
{
    header->flags |= pl_process->forked ? linked_flags & ~(uint32_t) PL_FLAG_LATE : linked_flags;
}

const struct pl_front pl_front = {
    .main_header = pl_front_main_header,
    .environment = environment,
    .unwanted = pl_front_secure,
    .started = started,
    .describe = describe,
    .thread_started = pl_front_thread_started,
    .self = pl_front_self,
    .specific = pl_front_specific,
    .page_bytes = pl_front_page_bytes,
    .granule_shift = pl_front_granule_shift,
    .owns = pl_libc_owns,
    .allocator = pl_front_allocator,
};

/* ---- begin and end ---- */

static void forked(void)
{
    pl_process_forked(pl_process, &pl_tls);
}

/* Registered before the program's own handlers and destructors, so called after them and what they free. */
static void finish(int status, void *unused)
{
    (void) unused;
    pl_process_end(pl_process, PL_END_EXIT, status);
}

/* Where there is no on_exit(). Other constructors run after ours, so their destructors run before this; in a static
 * program, the number decides: 101 is the first that programs may use. */
__attribute__((destructor(101))) static void finish_without_handler(void)
{
    if (!pl_libc()->has_on_exit)
        finish(pl_lifecycle_status, NULL);
}

bool pl_start_awaits_exit;

/* All sanitizers define this. Their own on_exit() must not be called before their constructors have run. */
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));

static void await_exit(void)
{
    if (!pl_start_awaits_exit && pl_libc()->has_on_exit)
        pl_libc_on_exit(finish);
    pl_start_awaits_exit = true;
}

COLD void pl_start_await_exit(void)
{
    if (pl_start_awaits_exit || load_relaxed(&pl_process->state) != PL_PROCESS_ON || __sanitizer_print_stack_trace)
        return;
    await_exit();
}

/* An allocator that is linked into the program. False: there is none, or no call of it is seen. */
static bool hook_linked(void)
{
    if (!pl_linked_hook())
        return false;
    linked_flags = PL_FLAG_LINKED | (pl_linked_is_malloc() ? PL_FLAG_LATE : 0);
    if (pl_process->file.base)
        __atomic_fetch_or(&pl_file_header(&pl_process->file)->flags, linked_flags, __ATOMIC_RELAXED);
    return true;
}

static void check_malloc(void)
{
    const char *module;
    if (!pl_process_on(pl_process))
        return;
    if (hook_linked()) {
        if (!pl_linked_is_whole())
            pl_process_bypassed(pl_process, PL_BYPASS_LINKED, pl_program.path);
    } else if (!pl_next_is_asked(&module))
        pl_process_bypassed(pl_process, PL_BYPASS_MALLOC, module);
    else if ((module = pl_loader_linked()))
        pl_process_bypassed(pl_process, PL_BYPASS_LINKED, module);
}

__attribute__((constructor(101))) static void begin(void)
{
    pl_libc_learn_modules();
    pl_bounds_stack_end = getauxval(AT_RANDOM); /* the kernel stores random bytes above the arguments */
    pl_rule_reads_code = pl_libc()->lacks_tables;
    pl_front_await_threads();
    pl_libc_at_fork(forked);
    await_exit();
    pl_next_start();
    pl_lifecycle_start();
    pl_mappings_start();
    pl_libc_forget_failures();
    pl_process_start(pl_process);
    check_malloc();
}
