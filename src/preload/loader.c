/* SPDX-License-Identifier: MIT */
/*
 * loader.c - hooks dlclose, to notice unloaded modules even if the free of their link_map was not seen; and dlopen, to
 * notice modules whose allocations cannot be seen. Finds allocators that are linked in under names of their own.
 *
 * A module that is loaded with RTLD_DEEPBIND prefers its own libraries' malloc to ours, and one in a namespace of its
 * own (dlmopen) does not know of ours. We cannot change that without changing which functions the module calls, so the
 * profile says it.
 *
 * dlopen looks at its return address to find out who calls: whose RUNPATH applies, and whose namespace. So these hooks
 * are asm: they jump to the real function, with the stack as they found it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "core/arch.h"
#include "core/compiler.h"
#include "core/process.h"
#include "core/text.h"
#include "core/unwind/find.h"
#include "format/settings.h"
#include "preload/hooks.h"
#include "preload/libc.h"
#include "preload/next.h"

static int read_unloads(struct dl_phdr_info *info, size_t bytes, void *out)
{
    (void) bytes;
    *(unsigned long long *) out = info->dlpi_subs;
    return 1; /* the count is the same in every entry */
}

static unsigned long long unloads(void)
{
    unsigned long long n = 0;
    dl_iterate_phdr(read_unloads, &n);
    return n;
}

typedef pl_libc_opener open_function;
typedef void *open_apart_function(Lmid_t list, const char *file, int mode);
static open_function *next_dlopen;
static open_apart_function *next_dlmopen;

/* Called from asm, with the arguments of the hook; returns where to jump. */
#define CHOOSES __attribute__((used)) HIDDEN
CHOOSES open_function *pl_loader_opens(const char *file, int mode);
CHOOSES open_apart_function *pl_loader_opens_apart(Lmid_t list, const char *file, int mode);

/* NULL is the program itself; RTLD_NOLOAD loads nothing. */
static void note(const char *file, int mode, bool apart)
{
    if (unlikely(apart) && file && !(mode & RTLD_NOLOAD))
        pl_process_bypassed(pl_process, PL_BYPASS_SCOPE, file);
}

open_function *pl_loader_opens(const char *file, int mode)
{
    int saved = errno;
    if (unlikely(!load_relaxed(&next_dlopen)))
        store_relaxed(&next_dlopen, pl_libc_watch((open_function *) pl_next_find("dlopen")));
    note(file, mode, mode & RTLD_DEEPBIND);
    errno = saved;
    return next_dlopen;
}

open_apart_function *pl_loader_opens_apart(Lmid_t list, const char *file, int mode)
{
    int saved = errno;
    if (unlikely(!load_relaxed(&next_dlmopen)))
        store_relaxed(&next_dlmopen, (open_apart_function *) pl_next_find("dlmopen"));
    note(file, mode, list != LM_ID_BASE || mode & RTLD_DEEPBIND);
    errno = saved;
    return next_dlmopen;
}

PL_JUMP_CHOSEN_BY(pl_loader_opens, dlopen);
PL_JUMP_CHOSEN_BY(pl_loader_opens_apart, dlmopen);

EXPORT int dlclose(void *handle);
int dlclose(void *handle)
{
    static int (*next)(void *);
    if (!load_relaxed(&next))
        store_relaxed(&next, (int (*)(void *)) pl_next_find("dlclose"));
    unsigned long long before = unloads();
    int result = load_relaxed(&next)(handle);
    if (unloads() != before)
        pl_process_unloaded(pl_process);
    return result;
}

/* ---- allocators that are linked in ---- */

/* The symbols that a module exports. dlsym() would find them, too, but it allocates for each name that it misses. */
struct exported {
    uintptr_t base;
    const uint32_t *hash; /* DT_GNU_HASH; NULL: none */
    const ElfW(Sym) * symbol;
    const char *text;
};

/* The loader has usually replaced the offsets in the dynamic section by addresses. */
static const void *pointer(const struct exported *module, const ElfW(Dyn) * entry)
{
    uintptr_t at = (uintptr_t) entry->d_un.d_ptr;
    return (const void *) (at < module->base ? at + module->base : at);
}

static struct exported read_dynamic(const struct dl_phdr_info *info)
{
    struct exported module = {.base = (uintptr_t) info->dlpi_addr};
    const ElfW(Dyn) *entry = NULL;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *) (module.base + (uintptr_t) info->dlpi_phdr[i].p_vaddr);
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

/* The address of an exported symbol; 0: there is none. */
static uintptr_t find_exported(const struct exported *module, const char *name)
{
    if (!module->hash || !module->symbol || !module->text)
        return 0;
    uint32_t hash = hash_of(name), buckets = module->hash[0], first = module->hash[1], words = module->hash[2];
    const uint32_t *bucket = module->hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof *bucket);
    const uint32_t *chain = bucket + buckets;
    uint32_t i = buckets ? bucket[hash % buckets] : 0;
    for (bool last = i < first; !last; i++) {
        const ElfW(Sym) *symbol = &module->symbol[i];
        if ((chain[i - first] | 1) == (hash | 1) && pl_text_same(module->text + symbol->st_name, name))
            return module->base + (uintptr_t) symbol->st_value;
        last = chain[i - first] & 1;
    }
    return 0;
}

/* A library that provides malloc may export other names for it: those who call malloc come to us first. */
static int find_linked(struct dl_phdr_info *info, size_t bytes, void *out)
{
    static const char *const names[] = {PL_LINKED_MALLOCS};
    struct exported module = read_dynamic(info);
    (void) bytes;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uintptr_t found = find_exported(&module, names[i]);
        if (!found || pl_find_same_module(found, (uintptr_t) pl_next.malloc))
            continue;
        *(const char **) out = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : pl_process->executable;
        return 1;
    }
    return 0;
}

const char *pl_loader_linked(void)
{
    const char *module = NULL;
    dl_iterate_phdr(find_linked, &module);
    return module;
}
