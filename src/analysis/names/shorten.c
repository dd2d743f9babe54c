/* SPDX-License-Identifier: MIT */
/*
 * shorten.c - shortens names so that they fit into a line.
 *
 * A demangled C++ name is read once, from left to right, and the text outside of brackets is kept:
 *
 *   void  ns::Table  <int, some::rather<long, argument> >  ::add  (int const&)  const  [clone .cold]
 *   ────             ─────────────── <…> ────────────────         ────────────────────────────────
 *
 * Template arguments are shortened by the same rules. If they are too long, only the first is kept, if necessary
 * without its own arguments; if that is too long as well, "…". Parameters and the text after them are dropped, unless
 * `::` follows (a lambda or a local class). A blank outside of brackets ends a return type. A name that is still too
 * long loses its outer scopes. Rust names lose the hash at the end, Go names the path of the package. Names of other
 * languages have none of this and stay unchanged. A name that a user has chosen loses only template arguments: "list
 * growth (all kinds)" stays.
 *
 * Two functions may be equal in this form: overloads, or templates with long arguments. pl_shorten_apart() then gives
 * each of them a longer form, up to the complete name.
 *
 * This file does not know what names mean: that std::basic_string<char> is a std::string is a rule (reader/builtin.c)
 * that was applied to the profile before.
 */
#include "analysis/names/shorten.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/cxxname.h"
#include "reader/base/grow.h"
#include "reader/base/index.h"
#include "reader/base/utf8.h"

/* From the shortest form of a name to the longest. After the last one comes the complete name. */
static const struct form {
    size_t name;             /* columns: a longer name loses outer scopes */
    size_t arguments;        /* columns that template arguments may take, */
    size_t operator_columns; /* and those of an operator, whose symbol says enough */
    bool parameters;         /* those of functions, function types and lambdas, and the trait of a Rust function */
} forms[] = {
    {64, 24, 12, false},
    {96, 64, 64, false},
    {96, 24, 12, true},
    {SIZE_MAX, 256, 256, true},
};
#define FORMS (sizeof forms / sizeof *forms)

struct pen {
    char *text;
    size_t bytes, room;
    const struct form *form;
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

/* The kind of text that shorten() reads. */
enum reading {
    FUNCTION, /* perhaps with return type and parameters */
    BARE,     /* a function's name without them */
    TYPE,     /* an argument of a template */
};

/* --- template arguments --- */

static void shorten(struct pen *pen, const char *name, int depth, enum reading what);

/* "(unsigned short)256" is 256: which type it has is known from the template. */
static const char *skip_cast(const struct pen *pen, const char *argument)
{
    size_t cast = *argument == '(' && !pen->form->parameters ? pl_cxxname_bracket(argument) : 0;
    const char *number = argument + cast + (argument[cast] == '-');
    return cast && *number && number[strspn(number, "0123456789")] == 0 ? argument + cast : argument;
}

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
        shorten(arguments, skip_cast(arguments, argument), depth + 1, TYPE);
        free(argument);
        inside += bytes + (inside[bytes] == ',');
    }
}

/* Writes a type with "<…>" for its template arguments. */
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

