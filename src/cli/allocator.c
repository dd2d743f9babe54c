/* SPDX-License-Identifier: MIT */
/*
 * allocator.c - which allocator a program will use.
 *
 * Only the loader knows which libraries it would load, from LD_PRELOAD, search paths and caches, and in which order it
 * would ask them for a symbol. So we ask it (`ld.so --list`, which is what ldd does) and take the first that defines
 * malloc.
 */
#include "allocator.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

/* --- what the loader would load --- */

static pid_t start_list(const char *loader, const char *binary, FILE **out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(STDERR_FILENO); /* what is wrong with the program will be said when it runs */
        execl(loader, loader, "--list", binary, (char *) NULL);
        _exit(127);
    }
    close(ends[1]);
    *out = child > 0 ? fdopen(ends[0], "r") : NULL;
    if (!*out)
        close(ends[0]);
    return child;
}

/* "\tlibm.so.6 => /lib/libm.so.6 (0x...)" or "\t/lib64/ld-linux-x86-64.so.2 (0x...)": the path, or NULL. */
static char *path_in(char *line)
{
    char *path = strchr(line, '/'), *end = strrchr(line, '(');
    if (!path || !end || end <= path + 1)
        return NULL;
    end[-1] = 0;
    return path;
}

/* --- what it defines --- */

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

struct pl_allocator pl_allocator_find(const char *loader, const char *binary)
{
    FILE *list = NULL;
    char *line = NULL;
    size_t room = 0;
    struct pl_allocator allocator = {0};
    pid_t child = start_list(loader, binary, &list);
    while (list && getline(&line, &room, list) > 0) { /* to the end, lest the loader die of SIGPIPE */
        char *path = allocator.library ? NULL : path_in(line);
        struct symbols symbols = path && !is_ours(path) ? read_symbols(path) : (struct symbols){0};
        if (symbols.malloc)
            allocator = (struct pl_allocator){pl_say_print("%s", path), symbols.new};
    }
    free(line);
    if (list)
        fclose(list);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return allocator;
}
