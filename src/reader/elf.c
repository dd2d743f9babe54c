/* SPDX-License-Identifier: MIT */
/*
 * elf.c - one binary: is it the one that ran, and what is at this address?
 *
 * Opening reads headers and notes only, enough to tell builds apart. Debug information and symbols are looked for when
 * the first address is asked for, so modules that no stack goes through cost next to nothing.
 *
 * An address is answered from DWARF where there is some, from the symbol table otherwise; and where DWARF knows a
 * function only by its short name, the symbol table may have all of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <elfutils/libdwelf.h>

#include "grow.h"
#include "symbolizer.h"

struct pl_elf {
    struct pl_elf_options options;
    char *path;
    struct pl_binary main;
    struct pl_binary debug;     /* not open: main has it all, or nobody */
    struct pl_binary alternate; /* what dwz shares between debug files */
    char build_id[PL_BUILD_ID_TEXT];
    uint64_t fingerprint;
    struct pl_code code;
    struct pl_arena *arena; /* NULL: the caller's */
    struct pl_intern intern;

    bool loaded; /* what follows has been looked for */
    Dwarf *alternate_dwarf;
    struct pl_dwarf *dwarf;
    struct pl_symtab *symtab;
};

/* ---- files ---- */

/* Symbolic links in another mount namespace must not lead back into ours. */
static int open_below(const char *sysroot, const char *path, int flags)
{
    int root = open(sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -1;
    struct open_how how = {.flags = (uint64_t) flags, .resolve = RESOLVE_IN_ROOT};
    int fd = (int) syscall(SYS_openat2, root, path, &how, sizeof how);
    int error = errno;
    close(root);
    errno = error;
    return fd;
}

static int open_regular(const char *path, const char *sysroot)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK; /* a path of a profile may be a pipe: do not wait for its writer */
    int fd = sysroot && sysroot[0] ? open_below(sysroot, path, flags) : open(path, flags);
    if (fd < 0)
        return -errno;
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        return fd;
    close(fd);
    return -ENOEXEC;
}

int pl_binary_open_fd(int fd, struct pl_binary *out)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF) {
        *out = (struct pl_binary){.fd = fd, .elf = elf};
        return 0;
    }
    elf_end(elf);
    close(fd);
    return -ENOEXEC;
}

int pl_binary_open(const char *path, const char *sysroot, struct pl_binary *out)
{
    int fd = open_regular(path, sysroot);
    return fd < 0 ? fd : pl_binary_open_fd(fd, out);
}

void pl_binary_close(struct pl_binary *file)
{
    if (!file->elf)
        return;
    elf_end(file->elf);
    close(file->fd);
    *file = (struct pl_binary){0};
}

void pl_binary_build_id(const struct pl_binary *file, char out[PL_BUILD_ID_TEXT])
{
    const void *note = NULL;
    ssize_t bytes = dwelf_elf_gnu_build_id(file->elf, &note);
    const unsigned char *byte = note;
    out[0] = '\0';
    for (ssize_t i = 0; i < bytes && i < PL_BUILD_ID_MAX; i++)
        snprintf(out + 2 * i, 3, "%02x", byte[i]);
}

Elf_Scn *pl_binary_section(Elf *elf, const char *name, GElf_Shdr *header)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        const char *this = gelf_getshdr(scn, header) ? elf_strptr(elf, names, header->sh_name) : NULL;
        if (this && strcmp(this, name) == 0)
            return header->sh_type == SHT_NOBITS ? NULL : scn;
    }
    return NULL;
}

/* ---- identity ---- */

#define FNV_BASIS 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull
#define ELF_HEADER_BYTES 64

static uint64_t fnv(uint64_t hash, const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * FNV_PRIME;
    return hash;
}

/* The runtime computes the same from the loaded image: header, then program headers, byte for byte. 0: unreadable. */
static uint64_t fingerprint_of(Elf *elf)
{
    size_t bytes;
    const char *image = elf_rawfile(elf, &bytes);
    GElf_Ehdr header;
    if (!image || bytes < ELF_HEADER_BYTES || !gelf_getehdr(elf, &header))
        return 0;
    size_t table = (size_t) header.e_phnum * header.e_phentsize;
    if (header.e_phoff > bytes || table > bytes - header.e_phoff)
        return 0;
    uint64_t hash = fnv(FNV_BASIS, (const unsigned char *) image, ELF_HEADER_BYTES);
    return fnv(hash, (const unsigned char *) image + header.e_phoff, table);
}

static void find_code(Elf *elf, struct pl_code *code)
{
    size_t headers = 0;
    GElf_Phdr header;
    elf_getphdrnum(elf, &headers);
    for (size_t i = 0; i < headers && code->segments < PL_CODE_MAX; i++) {
        if (!gelf_getphdr(elf, (int) i, &header) || header.p_type != PT_LOAD || !(header.p_flags & PF_X) ||
            header.p_memsz > UINT64_MAX - header.p_vaddr)
            continue;
        code->segment[code->segments].low = header.p_vaddr;
        code->segment[code->segments++].high = header.p_vaddr + header.p_memsz;
    }
}

/* ---- opening ---- */

