/* SPDX-License-Identifier: MIT */
/*
 * shorten.c - names as they fit into a line.
 *
 * A demangled C++ name is read once, left to right, keeping what stands outside of brackets:
 *
 *   void  ns::Table  <int, some::rather<long, argument> >  ::add  (int const&)  const  [clone .cold]
 *   ────             ─────────────── <…> ────────────────         ────────────────────────────────
 *
 * What is in angle brackets is shortened by the same rules; where it is too long the first argument is kept, without
 * its own arguments if need be, and else nothing of it. Parameters and what follows them go, unless `::` does follow (a
 * lambda or a local class); a blank outside of brackets ends a return type. What is too long even then loses the scopes
 * in front. Of Rust's names the hash at the end goes, of Go's the path of the package. Names of other languages have
 * none of this and come out as they are. Nor has a name that a person has chosen: in "list growth (all kinds)" nothing
 * but a template's arguments is left out.
 *
 * What a name means is not judged here: that std::basic_string<char> is a std::string is a rule (reader/builtin.c), and
 * was applied to the profile before.
 */
#include "shorten.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cxxname.h"
#include "grow.h"
#include "utf8.h"

#define NAME_WIDTH 64      /* columns that a name may take before it loses scopes in front */
#define ARGUMENTS_WIDTH 24 /* columns that a template's arguments may take, */
#define OPERATOR_WIDTH 12  /* and those of an operator, which one knows by its symbol */

struct pen {
    char *text;
    size_t bytes, room;
};

static void write_bytes(struct pen *pen, const char *text, size_t bytes)
{
    if (pen->bytes + bytes + 1 > pen->room) {
        pen->room = 2 * (pen->bytes + bytes + 1);
        pen->text = pl_grow_check(realloc(pen->text, pen->room), pen->room, 1);
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
        char *argument = pl_grow_text(inside, trimmed);
        write_word(arguments, arguments->bytes ? ", " : "");
        shorten(arguments, argument, depth + 1, TYPE);
        free(argument);
        inside += bytes + (inside[bytes] == ',');
    }
}

/* Its template arguments as "<…>": the name of a type, and hardly longer. */
static void write_outline(struct pen *pen, const char *type, size_t bytes)
{
    size_t open = 0;
    while (open < bytes && type[open] != '<')
        open++;
    size_t inside = open < bytes ? pl_cxxname_bracket(type + open) : 0;
    write_bytes(pen, type, inside ? open : bytes);
    if (!inside || open + inside > bytes)
        return;
    write_word(pen, "<…>");
    write_bytes(pen, type + open + inside, bytes - open - inside);
}

/* "std::string, …", "std::pair<…>", "…": what tells most in so many columns. */
static void write_first(struct pen *pen, const char *arguments, size_t columns)
{
    size_t bytes = pl_cxxname_argument(arguments, strlen(arguments));
    const char *more = arguments[bytes] ? ", …" : "";
    struct pen first = {0};
    write_bytes(&first, arguments, bytes);
    if (pl_utf8_width(first.text) + pl_utf8_width(more) > columns) {
        first.bytes = 0;
        write_outline(&first, arguments, bytes);
    }
    bool fits = pl_utf8_width(first.text) + pl_utf8_width(more) <= columns;
    write_word(pen, fits ? first.text : "…");
    write_word(pen, fits ? more : "");
    free(first.text);
}

