/* SPDX-License-Identifier: MIT */
/*
 * variables.c - see variables.h.
 *
 * Symbol tables say where variables are, and DWARF where they are declared and of which type. Of symbols that overlap
 * (aliases, and parts of others) the first and longest is kept.
 */
#include "reader/symbols/variables.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/grow.h"
#include "reader/symbols/symbolize_work.h"

#define TYPE_BYTES 256
#define TYPE_DEPTH 8                /* pointers to arrays of ... */
#define DWARF_BYTES_MAX (96u << 20) /* to look through more for the names of types takes seconds */

struct reading {
    struct pl_variables *out;
    struct pl_arena *arena;
    struct pl_intern intern;
    uint32_t room;
};

static void add_symbols(struct reading *reading, Elf *elf, const char *name)
{
    GElf_Shdr header;
    Elf_Scn *section = elf ? pl_binary_section(elf, name, &header) : NULL;
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    size_t count = data && header.sh_entsize ? header.sh_size / header.sh_entsize : 0;
    for (size_t i = 1; i < count; i++) {
        GElf_Sym symbol;
        const char *text = gelf_getsym(data, (int) i, &symbol) ? elf_strptr(elf, header.sh_link, symbol.st_name) : NULL;
        bool data_object = GELF_ST_TYPE(symbol.st_info) == STT_OBJECT || GELF_ST_TYPE(symbol.st_info) == STT_COMMON;
        if (!text || !*text || !data_object || symbol.st_shndx == SHN_UNDEF || !symbol.st_size ||
            symbol.st_value + symbol.st_size < symbol.st_value)
            continue;
        struct pl_variables *out = reading->out;
        out->variable = pl_grow(out->variable, out->count, &reading->room, sizeof *out->variable);
        out->variable[out->count++] =
            (struct pl_variable){.from = symbol.st_value, .to = symbol.st_value + symbol.st_size, .name = text};
    }
}

static int by_address(const void *left, const void *right)
{
    const struct pl_variable *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to > b->to ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* "g_cache@@VERSION" is the symbol of a version. */
static const char *plain_name(struct reading *reading, const char *name)
{
    const char *at = strchr(name, '@');
    if (at)
        name = pl_arena_text(reading->arena, name, (size_t) (at - name));
    return pl_intern_linkage(&reading->intern, name).function;
}

static void settle(struct reading *reading)
{
    struct pl_variables *out = reading->out;
    uint32_t kept = 0;
    if (out->count)
        qsort(out->variable, out->count, sizeof *out->variable, by_address);
    for (uint32_t i = 0; i < out->count; i++) {
        if (kept && out->variable[i].from < out->variable[kept - 1].to)
            continue;
        out->variable[kept] = out->variable[i];
        out->variable[kept].name = plain_name(reading, out->variable[i].name);
        out->variable[kept].type = out->variable[kept].file = "";
        kept++;
    }
    out->count = kept;
}

static void find_extent(struct pl_variables *out, Elf *elf)
{
    size_t count = 0;
    GElf_Phdr segment;
    out->low = UINT64_MAX;
    if (elf_getphdrnum(elf, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int) i, &segment))
            continue;
        if (segment.p_type == PT_TLS)
            out->tls_bytes = segment.p_memsz;
        if (segment.p_type != PT_LOAD)
            continue;
        uint64_t end = segment.p_vaddr + segment.p_memsz;
        out->low = segment.p_vaddr < out->low ? segment.p_vaddr : out->low;
        out->high = end > out->high ? end : out->high;
    }
}

/* ---- DWARF ---- */

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, type);
}

