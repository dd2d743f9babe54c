/* SPDX-License-Identifier: MIT */
/* libc.c - see libc.h. The rows for programs that have a loader. */
#include "preload/libc.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "core/arch.h"
#include "core/compiler.h"
#include "core/process.h"
#include "core/sys.h"
#include "core/threads.h"
#include "preload/next.h"

#define WEAK __attribute__((weak))

/* ---- glibc ---- */

extern __typeof__(_dl_find_object) _dl_find_object WEAK;
extern const char *gnu_get_libc_version(void) WEAK;
extern int on_exit(void (*handler)(int status, void *argument), void *argument) WEAK;
extern int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *library) WEAK;
extern int __cxa_at_quick_exit(void (*handler)(void *), void *library) WEAK;
extern void *__dso_handle HIDDEN;

static bool ask_glibc(uintptr_t pc, struct pl_found_module *out)
{
    struct dl_find_object object;
    if (_dl_find_object((void *) pc, &object) != 0)
        return false;
    out->start = (uintptr_t) object.dlfo_map_start;
    out->end = (uintptr_t) object.dlfo_map_end;
    out->bias = object.dlfo_link_map->l_addr;
    out->eh_frame_hdr = object.dlfo_eh_frame;
    out->map = object.dlfo_link_map;
    return true;
}

static uintptr_t read_mangled(const void *buffer)
{
    return pl_arch_jump_target(buffer);
}

/* ---- musl ---- */

/*
 * musl's loader has no function that may be called in a hook. But it never unloads a module, so a table of modules only
 * grows. It is filled where dl_iterate_phdr() may be called: in our constructor, which runs before all others, and
 * after each dlopen().
 *
 * The constructors of a module run before its dlopen() returns. For them, find_new() searches the loader's list. A
 * dlopen() of another thread may fail meanwhile and free its part of the list, so the list is read by a system call
 * that fails instead of faulting, and only a module that contains the wanted code is believed: it is running.
 */
#define MODULES 1024u

struct listed {
    uintptr_t start;
    uintptr_t end;
    const void *eh_frame_hdr;
    struct link_map map; /* a copy: its l_addr, and its l_name, which is empty for the program itself */
};

static struct listed listed[MODULES];
static uint32_t listed_count;
static uint32_t opening; /* calls of dlopen() in progress */

extern struct r_debug *_dl_debug_addr WEAK;

static struct listed describe(uintptr_t bias, char *name, const Elf64_Phdr *headers, unsigned count)
{
    struct listed module = {.start = UINTPTR_MAX, .map = {.l_addr = bias, .l_name = name}};
    for (unsigned i = 0; i < count; i++) {
        uintptr_t start = bias + headers[i].p_vaddr, end = start + headers[i].p_memsz;
        if (headers[i].p_type == PT_LOAD && (start & ~4095ul) < module.start)
            module.start = start & ~4095ul;
        if (headers[i].p_type == PT_LOAD && end > module.end)
            module.end = end;
        if (headers[i].p_type == PT_GNU_EH_FRAME)
            module.eh_frame_hdr = (const void *) start;
    }
    return module;
}

static const struct listed *find_listed(uintptr_t pc)
{
    uint32_t count = load_acquire(&listed_count);
    for (uint32_t i = 0; i < count; i++)
        if (pc >= listed[i].start && pc < listed[i].end)
            return &listed[i];
    return NULL;
}

/* Only one thread, or signal handler, may add at a time. Another gives up: it will find the module the next time. */
static uint32_t adding;

static void add(const struct listed *module)
{
    if (listed_count < MODULES && !find_listed(module->start)) {
        listed[listed_count] = *module;
        store_release(&listed_count, listed_count + 1); /* publish */
    }
}

static int add_reported(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    static char empty[1];
    bool is_program = (uintptr_t) info->dlpi_phdr == getauxval(AT_PHDR);
    char *name = is_program ? empty : (char *) (uintptr_t) info->dlpi_name;
    struct listed module = describe((uintptr_t) info->dlpi_addr, name, info->dlpi_phdr, info->dlpi_phnum);
    (void) bytes, (void) unused;
    if (module.start < module.end)
        add(&module);
    return 0;
}

/* What peek_module() reads into, because the cold path has little stack. */
static struct {
    struct link_map map;
    Elf64_Ehdr head;
    Elf64_Phdr headers[16];
    struct listed module;
} peeked;

static bool peek(uint32_t pid, void *to, uintptr_t from, size_t bytes)
{
    return pl_sys_peek(pid, to, (const void *) from, bytes) == (long) bytes;
}

