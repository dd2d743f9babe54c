/* SPDX-License-Identifier: MIT */
/*
 * shorten.c - names as people say them.
 *
 * A demangled C++ name is read once, left to right, keeping what stands outside of brackets:
 *
 *   void  ns::Table  <int, std::allocator<int> >  ::add  (int const&)  const  [clone .cold]
 *   ────             ───────── <int> ──────────          ────────────────────────────────
 *
 * What is in angle brackets is shortened by the same rules and dropped when it is a default or too long; parameters and
 * what follows them go, unless `::` does follow (a lambda or a local class); a blank outside of brackets ends a return
 * type. Names of other languages have none of this and come out as they are.
 */
#include "shorten.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "utf8.h"

#define ARGUMENTS_WIDTH 24 /* columns that a template's arguments may take */
#define NESTING_MAX 32     /* deeper names are left alone */

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

/* --- brackets --- */

/* Bytes of the symbol behind `operator`, the longest that fits. Demanglers put a blank between it and a `<`
 * of its own. */
static size_t symbol_bytes(const char *text)
{
    static const char *const symbols[] = {
        "<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "==",   "!=", "&&",
        "||",  "++",  "--",  "+=",  "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<",    ">",  "+",
        "-",   "*",   "/",   "%",   "^",  "&",  "|",  "~",  "!",  "=",  ",",  "\"\"",
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (starts(text, symbols[i]))
            return strlen(symbols[i]);
    return 0;
}

/* Bytes of `operator` with its symbol ("operator<<"), or 0. Brackets in a symbol are not brackets. */
static size_t operator_bytes(const char *text)
{
    size_t bytes = strlen("operator");
    if (!starts(text, "operator") || isalnum((unsigned char) text[bytes]) || text[bytes] == '_')
        return 0;
    return bytes + symbol_bytes(text + bytes);
}

/* Bytes from an opening bracket to the one that closes it, both included; 0 if nothing does. */
static size_t bracket_bytes(const char *text)
{
    static const char opening[] = "<({[", closing[] = ">)}]";
    char expected[NESTING_MAX];
    size_t depth = 0, at = 0;
    do {
        size_t step = operator_bytes(text + at);
        const char *open = strchr(opening, text[at]);
        if (!text[at] || (depth == NESTING_MAX && open))
            return 0;
        if (step) {
            at += step;
            continue;
        }
        if (open)
            expected[depth++] = closing[open - opening];
        else if (text[at] == expected[depth - 1] && !(text[at] == '>' && at && text[at - 1] == '-'))
            depth--;
        at++;
    } while (depth);
    return at;
}

/* --- arguments of templates --- */

static const char *const default_arguments[] = {
    "std::allocator<",      "std::char_traits<",      "std::less<",
    "std::hash<",           "std::equal_to<",         "std::default_delete<",
    "std::__1::allocator<", "std::__1::char_traits<", "alloc::alloc::Global",
};

static bool is_default(const char *argument)
{
    for (size_t i = 0; i < sizeof default_arguments / sizeof *default_arguments; i++)
        if (starts(argument, default_arguments[i]))
            return true;
    return false;
}

static void shorten(struct pen *pen, const char *name, int depth, bool type);

/* Bytes up to the comma that ends this argument, or to the end. */
static size_t argument_bytes(const char *text)
{
    size_t at = 0;
    while (text[at] && text[at] != ',') {
        size_t bracket = strchr("<({[", text[at]) ? bracket_bytes(text + at) : 0;
        at += bracket ? bracket : 1;
    }
    return at;
}

/* All arguments that are not defaults, shortened, separated by commas. */
static void collect_arguments(struct pen *arguments, const char *inside, int depth)
{
    write_word(arguments, "");
    while (*inside) {
        inside += strspn(inside, " ");
        size_t bytes = argument_bytes(inside), trimmed = bytes;
        while (trimmed && inside[trimmed - 1] == ' ')
            trimmed--;
        char *argument = pl_say_print("%.*s", (int) trimmed, inside);
        if (!is_default(argument)) {
            write_word(arguments, arguments->bytes ? ", " : "");
            shorten(arguments, argument, depth + 1, true);
        }
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

static const struct spelling {
    const char *from, *to;
} spellings[] = {
    {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
    {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>", "std::string"},
    {"std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
    {"std::__cxx11::", "std::"},
    {"std::__1::", "std::"},
    {"(anonymous namespace)", "(anon)"},
};

/* Writes a better spelling of what stands at `name`; returns the bytes it replaces, or 0. */
static size_t write_spelling(struct pen *pen, const char *name)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (!starts(name, spellings[i].from))
            continue;
        write_word(pen, spellings[i].to);
        return strlen(spellings[i].from);
    }
    return 0;
}

/* " const", "&", " noexcept", " [clone .cold]" behind the parameters. */
static size_t qualifier_bytes(const char *text)
{
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &", "&&", "&", " noexcept"};
    size_t at = 0;
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++)
            if (starts(text + at, qualifiers[i])) {
                at += strlen(qualifiers[i]);
                again = true;
            }
    }
    return at;
}

/* "{lambda(int)#1}" without its parameters. */
static void write_braces(struct pen *pen, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes;) {
        size_t bracket = text[i] == '(' ? bracket_bytes(text + i) : 0;
        if (!bracket)
            write_bytes(pen, text + i, 1);
        i += bracket ? bracket : 1;
    }
}

/* Rust's "<Type as Trait>::function" is "Type::function" to people. */
static void write_implementor(struct pen *pen, char *inside, int depth)
{
    size_t at = 0;
    while (inside[at] && !starts(inside + at, " as ")) {
        size_t bracket = strchr("<({[", inside[at]) ? bracket_bytes(inside + at) : 0;
        at += bracket ? bracket : 1;
    }
    inside[at] = 0;
    shorten(pen, inside, depth + 1, true);
}

/* Deals with the bracket at `name`; returns the bytes it took, 0 to end the name here. */
static size_t write_bracket(struct pen *pen, const char *name, int depth, bool type, bool first)
{
    size_t bytes = bracket_bytes(name);
    if (*name == '(') {
        size_t behind = bytes + qualifier_bytes(name + bytes);
        if (!starts(name + behind, "::") && !type)
            return 0;
        if (type)
            write_word(pen, "(…)");
        return type ? bytes : behind;
    }
    if (*name == '<') {
        char *inside = pl_say_print("%.*s", (int) bytes - 2, name + 1);
        if (first)
            write_implementor(pen, inside, depth);
        else
            write_arguments(pen, inside, depth);
        free(inside);
    } else if (*name == '{') {
        write_braces(pen, name, bytes);
    } /* [abi:cxx11] and [clone .cold] say nothing to a person */
    return bytes;
}

static void shorten(struct pen *pen, const char *name, int depth, bool type)
{
    size_t start = pen->bytes; /* where the name begins once the return type is known to have ended */
    bool in_operator = false;
    while (*name) {
        size_t step = write_spelling(pen, name), operator= step ? 0 : operator_bytes(name);
        if (!step && operator) {
            write_bytes(pen, name, operator);
            in_operator = true;
            step = operator;
        } else if (!step && strchr("<({[", *name) && depth < NESTING_MAX && bracket_bytes(name)) {
            step = write_bracket(pen, name, depth, type, pen->bytes == start && !type);
            if (!step)
                break;
        } else if (!step) {
            if (*name == ' ' && !type && !in_operator && name[1] != '[')
                pen->bytes = start; /* that was the return type */
            else if (!(*name == ' ' && name[1] == '['))
                write_bytes(pen, name, 1);
            step = 1;
        }
        name += step;
    }
    write_bytes(pen, "", 0);
}

/* Rust's disambiguator: "::h" and sixteen hexadecimal digits at the end. */
static void drop_hash(struct pen *pen)
{
    char *hash = pen->bytes > 19 ? pen->text + pen->bytes - 19 : NULL;
    if (!hash || !starts(hash, "::h") || strspn(hash + 3, "0123456789abcdef") != 16)
        return;
    *hash = 0;
    pen->bytes -= 19;
}

const char *pl_shorten_function(struct pl_arena *arena, const char *demangled)
{
    struct pen pen = {0};
    if (starts(demangled, "__GI_")) { /* glibc's names for its own use: __GI___strdup */
        demangled += strlen("__GI_");
        demangled += strspn(demangled, "_");
    }
    if (demangled[strcspn(demangled, "<( [{:")] == 0)
        return demangled; /* plain C, and most of it is */
    shorten(&pen, demangled, 0, false);
    while (pen.bytes && pen.text[pen.bytes - 1] == ' ') /* of "operator<< <char>" */
        pen.text[--pen.bytes] = 0;
    drop_hash(&pen);
    const char *result = pen.bytes ? pl_arena_text(arena, pen.text, pen.bytes) : demangled;
    free(pen.text);
    return result;
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
