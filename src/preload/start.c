/* SPDX-License-Identifier: MIT */
/*
 * start.c - starts and ends the runtime in a process, and provides what the core needs from its front end.
 *
 * The core starts at the first allocation, which may come before our constructor. The constructor makes sure that it
 * has started, and registers handlers for forks, for the end of threads and for the end of the process.
 */
#include <elf.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "core/process.h"
#include "core/unwind/find.h"
#include "preload/hooks.h"
#include "preload/next.h"

static pthread_key_t end_of_thread;
static bool key_ready;

/* ---- threads ---- */

/* A key's destructor runs in every round of destructors in which its value is set. A thread that allocates again after
 * it registers again, which sets the value again, so our destructor runs after the program's. */
static void thread_ends(void *unused)
{
    (void) unused;
    pl_thread_goodbye(pl_process, &pl_tls);
}

static void thread_started(void)
{
    if (key_ready)
        pthread_setspecific(end_of_thread, &pl_tls);
}

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

static bool secure(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* In nearly every program the program headers follow the ELF header, in the same page. */
static uintptr_t main_header(void)
{
    uintptr_t headers = getauxval(AT_PHDR);
    return headers % 4096 == sizeof(Elf64_Ehdr) ? headers - sizeof(Elf64_Ehdr) : 0;
}

/* glibc's blocks begin at least 32 bytes apart; other allocators place two blocks of 8 bytes in 16. */
static unsigned granule_shift(void)
{
    return pl_find_same_module((uintptr_t) pl_next.malloc, (uintptr_t) gnu_get_libc_version) ? 5 : 3;
}

extern const char __ehdr_start HIDDEN, etext HIDDEN; /* defined by the linker: our own code is between them */

static bool owns(uintptr_t pc)
{
    return pc >= (uintptr_t) &__ehdr_start && pc < (uintptr_t) &etext;
}

static uintptr_t allocator(void)
{
    return (uintptr_t) pl_next.malloc;
}

static void started(void)
{
    pl_next_pool_keep_on_fork();
}

const struct pl_front pl_front = {
    .main_header = main_header,
    .environment = environment,
    .unwanted = secure,
    .started = started,
    .thread_started = thread_started,
    .granule_shift = granule_shift,
    .owns = owns,
    .allocator = allocator,
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

bool pl_start_awaits_exit;

/* All sanitizers define this. Their own on_exit() must not be called before their constructors have run. */
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));

COLD void pl_start_await_exit(void)
{
    if (pl_start_awaits_exit || load_relaxed(&pl_process->state) != PL_PROCESS_ON || __sanitizer_print_stack_trace)
        return;
    pl_start_awaits_exit = true;
    on_exit(finish, NULL);
}

static void check_malloc(void)
{
    const char *module;
    if (!pl_process_on(pl_process))
        return;
    if (!pl_next_is_asked(&module))
        pl_process_bypassed(pl_process, PL_BYPASS_MALLOC, module);
    else if ((module = pl_loader_linked()))
        pl_process_bypassed(pl_process, PL_BYPASS_LINKED, module);
}

__attribute__((constructor)) static void begin(void)
{
    key_ready = pthread_key_create(&end_of_thread, thread_ends) == 0;
    if (pl_tls.thread)
        thread_started();
    pthread_atfork(NULL, NULL, forked);
    if (!pl_start_awaits_exit)
        on_exit(finish, NULL);
    pl_start_awaits_exit = true;
    pl_next_start();
    pl_lifecycle_start();
    pl_process_start(pl_process);
    check_malloc();
}
