/* SPDX-License-Identifier: MIT */
/*
 * libc.h - what differs from one C library to the next.
 *
 * One libplimsoll.so serves programs of glibc and of musl: a child may use another C library than its parent, and it
 * inherits LD_PRELOAD. Symbols that only one of them has are weak, and each C library has a row that answers for it.
 * libplimsoll.a, for programs that are linked statically, has rows of its own (src/static). Nothing else in this front
 * end asks which C library it is.
 *
 * The core's pl_find_module() is defined here too, because each loader is asked in its own way.
 */
#ifndef PL_LIBC_H
#define PL_LIBC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/unwind/find.h"

struct pl_libc {
    bool (*find_module)(uintptr_t pc, struct pl_found_module *out);
    uintptr_t (*jump_target)(const void *buffer); /* the stack pointer that longjmp() will restore */
    unsigned granule_shift;                       /* blocks of its malloc begin at least 2^this bytes apart: 5 or 3 */
    bool nests;        /* its calloc calls malloc, and its memalign aligned_alloc, which are ours */
    bool lacks_tables; /* its own code has no unwind tables */
    bool has_on_exit;  /* if not, the process ends for us with our destructor */
};

/* The row of this process's C library. */
const struct pl_libc *pl_libc(void);

/* Called by the constructor: the loader's functions may be called. */
void pl_libc_learn_modules(void);

/* The function to call instead of dlopen(): itself, or one that calls it and then learns what has been loaded. */
typedef void *pl_libc_opener(const char *file, int mode);
pl_libc_opener *pl_libc_watch(pl_libc_opener *next);

/* Our lookups have failed for names that only other C libraries have: dlerror() must not tell the program. */
void pl_libc_forget_failures(void);

/* Is this an address in the C library? */
bool pl_libc_has(uintptr_t address);

/* Is this our own code? */
bool pl_libc_owns(uintptr_t pc);

/* These register handlers. Do not call the functions themselves: glibc links parts of them into each library, which
 * then need glibc. */
void pl_libc_at_fork(void (*child)(void));
void pl_libc_at_quick_exit(void (*handler)(void));
void pl_libc_on_exit(void (*handler)(int status, void *unused)); /* only if has_on_exit */

#endif
