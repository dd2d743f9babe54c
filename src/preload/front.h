/* SPDX-License-Identifier: MIT */
/*
 * front.h - what the core needs from its front end, for a runtime that is preloaded (start.c) and for one that is
 * attached to a running process (attached.c).
 */
#ifndef PL_PRELOAD_FRONT_H
#define PL_PRELOAD_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

/* Members of struct pl_front. */
bool pl_front_secure(void);
uintptr_t pl_front_main_header(void);
uint32_t pl_front_page_bytes(void);
unsigned pl_front_granule_shift(void);
uintptr_t pl_front_allocator(void);
void pl_front_thread_started(void);
uintptr_t pl_front_self(void);
void *pl_front_specific(uint32_t key);

/* Where the program's malloc begins; 0: it is pl_next.malloc. */
extern HIDDEN uintptr_t pl_front_malloc;

/* Are there blocks of an allocator that is linked into the program? */
bool pl_front_linked(void);

/* The end of a thread calls the core from now on; or not any more. */
void pl_front_await_threads(void);
void pl_front_forget_threads(void);

/* The range of our own code. */
void pl_front_code(uint64_t *from, uint64_t *to);

#endif
