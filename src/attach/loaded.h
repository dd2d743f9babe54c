/* SPDX-License-Identifier: MIT */
/*
 * loaded.h - what the loader of another process has loaded, read from its memory: modules and the functions that they
 * export. Files are not opened: they may lie in another mount namespace, or be deleted.
 */
#ifndef PL_LOADED_H
#define PL_LOADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/tracee.h"

#define PL_LOADED_PATH 512

struct pl_loaded_module {
    char path[PL_LOADED_PATH]; /* "" for the program itself */
    uint64_t bias;             /* address in memory = address in the ELF file + bias */
    uint64_t start, end;       /* all segments */
    uint64_t code, code_end;   /* the executable segment */
    uint64_t code_room;        /* the end of its last page */
    uint64_t unwind_header;    /* .eh_frame_hdr; 0: none */
    uint64_t symbols, texts, hash;
    void *shadow; /* backtrace.c */
};

struct pl_loaded {
    struct pl_loaded_module *module; /* in the order in which the loader looks up names; the program first */
    size_t count;
    uint64_t link_state; /* where the loader says whether it is changing its lists; 0: there is no loader */
    uint64_t loader;     /* where the loader itself lies */
};

/* False: the process has no loader (it is static), or has not got so far. */
bool pl_loaded_read(struct pl_loaded *loaded, const struct pl_tracee *tracee);
void pl_loaded_free(struct pl_loaded *loaded);

/* Is the loader not in the middle of loading or unloading? */
bool pl_loaded_consistent(const struct pl_loaded *loaded, const struct pl_tracee *tracee);

struct pl_loaded_module *pl_loaded_at(const struct pl_loaded *loaded, uint64_t address);

/* Is this module one whose file is called so: "libc.so", "ld-linux"? */
bool pl_loaded_is(const struct pl_loaded_module *module, const char *name);

/* The address and size of an exported function, or 0. */
uint64_t pl_loaded_find(const struct pl_tracee *tracee, const struct pl_loaded_module *module, const char *name,
                        uint64_t *bytes);

/* The first module that exports it, or NULL. */
struct pl_loaded_module *pl_loaded_first(const struct pl_loaded *loaded, const struct pl_tracee *tracee,
                                         const char *name, uint64_t *address, uint64_t *bytes);

#endif