static struct pl_elf *take(struct pl_binary file, const char *path, const struct pl_elf_options *options)
{
    struct pl_elf *elf = pl_grow_zeroed(1, sizeof *elf);
    elf->options = *options;
    elf->path = pl_grow_check(strdup(path), strlen(path) + 1, 1);
    elf->main = file;
    if (!options->arena)
        elf->arena = pl_arena_new();
    elf->intern.arena = options->arena ? options->arena : elf->arena;
    elf->fingerprint = fingerprint_of(file.elf);
    pl_binary_build_id(&file, elf->build_id);
    find_code(file.elf, &elf->code);
    return elf;
}

static int explain(int error, const char *path, char *why)
{
    if (error == -ENOEXEC)
        snprintf(why, PL_WHY_BYTES, "%s is not an ELF file", path);
    else
        snprintf(why, PL_WHY_BYTES, "cannot open %s: %s", path, strerror(-error));
    return error;
}

int pl_elf_open_with(const char *path, const struct pl_elf_options *options, struct pl_elf **out,
                     char why[PL_WHY_BYTES])
{
    struct pl_binary file;
    int error = pl_binary_open(path, options->sysroot, &file);
    if (error)
        return explain(error, path, why);
    *out = take(file, path, options);
    return 0;
}

int pl_elf_open(const char *path, struct pl_elf **out, char why[PL_WHY_BYTES])
{
    return pl_elf_open_with(path, &(struct pl_elf_options){0}, out, why);
}

int pl_elf_open_build_id(const char *build_id, const struct pl_elf_options *options, struct pl_elf **out)
{
    struct pl_binary file;
    int error = pl_debugfile_find_build_id(build_id, options, &file);
    if (error)
        return error;
    *out = take(file, "", options);
    return 0;
}

void pl_elf_close(struct pl_elf *elf)
{
    if (!elf)
        return;
    pl_dwarf_free(elf->dwarf);
    dwarf_end(elf->alternate_dwarf);
    pl_symtab_free(elf->symtab);
    pl_binary_close(&elf->alternate);
    pl_binary_close(&elf->debug);
    pl_binary_close(&elf->main);
    pl_intern_free(&elf->intern);
    pl_arena_free(elf->arena);
    free(elf->path);
    free(elf);
}

const char *pl_elf_build_id(const struct pl_elf *elf)
{
    return elf->build_id;
}

uint64_t pl_elf_fingerprint(const struct pl_elf *elf)
{
    return elf->fingerprint;
}

/* ---- addresses ---- */

static bool has_debug_info(Elf *elf)
{
    GElf_Shdr header;
    return pl_binary_section(elf, ".debug_info", &header) || pl_binary_section(elf, ".zdebug_info", &header);
}

static void load_dwarf(struct pl_elf *elf)
{
    if (!has_debug_info(elf->main.elf))
        pl_debugfile_find(&elf->main, elf->path, &elf->options, &elf->debug);
    Elf *from = elf->debug.elf ? elf->debug.elf : elf->main.elf;
    Dwarf *dwarf = has_debug_info(from) ? dwarf_begin_elf(from, DWARF_C_READ, NULL) : NULL;
    if (!dwarf)
        return;
    pl_debugfile_find_alternate(dwarf, &elf->options, &elf->alternate);
    if (elf->alternate.elf && (elf->alternate_dwarf = dwarf_begin_elf(elf->alternate.elf, DWARF_C_READ, NULL)))
        dwarf_setalt(dwarf, elf->alternate_dwarf);
    elf->dwarf = pl_dwarf_new(dwarf, &elf->code, &elf->intern);
}

static void load(struct pl_elf *elf)
{
    if (elf->loaded)
        return;
    elf->loaded = true;
    load_dwarf(elf);
    elf->symtab = pl_symtab_new(&elf->main, &elf->debug, &elf->code, elf->intern.arena);
}

bool pl_elf_has_dwarf(struct pl_elf *elf)
{
    load(elf);
    return elf->dwarf != NULL;
}

/* gcc gives lambdas and other functions local to a unit no linkage name in DWARF, but their symbols are mangled. */
static void complete(struct pl_elf *elf, uint64_t address, struct pl_place *outermost)
{
    if (outermost->linkage[0])
        return;
    const char *symbol = pl_symtab_find(elf->symtab, address);
    if (!symbol)
        return;
    struct pl_name name = pl_intern_linkage(&elf->intern, symbol);
    if (outermost->function[0] && !name.linkage[0])
        return;
    outermost->function = name.function;
    outermost->linkage = name.linkage;
}

uint32_t pl_elf_find(struct pl_elf *elf, uint64_t address, struct pl_place *out, uint32_t max)
{
    load(elf);
    if (max == 0)
        return 0;
    uint32_t places = elf->dwarf ? pl_dwarf_find(elf->dwarf, address, out, max) : 0;
    if (places == 0)
        out[0] = (struct pl_place){.function = "", .linkage = "", .file = ""};
    struct pl_place *outermost = &out[places ? places - 1 : 0];
    if (!outermost->inlined)
        complete(elf, address, outermost);
    return places || outermost->function[0] ? (places ? places : 1) : 0;
}
