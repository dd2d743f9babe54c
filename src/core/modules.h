/* SPDX-License-Identifier: MIT */
/*
 * modules.h - from an address to (module, offset), with the module's identity written to the file.
 *
 * Which object covers an address is the loader's knowledge (find.h), valid at this moment. What is written down must
 * stay true: path, build-id and load address. Two objects that follow each other at the same address are two modules;
 * one object that is unloaded and comes back unchanged is the same module again.
 *
 * `generation` counts unloads. A cached answer is good only for the generation in which it was found.
 */
#ifndef PL_MODULES_H
#define PL_MODULES_H

#include <stdint.h>

#include "file.h"
#include "find.h"
#include "map.h"

/* A thread's own cache: the objects of its recent frames. Written by that thread alone. */
#define PL_MODULE_CACHE 32
struct pl_module_entry {
    uintptr_t start;
    uintptr_t end;
    uintptr_t bias;
    uint32_t id;
    uint32_t generation;
};

/* What an object says of itself: pointers into it. */
struct pl_identity {
    uint32_t build_id_bytes;
    const uint8_t *build_id;
    uint64_t fingerprint;
    const char *path;
    uint64_t path_bytes;
};

struct pl_module_cache {
    const struct pl_module_entry *recent;
    struct pl_module_entry entry[PL_MODULE_CACHE];
    struct pl_found found; /* scratch, this and the next: the cold path's stack is small */
    struct pl_identity identity;
};

struct pl_process;

/* The module that covers pc now: PL_MODULE_UNKNOWN when none does. Good until the next question. */
const struct pl_module_entry *pl_modules_find(struct pl_process *process, struct pl_module_cache *cache, uintptr_t pc);

/* The record that stands for code outside of all modules. Must be the first module record of a file. */
void pl_modules_start(struct pl_file *file);

#endif