/* Reads the program headers of a module from its first page. */
static bool peek_module(uint32_t pid)
{
    uintptr_t bias = (uintptr_t) peeked.map.l_addr;
    if (!peek(pid, &peeked.head, bias, sizeof peeked.head) ||
        *(const uint32_t *) (const void *) peeked.head.e_ident != 0x464c457fu || peeked.head.e_phnum > 16)
        return false;
    if (!peek(pid, peeked.headers, bias + peeked.head.e_phoff, peeked.head.e_phnum * sizeof *peeked.headers))
        return false;
    peeked.module = describe(bias, peeked.map.l_name, peeked.headers, peeked.head.e_phnum);
    return true;
}

static OUT_OF_LINE const struct listed *find_new(uintptr_t pc)
{
    uint32_t pid = pl_sys_getpid();
    const struct listed *found = NULL;
    if (!swap_if(&adding, 0, 1))
        return NULL;
    peeked.map.l_next = _dl_debug_addr->r_map;
    for (unsigned i = 0; i < MODULES && peeked.map.l_next && !found; i++) {
        if (!peek(pid, &peeked.map, (uintptr_t) peeked.map.l_next, sizeof peeked.map))
            break;
        if (peek_module(pid) && pc >= peeked.module.start && pc < peeked.module.end) {
            add(&peeked.module);
            found = find_listed(pc);
        }
    }
    store_release(&adding, 0);
    return found;
}

static bool ask_list(uintptr_t pc, struct pl_found_module *out)
{
    const struct listed *module = find_listed(pc);
    if (!module && unlikely(load_relaxed(&opening)) && _dl_debug_addr && !load_relaxed(&pl_process->sandboxed))
        module = find_new(pc);
    if (!module)
        return false;
    out->start = module->start;
    out->end = module->end;
    out->bias = (uintptr_t) module->map.l_addr;
    out->eh_frame_hdr = module->eh_frame_hdr;
    out->map = (struct link_map *) (uintptr_t) &module->map;
    return true;
}

/* Is put in place of dlopen(). musl's does not look at its return address. */
static void *(*real_dlopen)(const char *file, int mode);
static void *open_and_learn(const char *file, int mode)
{
    __atomic_fetch_add(&opening, 1, __ATOMIC_RELAXED);
    void *handle = real_dlopen(file, mode);
    int saved = errno;
    pl_libc_learn_modules();
    __atomic_fetch_sub(&opening, 1, __ATOMIC_RELAXED);
    errno = saved;
    return handle;
}

static uintptr_t read_plain(const void *buffer)
{
    return pl_arch_jump_target_plain(buffer);
}

/* ---- which one it is ---- */

static const struct pl_libc glibc = {
    .find_module = ask_glibc,
    .jump_target = read_mangled,
    .granule_shift = 5,
    .has_on_exit = true,
};

static const struct pl_libc musl = {
    .find_module = ask_list,
    .jump_target = read_plain,
    .granule_shift = 3,
    .nests = true,
    .lacks_tables = true,
};

const struct pl_libc *pl_libc(void)
{
    return likely(_dl_find_object != NULL) ? &glibc : &musl;
}

bool pl_find_module(uintptr_t pc, struct pl_found_module *out)
{
    return pl_libc()->find_module(pc, out);
}

void pl_libc_learn_modules(void)
{
    if (pl_libc() != &musl || !swap_if(&adding, 0, 1))
        return;
    dl_iterate_phdr(add_reported, NULL);
    store_release(&adding, 0);
}

pl_libc_opener *pl_libc_watch(pl_libc_opener *next)
{
    if (pl_libc() != &musl)
        return next;
    real_dlopen = next;
    return open_and_learn;
}

void pl_libc_forget_failures(void)
{
    if (pl_libc() == &musl)
        dlerror();
}

bool pl_libc_has(uintptr_t address)
{
    return pl_find_same_module(address, (uintptr_t) getauxval);
}

extern const char __ehdr_start HIDDEN, etext HIDDEN; /* defined by the linker: our own code is between them */

bool pl_libc_owns(uintptr_t pc)
{
    return pc >= (uintptr_t) &__ehdr_start && pc < (uintptr_t) &etext;
}

/* ---- handlers ---- */

void pl_libc_at_fork(void (*child)(void))
{
    int (*by_name)(void (*)(void), void (*)(void), void (*)(void));
    struct pl_tls before;
    pl_next_hide(&before); /* musl's allocates */
    if (__register_atfork)
        __register_atfork(NULL, NULL, child, &__dso_handle);
    else if ((by_name = (__typeof__(by_name)) dlsym(RTLD_DEFAULT, "pthread_atfork")))
        by_name(NULL, NULL, child);
    pl_next_show(&before);
}

void pl_libc_at_quick_exit(void (*handler)(void))
{
    int (*by_name)(void (*)(void));
    if (__cxa_at_quick_exit)
        __cxa_at_quick_exit((void (*)(void *)) handler, &__dso_handle);
    else if ((by_name = (__typeof__(by_name)) dlsym(RTLD_DEFAULT, "at_quick_exit")))
        by_name(handler);
}

void pl_libc_on_exit(void (*handler)(int status, void *unused))
{
    on_exit(handler, NULL);
}
