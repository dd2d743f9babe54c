/* SPDX-License-Identifier: MIT */
/*
 * core_tests.h - shared by the tests of the core: cmocka, threads that start together, and the front end a core needs.
 */
#ifndef PL_CORE_TESTS_H
#define PL_CORE_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The environment that the core under test sees. */
extern char **core_environment;

/* Runs `body` in this many threads, which start together. Each gets its number. */
void run_threads(unsigned threads, void (*body)(unsigned number));

/* A new directory on tmpfs, and a path in it. drop_directory() empties and removes it. */
const char *new_directory(void);
const char *in_directory(const char *name);
void drop_directory(void);

/* A reproducible random number below `below`. */
uint64_t draw(uint64_t *state, uint64_t below);

/* An emulator's kernel lacks some of what a real one does: it ignores MADV_WIPEONFORK, MADV_POPULATE_WRITE and
 * RLIMIT_AS, and has no seccomp filters. */
#define NEEDS_KERNEL()                                                                                                 \
    do {                                                                                                               \
        if (getenv("PLIMSOLL_EMULATOR"))                                                                               \
            skip();                                                                                                    \
    } while (0)

#endif
