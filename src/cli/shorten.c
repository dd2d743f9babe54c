/* SPDX-License-Identifier: MIT */
/*
 * shorten.c - names as they fit into a line.
 *
 * A demangled C++ name is read once, left to right, keeping what stands outside of brackets:
 *
 *   void  ns::Table  <int, some::rather<long, argument> >  ::add  (int const&)  const  [clone .cold]
 *   ────             ─────────────── <…> ────────────────         ────────────────────────────────
 *
 * What is in angle brackets is shortened by the same rules and dropped when it is too long; parameters and what follows
 * them go, unless `::` does follow (a lambda or a local class); a blank outside of brackets ends a return type. Names
 * of other languages have none of this and come out as they are. Nor has a name that a person has chosen: in "list
 * growth (all kinds)" nothing but a template's arguments is left out.
 *
 * What a name means is not judged here: that std::basic_string<char> is a std::string is a rule (reader/builtin.c), and
 * was applied to the profile before.
 */
#include "shorten.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cxxname.h"
#include "say.h"
#include "utf8.h"

#define ARGUMENTS_WIDTH 24 /* columns that a template's arguments may take */

struct pen {
    char *text;
    size_t bytes, room;
};

static void write_bytes(struct pen *pen, const char *text, size_t bytes)
{
    if (pen->bytes + bytes + 1 > pen->room) {
        pen->room = 2 * (pen->bytes + bytes + 1);
        pen->text = pl_say_memory(realloc(pen->text, pen->room));
    }
    memcpy(pen->text + pen->bytes, text, bytes);
    pen->bytes += bytes;
    pen->text[pen->bytes] = 0;
}

static void write_word(struct pen *pen, const char *text)
{
    write_bytes(pen, text, strlen(text));
}

static bool starts(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

/* What is being read. */
enum reading {
    FUNCTION, /* perhaps with return type and parameters */
    BARE,     /* a function's name without them */
    TYPE,     /* an argument of a template */
};

/* --- arguments of templates --- */

static void shorten(struct pen *pen, const char *name, int depth, enum reading what);

/* All arguments, shortened, separated by commas. */
static void collect_arguments(struct pen *arguments, const char *inside, int depth)
{
    write_word(arguments, "");
    while (*inside) {
        inside += strspn(inside, " ");
        size_t bytes = pl_cxxname_argument(inside, strlen(inside)), trimmed = bytes;
        while (trimmed && inside[trimmed - 1] == ' ')
            trimmed--;
        char *argument = pl_say_print("%.*s", (int) trimmed, inside);
        write_word(arguments, arguments->bytes ? ", " : "");
        shorten(arguments, argument, depth + 1, TYPE);
        free(argument);
        inside += bytes + (inside[bytes] == ',');
    }
}

static void write_arguments(struct pen *pen, const char *inside, int depth)
{
    struct pen arguments = {0};
    collect_arguments(&arguments, inside, depth);
    if (arguments.bytes) {
        write_word(pen, "<");
        write_word(pen, pl_utf8_width(arguments.text) <= ARGUMENTS_WIDTH ? arguments.text : "…");
        write_word(pen, ">");
    }
    free(arguments.text);
}

/* --- the name --- */

/* What people call it: "(anon)". Returns the bytes it replaces, or 0. */
static size_t write_anonymous(struct pen *pen, const char *name)
{
    static const char anonymous[] = "(anonymous namespace)";
    if (!starts(name, anonymous))
        return 0;
    write_word(pen, "(anon)");
    return strlen(anonymous);
}

/* "{lambda(int)#1}" without its parameters. */
static void write_braces(struct pen *pen, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes;) {
        size_t bracket = text[i] == '(' ? pl_cxxname_bracket(text + i) : 0;
        if (!bracket)
            write_bytes(pen, text + i, 1);
        i += bracket ? bracket : 1;
    }
}

/* Rust's "<Type as Trait>::function" is "Type::function" to people; "<list>" is what somebody wanted to read. */
static void write_implementor(struct pen *pen, char *inside, int depth, enum reading what)
{
    size_t at = 0;
    while (inside[at] && !starts(inside + at, " as ")) {
        size_t bracket = pl_cxxname_opens(inside[at]) ? pl_cxxname_bracket(inside + at) : 0;
        at += bracket ? bracket : 1;
    }
    bool as_it_is = what == BARE && !inside[at];
    inside[at] = 0;
    write_word(pen, as_it_is ? "<" : "");
    shorten(pen, inside, depth + 1, TYPE);
    write_word(pen, as_it_is ? ">" : "");
}

/* Returns the bytes it took, 0 to end the name here. */
static size_t write_parameters(struct pen *pen, const char *name, size_t bytes, enum reading what)
{
    size_t behind = bytes + pl_cxxname_qualifiers(name + bytes);
    if (what == TYPE) {
        write_word(pen, "(…)");
        return bytes;
    }
    if (what == FUNCTION && pl_cxxname_ends(name, bytes))
        return 0;
    if (starts(name + behind, "::"))
        return behind;
    write_bytes(pen, name, bytes);
    return bytes;
}

