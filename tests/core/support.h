/* SPDX-License-Identifier: MIT */
/*
 * support.h - what the core's tests share: cmocka, threads that start at once, and the front end that a core needs.
 */
#ifndef PL_CORE_SUPPORT_H
#define PL_CORE_SUPPORT_H

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

/* What the core under test takes for its environment. */
extern char **core_environment;

/* Runs `body` in so many threads, which begin together, with their numbers. */
void run_threads(unsigned threads, void (*body)(unsigned number));

/* A directory of the test's own, on tmpfs, and a path in it. It is emptied and removed by drop_directory(). */
const char *new_directory(void);
const char *in_directory(const char *name);
void drop_directory(void);

/* A reproducible random number below `below`. */
uint64_t draw(uint64_t *state, uint64_t below);

#endif
