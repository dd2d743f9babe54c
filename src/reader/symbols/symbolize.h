/* SPDX-License-Identifier: MIT */
/*
 * symbolize.h - gives the frames of a profile their functions, files and lines.
 */
#ifndef PL_SYMBOLIZE_H
#define PL_SYMBOLIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/profile.h"

enum pl_module_state {
    PL_MODULE_OK,      /* file found, and it is the one that ran */
    PL_MODULE_MISSING, /* no such file (deleted, other machine) */
    PL_MODULE_STALE,   /* the file there now is another build */
    PL_MODULE_NO_ELF,  /* not readable as ELF (vdso, JIT, anonymous) */
};

struct pl_module_status {
    enum pl_module_state state;
    bool debug_info; /* DWARF was found: files and lines are known. Looked for only where frames need it */
    char now[65];    /* build-id of the file that is there now, when stale */
};

/* Where addresses of binaries were looked up. */
struct pl_symbolize_counts {
    uint32_t cached;
    uint32_t read; /* in the binary's own symbols */
};

struct pl_symbolize_options {
    bool force; /* use stale files anyway */
    bool no_debuginfod;
    const char *sysroot;  /* prefix for module paths: a process in another mount namespace (/proc/PID/root), or NULL */
    bool sysroot_or_here; /* a file that is not below sysroot, or is another one there, is looked for at its path */
    /* A directory of files that only the profiled processes may have seen at the paths of modules. It is searched by
     * a module's name if there is another file at its path, or none; a file is used if it is the one that ran. Or
     * NULL. */
    const char *beside;
    /* The user's directory for caches, which exists, and its bound (symcache.h; 0: the usual one). NULL: no cache. */
    const char *cache;
    uint64_t cache_bytes_max;
    struct pl_symbolize_counts *counts; /* set if not NULL */
    /* Called now and then with a fraction, for a progress bar; may be NULL. */
    void (*progress)(void *context, double fraction);
    void *context;
};

/*
 * Fills in place/places of every frame. status has one entry per module of the profile, or is NULL; so may options be.
 * Frames that cannot be named get one place with empty strings. Symbols stored in the file are kept, except where they
 * have no line and the binary that ran is at hand: its debug information may have turned up since.
 */
int pl_symbolize(struct pl_profile *profile, const struct pl_symbolize_options *options,
                 struct pl_module_status *status);

/* The bare symbolizer, for tests and benches: one ELF file, many addresses. */
struct pl_elf;
int pl_elf_open(const char *path, struct pl_elf **out, char why[PL_WHY_BYTES]);
void pl_elf_close(struct pl_elf *elf);
/* Places at an ELF address, innermost first; strings live as long as `elf`. Returns the number of
 * places (0: unknown). */
uint32_t pl_elf_find(struct pl_elf *elf, uint64_t address, struct pl_place *out, uint32_t max);
const char *pl_elf_build_id(const struct pl_elf *elf); /* hex, or "" */
uint64_t pl_elf_fingerprint(const struct pl_elf *elf); /* as pl_module.fingerprint */

/* Demangles C++, Rust and D; returns `name` itself when it is none of them. The result lives in `arena`. */
struct pl_arena;
const char *pl_demangle(struct pl_arena *arena, const char *name);

/* Opens a path below the root of another mount namespace. Symbolic links there do not lead back into ours. -1: errno.
 */
int pl_binary_open_below(const char *root, const char *path, int flags);

/* What a compiler at run time says about the source of its code, by the name that it gives to it. */
enum pl_jit_kind {
    PL_JIT_OTHER,
    PL_JIT_SCRIPT, /* V8: JS:*handle /srv/app.js:10:23 */
    PL_JIT_PYTHON, /* py::handle:/srv/app.py */
    PL_JIT_METHOD, /* Lcom/shop/Cart;::add */
};
enum pl_jit_kind pl_jit_kind(const char *name);

#endif
