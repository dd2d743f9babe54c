/* SPDX-License-Identifier: MIT */
/*
 * suppress.c - suppression patterns, files of them, and which stacks they match.
 *
 * A profile has many more stacks than frames and more frames than modules. So each pair of module and built-in rule is
 * compared once, then each frame with the few rules that are left for its module, and a stack only reads the results of
 * its frames.
 */
#include "analysis/leaks/suppress.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/rulefile.h"
#include "reader/base/arena.h"
#include "reader/base/grow.h"

#define FILE_BYTES_MAX (16u << 20)

/* --- patterns --- */

/* A pattern is pieces between asterisks. The leftmost place for each piece is as good as any other, except for the last
 * piece if it must be at the end of the text: that has only one place. */
static bool match_pieces(const char *piece, const char *end, const char *text, bool from_start, bool to_end)
{
    for (;;) {
        const char *star = memchr(piece, '*', (size_t) (end - piece));
        size_t bytes = (size_t) ((star ? star : end) - piece), left = strlen(text);
        bool last = !star;
        if (bytes > left)
            return false;
        const char *at = last && to_end ? text + left - bytes : from_start ? text : memmem(text, left, piece, bytes);
        if (!at || memcmp(at, piece, bytes) != 0 || (from_start && at != text))
            return false;
        if (last)
            return true;
        text = at + bytes;
        piece = star + 1;
        from_start = false;
    }
}

bool pl_suppress_matches(const char *pattern, const char *text)
{
    const char *end = strchrnul(pattern, '$');
    bool from_start = *pattern == '^';
    return *text && match_pieces(pattern + from_start, end, text, from_start, *end == '$');
}

static bool is_whole(const char *pattern, const char *name)
{
    return *name && match_pieces(pattern, pattern + strlen(pattern), name, true, true);
}

/*
 * Matches a whole name, as built-in rules do. Symbol tables decorate names of C: versions and parts go after them
 * (`dlopen@@GLIBC_2.34`, `expand.part.0`), and glibc's other names for one function have prefixes (`__GI_setlocale`,
 * `__textdomain`).
 */
static bool is_named(const char *pattern, const char *name)
{
    char plain[256];
    size_t bytes = strcspn(name, "@.");
    if (strpbrk(name, ":(") || bytes >= sizeof plain)
        return is_whole(pattern, name);
    memcpy(plain, name, bytes);
    plain[bytes] = 0;
    const char *core = strncmp(plain, "__GI_", 5) == 0 ? plain + 5 : plain;
    return is_whole(pattern, core) || is_whole(pattern, core + strspn(core, "_"));
}

static bool is_listed(const char *const *patterns, const char *path)
{
    for (; *patterns; patterns++)
        if (pl_suppress_matches(*patterns, path))
            return true;
    return false;
}

/* --- sets --- */

struct pl_suppressions *pl_suppressions_new(void)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_suppressions *set = pl_arena_alloc(arena, sizeof *set);
    set->arena = arena;
    return set;
}

void pl_suppressions_free(struct pl_suppressions *set)
{
    free(set->rule);
    pl_arena_free(set->arena);
}

static void add_rule(struct pl_suppressions *set, const struct pl_suppression *rule)
{
    set->rule = pl_grow(set->rule, set->count, &set->capacity, sizeof *set->rule);
    set->rule[set->count++] = *rule;
}

void pl_suppressions_add_builtin(struct pl_suppressions *set)
{
    for (const struct pl_suppression *rule = pl_suppress_onetime; rule->pattern; rule++)
        add_rule(set, rule);
}

/* --- files --- */

/* Bytes of the word before the first colon; 0 if there is none. */
static size_t type_bytes(const struct pl_rule_line *line)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyz_-";
    size_t bytes = 0;
    while (bytes < line->bytes && strchr(word, line->text[bytes]) && line->text[bytes])
        bytes++;
    return bytes < line->bytes && line->text[bytes] == ':' ? bytes : 0;
}

static void ignore_line(struct pl_suppressions *set, const struct pl_rule_line *line, size_t type)
{
    if (set->ignored++ == 0)
        snprintf(set->first_ignored, sizeof set->first_ignored, "%s:%u: %.*s:", line->path, line->number,
                 (int) (type < 64 ? type : 64), line->text);
}

