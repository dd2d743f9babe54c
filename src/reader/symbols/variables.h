/* SPDX-License-Identifier: MIT */
/*
 * variables.h - the variables of a binary: what is at an address of its data.
 */
#ifndef PL_VARIABLES_H
#define PL_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

struct pl_variable {
    uint64_t from, to; /* addresses in the file */
    const char *name;  /* demangled */
    const char *type;  /* this and the next two come from DWARF; "", "", 0: not known */
    const char *file;
    uint32_t line;
};

struct pl_variables {
    struct pl_variable *variable; /* by address; they do not overlap */
    uint32_t count;
    uint64_t low, high; /* of all that is loaded of the file */
    uint64_t tls_bytes; /* of each thread's storage for it */
    void *arena;
};

/* `path` below `sysroot` (NULL: the root). 0 or a negative errno. */
int pl_variables_open(const char *path, const char *sysroot, struct pl_variables *out);
void pl_variables_close(struct pl_variables *variables);

/* The variable at this address of the file; NULL: none is known. */
const struct pl_variable *pl_variables_find(const struct pl_variables *variables, uint64_t address);

#endif
