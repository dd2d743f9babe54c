/* SPDX-License-Identifier: MIT */
/*
 * target.c - looks at the program before it runs.
 *
 * Preloading fails silently: the loader leaves LD_PRELOAD out of static, setuid and foreign programs without a word. So
 * we look for ourselves, at the file that will be executed or at the interpreter of a script.
 */
#include "target.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "say.h"

#define SCRIPT_DEPTH_MAX 4 /* as the kernel has it */

static const struct {
    const char *is, *advice;
} words[PL_OBSTACLE_COUNT] = {
    [PL_OBSTACLE_STATIC] = {"is statically linked, so it cannot be preloaded",
                            "build it with -lplimsoll, or see `plimsoll help static`"},
    [PL_OBSTACLE_SECURE] = {"is setuid, setgid or has file capabilities, so the loader ignores LD_PRELOAD",
                            "profile a copy without them (cp drops them), or run it as its owner"},
    [PL_OBSTACLE_CLASS] = {"is a 32-bit program, and libplimsoll.so is 64-bit", "build it for 64 bits"},
    [PL_OBSTACLE_MACHINE] = {"is built for another machine", "build it, or Plimsoll, for the same machine"},
    [PL_OBSTACLE_LIBC] = {"uses another C library than libplimsoll.so (its loader is not glibc's)",
                          "build it against glibc"},
    [PL_OBSTACLE_OWN_MALLOC] = {"defines malloc itself (an allocator is linked in), so its calls do not reach us",
                                "link the allocator as a shared library, or preload it: LD_PRELOAD=libjemalloc.so.2"},
    [PL_OBSTACLE_HIDDEN_MALLOC] = {"has an allocator linked in, so only its libraries' allocations are seen",
                                   "link the allocator as a shared library, or preload it"},
};

/* --- which file --- */

static char *search_path(const char *program)
{
    const char *path = getenv("PATH");
    if (strchr(program, '/'))
        return access(program, F_OK) ? NULL : pl_say_print("%s", program);
    for (path = path ? path : "/bin:/usr/bin"; path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL) {
        int bytes = (int) strcspn(path, ":");
        char *file = pl_say_print("%.*s%s%s", bytes, path, bytes ? "/" : "", program);
        struct stat status;
        if (!access(file, X_OK) && !stat(file, &status) && S_ISREG(status.st_mode))
            return file;
        free(file);
    }
    return NULL;
}

/* "#!/usr/bin/env python3" → "/usr/bin/env" and "python3". False: not a script. */
static bool read_script(const char *path, char interpreter[256], char argument[256])
{
    char line[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t bytes = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    if (bytes < 2 || memcmp(line, "#!", 2))
        return false;
    line[bytes] = 0;
    line[strcspn(line, "\n")] = 0;
    *interpreter = *argument = 0;
    char *save, *word = strtok_r(line + 2, " \t", &save);
    if (word)
        strcpy(interpreter, word);
    if (word && (word = strtok_r(NULL, " \t", &save)))
        strcpy(argument, word);
    return true;
}

static void follow_scripts(struct pl_target *target)
{
    char interpreter[256], argument[256];
    target->binary = pl_say_print("%s", target->path);
    for (int depth = 0; depth < SCRIPT_DEPTH_MAX && read_script(target->binary, interpreter, argument); depth++) {
        char *next = search_path(interpreter);
        if (!next)
            target->missing = pl_say_print("%s", interpreter);
        else if (!strcmp(basename(interpreter), "env") && *argument && *argument != '-') {
            free(next); /* env is gone at once; the program it finds is the one that matters */
            next = search_path(argument);
        }
        free(target->binary);
        target->binary = next;
        if (!next)
            return;
    }
}

/* --- what is in it --- */

static bool is_secure(const char *path)
{
    struct stat status;
    if (stat(path, &status) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return false;
    if (status.st_mode & S_ISUID && status.st_uid != getuid())
        return true;
    if (status.st_mode & S_ISGID && status.st_mode & S_IXGRP && status.st_gid != getgid())
        return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static char *read_loader(Elf *elf, const char *raw, size_t raw_bytes)
{
    size_t count;
    if (elf_getphdrnum(elf, &count))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int) i, &header) || header.p_type != PT_INTERP)
            continue;
        if (header.p_offset >= raw_bytes || header.p_filesz > raw_bytes - header.p_offset)
            return NULL;
        return strndup(raw + header.p_offset, header.p_filesz);
    }
    return NULL;
}

