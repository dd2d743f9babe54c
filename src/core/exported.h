/* SPDX-License-Identifier: MIT */
/*
 * exported.h - the symbols that a loaded module exports, from its hash table in memory.
 *
 * dlsym() would find them, too, but it takes the loader's lock and allocates for each name that it misses. The caller
 * makes sure that the module stays loaded.
 */
#ifndef PL_EXPORTED_H
#define PL_EXPORTED_H

#include <link.h>
#include <stdint.h>

struct pl_exported {
    uintptr_t base;
    const uint32_t *hash; /* DT_GNU_HASH; NULL: none, and no symbol is found */
    const ElfW(Sym) * symbol;
    const char *text;
};

/* From its dynamic section; NULL: it has none. */
struct pl_exported pl_exported_read(uintptr_t base, const ElfW(Dyn) * dynamic);

/* NULL: there is no such symbol. */
const ElfW(Sym) * pl_exported_symbol(const struct pl_exported *module, const char *name);

/* Its address; 0: there is no such symbol. */
static inline uintptr_t pl_exported_find(const struct pl_exported *module, const char *name)
{
    const ElfW(Sym) *symbol = pl_exported_symbol(module, name);
    return symbol ? module->base + (uintptr_t) symbol->st_value : 0;
}

#endif
