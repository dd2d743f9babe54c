/* SPDX-License-Identifier: MIT */
/*
 * elf.c - one binary: is it the one that ran, and what is at this address?
 *
 * Opening reads headers and notes only, enough to tell builds apart. Debug information and symbols are looked for when
 * the first address is looked up, so a module without frames in any stack costs next to nothing.
 *
 * An address is looked up in DWARF if there is any, otherwise in the symbol table. Where DWARF has only the short name
 * of a function, the symbol table may have the full one.
 */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reader/base/grow.h"
#include "reader/symbols/symbolize_work.h"

struct pl_elf {
    struct pl_elf_options options;
    char *path;
    struct pl_binary main;
    struct pl_binary debug;     /* not open: main has it all, or there is none */
    struct pl_binary alternate; /* what dwz shares between debug files */
    char build_id[PL_BUILD_ID_TEXT];
    uint64_t fingerprint;
    struct pl_code code;
    struct pl_arena *arena; /* NULL: the caller's is used */
    struct pl_intern intern;

    bool searched; /* for the debug file */
    bool loaded;   /* the fields below have been looked for */
    bool lacking;  /* the alternate file is missing */
    Dwarf *alternate_dwarf;
    struct pl_dwarf *dwarf;
    struct pl_symtab *symtab;
};

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

static void search(struct pl_elf *elf)
{
    if (!elf->searched && !has_debug_info(elf->main.elf))
        pl_debugfile_find(&elf->main, elf->path, &elf->options, &elf->debug);
    elf->searched = true;
}

static bool lacks_alternate(Dwarf *dwarf)
{
    const char *name;
    const void *id;
    return dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) > 0 && !dwarf_getalt(dwarf);
}

static void load_dwarf(struct pl_elf *elf)
{
    search(elf);
    Elf *from = elf->debug.elf ? elf->debug.elf : elf->main.elf;
    Dwarf *dwarf = has_debug_info(from) ? dwarf_begin_elf(from, DWARF_C_READ, NULL) : NULL;
    if (!dwarf)
        return;
    pl_debugfile_find_alternate(dwarf, &elf->options, &elf->alternate);
    if (elf->alternate.elf && (elf->alternate_dwarf = dwarf_begin_elf(elf->alternate.elf, DWARF_C_READ, NULL)))
        dwarf_setalt(dwarf, elf->alternate_dwarf);
    elf->lacking = lacks_alternate(dwarf);
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

/* The build-id alone does not tell a stripped file from the whole one, nor files whose build-id was set by hand. */
static int describe(const struct pl_binary *file, const char *what, char *out, size_t room)
{
    struct stat status = {0};
    if (!file->elf || fstat(file->fd, &status))
        return snprintf(out, room, " %s none", what);
    return snprintf(out, room, " %s %lld %lld.%09ld", what, (long long) status.st_size,
                    (long long) status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

bool pl_elf_identity(struct pl_elf *elf, char out[PL_ELF_IDENTITY_BYTES])
{
    search(elf);
    int at = snprintf(out, PL_ELF_IDENTITY_BYTES, "%s", elf->build_id);
    at += describe(&elf->main, "binary", out + at, (size_t) (PL_ELF_IDENTITY_BYTES - at));
    describe(&elf->debug, "debug", out + at, (size_t) (PL_ELF_IDENTITY_BYTES - at));
    return elf->build_id[0];
}

bool pl_elf_is_settled(const struct pl_elf *elf)
{
    return !elf->lacking && !(elf->dwarf && pl_dwarf_is_split(elf->dwarf));
}

/* gcc gives lambdas and other functions local to a unit no linkage name in DWARF, but their symbols are mangled. */
static void complete(struct pl_elf *elf, uint64_t address, struct pl_place *outermost)
{
    if (outermost->linkage[0])
        return;
    const char *symbol = pl_symtab_find(elf->symtab, address);
    if (!symbol)
        return;
    struct pl_intern_name name = pl_intern_linkage(&elf->intern, symbol);
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
