/* SPDX-License-Identifier: MIT */
/*
 * linked.h - an allocator that is linked into a program: by which names it is recognised, and where its functions are.
 *
 * Its names are in the symbol tables of the program's file, most often among those that are not exported. The runtime
 * looks there when the program starts, and `plimsoll attach` when it attaches: both hook what is found. Nothing here
 * allocates or calls anything.
 */
#ifndef PL_FORMAT_LINKED_H
#define PL_FORMAT_LINKED_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the allocator's names begin with. The plain names come first: where an allocator has several, these are the ones
 * that everybody calls. */
static const char *const pl_linked_prefixes[] = {"", "je_", "_rjem_", "tc_", "mi_", "rp", "sn_"};
#define PL_LINKED_PREFIXES (sizeof pl_linked_prefixes / sizeof *pl_linked_prefixes)

/* By which names it is recognised. Under the plain names it must have all of the first four: a program may call
 * something else `free`. Linkers leave out functions that nobody calls, so under a prefix one of each kind is enough.
 */
enum { PL_LINKED_ALLOCATES = 1, PL_LINKED_FREES = 2, PL_LINKED_CLEARS = 4, PL_LINKED_MOVES = 8 };
#define PL_LINKED_PLAIN 4u
static const struct pl_linked_name {
    const char *name;
    uint8_t is;
} pl_linked_names[] = {
    {"malloc", PL_LINKED_ALLOCATES},
    {"free", PL_LINKED_FREES},
    {"calloc", PL_LINKED_CLEARS},
    {"realloc", PL_LINKED_MOVES},
    {"mallocx", PL_LINKED_ALLOCATES},
    {"sdallocx", PL_LINKED_FREES},
    {"dallocx", PL_LINKED_FREES},
    {"calloc", PL_LINKED_ALLOCATES},
    {"malloc_aligned", PL_LINKED_ALLOCATES},
    {"zalloc_aligned", PL_LINKED_ALLOCATES},
};
#define PL_LINKED_NAMES (sizeof pl_linked_names / sizeof *pl_linked_names)

/* Functions of sanitizers, whose malloc is not to be touched; of CPython, which has mimalloc for other purposes; and of
 * a program that is linked with libplimsoll.a. */
static const char *const pl_linked_unfit[] = {"__asan_init",   "__tsan_init",     "__msan_init",  "__lsan_init",
                                              "__hwasan_init", "_PyMem_MiMalloc", "__wrap_malloc"};

/* The program's file, mapped whole. */
struct pl_linked_image {
    const uint8_t *at;
    uint64_t bytes;
};

/* ---- symbols ---- */

static inline bool pl_linked_holds(const struct pl_linked_image *image, uint64_t from, uint64_t bytes)
{
    return from <= image->bytes && bytes <= image->bytes - from;
}

typedef void pl_linked_see(void *context, const char *name, const Elf64_Sym *symbol, bool exported);

static inline void pl_linked_see_table(const struct pl_linked_image *image, const Elf64_Shdr *table,
                                       const Elf64_Shdr *texts, pl_linked_see *see, void *context)
{
    if (!pl_linked_holds(image, table->sh_offset, table->sh_size) ||
        !pl_linked_holds(image, texts->sh_offset, texts->sh_size) || !texts->sh_size ||
        image->at[texts->sh_offset + texts->sh_size - 1])
        return;
    const Elf64_Sym *symbol = (const void *) (image->at + table->sh_offset);
    for (uint64_t i = 0; i < table->sh_size / sizeof *symbol; i++)
        if (ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC && symbol[i].st_shndx != SHN_UNDEF &&
            symbol[i].st_name < texts->sh_size)
            see(context, (const char *) image->at + texts->sh_offset + symbol[i].st_name, &symbol[i],
                table->sh_type == SHT_DYNSYM);
}

/* Every function in the tables. */
static inline void pl_linked_each(const struct pl_linked_image *image, pl_linked_see *see, void *context)
{
    const Elf64_Ehdr *elf = (const void *) image->at;
    if (image->bytes < sizeof *elf || elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_shentsize != sizeof(Elf64_Shdr) ||
        elf->e_shoff % sizeof(uint64_t) || !pl_linked_holds(image, elf->e_shoff, elf->e_shnum * sizeof(Elf64_Shdr)))
        return;
    const Elf64_Shdr *section = (const void *) (image->at + elf->e_shoff);
    for (unsigned i = 0; i < elf->e_shnum; i++)
        if ((section[i].sh_type == SHT_SYMTAB || section[i].sh_type == SHT_DYNSYM) &&
            section[i].sh_link < elf->e_shnum && section[i].sh_offset % sizeof(uint64_t) == 0)
            pl_linked_see_table(image, &section[i], &section[section[i].sh_link], see, context);
}

/* ---- names ---- */

static inline bool pl_linked_same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

/* What is behind the prefix; NULL: the text does not begin with it. */
static inline const char *pl_linked_behind(const char *text, const char *prefix)
{
    while (*prefix)
        if (*text++ != *prefix++)
            return NULL;
    return text;
}

/* Standard functions, and jemalloc's own, have the allocator's prefix. C++'s operators and mimalloc's functions have
 * the names that they always have. */
static inline bool pl_linked_is_called(const char *function, const char *prefix, const char *name)
{
    bool whole = function[0] == '_' || pl_linked_behind(function, "mi_");
    const char *rest = whole ? name : pl_linked_behind(name, prefix);
    return rest && pl_linked_same(rest, function);
}

struct pl_linked_census {
    uint8_t is[PL_LINKED_PREFIXES];
    bool unfit;
};

static inline void pl_linked_count(void *context, const char *name, const Elf64_Sym *symbol, bool exported)
{
    struct pl_linked_census *census = context;
    (void) symbol, (void) exported;
    if (name[0] == '_' && name[1] == 'Z')
        return; /* C++: nearly all names of large programs */
    for (unsigned p = 0; p < PL_LINKED_PREFIXES; p++) {
        const char *rest = pl_linked_behind(name, pl_linked_prefixes[p]);
        for (unsigned i = 0; rest && i < (p ? PL_LINKED_NAMES : PL_LINKED_PLAIN); i++)
            if (rest[0] == pl_linked_names[i].name[0] && pl_linked_same(rest, pl_linked_names[i].name))
                census->is[p] |= pl_linked_names[i].is;
    }
    for (unsigned i = 0; name[0] == '_' && i < sizeof pl_linked_unfit / sizeof *pl_linked_unfit; i++)
        census->unfit |= pl_linked_same(name, pl_linked_unfit[i]);
}

/* The prefix of the allocator that is linked in; NULL: there is none. */
static inline const char *pl_linked_find(const struct pl_linked_image *image)
{
    struct pl_linked_census census = {0};
    pl_linked_each(image, pl_linked_count, &census);
    for (unsigned p = 0; p < PL_LINKED_PREFIXES && !census.unfit; p++) {
        uint8_t least = PL_LINKED_ALLOCATES | PL_LINKED_FREES | (p ? 0 : PL_LINKED_CLEARS | PL_LINKED_MOVES);
        if ((census.is[p] & least) == least)
            return pl_linked_prefixes[p];
    }
    return NULL;
}

#endif
