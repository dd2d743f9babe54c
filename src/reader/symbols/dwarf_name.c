/* SPDX-License-Identifier: MIT */
/*
 * dwarf_name.c - finds the name of a function in DWARF.
 *
 * An inlined call refers to its abstract instance, that to its declaration, and that one is inside a class inside a
 * namespace. Most declarations have a linkage name, which demangles to the full name. The others (everything local to a
 * unit: lambdas, local classes, anonymous namespaces) would read just `operator()`; for them the enclosing scopes are
 * spelled out.
 *
 * A DWARF entry does not refer to its parent. pl_scopes has the parents of everything outside of functions; inside a
 * function, they are found by walking down from it.
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/symbols/symbolize_work.h"

#define CHAIN_MAX 16 /* of references from instance to declaration: three are usual, more is a loop */
#define NEST_MAX 64  /* of scopes */

struct naming {
    struct pl_intern *intern;
    pl_dwarf_scopes_of *scopes_of;
    void *context;
};

static const char *text_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute attr;
    return dwarf_attr(die, attribute, &attr) ? dwarf_formstring(&attr) : NULL;
}

static const char *linkage_of(Dwarf_Die *die)
{
    const char *linkage = text_of(die, DW_AT_linkage_name);
    return linkage ? linkage : text_of(die, DW_AT_MIPS_linkage_name);
}

static bool follow(Dwarf_Die *die, Dwarf_Die *out)
{
    Dwarf_Attribute attr;
    if (!dwarf_attr(die, DW_AT_abstract_origin, &attr) && !dwarf_attr(die, DW_AT_specification, &attr))
        return false;
    return dwarf_formref_die(&attr, out) != NULL;
}

bool pl_dwarf_is_scope(Dwarf_Die *die)
{
    static const int scope[] = {DW_TAG_namespace,        DW_TAG_class_type, DW_TAG_structure_type, DW_TAG_union_type,
                                DW_TAG_enumeration_type, DW_TAG_subprogram, DW_TAG_interface_type, DW_TAG_module};
    int tag = dwarf_tag(die);
    for (size_t i = 0; i < sizeof scope / sizeof *scope; i++)
        if (scope[i] == tag)
            return true;
    return false;
}

/* Index of the last scope that begins at or before `offset`; PL_NO_ITEM if there is none. */
static uint32_t scope_before(const struct pl_dwarf_scopes *scopes, Dwarf_Off offset)
{
    return pl_spans_up_to(scopes->scope, scopes->count, sizeof *scopes->scope, offset) - 1;
}

/* The last child of `parent` that begins at or before `offset`: the only one that can hold it. */
static bool child_towards(Dwarf_Die *parent, Dwarf_Off offset, Dwarf_Die *out)
{
    Dwarf_Die child;
    bool found = false;
    if (dwarf_child(parent, &child) != 0)
        return false;
    while (dwarf_dieoffset(&child) <= offset) {
        *out = child;
        found = true;
        if (dwarf_siblingof(&child, &child) != 0)
            break;
    }
    return found;
}

/* The innermost scope between `function` and the entry at `offset` somewhere below it. */
static bool walk_down(Dwarf_Die *function, Dwarf_Off offset, Dwarf_Die *out)
{
    Dwarf_Die here = *function, next;
    *out = *function;
    for (int depth = 0; depth < NEST_MAX && child_towards(&here, offset, &next); depth++) {
        if (dwarf_dieoffset(&next) == offset)
            return true;
        here = next;
        if (pl_dwarf_is_scope(&here))
            *out = here;
    }
    return false;
}

static bool parent_of(struct naming *naming, Dwarf_Die *die, Dwarf_Die *out)
{
    const struct pl_dwarf_scopes *scopes = naming->scopes_of(naming->context, die);
    Dwarf_Off offset = dwarf_dieoffset(die);
    uint32_t at = scopes ? scope_before(scopes, offset) : PL_NO_ITEM;
    if (at == PL_NO_ITEM)
        return false;
    bool listed = scopes->scope[at].offset == offset;
    if (listed)
        at = scopes->scope[at].parent;
    Dwarf_Die scope;
    if (at == PL_NO_ITEM || !dwarf_offdie(dwarf_cu_getdwarf(die->cu), scopes->scope[at].offset, &scope))
        return false;
    if (!listed)
        return walk_down(&scope, offset, out);
    *out = scope;
    return true;
}

/* An entry without a name is named after what it contains. */
static const char *name_or_kind(Dwarf_Die *die, const char *inner)
{
    const char *name = text_of(die, DW_AT_name);
    if (name)
        return name;
    if (dwarf_tag(die) == DW_TAG_namespace)
        return "(anonymous namespace)";
    return strcmp(inner, "operator()") == 0 ? "{lambda}" : "(anonymous)";
}

static void write_path(struct naming *naming, Dwarf_Die *die, const char *inner, FILE *out, unsigned depth)
{
    Dwarf_Die declaration = *die, parent;
    for (int i = 0; i < CHAIN_MAX && follow(&declaration, &declaration); i++)
        ;
    const char *name = name_or_kind(&declaration, inner);
    if (depth < NEST_MAX && parent_of(naming, &declaration, &parent)) {
        write_path(naming, &parent, name, out, depth + 1);
        fputs("::", out);
    }
    fputs(name, out);
}

/* The plain name of a declaration, with its enclosing scopes. */
static struct pl_intern_name spell_out(struct naming *naming, Dwarf_Die *die)
{
    struct pl_intern_name name = {.function = "", .linkage = ""};
    Dwarf_Die parent;
    const char *plain = text_of(die, DW_AT_name);
    if (!plain)
        return name;
    name.function = pl_intern_text(naming->intern, plain);
    if (!parent_of(naming, die, &parent))
        return name;
    char *path = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&path, &bytes);
    if (!out)
        return name;
    write_path(naming, die, "", out, 0);
    fclose(out);
    name.function = pl_arena_text(naming->intern->arena, path, bytes);
    free(path);
    return name;
}

static struct pl_intern_name name_of(struct naming *naming, Dwarf_Die *die, unsigned chain);

/* Many calls share one declaration, so its name is kept, by its address. */
static struct pl_intern_name name_of_declaration(struct naming *naming, Dwarf_Die *die, unsigned chain)
{
    const struct pl_intern_name *known = pl_intern_get(naming->intern, die->addr);
    if (known)
        return *known;
    struct pl_intern_name name = name_of(naming, die, chain);
    pl_intern_put(naming->intern, die->addr, name);
    return name;
}

static struct pl_intern_name name_of(struct naming *naming, Dwarf_Die *die, unsigned chain)
{
    const char *linkage = linkage_of(die);
    if (linkage)
        return pl_intern_linkage(naming->intern, linkage);
    Dwarf_Die declaration;
    if (chain < CHAIN_MAX && follow(die, &declaration)) {
        struct pl_intern_name name = name_of_declaration(naming, &declaration, chain + 1);
        if (name.function[0])
            return name;
    }
    return spell_out(naming, die);
}

struct pl_intern_name pl_dwarf_name(struct pl_intern *intern, Dwarf_Die *die, pl_dwarf_scopes_of *scopes_of,
                                    void *context)
{
    struct naming naming = {.intern = intern, .scopes_of = scopes_of, .context = context};
    return name_of(&naming, die, 0);
}