/* "std::string, …", "std::pair<…>", "…": the longest form that fits. */
static void write_first(struct pen *pen, const char *arguments, size_t columns)
{
    size_t bytes = pl_cxxname_argument(arguments, strlen(arguments));
    const char *more = arguments[bytes] ? ", …" : "";
    struct pen first = {.form = pen->form};
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
    struct pen arguments = {.form = pen->form};
    collect_arguments(&arguments, inside, depth);
    bool fits = pl_utf8_width(arguments.text) <= columns;
    if (arguments.bytes && (fits || columns > forms[0].operator_columns)) {
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

/* Writes "(anon)" for an anonymous namespace. Returns the bytes it replaces, or 0. */
static size_t write_anonymous(struct pen *pen, const char *name)
{
    static const char anonymous[] = "(anonymous namespace)";
    if (!starts(name, anonymous))
        return 0;
    write_word(pen, "(anon)");
    return strlen(anonymous);
}

/* Debug information has no name for some scopes. If operator() follows, it is a lambda. Returns the bytes it replaces,
 * or 0. */
static size_t write_nameless(struct pen *pen, const char *name)
{
    static const char nameless[] = "(anonymous)::", lambda[] = "<lambda(";
    size_t bytes = starts(name, lambda) ? pl_cxxname_bracket(name) : 0;
    if (bytes) {
        write_word(pen, "{lambda");
        if (pen->form->parameters)
            write_bytes(pen, name + strlen("<lambda"), bytes - strlen("<lambda>"));
        write_word(pen, "}");
        return bytes;
    }
    if (!starts(name, nameless))
        return 0;
    write_word(pen, starts(name + strlen(nameless), "operator()") ? "{lambda}::" : "{unnamed}::");
    return strlen(nameless);
}

/* "{lambda(int)#1}", perhaps without its parameters. */
static void write_braces(struct pen *pen, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes;) {
        size_t bracket = text[i] == '(' && !pen->form->parameters ? pl_cxxname_bracket(text + i) : 0;
        if (!bracket)
            write_bytes(pen, text + i, 1);
        i += bracket ? bracket : 1;
    }
}

/* Rust's "<Type as Trait>::function" becomes "Type::function", in a longer form "<Type as Trait>::function". A chosen
 * name such as "<list>" stays. */
static void write_implementor(struct pen *pen, char *inside, int depth, enum reading what)
{
    size_t at = 0;
    while (inside[at] && !starts(inside + at, " as ")) {
        size_t bracket = pl_cxxname_opens(inside[at]) ? pl_cxxname_bracket(inside + at) : 0;
        at += bracket ? bracket : 1;
    }
    bool as_it_is = inside[at] ? pen->form->parameters : what == BARE;
    if (!as_it_is)
        inside[at] = 0;
    write_word(pen, as_it_is ? "<" : "");
    shorten(pen, inside, depth + 1, TYPE);
    write_word(pen, as_it_is ? ">" : "");
}

/* "(int, std::pair<…>)" */
static void write_list(struct pen *pen, const char *name, size_t bytes, int depth)
{
    struct pen list = {.form = pen->form};
    char *inside = pl_grow_text(name + 1, bytes - 2);
    collect_arguments(&list, inside, depth);
    write_word(pen, "(");
    write_word(pen, list.text);
    write_word(pen, ")");
    free(list.text);
    free(inside);
}

/* Returns the bytes it took, 0 to end the name here. */
static size_t write_parameters(struct pen *pen, const char *name, size_t bytes, int depth, enum reading what)
{
    size_t behind = bytes + pl_cxxname_qualifiers(name + bytes);
    bool ends = what == FUNCTION && pl_cxxname_ends(name, bytes), within = starts(name + behind, "::");
    if (pen->form->parameters && (what == TYPE || ends || within)) {
        write_list(pen, name, bytes, depth);
        if (what == TYPE)
            return bytes;
        write_bytes(pen, name + bytes, behind - bytes);
        return ends ? 0 : behind;
    }
    if (what == TYPE) {
        write_word(pen, "(…)");
        return bytes;
    }
    if (ends)
        return 0;
    if (within)
        return behind;
    write_bytes(pen, name, bytes);
    return bytes;
}

/* Deals with the bracket at `name`; returns the bytes it took, 0 to end the name here. */
static size_t write_bracket(struct pen *pen, const char *name, int depth, enum reading what, bool first, size_t columns)
{
    size_t bytes = pl_cxxname_bracket(name);
    if (*name == '(')
        return write_parameters(pen, name, bytes, depth, what);
    if (*name == '<') {
        char *inside = pl_grow_text(name + 1, bytes - 2);
        if (first)
            write_implementor(pen, inside, depth, what);
        else
            write_arguments(pen, inside, depth, columns);
        free(inside);
    } else if (*name == '{') {
        write_braces(pen, name, bytes);
    } else if (what == BARE || !pl_cxxname_note(name)) {
        write_bytes(pen, name, bytes); /* an array, or type parameters of Go */
    }
    return bytes;
}

static void shorten(struct pen *pen, const char *name, int depth, enum reading what)
{
    size_t start = pen->bytes; /* the name begins here again after each return type that is dropped */
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
                                 in_operator ? pen->form->operator_columns : pen->form->arguments);
            if (!step)
                break;
        } else if (!step) {
            if (*name == ' ' && what == FUNCTION && !in_operator && name[1] != '[')
                pen->bytes = start; /* drop it: it was the return type */
            else if (what == BARE || !(*name == ' ' && name[1] == '['))
                write_bytes(pen, name, 1);
            step = 1;
        }
        name += step;
    }
    write_bytes(pen, "", 0);
}