static int read_line(struct pl_suppressions *set, struct pl_rule_line *line, char why[PL_WHY_BYTES])
{
    if (memchr(line->text, 0, line->bytes))
        return pl_rulefile_complain(line, why, "not a text file");
    size_t type = type_bytes(line);
    if (type == 0)
        return pl_rulefile_complain(line, why,
                                    "not a suppression; lines are leak:PATTERN, or begin with # as comments");
    if (type != strlen("leak") || strncmp(line->text, "leak", type) != 0) {
        ignore_line(set, line, type);
        return 0;
    }
    size_t bytes = line->bytes - type - 1;
    if (bytes == 0)
        return pl_rulefile_complain(
            line, why, "leak: without a pattern would suppress everything; write leak:* if that is intended");
    struct pl_suppression rule = {
        .pattern = pl_arena_text(set->arena, line->text + type + 1, bytes), .file = line->path, .line = line->number};
    add_rule(set, &rule);
    return 0;
}

int pl_suppressions_parse(struct pl_suppressions *set, const char *path, const char *text, size_t bytes,
                          char why[PL_WHY_BYTES])
{
    uint32_t count = set->count, ignored = set->ignored;
    struct pl_rule_line line = {
        .path = pl_arena_text(set->arena, path, strlen(path)), .next = text, .end = text + bytes};
    int result = 0;
    while (result == 0 && pl_rulefile_next(&line))
        result = read_line(set, &line, why);
    if (result != 0) {
        set->count = count;
        set->ignored = ignored;
        return result;
    }
    set->own = set->count;
    return 0;
}

int pl_suppressions_read(struct pl_suppressions *set, const char *path, char why[PL_WHY_BYTES])
{
    char *text = NULL;
    size_t bytes = 0;
    int result = pl_rulefile_read(path, FILE_BYTES_MAX, &text, &bytes);
    if (result != 0) {
        snprintf(why, PL_WHY_BYTES, "cannot read suppressions from %s: %s", path, strerror(-result));
        return result;
    }
    result = pl_suppressions_parse(set, path, text, bytes, why);
    free(text);
    return result;
}

/* --- stacks --- */

struct pl_suppressor {
    const struct pl_profile *profile;
    const struct pl_suppressions *set;
    struct pl_arena *arena;
    bool *fits;        /* [module][built-in rule]: the module is one of the rule's */
    bool *between;     /* [module][built-in rule]: it may lie between the function and the allocation */
    uint32_t *own;     /* [frame]: the first of the user's rules, or PL_NO_RULE */
    uint32_t *onetime; /* [frame]: the first built-in rule, or PL_NO_RULE */
};

static size_t cell_of(const struct pl_suppressor *suppressor, uint32_t module, uint32_t rule)
{
    uint32_t builtin = suppressor->set->count - suppressor->set->own;
    return (size_t) module * builtin + rule - suppressor->set->own;
}

static void compare_module(struct pl_suppressor *suppressor, uint32_t module)
{
    const struct pl_suppressions *set = suppressor->set;
    const char *path = suppressor->profile->module[module].path;
    bool system = is_listed(pl_suppress_system, path);
    for (uint32_t r = set->own; r < set->count; r++) {
        const struct pl_suppression *rule = &set->rule[r];
        size_t cell = cell_of(suppressor, module, r);
        suppressor->fits[cell] = is_listed(rule->modules, path);
        suppressor->between[cell] = suppressor->fits[cell] || system || (rule->inner && is_listed(rule->inner, path));
    }
}

/* Where the parameters of a demangled name begin: at the bracket that the last `)` closes. Those of a lambda in its
 * name ("{lambda(int)#1}") are not the function's. NULL: there are none. */