/* Deals with the bracket at `name`; returns the bytes it took, 0 to end the name here. */
static size_t write_bracket(struct pen *pen, const char *name, int depth, enum reading what, bool first)
{
    size_t bytes = pl_cxxname_bracket(name);
    if (*name == '(')
        return write_parameters(pen, name, bytes, what);
    if (*name == '<') {
        char *inside = pl_say_print("%.*s", (int) bytes - 2, name + 1);
        if (first)
            write_implementor(pen, inside, depth, what);
        else
            write_arguments(pen, inside, depth);
        free(inside);
    } else if (*name == '{') {
        write_braces(pen, name, bytes);
    } else if (what == BARE) {
        write_bytes(pen, name, bytes);
    } /* [abi:cxx11] and [clone .cold] say nothing to a person */
    return bytes;
}

static void shorten(struct pen *pen, const char *name, int depth, enum reading what)
{
    size_t start = pen->bytes; /* where the name begins once the return type is known to have ended */
    bool in_operator = false;
    while (*name) {
        size_t step = write_anonymous(pen, name), operator= step ? 0 : pl_cxxname_operator(name);
        if (!step && operator) {
            write_bytes(pen, name, operator);
            in_operator = true;
            step = operator;
        } else if (!step && pl_cxxname_opens(*name) && depth < PL_CXXNAME_NESTING && pl_cxxname_bracket(name)) {
            step = write_bracket(pen, name, depth, what, pen->bytes == start && what != TYPE);
            if (!step)
                break;
        } else if (!step) {
            if (*name == ' ' && what == FUNCTION && !in_operator && name[1] != '[')
                pen->bytes = start; /* that was the return type */
            else if (what == BARE || !(*name == ' ' && name[1] == '['))
                write_bytes(pen, name, 1);
            step = 1;
        }
        name += step;
    }
    write_bytes(pen, "", 0);
}

static const char *shorten_name(struct pl_arena *arena, const char *name, enum reading what)
{
    struct pen pen = {0};
    if (name[strcspn(name, "<( [{:")] == 0)
        return name; /* plain C, and most of it is */
    shorten(&pen, name, 0, what);
    while (pen.bytes && pen.text[pen.bytes - 1] == ' ') /* of "operator<< <char>" */
        pen.text[--pen.bytes] = 0;
    const char *result = pen.bytes ? pl_arena_text(arena, pen.text, pen.bytes) : name;
    free(pen.text);
    return result;
}

const char *pl_shorten_function(struct pl_arena *arena, const char *demangled)
{
    return shorten_name(arena, demangled, FUNCTION);
}

const char *pl_shorten_bare(struct pl_arena *arena, const char *name)
{
    return shorten_name(arena, name, BARE);
}

/* --- files --- */

static const char *last_two_parts(const char *file)
{
    const char *at = file + strlen(file);
    for (int slashes = 0; at > file; at--)
        if (at[-1] == '/' && ++slashes == 2)
            break;
    return at;
}

/* Drops the last part of what has been written, `bytes` of it, unless that is a `..` that nothing precedes. */
static bool step_back(const char *text, size_t *bytes)
{
    size_t start = *bytes ? *bytes - 1 : 0; /* on its slash */
    while (start && text[start - 1] != '/')
        start--;
    bool named = *bytes > start + 1 && strncmp(text + start, "../", 3) != 0;
    *bytes = named ? start : *bytes;
    return named;
}

/* build/../src/x.c is src/x.c, as long as no link comes between: good enough to read. */
static const char *straighten(struct pl_arena *arena, const char *file)
{
    if (!strstr(file, "/../") && !strstr(file, "/./"))
        return file;
    size_t bytes = 0;
    char *text = pl_arena_alloc(arena, strlen(file) + 1);
    for (const char *part = file; *part;) {
        size_t length = strcspn(part, "/") + (part[strcspn(part, "/")] == '/');
        bool here = starts(part, "./"), back = starts(part, "../");
        if (!here && !(back && step_back(text, &bytes))) {
            memcpy(text + bytes, part, length);
            bytes += length;
        }
        part += length;
    }
    text[bytes] = 0;
    return text;
}

const char *pl_shorten_file(struct pl_arena *arena, const char *file, const char *directory)
{
    size_t bytes = strlen(directory);
    file = straighten(arena, file);
    while (starts(file, "./"))
        file += 2;
    if (bytes > 1 && !strncmp(file, directory, bytes) && file[bytes] == '/')
        return file + bytes + 1;
    return *file == '/' || starts(file, "../") ? last_two_parts(file) : file;
}
