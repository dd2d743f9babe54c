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
#include "core/exported.h"
#include "core/process.h"
#include "core/python/python.h"
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
    uint32_t python = pl_python_suspend(); /* it may be the interpreter's module */
    int result = load_relaxed(&next)(handle);
    if (unloads() != before)
        pl_process_unloaded(pl_process);
    else if (python)
        pl_python_resume(python);
    return result;
}

/* ---- allocators that are linked in ---- */

static struct pl_exported exports_of(const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *dynamic = NULL;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *) ((uintptr_t) info->dlpi_addr + (uintptr_t) info->dlpi_phdr[i].p_vaddr);
    return pl_exported_read((uintptr_t) info->dlpi_addr, dynamic);
}

/* A library that provides malloc may export other names for it: those who call malloc come to us first. */
static int find_linked(struct dl_phdr_info *info, size_t bytes, void *out)
{
    static const char *const names[] = {PL_LINKED_MALLOCS};
    struct pl_exported module = exports_of(info);
    (void) bytes;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uintptr_t found = pl_exported_find(&module, names[i]);
        if (!found || pl_find_same_module(found, (uintptr_t) pl_next.malloc))
            continue;
        *(const char **) out = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : pl_program.path;
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