static void write_arguments(struct pen *pen, const char *inside, int depth, size_t columns)
{
    struct pen arguments = {0};
    collect_arguments(&arguments, inside, depth);
    bool fits = pl_utf8_width(arguments.text) <= columns;
    if (arguments.bytes && (fits || columns > OPERATOR_WIDTH)) {
        write_word(pen, "<");
        if (fits)
            write_word(pen, arguments.text);
        else
            write_first(pen, arguments.text, columns);
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

/* What debug information has no name for: where it is called it is a lambda. Returns the bytes it replaces, or 0. */
static size_t write_nameless(struct pen *pen, const char *name)
{
    static const char nameless[] = "(anonymous)::", lambda[] = "<lambda(";
    if (starts(name, lambda) && pl_cxxname_bracket(name)) {
        write_word(pen, "{lambda}");
        return pl_cxxname_bracket(name);
    }
    if (!starts(name, nameless))
        return 0;
    write_word(pen, starts(name + strlen(nameless), "operator()") ? "{lambda}::" : "{unnamed}::");
    return strlen(nameless);
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
static size_t write_bracket(struct pen *pen, const char *name, int depth, enum reading what, bool first, size_t columns)
{
    size_t bytes = pl_cxxname_bracket(name);
    if (*name == '(')
        return write_parameters(pen, name, bytes, what);
    if (*name == '<') {
        char *inside = pl_grow_text(name + 1, bytes - 2);
        if (first)
            write_implementor(pen, inside, depth, what);
        else
            write_arguments(pen, inside, depth, columns);
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
        size_t step = write_anonymous(pen, name);
        step = step ? step : write_nameless(pen, name);
        size_t operator= step ? 0 : pl_cxxname_operator(name);
        if (!step && operator) {
            write_bytes(pen, name, operator);
            in_operator = true;
            step = operator;
        } else if (!step && pl_cxxname_opens(*name) && depth < PL_CXXNAME_NESTING && pl_cxxname_bracket(name)) {
            step = write_bracket(pen, name, depth, what, pen->bytes == start && what != TYPE,
                                 in_operator ? OPERATOR_WIDTH : ARGUMENTS_WIDTH);
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

/* --- the whole of it --- */

/* Go: "github.com/user/module/package.(*Type).Method" without the path. */
static const char *skip_import_path(const char *name)
{
    static const char path[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~-%/";
    size_t bytes = strspn(name, path);
    while (bytes && name[bytes - 1] != '/')
        bytes--;
    return name[bytes] ? name + bytes : name;
}

/* Rust: the "::h0123456789abcdef" that tells instances apart. */
static size_t without_hash(const char *name, size_t bytes)
{
    size_t hash = strlen("::h0123456789abcdef");
    bool is = bytes > hash && starts(name + bytes - hash, "::h") &&
              strspn(name + bytes - hash + 3, "0123456789abcdef") == hash - 3;
    return is ? bytes - hash : bytes;
}

/* Bytes up to behind the first `::` outside of brackets; 0: there is none. */
static size_t scope_bytes(const char *name)
{
    size_t at = 0;
    while (name[at] && !starts(name + at, "::")) {
        size_t step = pl_cxxname_opens(name[at]) ? pl_cxxname_bracket(name + at) : pl_cxxname_operator(name + at);
        at += step ? step : 1;
    }
    return name[at] ? at + 2 : 0;
}

static size_t columns_of(const char *text, size_t bytes)
{
    uint32_t character;
    size_t columns = 0;
    for (size_t at = 0; at < bytes;) {
        at += pl_utf8_decode(text + at, &character);
        columns += pl_utf8_columns(character);
    }
    return columns;
}

/* "…::Compiler::Compile": two parts stay, however long they are. */
static const char *drop_scopes(const char *name)
{
    size_t scope = scope_bytes(name), next = scope ? scope_bytes(name + scope) : 0, width = pl_utf8_width(name);
    while (scope && next && width > NAME_WIDTH) {
        width -= columns_of(name, scope);
        name += scope;
        scope = next;
        next = scope_bytes(name + scope);
    }
    return name;
}

static const char *shorten_name(struct pl_arena *arena, const char *name, enum reading what)
{
    struct pen pen = {0};
    if (what == FUNCTION)
        name = skip_import_path(name);
    if (name[strcspn(name, "<( [{:")] == 0)
        return name; /* plain C, and most of it is */
    shorten(&pen, name, 0, what);
    if (what == FUNCTION)
        pen.bytes = without_hash(pen.text, pen.bytes);
    while (pen.bytes && pen.text[pen.bytes - 1] == ' ') /* of "operator<< <char>" */
        pen.bytes--;
    pen.text[pen.bytes] = 0;
    const char *rest = what == FUNCTION ? drop_scopes(pen.text) : pen.text;
    struct pen result = {0};
    write_word(&result, rest > pen.text ? "…::" : "");
    write_word(&result, *rest ? rest : name);
    name = pl_arena_text(arena, result.text, result.bytes);
    free(result.text);
    free(pen.text);
    return name;
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

/* The last two parts of a path; three where the second to last is what every project has: "serde-1.0/src/de.rs". */
static const char *last_parts(const char *file)
{
    static const char *const usual[] = {"src/", "include/", "lib/", "source/"};
    const char *at = file + strlen(file);
    int slashes = 0, wanted = 2;
    for (; at > file; at--) {
        if (at[-1] != '/' || ++slashes < wanted)
            continue;
        for (size_t i = 0; wanted == 2 && i < sizeof usual / sizeof *usual; i++)
            wanted += starts(at, usual[i]);
        if (slashes == wanted)
            break;
    }
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

/* "./elf/./elf/dl-init.c": where one compiled and what one compiled, both from the same place. */
static const char *skip_directory(const char *file)
{
    const char *again = starts(file, "./") ? strstr(file + 2, "/./") : NULL;
    size_t bytes = again ? (size_t) (again + 1 - file) : 0;
    return bytes && !strncmp(file, again + 1, bytes) ? again + 1 : file;
}

const char *pl_shorten_straight(struct pl_arena *arena, const char *file)
{
    file = skip_directory(file);
    while (starts(file, "./"))
        file += 2;
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
    file = pl_shorten_straight(arena, file);
    if (bytes > 1 && !strncmp(file, directory, bytes) && file[bytes] == '/')
        return file + bytes + 1;
    return *file == '/' || starts(file, "../") ? last_parts(file) : file;
}