static const char *parameters_of(const char *function)
{
    const char *at = strrchr(function, ')');
    if (!at || strpbrk(at, "}:"))
        return NULL;
    for (int depth = 0; at > function; at--) {
        depth += (*at == ')') - (*at == '(');
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* Where the name begins: behind the return type, which names of templates have. */
static const char *name_of(const char *function, const char *end)
{
    const char *name = function;
    int depth = 0;
    for (const char *at = function; at < end; at++) {
        if (strncmp(at, "operator", strlen("operator")) == 0)
            break; /* it may have blanks and brackets of its own */
        depth += (*at == '<' || *at == '(' || *at == '{') - (*at == '>' || *at == ')' || *at == '}');
        if (*at == ' ' && depth == 0)
            name = at + 1;
    }
    return name;
}

/* "add" for "void add(int)": what reports print, and people copy from there. `bare` has room for all of it. */
static const char *bare_name(const char *function, char *bare)
{
    const char *end = parameters_of(function);
    if (!end)
        return function;
    const char *name = name_of(function, end);
    memcpy(bare, name, (size_t) (end - name));
    bare[end - name] = 0;
    return bare;
}

/* Suppressions are written for names as other tools print them. */
static const char *unsimplified(const struct pl_place *place)
{
    return place->original ? place->original : place->function;
}

static bool fits_place(const char *pattern, const struct pl_place *place)
{
    const char *function = unsimplified(place);
    char *bare = pl_grow_zeroed(strlen(function) + 1, 1);
    bool fits = pl_suppress_matches(pattern, function) || pl_suppress_matches(pattern, place->file) ||
                pl_suppress_matches(pattern, bare_name(function, bare));
    free(bare);
    return fits;
}

static uint32_t find_own(const struct pl_suppressor *suppressor, const struct pl_frame_view *frame)
{
    const char *path = suppressor->profile->module[frame->module].path;
    for (uint32_t r = 0; r < suppressor->set->own; r++) {
        const char *pattern = suppressor->set->rule[r].pattern;
        if (pl_suppress_matches(pattern, path))
            return r;
        for (uint32_t p = 0; p < frame->places; p++)
            if (fits_place(pattern, &frame->place[p]))
                return r;
    }
    return PL_NO_RULE;
}

/* The pattern `*` matches all functions of a module, also those without a name. */
static bool is_function(const char *pattern, const struct pl_frame_view *frame)
{
    if (strcmp(pattern, "*") == 0)
        return true;
    for (uint32_t p = 0; p < frame->places; p++)
        if (is_named(pattern, unsimplified(&frame->place[p])) ||
            (*frame->place[p].linkage && is_named(pattern, frame->place[p].linkage)))
            return true;
    return false;
}

static uint32_t find_onetime(const struct pl_suppressor *suppressor, const struct pl_frame_view *frame)
{
    for (uint32_t r = suppressor->set->own; r < suppressor->set->count; r++)
        if (suppressor->fits[cell_of(suppressor, frame->module, r)] &&
            is_function(suppressor->set->rule[r].pattern, frame))
            return r;
    return PL_NO_RULE;
}

struct pl_suppressor *pl_suppressor_new(const struct pl_profile *profile, const struct pl_suppressions *set)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_suppressor *suppressor = pl_arena_alloc(arena, sizeof *suppressor);
    *suppressor = (struct pl_suppressor){.profile = profile, .set = set, .arena = arena};
    suppressor->fits = pl_arena_alloc(arena, cell_of(suppressor, profile->modules, set->own) + 1);
    suppressor->between = pl_arena_alloc(arena, cell_of(suppressor, profile->modules, set->own) + 1);
    suppressor->own = pl_arena_alloc(arena, (profile->frames + 1ull) * sizeof *suppressor->own);
    suppressor->onetime = pl_arena_alloc(arena, (profile->frames + 1ull) * sizeof *suppressor->onetime);
    for (uint32_t i = 0; i < profile->modules; i++)
        compare_module(suppressor, i);
    for (uint32_t i = 0; i < profile->frames; i++) {
        suppressor->own[i] = find_own(suppressor, &profile->frame[i]);
        suppressor->onetime[i] = find_onetime(suppressor, &profile->frame[i]);
    }
    return suppressor;
}

void pl_suppressor_free(struct pl_suppressor *suppressor)
{
    pl_arena_free(suppressor->arena);
}

/* True: all frames further in are in modules that the rule allows. */
static bool is_alone(const struct pl_suppressor *suppressor, const struct pl_stack_view *stack, uint32_t depth,
                     uint32_t rule)
{
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t module = suppressor->profile->frame[stack->frame[i]].module;
        if (!suppressor->between[cell_of(suppressor, module, rule)])
            return false;
    }
    return !suppressor->set->rule[rule].below || depth > 0;
}

uint32_t pl_suppressor_rule(struct pl_suppressor *suppressor, uint32_t number)
{
    if (number == PL_NO_STACK)
        return PL_NO_RULE;
    const struct pl_stack_view *stack = &suppressor->profile->stack[number];
    for (uint32_t i = 0; i < stack->frames; i++)
        if (suppressor->own[stack->frame[i]] != PL_NO_RULE)
            return suppressor->own[stack->frame[i]];
    for (uint32_t i = 0; i < stack->frames; i++) {
        uint32_t rule = suppressor->onetime[stack->frame[i]];
        if (rule != PL_NO_RULE && is_alone(suppressor, stack, i, rule))
            return rule;
    }
    return PL_NO_RULE;
}
