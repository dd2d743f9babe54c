/* SPDX-License-Identifier: MIT */
/*
 * symbolizer.h - what the parts of the symbolizer know of one another.
 *
 *   symbolize.c   all frames of a profile, module by module
 *     elf.c         one binary: is it the one that ran? what is at this address?
 *       debugfile.c   where its debug information may be instead
 *         debuginfod.c  ... and who else may have it
 *       dwarf.c       units, functions and inlined calls, each indexed when first hit
 *         scope.c       what a function is called
 *         lines.c       which line an address belongs to
 *       symtab.c      names where there is no DWARF
 *     jit.c         code that is in no file
 *   intern.c      texts that outlive the file they came from, demangled once
 *
 * Files are not trusted further than libelf and libdw check them: what they refuse is simply not known.
 */
#ifndef PL_SYMBOLIZER_H
#define PL_SYMBOLIZER_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "spans.h"
#include "symbolize.h"

/* Names and texts, copied once, known again by the address they were first seen at. */
struct pl_name {
    const void *key; /* in mapped sections of files that stay open as long as the table is used */
    const char *function;
    const char *linkage; /* "" if the same as function */
};

struct pl_intern {
    struct pl_arena *arena;
    struct pl_name *slot;
    uint32_t count;
    uint32_t slots; /* 0 or a power of two */
};

const struct pl_name *pl_intern_get(const struct pl_intern *intern, const void *key); /* NULL: not seen yet */
void pl_intern_put(struct pl_intern *intern, const void *key, struct pl_name name);
const char *pl_intern_text(struct pl_intern *intern, const char *text);       /* a copy; "" for NULL */
struct pl_name pl_intern_linkage(struct pl_intern *intern, const char *name); /* a copy, and demangled */
void pl_intern_free(struct pl_intern *intern);                                /* but not the arena */

/* An open ELF file. */
struct pl_binary {
    int fd;
    Elf *elf; /* NULL: not open */
};

struct pl_debuginfod;
struct pl_elf_options {
    const char *sysroot;          /* see pl_symbolize_options */
    const char *debug_path;       /* directories with separate debug files, colon-separated; NULL: /usr/lib/debug */
    struct pl_debuginfod *server; /* NULL: ask nobody */
    struct pl_arena *arena;       /* where strings go; NULL: they live as long as the pl_elf */
};
int pl_elf_open_with(const char *path, const struct pl_elf_options *options, struct pl_elf **out,
                     char why[PL_WHY_BYTES]);
/* The debug file of a binary that is not there any more. */
int pl_elf_open_build_id(const char *build_id, const struct pl_elf_options *options, struct pl_elf **out);
bool pl_elf_has_dwarf(struct pl_elf *elf);

/* `path` below `sysroot` (NULL: the root). 0 or a negative errno. */
int pl_binary_open(const char *path, const char *sysroot, struct pl_binary *out);
int pl_binary_open_fd(int fd, struct pl_binary *out); /* takes over fd, also on failure */
void pl_binary_close(struct pl_binary *file);
#define PL_BUILD_ID_TEXT (2 * PL_BUILD_ID_MAX + 1)
void pl_binary_build_id(const struct pl_binary *file, char out[PL_BUILD_ID_TEXT]); /* hex, or "" */

/* A section by name; NULL if absent, or without content (the debug file has it, or the binary). */
Elf_Scn *pl_binary_section(Elf *elf, const char *name, GElf_Shdr *header);

/* The separate debug file of `main`, which is at `path`. -ENOENT: none that belongs to it. */
int pl_debugfile_find(const struct pl_binary *main, const char *path, const struct pl_elf_options *options,
                      struct pl_binary *out);
int pl_debugfile_find_build_id(const char *build_id, const struct pl_elf_options *options, struct pl_binary *out);
/* What dwz moved out of `dwarf` into a file shared with others, where libdw does not find it by itself. */
void pl_debugfile_find_alternate(Dwarf *dwarf, const struct pl_elf_options *options, struct pl_binary *out);

