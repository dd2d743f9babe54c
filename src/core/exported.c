/* SPDX-License-Identifier: MIT */
/* exported.c - see exported.h. */
#include "core/exported.h"

#include "core/text.h"

/* The loader has usually replaced the offsets in the dynamic section by addresses. */
static const void *pointer(const struct pl_exported *module, const ElfW(Dyn) * entry)
{
    uintptr_t at = (uintptr_t) entry->d_un.d_ptr;
    return (const void *) (at < module->base ? at + module->base : at);
}

struct pl_exported pl_exported_read(uintptr_t base, const ElfW(Dyn) * entry)
{
    struct pl_exported module = {.base = base};
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_GNU_HASH)
            module.hash = pointer(&module, entry);
        else if (entry->d_tag == DT_SYMTAB)
            module.symbol = pointer(&module, entry);
        else if (entry->d_tag == DT_STRTAB)
            module.text = pointer(&module, entry);
    }
    return module;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t) *name;
    return hash;
}

const ElfW(Sym) * pl_exported_symbol(const struct pl_exported *module, const char *name)
{
    if (!module->hash || !module->symbol || !module->text)
        return NULL;
    uint32_t hash = hash_of(name), buckets = module->hash[0], first = module->hash[1], words = module->hash[2];
    const uint32_t *bucket = module->hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof *bucket);
    const uint32_t *chain = bucket + buckets;
    uint32_t i = buckets ? bucket[hash % buckets] : 0;
    for (bool last = i < first; !last; i++) {
        const ElfW(Sym) *symbol = &module->symbol[i];
        if ((chain[i - first] | 1) == (hash | 1) && pl_text_same(module->text + symbol->st_name, name) &&
            symbol->st_shndx != SHN_UNDEF)
            return symbol;
        last = chain[i - first] & 1;
    }
    return NULL;
}