static bool section_defines(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *function)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = header->sh_entsize && data ? data->d_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int) i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
            symbol.st_shndx == SHN_UNDEF)
            continue; /* hidden functions are local once they are linked, so binding says nothing */
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (name && !strcmp(name, function))
            return true;
    }
    return false;
}

/* Does a symbol table of this kind define the function? */
static bool defines(Elf *elf, GElf_Word table, const char *function)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == table &&
            section_defines(elf, section, &header, function))
            return true;
    }
    return false;
}

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#endif

static enum pl_obstacle inspect_loader(const char *path, const char *loader)
{
    if (!loader) /* the loader itself has none, and honours LD_PRELOAD for the program it is given */
        return strncmp(basename(path), "ld-", 3) ? PL_OBSTACLE_STATIC : PL_OBSTACLE_NONE;
    return strstr(loader, "ld-linux") || strstr(loader, "ld-2.") ? PL_OBSTACLE_NONE : PL_OBSTACLE_LIBC;
}

static enum pl_obstacle inspect_elf(struct pl_target *target, Elf *elf)
{
    GElf_Ehdr header;
    size_t raw_bytes;
    const char *raw = elf_rawfile(elf, &raw_bytes);
    if (!raw || !gelf_getehdr(elf, &header))
        return PL_OBSTACLE_NONE;
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
        return PL_OBSTACLE_CLASS;
    if (header.e_machine != OUR_MACHINE)
        return PL_OBSTACLE_MACHINE;
    target->loader = read_loader(elf, raw, raw_bytes);
    enum pl_obstacle obstacle = inspect_loader(target->binary, target->loader);
    if (obstacle == PL_OBSTACLE_NONE && defines(elf, SHT_DYNSYM, "malloc"))
        return PL_OBSTACLE_OWN_MALLOC;
    if (obstacle == PL_OBSTACLE_NONE && defines(elf, SHT_SYMTAB, "malloc"))
        return PL_OBSTACLE_HIDDEN_MALLOC;
    return obstacle;
}

static enum pl_obstacle inspect_file(struct pl_target *target)
{
    enum pl_obstacle obstacle = PL_OBSTACLE_NONE;
    int fd = open(target->binary, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return PL_OBSTACLE_NONE;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF)
        obstacle = inspect_elf(target, elf);
    elf_end(elf);
    close(fd);
    return obstacle;
}

struct pl_target pl_target_inspect(const char *program)
{
    struct pl_target target = {.path = search_path(program)};
    if (!target.path)
        return target;
    follow_scripts(&target);
    if (!target.binary)
        return target;
    target.obstacle = inspect_file(&target);
    if (target.obstacle == PL_OBSTACLE_NONE && is_secure(target.binary))
        target.obstacle = PL_OBSTACLE_SECURE;
    return target;
}

void pl_target_free(struct pl_target *target)
{
    free(target->path);
    free(target->binary);
    free(target->loader);
    free(target->missing);
}

bool pl_target_blocked(const struct pl_target *target)
{
    return target->obstacle != PL_OBSTACLE_NONE && target->obstacle != PL_OBSTACLE_HIDDEN_MALLOC;
}

char *pl_target_why(const struct pl_target *target)
{
    if (target->obstacle == PL_OBSTACLE_NONE)
        return NULL;
    return pl_say_print("%s %s", target->binary, words[target->obstacle].is);
}

const char *pl_target_advice(const struct pl_target *target)
{
    return words[target->obstacle].advice;
}
