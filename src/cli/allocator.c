/* SPDX-License-Identifier: MIT */
/*
 * allocator.c - which allocator a program will use.
 *
 * Of the libraries that its loader would load, and would ask for a symbol in that order, it is the first that defines
 * malloc.
 */
#include "allocator.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "loads.h"
#include "say.h"

struct symbols {
    bool malloc, new;
};

static void note(struct symbols *symbols, const char *name)
{
    symbols->malloc |= !strcmp(name, "malloc");
    symbols->new |= !strcmp(name, "_Znwm"); /* operator new(unsigned long) */
}

static void read_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct symbols *symbols)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        const char *name = gelf_getsym(data, (int) i, &symbol) && symbol.st_shndx != SHN_UNDEF
                               ? elf_strptr(elf, header->sh_link, symbol.st_name)
                               : NULL;
        if (name)
            note(symbols, name);
    }
}

static struct symbols read_symbols(const char *path)
{
    struct symbols symbols = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    elf_version(EV_CURRENT);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
            read_table(elf, section, &header, &symbols);
    }
    elf_end(elf);
    if (fd >= 0)
        close(fd);
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
    pl_loads((char *[]){(char *) loader, "--list", (char *) binary, NULL}, consider, &allocator);
    return allocator;
}
