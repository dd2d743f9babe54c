/* SPDX-License-Identifier: MIT */
/* front.c - see front.h. */
#include "preload/front.h"

#include <elf.h>
#include <pthread.h>
#include <sys/auxv.h>

#include "core/process.h"
#include "preload/libc.h"
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

void pl_front_thread_started(void)
{
    if (key_ready)
        pthread_setspecific(end_of_thread, &pl_tls);
}

void pl_front_await_threads(void)
{
    key_ready = pthread_key_create(&end_of_thread, thread_ends) == 0;
    if (pl_tls.thread)
        pl_front_thread_started();
}

void pl_front_forget_threads(void)
{
    if (key_ready)
        pthread_key_delete(end_of_thread);
    key_ready = false;
}

uintptr_t pl_front_self(void)
{
    return (uintptr_t) pthread_self();
}

void *pl_front_specific(uint32_t key)
{
    return pthread_getspecific((pthread_key_t) key);
}

/* ---- facts ---- */

uintptr_t pl_front_malloc;

bool pl_front_secure(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* In nearly every program the program headers follow the ELF header, in the same page. */
uintptr_t pl_front_main_header(void)
{
    uintptr_t headers = getauxval(AT_PHDR);
    return headers % 4096 == sizeof(Elf64_Ehdr) ? headers - sizeof(Elf64_Ehdr) : 0;
}

uintptr_t pl_front_allocator(void)
{
    return pl_front_malloc ? pl_front_malloc : (uintptr_t) pl_next.malloc;
}

uint32_t pl_front_page_bytes(void)
{
    return (uint32_t) getauxval(AT_PAGESZ);
}

/* glibc's blocks begin at least 32 bytes apart; other allocators place two blocks of 8 bytes in 16. Both may be there.
 */
unsigned pl_front_granule_shift(void)
{
    return pl_libc_has(pl_front_allocator()) && !pl_front_linked() ? pl_libc()->granule_shift : 3;
}

extern const char __ehdr_start HIDDEN, etext HIDDEN; /* defined by the linker: our own code is between them */

void pl_front_code(uint64_t *from, uint64_t *to)
{
    *from = (uintptr_t) &__ehdr_start;
    *to = (uintptr_t) &etext;
}