/* Where code is, so that what the linker threw away (and left at address 0) is not taken for it. */
#define PL_CODE_MAX 8
struct pl_code {
    struct {
        uint64_t low, high;
    } segment[PL_CODE_MAX];
    uint32_t segments;
};
/* The first address beyond the code that holds `address`; 0 if none does. */
static inline uint64_t pl_code_end(const struct pl_code *code, uint64_t address)
{
    for (uint32_t i = 0; i < code->segments; i++)
        if (address >= code->segment[i].low && address < code->segment[i].high)
            return code->segment[i].high;
    return 0;
}
static inline bool pl_code_holds(const struct pl_code *code, uint64_t address)
{
    return pl_code_end(code, address) != 0;
}

struct pl_symtab;
struct pl_symtab *pl_symtab_new(const struct pl_binary *main, const struct pl_binary *debug, const struct pl_code *code,
                                struct pl_arena *arena);
const char *pl_symtab_find(const struct pl_symtab *symtab, uint64_t address); /* mangled; NULL: none */
void pl_symtab_free(struct pl_symtab *symtab);

struct pl_dwarf;
/* Takes over `dwarf`, also on failure (NULL: no unit has code). */
struct pl_dwarf *pl_dwarf_new(Dwarf *dwarf, const struct pl_code *code, struct pl_intern *intern);
/* As pl_elf_find; the outermost place has an empty function where DWARF has a line but no function. */
uint32_t pl_dwarf_find(struct pl_dwarf *dwarf, uint64_t address, struct pl_place *out, uint32_t max);
void pl_dwarf_free(struct pl_dwarf *dwarf);

/* The line table of a unit. */
struct pl_lines;
struct pl_line_sections {
    Elf_Data *line, *line_str, *str; /* NULL: absent */
};
void pl_lines_sections(Elf *elf, struct pl_line_sections *out); /* after dwarf_begin_elf, which decompresses them */
struct pl_lines *pl_lines_new(Dwarf_Die *unit, const struct pl_line_sections *sections, const struct pl_code *code);
/* Sets file, line and column; false: the address is in no line. Texts go to the arena, which must be
 * the same always. */
bool pl_lines_find(struct pl_lines *lines, uint64_t address, struct pl_arena *arena, struct pl_place *out);
const char *pl_lines_file(struct pl_lines *lines, uint32_t file, struct pl_arena *arena); /* "" if unknown */
void pl_lines_free(struct pl_lines *lines);

/* The namespaces, classes and functions of a unit in the order of the file: who is inside whom. */
struct pl_scope {
    Dwarf_Off offset;
    uint32_t parent; /* PL_NO_ITEM: the unit itself */
};
struct pl_scopes {
    struct pl_scope *scope;
    uint32_t count;
    uint32_t capacity;
};
bool pl_scope_is(Dwarf_Die *die); /* a namespace, class or function */
/* Finds the scopes of whichever unit an entry is in; NULL: not ours (an alternate file). */
typedef const struct pl_scopes *pl_scopes_of(void *context, Dwarf_Die *die);
/* What the function at `die` is called, following it to wherever it is declared. */
struct pl_name pl_scope_name(struct pl_intern *intern, Dwarf_Die *die, pl_scopes_of *scopes_of, void *context);

/* The map that a JIT compiler leaves for perf. NULL: none that can be trusted. */
struct pl_jit;
struct pl_jit *pl_jit_open(const char *path, uint32_t uid, uint64_t not_before_ns);
const char *pl_jit_find(const struct pl_jit *jit, uint64_t address); /* NULL: none */
void pl_jit_free(struct pl_jit *jit);

/* A client of the debuginfod servers in DEBUGINFOD_URLS. NULL: none are named, or the library is not installed. */
struct pl_debuginfod *pl_debuginfod_new(void);
int pl_debuginfod_find(struct pl_debuginfod *server, const char *build_id, struct pl_binary *out);
void pl_debuginfod_free(struct pl_debuginfod *server);

#endif
