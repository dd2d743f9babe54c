/* SPDX-License-Identifier: MIT */
/*
 * symtab.c - the names of functions where there is no DWARF.
 *
 * .symtab names everything, but stripped binaries keep it in their debug file or nowhere; .dynsym names what the
 * dynamic linker needs. Where several symbols share an address the one a person would choose stays. Sizes are trusted;
 * symbols without one (assembly labels) reach to the next. Stubs of the procedure linkage table get `malloc@plt`-style
 * names.
 *
 * Invariant: symbols are sorted by address, one per address, so the greatest number is the nearest symbol (spans.h).
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/grow.h"
#include "reader/symbols/symbolize_work.h"

struct symbol {
    uint64_t address;
    uint64_t bytes; /* 0: unknown */
    const char *name;
    uint32_t rank; /* smaller is better */
};

#define RANK_LABEL (1u << 16)

struct pl_symtab {
    struct symbol *symbol;
    uint32_t symbols, capacity;
    const struct pl_code *code;
    struct pl_arena *arena;
    struct pl_spans spans;
};

static void add(struct pl_symtab *symtab, struct symbol symbol)
{
    if (!pl_code_holds(symtab->code, symbol.address))
        return;
    symtab->symbol = pl_grow(symtab->symbol, symtab->symbols, &symtab->capacity, sizeof symbol);
    symtab->symbol[symtab->symbols++] = symbol;
}

/* Functions before labels, known sizes before unknown, global before weak before local, and `malloc` before
 * `__libc_malloc`. */
static uint32_t rank_of(const GElf_Sym *sym, const char *name)
{
    static const uint32_t binding[16] = {[STB_GLOBAL] = 0, [STB_GNU_UNIQUE] = 0, [STB_WEAK] = 1, [STB_LOCAL] = 2};
    uint32_t label = GELF_ST_TYPE(sym->st_info) == STT_NOTYPE;
    uint32_t underscores = (uint32_t) strspn(name, "_");
    return label * RANK_LABEL | (sym->st_size == 0) << 15 | binding[GELF_ST_BIND(sym->st_info) & 15] << 12 |
           (underscores < 15 ? underscores : 15);
}

static bool names_code(const GElf_Sym *sym, const char *name)
{
    int type = GELF_ST_TYPE(sym->st_info);
    if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || !name || !name[0])
        return false;
    /* Labels count, but not the mapping symbols of ARM ($x) or what an assembler forgot to drop (.L1). */
    return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && name[0] != '$' && name[0] != '.');
}

/* What compilers append to the name of a function that they took apart or specialized. */
static const char *const clone[] = {".cold", ".part.", ".constprop.", ".isra.", ".llvm.", ".lto_priv.", ".localalias"};

/* Where the name of the function ends: linkers spell versions out (memcpy@@GLIBC_2.14), compilers mark clones. */
static size_t name_bytes(const char *name)
{
    size_t bytes = strcspn(name, "@");
    for (const char *dot = strchr(name, '.'); dot && dot < name + bytes; dot = strchr(dot + 1, '.'))
        for (size_t i = 0; i < sizeof clone / sizeof *clone; i++)
            if (dot > name && strncmp(dot, clone[i], strlen(clone[i])) == 0)
                return (size_t) (dot - name);
    return bytes;
}

static const char *plain_name(struct pl_symtab *symtab, const char *name)
{
    size_t bytes = name_bytes(name);
    return name[bytes] && bytes > 0 ? pl_arena_text(symtab->arena, name, bytes) : name;
}

static uint32_t add_table(struct pl_symtab *symtab, Elf *elf, const char *section)
{
    GElf_Shdr header;
    Elf_Scn *scn = pl_binary_section(elf, section, &header);
    Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
    if (!data || header.sh_entsize == 0)
        return 0;
    uint32_t before = symtab->symbols;
    GElf_Sym sym;
    for (int i = 1; gelf_getsym(data, i, &sym); i++) {
        const char *name = elf_strptr(elf, header.sh_link, sym.st_name);
        if (names_code(&sym, name))
            add(symtab, (struct symbol){.address = sym.st_value,
                                        .bytes = sym.st_size,
                                        .name = plain_name(symtab, name),
                                        .rank = rank_of(&sym, name)});
    }
    return symtab->symbols - before;
}

/* ---- stubs ---- */

/* Where the stubs are, in the order of the relocations they use. */
static const struct plt {
    const char *section;
    int machine;
    uint32_t header_bytes;
    uint32_t stub_bytes;
} plt[] = {
    {".plt.sec", EM_X86_64, 0, 16}, /* with -fcf-protection; it leaves .plt to the loader */
    {".plt", EM_X86_64, 16, 16},
    {".plt", EM_AARCH64, 32, 16},
};

