/* SPDX-License-Identifier: MIT */
/*
 * allocator.c - finds the allocator that a program will use: the first library that defines malloc, in the order in
 * which the loader loads and searches them.
 *
 * The loader itself is asked, unless the answer is libc: starting a process for it costs more than the rest of `run`'s
 * preparations.
 */
#include "cli/run/allocator.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/loads.h"
#include "cli/say.h"

struct opened {
    int fd;
    Elf *elf; /* NULL: not a file of our kind */
};

static struct opened open_elf(const char *path)
{
    elf_version(EV_CURRENT);
    struct opened file = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    file.elf = file.fd < 0 ? NULL : elf_begin(file.fd, ELF_C_READ_MMAP, NULL);
    if (file.elf && gelf_getclass(file.elf) != ELFCLASS64) {
        elf_end(file.elf);
        file.elf = NULL;
    }
    return file;
}

static void close_elf(struct opened *file)
{
    elf_end(file->elf);
    if (file->fd >= 0)
        close(file->fd);
}

/* The first section of this type; NULL: none. */
static Elf_Data *find_section(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));)
        if (gelf_getshdr(section, header) && header->sh_type == type)
            return elf_getdata(section, NULL);
    return NULL;
}

/* --- what needs no loader --- */

/* These need only each other, and of them only libc.so.6 defines malloc. */
static const char *const plain_libraries[] = {
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libutil.so.1",
    "libresolv.so.2",
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
};

static bool is_plain_library(const char *name)
{
    for (size_t i = 0; i < sizeof plain_libraries / sizeof *plain_libraries; i++)
        if (!strcmp(plain_libraries[i], name))
            return true;
    return false;
}

/* Tags that make a loader look elsewhere, or load something else. */
static bool diverts(GElf_Sxword tag)
{
    static const GElf_Sxword tags[] = {DT_RPATH, DT_RUNPATH, DT_AUDIT, DT_DEPAUDIT, DT_FILTER, DT_AUXILIARY};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (tags[i] == tag)
            return true;
    return false;
}

static bool needs_plain_only(Elf *elf)
{
    GElf_Shdr header;
    GElf_Dyn entry;
    Elf_Data *data = find_section(elf, SHT_DYNAMIC, &header);
    for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
        const char *name = entry.d_tag == DT_NEEDED ? elf_strptr(elf, header.sh_link, entry.d_un.d_val) : "libc.so.6";
        if (diverts(entry.d_tag) || !name || !is_plain_library(name))
            return false;
    }
    return data != NULL;
}

/* LD_PRELOAD, LD_LIBRARY_PATH, LD_AUDIT, ... */
static bool loader_is_instructed(void)
{
    for (char **entry = environ; *entry; entry++)
        if (!strncmp(*entry, "LD_", 3))
            return true;
    return !access("/etc/ld.so.preload", F_OK);
}

static bool uses_libc(const char *binary)
{
    if (loader_is_instructed())
        return false;
    struct opened file = open_elf(binary);
    bool plain = file.elf && needs_plain_only(file.elf);
    close_elf(&file);
    return plain;
}

/* --- libraries --- */

struct symbols {
    bool malloc, new;
};

static bool is_named(const Elf_Data *names, Elf64_Word at, const char *name)
{
    size_t bytes = strlen(name) + 1;
    return at < names->d_size && names->d_size - at >= bytes && !memcmp((const char *) names->d_buf + at, name, bytes);
}

static struct symbols read_symbols(const char *path)
{
    struct symbols symbols = {0};
    struct opened file = open_elf(path);
    GElf_Shdr header;
    Elf_Data *data = find_section(file.elf, SHT_DYNSYM, &header);
    Elf_Data *names = data ? elf_getdata(elf_getscn(file.elf, header.sh_link), NULL) : NULL;
    size_t count = names && names->d_buf && data->d_buf ? data->d_size / sizeof(Elf64_Sym) : 0;
    for (const Elf64_Sym *symbol = count ? data->d_buf : NULL; count; count--, symbol++) {
        if (symbol->st_shndx == SHN_UNDEF)
            continue;
        symbols.malloc |= is_named(names, symbol->st_name, "malloc");
        symbols.new |= is_named(names, symbol->st_name, "_Znwm"); /* operator new(unsigned long) */
    }
    close_elf(&file);
    return symbols;
}

static bool is_ours(const char *path)
{
    return strstr(path, "/libplimsoll") != NULL;
}

static void consider(void *context, const char *path)
{
    struct pl_allocator *allocator = context;
    struct symbols symbols = allocator->library || is_ours(path) ? (struct symbols){0} : read_symbols(path);
    if (symbols.malloc)
        *allocator = (struct pl_allocator){pl_say_print("%s", path), symbols.new};
}

struct pl_allocator pl_allocator_find(const char *loader, const char *binary)
{
    struct pl_allocator allocator = {0};
    if (uses_libc(binary))
        return allocator;
    pl_loads((char *[]){(char *) loader, "--list", (char *) binary, NULL}, consider, &allocator);
    return allocator;
}