/* "struct cache *", "std::map<...>", "char[]": enough to recognise it. */
static void print_type(Dwarf_Die *die, char *out, size_t room, int depth)
{
    Dwarf_Die type;
    const char *name = dwarf_diename(die);
    int tag = dwarf_tag(die);
    bool more = depth < TYPE_DEPTH && type_of(die, &type);
    const char *behind = "";
    if (tag == DW_TAG_pointer_type)
        behind = " *";
    else if (tag == DW_TAG_array_type)
        behind = "[]";
    else if (tag == DW_TAG_reference_type)
        behind = " &";
    if (name && *name && !*behind) {
        snprintf(out, room, "%s", name);
        return;
    }
    char inner[TYPE_BYTES] = "void";
    if (more)
        print_type(&type, inner, sizeof inner, depth + 1);
    else if (!*behind)
        snprintf(inner, sizeof inner, "%s", tag == DW_TAG_pointer_type ? "void" : "");
    snprintf(out, room, "%.*s%s", (int) (room > 8 ? room - 8 : 0), inner, behind);
}

static void describe(struct reading *reading, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *op;
    Dwarf_Die type;
    size_t ops = 0;
    char text[TYPE_BYTES] = "";
    int line = 0;
    if (!dwarf_attr(die, DW_AT_location, &attribute) || dwarf_getlocation(&attribute, &op, &ops) || ops != 1 ||
        op->atom != DW_OP_addr)
        return;
    struct pl_variable *variable = (struct pl_variable *) pl_variables_find(reading->out, op->number);
    if (!variable || variable->from != op->number || *variable->file)
        return;
    if (type_of(die, &type))
        print_type(&type, text, sizeof text, 0);
    Dwarf_Die declared = *die, other;
    if (dwarf_attr(die, DW_AT_specification, &attribute) && dwarf_formref_die(&attribute, &other))
        declared = other;
    const char *file = dwarf_decl_file(&declared);
    variable->type = pl_arena_text(reading->arena, text, strlen(text));
    variable->file = pl_intern_text(&reading->intern, file);
    variable->line = dwarf_decl_line(&declared, &line) == 0 && line > 0 ? (uint32_t) line : 0;
}

static bool may_have_variables(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
}

/* Variables of a unit, of namespaces, and static ones of functions. */
static void look_through(struct reading *reading, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;
    if (depth > TYPE_DEPTH || dwarf_child(parent, &die))
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_variable)
            describe(reading, &die);
        else if (may_have_variables(tag))
            look_through(reading, &die, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static void add_dwarf(struct reading *reading, Elf *elf)
{
    GElf_Shdr header;
    if (!elf || !pl_binary_section(elf, ".debug_info", &header) || header.sh_size > DWARF_BYTES_MAX)
        return;
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf && dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
        look_through(reading, &die, 0);
    if (dwarf)
        dwarf_end(dwarf);
}

/* ---- all of it ---- */

int pl_variables_open(const char *path, const char *sysroot, struct pl_variables *out)
{
    struct pl_binary main, debug = {.fd = -1};
    struct pl_elf_options options = {.sysroot = sysroot};
    int result = pl_binary_open(path, sysroot, &main);
    if (result != 0)
        return result;
    *out = (struct pl_variables){.arena = pl_arena_new()};
    struct reading reading = {.out = out, .arena = out->arena, .intern = {.arena = out->arena}};
    pl_debugfile_find(&main, path, &options, &debug);
    find_extent(out, main.elf);
    add_symbols(&reading, main.elf, ".symtab");
    add_symbols(&reading, debug.elf, ".symtab");
    add_symbols(&reading, main.elf, ".dynsym");
    settle(&reading);
    add_dwarf(&reading, debug.elf ? debug.elf : main.elf);
    pl_intern_free(&reading.intern);
    if (debug.elf)
        pl_binary_close(&debug);
    pl_binary_close(&main);
    return 0;
}

void pl_variables_close(struct pl_variables *variables)
{
    if (variables->arena)
        pl_arena_free(variables->arena);
    free(variables->variable);
    *variables = (struct pl_variables){0};
}

const struct pl_variable *pl_variables_find(const struct pl_variables *variables, uint64_t address)
{
    uint32_t low = 0, high = variables->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (variables->variable[middle].to <= address)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < variables->count && variables->variable[low].from <= address;
    return found ? &variables->variable[low] : NULL;
}
