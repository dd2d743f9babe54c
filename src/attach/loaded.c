/* SPDX-License-Identifier: MIT */
/* loaded.c - see loaded.h. */
#include "attach/loaded.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULES_MAX 16384
#define HEADERS_MAX 64
#define ENTRIES_MAX 128
#define CHAIN_MAX 100000
#define PAGE 4096u

/* ---- the auxiliary vector ---- */

static bool read_auxiliary(pid_t pid, uint64_t *headers, uint64_t *count, uint64_t *base)
{
    char path[64];
    Elf64_auxv_t entry;
    snprintf(path, sizeof path, "/proc/%d/auxv", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *headers = *count = *base = 0;
    while (fd >= 0 && read(fd, &entry, sizeof entry) == sizeof entry && entry.a_type != AT_NULL) {
        if (entry.a_type == AT_PHDR)
            *headers = entry.a_un.a_val;
        else if (entry.a_type == AT_PHNUM)
            *count = entry.a_un.a_val;
        else if (entry.a_type == AT_BASE)
            *base = entry.a_un.a_val;
    }
    if (fd >= 0)
        close(fd);
    return *headers && *count && *count <= HEADERS_MAX;
}

/* ---- a module ---- */

static void take_segments(struct pl_loaded_module *module, const Elf64_Phdr *header, size_t count)
{
    module->start = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = module->bias + header[i].p_vaddr, end = at + header[i].p_memsz;
        if (header[i].p_type == PT_GNU_EH_FRAME)
            module->unwind_header = at;
        if (header[i].p_type != PT_LOAD)
            continue;
        module->start = at < module->start ? at & ~(uint64_t) (PAGE - 1) : module->start;
        module->end = end > module->end ? end : module->end;
        if (header[i].p_flags & PF_X) {
            module->code = at;
            module->code_end = module->bias + header[i].p_vaddr + header[i].p_filesz;
            module->code_room = (module->code_end + PAGE - 1) & ~(uint64_t) (PAGE - 1);
        }
    }
}

/* The loader has usually replaced the offsets in the dynamic section by addresses. */
static uint64_t pointer(const struct pl_loaded_module *module, uint64_t value)
{
    return value < module->bias ? value + module->bias : value;
}

static uint64_t take_dynamic(const struct pl_tracee *tracee, struct pl_loaded_module *module, uint64_t at)
{
    Elf64_Dyn entry[ENTRIES_MAX];
    uint64_t debug = 0;
    size_t entries = pl_tracee_read_some(tracee, at, entry, sizeof entry) / sizeof *entry;
    for (size_t i = 0; i < entries && entry[i].d_tag != DT_NULL; i++) {
        if (entry[i].d_tag == DT_SYMTAB)
            module->symbols = pointer(module, entry[i].d_un.d_ptr);
        else if (entry[i].d_tag == DT_STRTAB)
            module->texts = pointer(module, entry[i].d_un.d_ptr);
        else if (entry[i].d_tag == DT_GNU_HASH)
            module->hash = pointer(module, entry[i].d_un.d_ptr);
        else if (entry[i].d_tag == DT_DEBUG)
            debug = entry[i].d_un.d_ptr;
    }
    return debug;
}

