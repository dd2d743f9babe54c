/* SPDX-License-Identifier: MIT */
/*
 * start.c - how the runtime begins and ends in a process, and what the core needs to know from its front end.
 *
 * The core starts at the first allocation, which may well come before our constructor. The constructor makes sure that
 * it has started, and arranges to hear of forks, of ends of threads, and of the end.
 */
#include <elf.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "bootstrap.h"
#include "find.h"
#include "jumps.h"
#include "lifecycle.h"
#include "next.h"
#include "process.h"
#include "snapshot.h"

static pthread_key_t end_of_thread;
static bool key_ready;

/* ---- threads ---- */

/* A key's destructor runs once per round of destructors in which its value is set: setting it again on every return of
 * the thread keeps us among the last to go. */
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

/* ---- what the core asks ---- */

/* The loader allocates before libc knows its environment. The kernel left it behind the arguments, on the stack on
 * which the process began. */
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

/* The program headers follow the ELF header, in nearly every program: then both are in one page. */
static uintptr_t main_header(void)
{
    uintptr_t headers = getauxval(AT_PHDR);
    return headers % 4096 == sizeof(Elf64_Ehdr) ? headers - sizeof(Elf64_Ehdr) : 0;
}

/* glibc's blocks begin at least 32 bytes apart; others place two of 8 bytes in 16. */
static unsigned granule_shift(void)
{
    return pl_module_same((uintptr_t) pl_next.malloc, (uintptr_t) gnu_get_libc_version) ? 5 : 3;
}

extern const char __ehdr_start HIDDEN, etext HIDDEN; /* the linker's: our own code lies between */

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
    pl_bootstrap_keep_on_fork();
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

/* Registered before anything of the program's is, so called after it all: handlers, destructors and their frees. */
static void finish(int status, void *unused)
{
    (void) unused;
    pl_process_end(pl_process, PL_END_EXIT, status);
}

__attribute__((constructor)) static void begin(void)
{
    key_ready = pthread_key_create(&end_of_thread, thread_ends) == 0;
    if (pl_tls.thread)
        thread_started();
    pthread_atfork(NULL, NULL, forked);
    on_exit(finish, NULL);
    pl_next_start();
    pl_lifecycle_start();
    pl_jumps_start();
    if (pl_module_find_needs_snapshot())
        pl_snapshot_refill();
    pl_process_start(pl_process);
}
