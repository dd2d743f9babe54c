/* SPDX-License-Identifier: MIT */
/*
 * modules.h - finds the module of an address, and writes the module's identity to the file.
 *
 * The loader knows which object contains an address now (find.h). The file needs what stays true: path, build-id and
 * load address. Two objects that are loaded one after the other at the same address are two modules; an object that is
 * unloaded and loaded again at the same address, unchanged, is the same module.
 *
 * `generation` counts unloads. A cache entry is valid only in the generation in which it was made.
 */
#ifndef PL_MODULES_H
#define PL_MODULES_H

#include <stdint.h>

#include "core/map.h"
#include "core/records/file.h"
#include "core/unwind/find.h"

/* A cache of each thread: the modules of its recent frames. Written by that thread alone. */
#define PL_MODULE_CACHE 32
struct pl_module_entry {
    uintptr_t start;
    uintptr_t end;
    uintptr_t bias;
    uint32_t id;
    uint32_t generation;
};

/* The identity of an object. Build-id and path are pointers into the object, the loader or the process. */
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
    struct pl_found_module found; /* this and the next: scratch, because the cold path has little stack */
    struct pl_identity identity;
};

struct pl_process;

/* The module that contains pc now, or PL_MODULE_UNKNOWN. The result is valid until the next call. */
const struct pl_module_entry *pl_modules_find(struct pl_process *process, struct pl_module_cache *cache, uintptr_t pc);

/* The module that frames of Python code are in. */
uint32_t pl_modules_python(struct pl_process *process);

/* Writes the record for code outside of all modules. It must be the first module record of a file. */
void pl_modules_start(struct pl_file *file);

#endif