/* Libraries have their ELF header at the bias. */
static void take_library(const struct pl_tracee *tracee, struct pl_loaded_module *module)
{
    Elf64_Ehdr elf;
    Elf64_Phdr header[HEADERS_MAX];
    if (!pl_tracee_read(tracee, module->bias, &elf, sizeof elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
        elf.e_phnum > HEADERS_MAX || elf.e_phentsize != sizeof *header ||
        !pl_tracee_read(tracee, module->bias + elf.e_phoff, header, elf.e_phnum * sizeof *header))
        return;
    take_segments(module, header, elf.e_phnum);
}

static struct pl_loaded_module *add(struct pl_loaded *loaded)
{
    struct pl_loaded_module *more = realloc(loaded->module, (loaded->count + 1) * sizeof *more);
    if (!more)
        return NULL;
    loaded->module = more;
    loaded->module[loaded->count] = (struct pl_loaded_module){.bias = 0};
    return &loaded->module[loaded->count++];
}

/* ---- all of them ---- */

static uint64_t take_program(struct pl_loaded *loaded, const struct pl_tracee *tracee, uint64_t at, uint64_t count)
{
    Elf64_Phdr header[HEADERS_MAX];
    struct pl_loaded_module *module = add(loaded);
    uint64_t dynamic = 0;
    if (!module || !pl_tracee_read(tracee, at, header, count * sizeof *header))
        return 0;
    for (size_t i = 0; i < count; i++)
        if (header[i].p_type == PT_PHDR)
            module->bias = at - header[i].p_vaddr;
    for (size_t i = 0; i < count; i++)
        if (header[i].p_type == PT_DYNAMIC)
            dynamic = module->bias + header[i].p_vaddr;
    take_segments(module, header, count);
    return dynamic ? take_dynamic(tracee, module, dynamic) : 0;
}

static bool take_list(struct pl_loaded *loaded, const struct pl_tracee *tracee, uint64_t at)
{
    struct link_map map;
    for (int i = 0; at && i < MODULES_MAX; i++, at = (uintptr_t) map.l_next) {
        if (!pl_tracee_read(tracee, at, &map, sizeof map))
            return false;
        if (i == 0) /* the program */
            continue;
        struct pl_loaded_module *module = add(loaded);
        if (!module)
            return false;
        module->bias = map.l_addr;
        pl_tracee_text(tracee, (uintptr_t) map.l_name, module->path, sizeof module->path);
        take_dynamic(tracee, module, (uintptr_t) map.l_ld);
        take_library(tracee, module);
    }
    return true;
}

bool pl_loaded_read(struct pl_loaded *loaded, const struct pl_tracee *tracee)
{
    uint64_t headers, count;
    struct r_debug debug;
    *loaded = (struct pl_loaded){0};
    if (!read_auxiliary(tracee->pid, &headers, &count, &loaded->loader))
        return false;
    uint64_t at = take_program(loaded, tracee, headers, count);
    if (!at || !pl_tracee_read(tracee, at, &debug, sizeof debug) || !debug.r_map) {
        pl_loaded_free(loaded);
        return false;
    }
    loaded->link_state = at + offsetof(struct r_debug, r_state);
    return take_list(loaded, tracee, (uintptr_t) debug.r_map);
}

void pl_loaded_free(struct pl_loaded *loaded)
{
    free(loaded->module);
    *loaded = (struct pl_loaded){0};
}

bool pl_loaded_consistent(const struct pl_loaded *loaded, const struct pl_tracee *tracee)
{
    int state = -1;
    return pl_tracee_read(tracee, loaded->link_state, &state, sizeof state) && state == RT_CONSISTENT;
}

struct pl_loaded_module *pl_loaded_at(const struct pl_loaded *loaded, uint64_t address)
{
    for (size_t i = 0; i < loaded->count; i++)
        if (address >= loaded->module[i].start && address < loaded->module[i].end)
            return &loaded->module[i];
    return NULL;
}

bool pl_loaded_is(const struct pl_loaded_module *module, const char *name)
{
    const char *slash = strrchr(module->path, '/');
    const char *file = slash ? slash + 1 : module->path;
    return !strncmp(file, name, strlen(name));
}

/* ---- names ---- */

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t) *name;
    return hash;
}

static bool is_called(const struct pl_tracee *tracee, const struct pl_loaded_module *module, const Elf64_Sym *symbol,
                      const char *name)
{
    char text[128];
    size_t bytes = strlen(name) + 1;
    return bytes <= sizeof text && pl_tracee_read(tracee, module->texts + symbol->st_name, text, bytes) &&
           !memcmp(text, name, bytes);
}

static bool is_defined(const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value && (type == STT_FUNC || type == STT_OBJECT);
}

uint64_t pl_loaded_find(const struct pl_tracee *tracee, const struct pl_loaded_module *module, const char *name,
                        uint64_t *bytes)
{
    uint32_t head[4], hash = hash_of(name), first, link;
    if (!module->hash || !module->symbols || !module->texts ||
        !pl_tracee_read(tracee, module->hash, head, sizeof head) || !head[0])
        return 0;
    uint64_t buckets = module->hash + sizeof head + 8ull * head[2], chains = buckets + 4ull * head[0];
    if (!pl_tracee_read(tracee, buckets + 4ull * (hash % head[0]), &first, sizeof first) || first < head[1])
        return 0;
    for (uint32_t i = first; i < first + CHAIN_MAX; i++) {
        Elf64_Sym symbol;
        if (!pl_tracee_read(tracee, chains + 4ull * (i - head[1]), &link, sizeof link))
            return 0;
        if ((link | 1) == (hash | 1) &&
            pl_tracee_read(tracee, module->symbols + i * sizeof symbol, &symbol, sizeof symbol) &&
            is_defined(&symbol) && is_called(tracee, module, &symbol, name)) {
            if (bytes)
                *bytes = symbol.st_size;
            return module->bias + symbol.st_value;
        }
        if (link & 1)
            return 0;
    }
    return 0;
}

struct pl_loaded_module *pl_loaded_first(const struct pl_loaded *loaded, const struct pl_tracee *tracee,
                                         const char *name, uint64_t *address, uint64_t *bytes)
{
    for (size_t i = 0; i < loaded->count; i++)
        if ((*address = pl_loaded_find(tracee, &loaded->module[i], name, bytes)))
            return &loaded->module[i];
    return NULL;
}
