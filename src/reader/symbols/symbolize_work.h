/* SPDX-License-Identifier: MIT */
/*
 * symbolize_work.h - interfaces between the parts of the symbolizer.
 *
 *   symbolize.c   all frames of a profile, module by module
 *     elf.c         one binary: is it the one that ran? what is at this address?
 *       binary.c      opens the file
 *       debugfile.c   finds its debug information elsewhere
 *         debuginfod.c  ... on a server
 *       dwarf.c       units, functions and inlined calls, each indexed when first hit
 *         dwarf_name.c  the name of a function
 *         lines.c       which line an address belongs to
 *       symtab.c      names where there is no DWARF
 *     jit.c         code that is in no file, from the maps that its compiler leaves
 *       jitdump.c     ... in the format of perf's jitdump
 *       jitname.c     functions, files and lines in the names that compilers give
 *     symcache.c    what was found at earlier times, on disk
 *   intern.c      texts that outlive the file they came from, demangled once
 *
 * Files are trusted only as far as libelf and libdw check them: what these refuse is unknown.
 */
#ifndef PL_SYMBOLIZE_WORK_H
#define PL_SYMBOLIZE_WORK_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "reader/base/arena.h"
#include "reader/symbols/spans.h"
#include "reader/symbols/symbolize.h"

/* Names and texts, copied once, and found again by the address they were first seen at. */
struct pl_intern_name {
    const void *key; /* in mapped sections of files that stay open as long as the table is used */
    const char *function;
    const char *linkage; /* "" if the same as function */
};

struct pl_intern {
    struct pl_arena *arena;
    struct pl_intern_name *slot;
    uint32_t count;
    uint32_t slots; /* 0 or a power of two */
};

const struct pl_intern_name *pl_intern_get(const struct pl_intern *intern, const void *key); /* NULL: not seen yet */
void pl_intern_put(struct pl_intern *intern, const void *key, struct pl_intern_name name);
const char *pl_intern_text(struct pl_intern *intern, const char *text);              /* a copy; "" for NULL */
struct pl_intern_name pl_intern_linkage(struct pl_intern *intern, const char *name); /* a copy, and demangled */
void pl_intern_free(struct pl_intern *intern);                                       /* but not the arena */

/* An open ELF file. */
struct pl_binary {
    int fd;
    Elf *elf; /* NULL: not open */
};

struct pl_debuginfod;
struct pl_elf_options {
    const char *sysroot;          /* see pl_symbolize_options */
    const char *debug_path;       /* directories with separate debug files, colon-separated; NULL: /usr/lib/debug */
    struct pl_debuginfod *server; /* NULL: none is asked */
    struct pl_arena *arena;       /* where strings go; NULL: they live as long as the pl_elf */
};
int pl_elf_open_with(const char *path, const struct pl_elf_options *options, struct pl_elf **out,
                     char why[PL_WHY_BYTES]);
/* The debug file of a binary that no longer exists. */
int pl_elf_open_build_id(const char *build_id, const struct pl_elf_options *options, struct pl_elf **out);
bool pl_elf_has_dwarf(struct pl_elf *elf);

/* Which files will answer, found but not read: build-id, size and time of change of the binary and of its debug file.
 * False: the binary has no build-id. */
#define PL_ELF_IDENTITY_BYTES 256
bool pl_elf_identity(struct pl_elf *elf, char out[PL_ELF_IDENTITY_BYTES]);
/* Did the answers so far depend only on those files? Not if units are in .dwo files, or if the file that dwz has made
 * is missing. */
bool pl_elf_is_settled(const struct pl_elf *elf);

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
/* Opens the file into which dwz moved parts of `dwarf` that it shares with others, if libdw does not find it by
 * itself. */
void pl_debugfile_find_alternate(Dwarf *dwarf, const struct pl_elf_options *options, struct pl_binary *out);

/* Where code is, so that functions that the linker discarded (and left at address 0) are not taken for code. */
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
bool pl_dwarf_is_split(
    const struct pl_dwarf *dwarf); /* an address was in a unit that is, or should be, in a .dwo file */
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

/* The namespaces, classes and functions of a unit in the order of the file, with their parents. */
struct pl_dwarf_scope {
    Dwarf_Off offset;
    uint32_t parent; /* PL_NO_ITEM: the unit itself */
};
struct pl_dwarf_scopes {
    struct pl_dwarf_scope *scope;
    uint32_t count;
    uint32_t capacity;
};
bool pl_dwarf_is_scope(Dwarf_Die *die); /* a namespace, class or function */
/* Finds the scopes of whichever unit an entry is in; NULL: not ours (an alternate file). */
typedef const struct pl_dwarf_scopes *pl_dwarf_scopes_of(void *context, Dwarf_Die *die);
/* The name of the function at `die`; references to its declaration are followed. */
struct pl_intern_name pl_dwarf_name(struct pl_intern *intern, Dwarf_Die *die, pl_dwarf_scopes_of *scopes_of,
                                    void *context);

/*
 * What JIT compilers of the process have left for perf: a map, a jitdump, or both. NULL: nothing that can be trusted.
 *
 * `units` is when the code was seen (0: not known). The address has had code of `versions` kinds, and this was number
 * `version` of them. False: the code has no name, or which of several it was is not known.
 */
struct pl_jit;
struct pl_jit_question {
    uint64_t address;
    uint64_t units;
    uint32_t version, versions;
};
struct pl_jit *pl_jit_open(const struct pl_profile *profile, const char *sysroot);
bool pl_jit_find(struct pl_jit *jit, const struct pl_jit_question *question, struct pl_place *out);
void pl_jit_free(struct pl_jit *jit);

/* A line of code that a jitdump describes, from its address on. */
struct pl_jit_line {
    uint64_t address;
    uint32_t line;
    const char *file;
};

/* Code was at this address from a time on. Texts live as long as the dump does. Called in the order of the file. */
struct pl_jit_code {
    uint64_t address, bytes;
    uint64_t time; /* as in the file */
    const char *name;
    const struct pl_jit_line *line; /* of where the code was first */
    uint32_t lines;
    uint64_t moved_by; /* from there */
};

/* Reads a jitdump: calls back for each piece of code that was loaded or moved. What is cut short or makes no sense ends
 * the reading. False: it is none, or one of another process or machine. */
struct pl_jitdump_header {
    uint32_t pid;
    bool ticks; /* times are those of the processor's clock, not nanoseconds */
};
bool pl_jitdump_header(const void *data, size_t bytes, struct pl_jitdump_header *out);
void pl_jitdump_read(const void *data, size_t bytes, struct pl_arena *arena,
                     void (*add)(void *context, const struct pl_jit_code *code), void *context);

/* Splits a name that a compiler has given, as V8, Python and agents for Java do, into what the place needs. */
void pl_jit_name(struct pl_arena *arena, const char *name, struct pl_place *out);

/* A client of the debuginfod servers in DEBUGINFOD_URLS. NULL: none are named, or the library is not installed. */
struct pl_debuginfod *pl_debuginfod_new(void);
int pl_debuginfod_find(struct pl_debuginfod *server, const char *build_id, struct pl_binary *out);
void pl_debuginfod_free(struct pl_debuginfod *server);

#endif