static const struct plt *find_plt(Elf *elf, GElf_Shdr *stubs)
{
    GElf_Ehdr header;
    if (!gelf_getehdr(elf, &header))
        return NULL;
    for (size_t i = 0; i < sizeof plt / sizeof *plt; i++)
        if (plt[i].machine == header.e_machine && pl_binary_section(elf, plt[i].section, stubs))
            return &plt[i];
    return NULL;
}

static const char *stub_name(struct pl_symtab *symtab, Elf *elf, const GElf_Rela *rela)
{
    GElf_Shdr header;
    GElf_Sym sym;
    Elf_Scn *scn = pl_binary_section(elf, ".dynsym", &header);
    Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
    if (!data || !gelf_getsym(data, (int) GELF_R_SYM(rela->r_info), &sym))
        return NULL;
    const char *name = elf_strptr(elf, header.sh_link, sym.st_name);
    if (!name || !name[0])
        return NULL;
    size_t bytes = strlen(name);
    char *stub = pl_arena_alloc(symtab->arena, bytes + sizeof "@plt");
    memcpy(stub, name, bytes);
    memcpy(stub + bytes, "@plt", sizeof "@plt");
    return stub;
}

static void add_stubs(struct pl_symtab *symtab, Elf *elf)
{
    GElf_Shdr stubs, header;
    const struct plt *by = find_plt(elf, &stubs);
    Elf_Scn *scn = by ? pl_binary_section(elf, ".rela.plt", &header) : NULL;
    Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
    GElf_Rela rela;
    for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
        uint64_t address = stubs.sh_addr + by->header_bytes + (uint64_t) i * by->stub_bytes;
        const char *name = address < stubs.sh_addr + stubs.sh_size ? stub_name(symtab, elf, &rela) : NULL;
        if (name)
            add(symtab, (struct symbol){.address = address, .bytes = by->stub_bytes, .name = name});
    }
}

/* ---- the whole ---- */

static int by_address(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strcmp(x->name, y->name);
}

static uint64_t end_of(const struct symbol *symbol)
{
    return symbol->bytes <= UINT64_MAX - symbol->address ? symbol->address + symbol->bytes : UINT64_MAX;
}

/* One symbol per address, and no labels inside functions. */
static void keep_best(struct pl_symtab *symtab)
{
    uint32_t kept = 0;
    uint64_t covered = 0; /* by functions of known size */
    for (uint32_t i = 0; i < symtab->symbols; i++) {
        const struct symbol *symbol = &symtab->symbol[i];
        bool repeated = kept > 0 && symtab->symbol[kept - 1].address == symbol->address;
        bool label = symbol->rank >= RANK_LABEL;
        if (repeated || (label && symbol->address < covered))
            continue;
        if (!label && end_of(symbol) > covered)
            covered = end_of(symbol);
        symtab->symbol[kept++] = *symbol;
    }
    symtab->symbols = kept;
}

static void add_spans(struct pl_symtab *symtab)
{
    for (uint32_t i = 0; i < symtab->symbols; i++) {
        const struct symbol *symbol = &symtab->symbol[i];
        uint64_t next = i + 1 < symtab->symbols ? symbol[1].address : pl_code_end(symtab->code, symbol->address);
        pl_spans_add(&symtab->spans, symbol->address, symbol->bytes ? end_of(symbol) : next, i);
    }
    pl_spans_sort(&symtab->spans);
}

struct pl_symtab *pl_symtab_new(const struct pl_binary *main, const struct pl_binary *debug, const struct pl_code *code,
                                struct pl_arena *arena)
{
    struct pl_symtab *symtab = pl_grow_zeroed(1, sizeof *symtab);
    symtab->code = code;
    symtab->arena = arena;
    if (!add_table(symtab, main->elf, ".symtab") && (!debug->elf || !add_table(symtab, debug->elf, ".symtab")))
        add_table(symtab, main->elf, ".dynsym");
    add_stubs(symtab, main->elf);
    if (symtab->symbols > 0)
        qsort(symtab->symbol, symtab->symbols, sizeof *symtab->symbol, by_address);
    keep_best(symtab);
    add_spans(symtab);
    return symtab;
}

const char *pl_symtab_find(const struct pl_symtab *symtab, uint64_t address)
{
    uint32_t found = pl_spans_find(&symtab->spans, address);
    return found == PL_NO_ITEM ? NULL : symtab->symbol[found].name;
}

void pl_symtab_free(struct pl_symtab *symtab)
{
    if (!symtab)
        return;
    free(symtab->symbol);
    pl_spans_free(&symtab->spans);
    free(symtab);
}
