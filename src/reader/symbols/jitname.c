/* SPDX-License-Identifier: MIT */
/*
 * jitname.c - functions, files and lines in the names that JIT compilers give to code.
 *
 *   V8       JS:*handle /srv/app.js:10:23      LazyCompile:, Function:, Script:, Eval: in older versions
 *   Python   py::handle:/srv/app.py            python -X perf
 *   Java     Lcom/shop/Cart;::add              perf-map-agent; HotSpot itself writes `void com.shop.Cart.add(int)`
 *   PHP      JIT$Cart::add, TRACE-2$Cart::add$38
 *   LuaJIT   TRACE_7::shop.lua:38
 *
 * V8 puts a mark before the function: ~ is interpreted code, ^ + and * are compiled by better and better compilers. The
 * function is the same, so the mark is left out; the name as it was is kept as the linkage name. Other names stay as
 * they are.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/arena.h"
#include "reader/symbols/symbolize_work.h"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Removes ":NUMBER" from the end of text[0 .. *bytes). */
static bool cut_number(const char *text, size_t *bytes, uint32_t *number)
{
    size_t from = *bytes;
    uint64_t value = 0;
    while (from > 0 && isdigit((unsigned char) text[from - 1]))
        from--;
    if (from == *bytes || *bytes - from > 9 || from == 0 || text[from - 1] != ':')
        return false;
    for (size_t i = from; i < *bytes; i++)
        value = value * 10 + (uint64_t) (text[i] - '0');
    *number = (uint32_t) value;
    *bytes = from - 1;
    return true;
}

/* Where the file begins, behind a blank: at what looks like a path or an address, else behind the last blank, since
 * names of functions may have blanks in them (`get size`). */
static const char *file_in(const char *text)
{
    static const char *const starts[] = {" /",     " file:",  " node:",    " internal/",
                                         " http:", " https:", " webpack:", " wasm:"};
    const char *first = NULL;
    for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++) {
        const char *found = strstr(text, starts[i]);
        if (found && (!first || found < first))
            first = found;
    }
    return first ? first : strrchr(text, ' ');
}

/* JS:*handle /srv/app.js:10:23 */
static void split_script(struct pl_arena *arena, const char *text, struct pl_place *out)
{
    text = strchr(text, ':') + 1;
    if (*text && strchr("~*^+-", *text))
        text++;
    const char *blank = file_in(text), *file = blank ? blank + 1 : "";
    size_t bytes = strlen(file), name = blank ? (size_t) (blank - text) : strlen(text);
    uint32_t line, column = 0;
    if (cut_number(file, &bytes, &line)) {
        uint32_t before = line;
        if (cut_number(file, &bytes, &line))
            column = before;
        size_t scheme = begins(file, "file:///") ? strlen("file://") : 0;
        out->file = pl_arena_text(arena, file + scheme, bytes - scheme);
        out->line = line;
        out->column = column;
    } else {
        name = strlen(text);
    }
    out->function = name ? pl_arena_text(arena, text, name) : "(anonymous)";
}

/* py::NAME:FILE; a qualified name may have colons only in pairs, which Python does not make. */
static void split_python(struct pl_arena *arena, const char *text, struct pl_place *out)
{
    text += strlen("py::");
    const char *colon = strchr(text, ':');
    out->function = pl_arena_text(arena, text, colon ? (size_t) (colon - text) : strlen(text));
    if (colon)
        out->file = pl_arena_text(arena, colon + 1, strlen(colon + 1));
}

/* Lcom/shop/Cart;::add -> com.shop.Cart.add */
static void split_java(struct pl_arena *arena, const char *text, struct pl_place *out)
{
    const char *end = strstr(++text, ";::");
    size_t class = (size_t) (end - text), method = strlen(end + 3);
    char *name = pl_arena_alloc(arena, class + 1 + method + 1);
    for (size_t i = 0; i < class; i++)
        name[i] = text[i] == '/' ? '.' : text[i];
    name[class] = '.';
    memcpy(name + class + 1, end + 3, method);
    out->function = name;
}

/* Of the file that is executed, PHP only has the path; and a trace says in which line it begins. */
static void name_php(struct pl_arena *arena, const char *text, size_t bytes, uint32_t line, struct pl_place *out)
{
    bool is_file = memchr(text, '/', bytes);
    out->function = is_file ? "{main}" : pl_arena_text(arena, text, bytes);
    out->file = is_file ? pl_arena_text(arena, text, bytes) : "";
    out->line = is_file ? line : 0;
}

/* JIT$Cart::add, JIT$/srv/shop.php */
static void split_php(struct pl_arena *arena, const char *text, struct pl_place *out)
{
    text += strlen("JIT$");
    name_php(arena, text, strlen(text), 0, out);
}

/* TRACE-2$Cart::add$38 */
static void split_php_trace(struct pl_arena *arena, const char *text, struct pl_place *out)
{
    const char *name = strchr(text, '$') + 1, *end = strrchr(text, '$');
    uint32_t line = end > name ? (uint32_t) strtoul(end + 1, NULL, 10) : 0;
    name_php(arena, name, end > name ? (size_t) (end - name) : strlen(name), line, out);
}

/* TRACE_7::shop.lua:38 */
static void split_lua(struct pl_arena *arena, const char *text, struct pl_place *out)
{
    const char *file = strstr(text, "::") + 2;
    size_t bytes = strlen(file);
    out->function = pl_arena_text(arena, text, (size_t) (file - 2 - text));
    if (cut_number(file, &bytes, &out->line))
        out->file = pl_arena_text(arena, file, bytes);
}

/* V8 has several words for a script. What begins with JIT$$ is PHP's own. */
static const struct {
    const char *begins, *has;
    enum pl_jit_kind kind;
    void (*split)(struct pl_arena *arena, const char *text, struct pl_place *out);
} kinds[] = {
    {"JS:", "", PL_JIT_SCRIPT, split_script},
    {"LazyCompile:", "", PL_JIT_SCRIPT, split_script},
    {"Function:", "", PL_JIT_SCRIPT, split_script},
    {"Script:", "", PL_JIT_SCRIPT, split_script},
    {"Eval:", "", PL_JIT_SCRIPT, split_script},
    {"Module:", "", PL_JIT_SCRIPT, split_script},
    {"py::", "", PL_JIT_PYTHON, split_python},
    {"L", ";::", PL_JIT_METHOD, split_java},
    {"JIT$$", "", PL_JIT_OTHER, NULL},
    {"JIT$", "", PL_JIT_OTHER, split_php},
    {"TRACE-", "$", PL_JIT_OTHER, split_php_trace},
    {"TRACE_", "::", PL_JIT_OTHER, split_lua},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static unsigned find_kind(const char *name)
{
    unsigned i = 0;
    while (i < KINDS && !(begins(name, kinds[i].begins) && strstr(name, kinds[i].has)))
        i++;
    return i;
}

enum pl_jit_kind pl_jit_kind(const char *name)
{
    unsigned i = find_kind(name);
    return i < KINDS ? kinds[i].kind : PL_JIT_OTHER;
}

void pl_jit_name(struct pl_arena *arena, const char *name, struct pl_place *out)
{
    const char *whole = pl_arena_text(arena, name, strlen(name));
    unsigned i = find_kind(name);
    *out = (struct pl_place){.function = "", .linkage = "", .file = ""};
    if (i < KINDS && kinds[i].split)
        kinds[i].split(arena, name, out);
    if (*out->function)
        out->linkage = whole;
    else
        out->function = whole;
}
