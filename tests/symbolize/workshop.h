/* SPDX-License-Identifier: MIT */
/*
 * workshop.h - a directory in which tests build small programs, and the tools for comparison.
 */
#ifndef WORKSHOP_H
#define WORKSHOP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reader/symbols/symbolize_work.h"

#define PATH_BYTES 4096

/* Group fixtures: a new directory, removed at the end. */
int workshop_open(void **state);
int workshop_close(void **state);

/* Paths in the directory, and of the programs beside the tests. Only a handful is valid at a time. */
const char *made(const char *name);
const char *source(const char *name);

bool have(const char *tool);

/* Runs a command with sh in the directory. It must succeed. */
__attribute__((format(printf, 1, 2))) void run(const char *format, ...);
/* The first line that a command prints, without its newline. */
__attribute__((format(printf, 3, 4))) void ask(char *out, size_t bytes, const char *format, ...);

struct pl_elf *open_elf(const char *path, const struct pl_elf_options *options);

/* The address of a symbol, from nm. Fails if there is none. */
uint64_t address_of(const char *path, const char *symbol);

/* The code whose addresses are tried: .text. */
struct text {
    uint64_t low, high;
};
struct text text_of(const char *path);

#define PLACES_MAX 128
struct found {
    uint32_t places;
    struct pl_place place[PLACES_MAX];
};
struct found find(struct pl_elf *elf, uint64_t address);

/* Checks that every `stride`th address of .text has the files, lines, columns and inlined calls of llvm-symbolizer.
 * Returns how many addresses have a line. `told` is the file that llvm-symbolizer reads. */
uint32_t assert_agrees_with_llvm(struct pl_elf *elf, const char *told, uint32_t stride);
/* The same with addr2line, for the innermost place, if addr2line has one. */
uint32_t assert_agrees_with_addr2line(struct pl_elf *elf, const char *told, uint32_t stride);

#endif
