/* SPDX-License-Identifier: MIT */
/*
 * intern.c - texts that outlive the file they came from, each copied and demangled once.
 *
 * Names come from mapped sections, where the same text has the same address: the linker has merged equal strings, and
 * every inlined call refers to one declaration. So the address is the key, and a lookup reads no text at all.
 *
 * Invariant: at most half of the slots are in use, so a probe ends at an empty one.
 */
#include <stdlib.h>
#include <string.h>

#include "reader/base/grow.h"
#include "reader/symbols/symbolize_work.h"

#define SLOTS_AT_FIRST 1024u

static struct pl_intern_name *probe(struct pl_intern_name *slot, uint32_t slots, const void *key)
{
    uint32_t i = (uint32_t) (((uintptr_t) key * 0x9e3779b97f4a7c15ull) >> 32) & (slots - 1);
    while (slot[i].key && slot[i].key != key)
        i = (i + 1) & (slots - 1);
    return &slot[i];
}

static void widen(struct pl_intern *intern)
{
    uint32_t slots = intern->slots ? intern->slots * 2 : SLOTS_AT_FIRST;
    struct pl_intern_name *slot = pl_grow_zeroed(slots, sizeof *slot);
    for (uint32_t i = 0; i < intern->slots; i++)
        if (intern->slot[i].key)
            *probe(slot, slots, intern->slot[i].key) = intern->slot[i];
    free(intern->slot);
    intern->slot = slot;
    intern->slots = slots;
}

const struct pl_intern_name *pl_intern_get(const struct pl_intern *intern, const void *key)
{
    if (intern->slots == 0)
        return NULL;
    const struct pl_intern_name *name = probe(intern->slot, intern->slots, key);
    return name->key ? name : NULL;
}

void pl_intern_put(struct pl_intern *intern, const void *key, struct pl_intern_name name)
{
    if (intern->count >= intern->slots / 2)
        widen(intern);
    struct pl_intern_name *slot = probe(intern->slot, intern->slots, key);
    intern->count += slot->key == NULL;
    *slot = name;
    slot->key = key;
}

static struct pl_intern_name demangle(struct pl_intern *intern, const char *name)
{
    const char *linkage = pl_arena_text(intern->arena, name, strlen(name));
    const char *function = pl_demangle(intern->arena, linkage);
    return (struct pl_intern_name){.function = function, .linkage = function == linkage ? "" : linkage};
}

struct pl_intern_name pl_intern_linkage(struct pl_intern *intern, const char *name)
{
    const struct pl_intern_name *known = pl_intern_get(intern, name);
    if (known)
        return *known;
    struct pl_intern_name made = demangle(intern, name);
    pl_intern_put(intern, name, made);
    return made;
}

const char *pl_intern_text(struct pl_intern *intern, const char *text)
{
    if (!text)
        return "";
    const struct pl_intern_name *known = pl_intern_get(intern, text);
    if (known)
        return known->function;
    const char *copy = pl_arena_text(intern->arena, text, strlen(text));
    pl_intern_put(intern, text, (struct pl_intern_name){.function = copy, .linkage = ""});
    return copy;
}

void pl_intern_free(struct pl_intern *intern)
{
    free(intern->slot);
    *intern = (struct pl_intern){0};
}