/* --- whole names --- */

/* Go: "github.com/user/module/package.(*Type).Method" without the path. */
static const char *skip_import_path(const char *name)
{
    static const char path[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~-%/";
    size_t bytes = strspn(name, path);
    while (bytes && name[bytes - 1] != '/')
        bytes--;
    return name[bytes] ? name + bytes : name;
}

/* Rust: without the "::h0123456789abcdef" that distinguishes instances. */
static size_t without_hash(const char *name, size_t bytes)
{
    size_t hash = strlen("::h0123456789abcdef");
    bool is = bytes > hash && starts(name + bytes - hash, "::h") &&
              strspn(name + bytes - hash + 3, "0123456789abcdef") == hash - 3;
    return is ? bytes - hash : bytes;
}

/* Bytes up to and including the first `::` outside of brackets; 0: there is none. */
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

/* "…::Compiler::Compile": the last two parts stay, however long they are. */
static const char *drop_scopes(const char *name, size_t columns)
{
    size_t scope = scope_bytes(name), next = scope ? scope_bytes(name + scope) : 0, width = pl_utf8_width(name);
    while (scope && next && width > columns) {
        width -= columns_of(name, scope);
        name += scope;
        scope = next;
        next = scope_bytes(name + scope);
    }
    return name;
}

/* Python: "<module>", "Reader.<lambda>", "load.<locals>.<listcomp>". Its brackets are whole parts of the name. */
static bool is_dotted(const char *name)
{
    if (name[strcspn(name, " ([{:")])
        return false;
    for (const char *at = name; (at = strchr(at, '<')); at++) {
        const char *end = strchr(at, '>');
        if ((at > name && at[-1] != '.') || !end || (end[1] && end[1] != '.'))
            return false;
    }
    return true;
}

static const char *shorten_name(struct pl_arena *arena, const char *name, enum reading what, const struct form *form)
{
    struct pen pen = {.form = form};
    if (what == FUNCTION)
        name = skip_import_path(name);
    if (name[strcspn(name, "<( [{:")] == 0)
        return name; /* plain C, the common case */
    if (is_dotted(name))
        return name;
    shorten(&pen, name, 0, what);
    if (what == FUNCTION)
        pen.bytes = without_hash(pen.text, pen.bytes);
    while (pen.bytes && pen.text[pen.bytes - 1] == ' ') /* of "operator<< <char>" */
        pen.bytes--;
    pen.text[pen.bytes] = 0;
    const char *rest = what == FUNCTION ? drop_scopes(pen.text, form->name) : pen.text;
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
    return shorten_name(arena, demangled, FUNCTION, &forms[0]);
}

const char *pl_shorten_bare(struct pl_arena *arena, const char *name)
{
    return shorten_name(arena, name, BARE, &forms[0]);
}

/* --- names that must differ --- */

/* Bytes of a name without suffixes that do not make it another function: "[clone .cold]" and Rust's hash. */
static size_t own_bytes(const char *name)
{
    const char *clone = strstr(name, " [clone ");
    return without_hash(name, clone ? (size_t) (clone - name) : strlen(name));
}

static bool has_parameters(const char *name)
{
    struct pl_cxxname_part bare = pl_cxxname_bare(name);
    return bare.text[bare.bytes] == '(';
}

static bool same_part(struct pl_cxxname_part a, struct pl_cxxname_part b)
{
    return a.bytes == b.bytes && memcmp(a.text, b.text, a.bytes) == 0;
}

/* Debug information names an inlined function without its parameters: that may be any of its overloads. */
static bool same_function(const char *a, const char *b)
{
    if (same_part((struct pl_cxxname_part){a, own_bytes(a)}, (struct pl_cxxname_part){b, own_bytes(b)}))
        return true;
    return has_parameters(a) != has_parameters(b) && same_part(pl_cxxname_bare(a), pl_cxxname_bare(b));
}

/* Names that are equal in their present form. */
struct namesakes {
    uint32_t with_parameters; /* one that has them, if any does */
    bool differ;              /* they are names of different functions */
};

struct question {
    const struct pl_shortened *name;
    const char *shown;
};

static bool is_shown(const void *context, uint32_t entry)
{
    const struct question *question = context;
    return !strcmp(question->name[entry].shown, question->shown);
}

/* The first name that is shown like this one. */
static uint32_t find_namesake(struct pl_index *index, const struct pl_shortened *name, uint32_t number)
{
    struct question question = {name, name[number].shown};
    uint32_t *slot = pl_index_find(index, pl_index_text(index->seed, question.shown), 0, is_shown, &question);
    if (!*slot)
        *slot = number + 1;
    return *slot - 1;
}

static void lengthen(struct pl_arena *arena, struct pl_shortened *name, size_t form)
{
    name->shown = form < FORMS ? shorten_name(arena, name->full, name->bare ? BARE : FUNCTION, &forms[form])
                               : pl_arena_text(arena, name->full, own_bytes(name->full));
}

/* Shows longer forms of those that share theirs with another function. False: there are none. */
static bool tell_apart(struct pl_arena *arena, struct pl_shortened *name, uint32_t count, size_t form)
{
    struct pl_arena *scratch = pl_arena_new();
    struct pl_index index = pl_index_new(scratch, count);
    struct namesakes *namesakes = pl_arena_alloc(scratch, (count + 1ull) * sizeof *namesakes);
    uint32_t *first = pl_arena_alloc(scratch, (count + 1ull) * sizeof *first);
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        first[i] = find_namesake(&index, name, i);
        if (first[i] == i || has_parameters(name[i].full))
            namesakes[first[i]].with_parameters = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct namesakes *all = &namesakes[first[i]];
        all->differ |= !same_function(name[i].full, name[all->with_parameters].full);
    }
    for (uint32_t i = 0; i < count; i++)
        if (namesakes[first[i]].differ) {
            lengthen(arena, &name[i], form);
            any = true;
        }
    pl_arena_free(scratch);
    return any;
}

void pl_shorten_apart(struct pl_arena *arena, struct pl_shortened *name, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        name[i].shown = name[i].brief =
            name[i].bare ? pl_shorten_bare(arena, name[i].full) : pl_shorten_function(arena, name[i].full);
    for (size_t form = 1; form <= FORMS && tell_apart(arena, name, count, form);)
        form++;
}

/* --- files --- */

/* The last two parts of a path; three if the second to last is a common name: "serde-1.0/src/de.rs". */
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

/* Drops the last part of a path of `bytes` bytes. False: there is none, or it is `..` and must stay. */
static bool step_back(const char *text, size_t *bytes)
{
    size_t start = *bytes ? *bytes - 1 : 0; /* at the final slash */
    while (start && text[start - 1] != '/')
        start--;
    bool named = *bytes > start + 1 && strncmp(text + start, "../", 3) != 0;
    *bytes = named ? start : *bytes;
    return named;
}

/* "./elf/./elf/dl-init.c": the directory of the compiler and the file, both relative to the same directory. */
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
