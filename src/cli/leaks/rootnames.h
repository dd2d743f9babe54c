/* SPDX-License-Identifier: MIT */
/*
 * rootnames.h - what the places outside of the heap are called that point into it: variables, stacks, thread-local
 * storage, mappings.
 */
#ifndef PL_ROOTNAMES_H
#define PL_ROOTNAMES_H

#include "reach/retain.h"

enum pl_root_kind {
    PL_ROOT_VARIABLE,
    PL_ROOT_DATA,    /* of a module, where no variable is known */
    PL_ROOT_THREAD,  /* its stack, registers and thread-local storage */
    PL_ROOT_UNKNOWN, /* the allocator's memory, without a block that is known */
    PL_ROOT_MAPPING,
};

struct pl_root {
    enum pl_root_kind kind;
    char *name;   /* "g_cache", "thread 4711 (worker)" */
    char *detail; /* "struct cache *, server.c:12 [server]"; "" */
    uint64_t from, to;
};

struct pl_rootnames {
    struct pl_root *root; /* by number */
    uint32_t count;
    struct pl_rootnames_work *work;
};

/* Reads the modules of a process: their variables, if `symbols`. */
void pl_rootnames_open(struct pl_rootnames *names, pid_t pid, bool symbols);
void pl_rootnames_close(struct pl_rootnames *names);

/* For pl_retain_find(): the context is a struct pl_rootnames. */
uint32_t pl_rootnames_at(void *context, const struct pl_space *space, const struct pl_roots *roots,
                         const struct pl_roots_thread *thread, uint64_t at);

#endif
