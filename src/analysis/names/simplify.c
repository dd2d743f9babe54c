/* SPDX-License-Identifier: MIT */
/*
 * simplify.c - rules for names: read from a file, and applied to one name.
 *
 * Names come from untrusted binaries, so no name may take long: expressions have no back-references (without which
 * glibc matches in time proportional to the text), and names that are, or become, longer than NAME_BYTES_MAX are left
 * as they are.
 */
#include "analysis/names/simplify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/cxxname.h"
#include "analysis/names/rulefile.h"
#include "reader/base/arena.h"
#include "reader/base/grow.h"

#define FILE_BYTES_MAX (1u << 20)
#define NAME_BYTES_MAX (16u << 10)
#define MATCHES_MAX 256 /* of one rule in one name */
#define GROUPS 10       /* \0 to \9 */
#define BUILTIN_BYTES_MAX 4096

/* A name while rules are applied to it. `text` and `other` are two buffers that take turns. */
struct draft {
    char *text, *other;
    size_t bytes, other_bytes;
    struct pl_cxxname_part bare;
    uint16_t *brackets; /* of the text, while arguments are being stripped */
    bool emptied;       /* the current rule would have left nothing, and so was not applied */
    struct pl_simplified *result;
};

struct pl_simplify_kind {
    const char *word;
    bool replaces;                                                           /* takes => TEXT */
    int flags;                                                               /* of its expression */
    bool (*apply)(const struct pl_simplify_rule *rule, struct draft *draft); /* NULL: the rule is for the whole set */
};

/* --- drafts --- */

static void set_bare(struct draft *draft)
{
    draft->text[draft->bytes] = 0;
    draft->bare =
        draft->result->bare ? (struct pl_cxxname_part){draft->text, draft->bytes} : pl_cxxname_bare(draft->text);
}

static bool write_bytes(struct draft *draft, const char *text, size_t bytes)
{
    if (bytes > NAME_BYTES_MAX - draft->other_bytes)
        return false;
    memcpy(draft->other + draft->other_bytes, text, bytes);
    draft->other_bytes += bytes;
    return true;
}

/* The replacement becomes the name, unless it is empty: a function without a name would be shown as an address. A bare
 * name stays bare. */
static bool take_over(struct draft *draft, bool bare)
{
    draft->emptied = draft->other_bytes == 0;
    if (draft->emptied)
        return false;
    draft->result->bare |= bare;
    char *text = draft->text;
    draft->text = draft->other;
    draft->bytes = draft->other_bytes;
    draft->other = text;
    set_bare(draft);
    return true;
}

/* --- matching --- */

/* ^ and $ match at the start of `text` and at its end after `bytes` bytes. Only groups that the replacement uses are
 * asked for: glibc finds groups by going through the whole match once more, backwards. */
static bool match(const struct pl_simplify_rule *rule, const char *text, size_t bytes, regmatch_t group[GROUPS],
                  int flags)
{
    const char *from = rule->stem.anchored ? text : pl_stem_find(&rule->stem, text, bytes);
    if (!from)
        return false;
    group[0] = (regmatch_t){.rm_so = (regoff_t) (from - text), .rm_eo = (regoff_t) bytes};
    return regexec(&rule->expression, text, rule->groups, group, flags | REG_STARTEND) == 0;
}

static bool match_whole(const struct pl_simplify_rule *rule, const char *text, size_t bytes)
{
    regmatch_t group[GROUPS];
    return pl_stem_starts(&rule->stem, text, bytes) && match(rule, text, bytes, group, 0) && group[0].rm_so == 0 &&
           (size_t) group[0].rm_eo == bytes;
}

static bool is_found(const struct pl_simplify_rule *rule, const struct draft *draft)
{
    regmatch_t group[GROUPS];
    return match(rule, draft->text, draft->bytes, group, 0) ||
           (draft->bare.bytes < draft->bytes && match(rule, draft->bare.text, draft->bare.bytes, group, 0));
}

/* --- spell, rename and join --- */

static bool write_replacement(struct draft *draft, const char *replacement, const char *text,
                              const regmatch_t group[GROUPS])
{
    for (const char *at = replacement; *at; at++) {
        const regmatch_t *chosen = *at == '\\' && at[1] >= '0' && at[1] <= '9' ? &group[at[1] - '0'] : NULL;
        if (*at == '\\')
            at++;
        if (!chosen && !write_bytes(draft, at, 1))
            return false;
        if (chosen && chosen->rm_so >= 0 &&
            !write_bytes(draft, text + chosen->rm_so, (size_t) (chosen->rm_eo - chosen->rm_so)))
            return false;
    }
    return true;
}

/* Replaces every match in the text, from left to right. */
static bool replace(const struct pl_simplify_rule *rule, struct draft *draft, const char *text, size_t bytes)
{
    regmatch_t group[GROUPS];
    unsigned matches = 0;
    draft->other_bytes = 0;
    while (matches < MATCHES_MAX && match(rule, text, bytes, group, matches ? REG_NOTBOL : 0)) {
        size_t from = (size_t) group[0].rm_so, to = (size_t) group[0].rm_eo;
        if (from == to)
            break;
        matches++;
        if (!write_bytes(draft, text, from) || !write_replacement(draft, rule->replacement, text, group))
            return false;
        text += to;
        bytes -= to;
    }
    return matches > 0 && write_bytes(draft, text, bytes);
}

static bool apply_spell(const struct pl_simplify_rule *rule, struct draft *draft)
{
    return replace(rule, draft, draft->text, draft->bytes) && take_over(draft, false);
}

/* A renaming rule is about the function's name as reports print it: what follows the name would only get in the way of
 * `.*`, and keep functions apart that should get the same name. */
static bool apply_rename(const struct pl_simplify_rule *rule, struct draft *draft)
{
    if (replace(rule, draft, draft->bare.text, draft->bare.bytes))
        return take_over(draft, true);
    return replace(rule, draft, draft->text, draft->bytes) &&
           take_over(draft, match_whole(rule, draft->text, draft->bytes));
}

static bool apply_join(const struct pl_simplify_rule *rule, struct draft *draft)
{
    bool applied = apply_rename(rule, draft);
    draft->result->join |= applied;
    return applied;
}

/* --- strip --- */

struct argument {
    const char *text;
    size_t bytes;
};

/* The next of `*bytes` bytes of arguments, without blanks around it. */
static struct argument next_argument(const struct draft *draft, const char **inside, size_t *bytes)
{
    size_t length = pl_cxxname_argument_of(*inside, *bytes, draft->brackets + (*inside - draft->text));
    size_t step = length + (length < *bytes);
    struct argument argument = {*inside, length};
    while (argument.bytes && *argument.text == ' ')
        argument.text++, argument.bytes--;
    while (argument.bytes && argument.text[argument.bytes - 1] == ' ')
        argument.bytes--;
    *inside += step;
    *bytes -= step;
    return argument;
}

static bool any_stripped(const struct pl_simplify_rule *rule, const struct draft *draft, const char *inside,
                         size_t bytes)
{
    next_argument(draft, &inside, &bytes);
    while (bytes > 0) {
        struct argument argument = next_argument(draft, &inside, &bytes);
        if (match_whole(rule, argument.text, argument.bytes))
            return true;
    }
    return false;
}

/* Writes the text without the arguments that match; *stripped says whether there were any. */
static bool strip(const struct pl_simplify_rule *rule, struct draft *draft, const char *text, size_t bytes,
                  bool *stripped);

static bool strip_bracket(const struct pl_simplify_rule *rule, struct draft *draft, const char *inside, size_t bytes)
{
    bool stripped, first = true, fits = write_bytes(draft, "<", 1);
    while (bytes > 0 && fits) {
        struct argument argument = next_argument(draft, &inside, &bytes);
        if (!first && match_whole(rule, argument.text, argument.bytes))
            continue;
        fits = write_bytes(draft, ", ", first ? 0 : 2) && strip(rule, draft, argument.text, argument.bytes, &stripped);
        first = false;
    }
    return fits && write_bytes(draft, ">", 1);
}

static bool strip(const struct pl_simplify_rule *rule, struct draft *draft, const char *text, size_t bytes,
                  bool *stripped)
{
    bool fits = true;
    for (size_t at = 0, step; at < bytes && fits; at += step) {
        step = pl_cxxname_operator(text + at);
        size_t bracket = !step && text[at] == '<' ? draft->brackets[text + at - draft->text] : 0;
        if (bracket && bracket <= bytes - at && any_stripped(rule, draft, text + at + 1, bracket - 2)) {
            fits = strip_bracket(rule, draft, text + at + 1, bracket - 2);
            step = bracket;
            *stripped = true;
        } else {
            step = step ? step : 1;
            fits = write_bytes(draft, text + at, step);
        }
    }
    return fits;
}

/* An argument that may be stripped has a comma in front: the first one never is. */
static bool may_strip(const struct pl_simplify_rule *rule, const struct draft *draft)
{
    const char *at = draft->text, *end = draft->text + draft->bytes;
    while ((at = memchr(at, ',', (size_t) (end - at)))) {
        at++;
        at += strspn(at, " ");
        if (pl_stem_starts(&rule->stem, at, (size_t) (end - at)))
            return true;
    }
    return false;
}

static bool apply_strip(const struct pl_simplify_rule *rule, struct draft *draft)
{
    uint16_t brackets[NAME_BYTES_MAX];
    bool stripped = false;
    if (!may_strip(rule, draft))
        return false;
    draft->other_bytes = 0;
    draft->brackets = brackets;
    pl_cxxname_brackets(draft->text, brackets);
    return strip(rule, draft, draft->text, draft->bytes, &stripped) && stripped && take_over(draft, false);
}

/* --- the others --- */

static bool apply_allocator(const struct pl_simplify_rule *rule, struct draft *draft)
{
    bool found = is_found(rule, draft);
    draft->result->allocator |= found;
    return found;
}

static bool apply_drop(const struct pl_simplify_rule *rule, struct draft *draft)
{
    bool found = is_found(rule, draft);
    draft->result->drop |= found;
    return found;
}

static bool apply_cut(const struct pl_simplify_rule *rule, struct draft *draft)
{
    bool found = is_found(rule, draft);
    draft->result->cut |= found;
    return found;
}

/* clang-format off */
static const struct pl_simplify_kind kinds[] = {
    {"spell", true, 0, apply_spell},
    {"rename", true, 0, apply_rename},
    {"join", true, 0, apply_join},
    {"strip", false, 0, apply_strip},
    {"allocator", false, REG_NOSUB, apply_allocator},
    {"drop", false, REG_NOSUB, apply_drop},
    {"cut", false, REG_NOSUB, apply_cut},
    {"no-defaults", false, 0, NULL},
};
/* clang-format on */

/* In strip rules, anchors are about arguments, wherever these begin. */
static bool may_match(const struct pl_simplify_rule *rule, const struct draft *draft)
{
    return !rule->stem.anchored || rule->kind->apply == apply_strip ||
           pl_stem_starts(&rule->stem, draft->text, draft->bytes) ||
           pl_stem_starts(&rule->stem, draft->bare.text, draft->bare.bytes);
}

static void apply_rules(struct pl_simplify *set, uint32_t from, uint32_t to, struct draft *draft)
{
    for (uint32_t i = from; i < to; i++) {
        struct pl_simplify_rule *rule = &set->rule[i];
        if (!may_match(rule, draft))
            continue;
        draft->emptied = false;
        rule->names += rule->kind->apply(rule, draft);
        rule->emptied |= draft->emptied;
    }
}

/* Many built-in allocator rules are anchored at the start of the name. One expression joins them, and looks only
 * there. */
static bool is_joined(const struct pl_simplify_rule *rule)
{
    return rule->stem.anchored && rule->kind->apply == apply_allocator;
}

static void apply_builtin(struct pl_simplify *set, struct draft *draft)
{
    apply_rules(set, 0, set->spellings, draft);
    apply_allocator(&set->allocators, draft);
    for (uint32_t i = set->spellings; i < set->builtin; i++)
        if (!is_joined(&set->rule[i]))
            apply_rules(set, i, i + 1, draft);
}

struct pl_simplified pl_simplify_name(struct pl_simplify *set, struct pl_arena *arena, const char *name)
{
    char one[NAME_BYTES_MAX + 1], two[NAME_BYTES_MAX + 1];
    struct pl_simplified result = {.name = name};
    struct draft draft = {.text = one, .other = two, .bytes = strlen(name), .result = &result};
    if (draft.bytes == 0 || draft.bytes > NAME_BYTES_MAX)
        return result;
    memcpy(one, name, draft.bytes);
    set_bare(&draft);
    if (!set->no_defaults)
        apply_builtin(set, &draft);
    apply_rules(set, set->builtin, set->count, &draft);
    result.renamed = strcmp(draft.text, name) != 0;
    if (result.renamed)
        result.name = pl_arena_text(arena, draft.text, draft.bytes);
    return result;
}

/* --- one line --- */

/* The offset of " =>" with a blank, or the end, after it; line->bytes if there is none. */
static size_t find_arrow(const struct pl_rule_line *line)
{
    for (size_t at = 0; at + 3 <= line->bytes; at++)
        if (pl_rulefile_blank(line->text[at]) && memcmp(line->text + at + 1, "=>", 2) == 0 &&
            (at + 3 == line->bytes || pl_rulefile_blank(line->text[at + 3])))
            return at;
    return line->bytes;
}

static int check_replacement(const struct pl_rule_line *line, const struct pl_simplify_rule *rule,
                             char why[PL_WHY_BYTES])
{
    for (const char *at = strchr(rule->replacement, '\\'); at; at = strchr(at + 2, '\\')) {
        if (at[1] != '\\' && !(at[1] >= '0' && at[1] <= '9'))
            return pl_rulefile_complain(
                line, why, "a backslash before %s; write \\0 to \\9 for what was matched, and \\\\ for a backslash",
                at[1] ? "another character" : "nothing");
        if (at[1] != '\\' && (size_t) (at[1] - '0') > rule->expression.re_nsub)
            return pl_rulefile_complain(line, why, "\\%c stands for a group in ( ), but the expression has only %zu",
                                        at[1], rule->expression.re_nsub);
    }
    return 0;
}

static uint32_t count_groups(const char *replacement)
{
    uint32_t groups = 1;
    for (const char *at = strchr(replacement, '\\'); at; at = strchr(at + 2, '\\'))
        if (at[1] != '\\' && (uint32_t) (at[1] - '0') >= groups)
            groups = (uint32_t) (at[1] - '0') + 1;
    return groups;
}

static int compile(const struct pl_rule_line *line, struct pl_simplify_rule *rule, char why[PL_WHY_BYTES])
{
    char error[128];
    if (pl_stem_refers_back(rule->pattern)) /* matching these takes unbounded time */
        return pl_rulefile_complain(line, why,
                                    "an expression cannot have back-references (\\1); only the text after => can");
    int code = regcomp(&rule->expression, rule->pattern, REG_EXTENDED | rule->kind->flags);
    if (code != 0) {
        regerror(code, NULL, error, sizeof error);
        return pl_rulefile_complain(line, why, "`%.200s` is not a regular expression: %s", rule->pattern, error);
    }
    int result = rule->kind->replaces ? check_replacement(line, rule, why) : 0;
    if (result == 0 && regexec(&rule->expression, "", 0, NULL, 0) == 0)
        result = pl_rulefile_complain(
            line, why, "`%.200s` matches the empty text, so it matches everywhere; use + instead of *", rule->pattern);
    if (result != 0)
        regfree(&rule->expression);
    return result;
}

static const struct pl_simplify_kind *find_kind(const struct pl_rule_line *line, size_t bytes)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].word) == bytes && memcmp(kinds[i].word, line->text, bytes) == 0)
            return &kinds[i];
    return NULL;
}

static const char *copy_part(struct pl_simplify *set, struct pl_rule_line part)
{
    pl_rulefile_trim(&part);
    return pl_arena_text(set->arena, part.text, part.bytes);
}

/* `line` is the rest of the line after the word. */
static int read_rule(struct pl_simplify *set, struct pl_rule_line *line, const struct pl_simplify_kind *kind,
                     char why[PL_WHY_BYTES])
{
    size_t arrow = find_arrow(line);
    struct pl_rule_line pattern = *line, replacement = *line;
    if (kind->replaces && arrow == line->bytes)
        return pl_rulefile_complain(line, why, "expected %s REGEX => TEXT, with blanks around the arrow", kind->word);
    if (!kind->replaces && arrow < line->bytes)
        return pl_rulefile_complain(line, why, "%s takes only an expression; to match an arrow in a name, write =[>]",
                                    kind->word);
    pattern.bytes = arrow;
    if (kind->replaces) {
        replacement.text += arrow + 3;
        replacement.bytes -= arrow + 3;
    } else {
        replacement.bytes = 0;
    }
    struct pl_simplify_rule rule = {.kind = kind,
                                    .pattern = copy_part(set, pattern),
                                    .replacement = copy_part(set, replacement),
                                    .file = line->path,
                                    .line = line->number};
    if (!*rule.pattern)
        return pl_rulefile_complain(line, why, "%s needs a regular expression", kind->word);
    int result = compile(line, &rule, why);
    if (result != 0)
        return result;
    rule.stem = pl_stem_read(set->arena, rule.pattern);
    rule.groups = count_groups(rule.replacement);
    set->rule = pl_grow(set->rule, set->count, &set->capacity, sizeof *set->rule);
    set->rule[set->count++] = rule;
    return 0;
}

static int read_line(struct pl_simplify *set, struct pl_rule_line *line, char why[PL_WHY_BYTES])
{
    if (memchr(line->text, 0, line->bytes))
        return pl_rulefile_complain(line, why, "not a text file");
    size_t word = 0;
    while (word < line->bytes && !pl_rulefile_blank(line->text[word]))
        word++;
    const struct pl_simplify_kind *kind = find_kind(line, word);
    if (!kind)
        return pl_rulefile_complain(
            line, why,
            "`%.*s` is not a rule; rules are spell, rename, join, strip, allocator, drop, cut and no-defaults",
            (int) (word < 40 ? word : 40), line->text);
    line->text += word;
    line->bytes -= word;
    if (kind->apply)
        return read_rule(set, line, kind, why);
    if (line->bytes > 0)
        return pl_rulefile_complain(line, why, "%s takes no argument", kind->word);
    set->no_defaults = true;
    return 0;
}

/* --- sets --- */

static void forget_rules(struct pl_simplify *set, uint32_t count)
{
    while (set->count > count)
        regfree(&set->rule[--set->count].expression);
}

int pl_simplify_parse(struct pl_simplify *set, const char *path, const char *text, size_t bytes, char why[PL_WHY_BYTES])
{
    uint32_t count = set->count;
    bool no_defaults = set->no_defaults;
    struct pl_rule_line line = {
        .path = path ? pl_arena_text(set->arena, path, strlen(path)) : NULL, .next = text, .end = text + bytes};
    int result = 0;
    while (result == 0 && pl_rulefile_next(&line))
        result = read_line(set, &line, why);
    if (result != 0) {
        forget_rules(set, count);
        set->no_defaults = no_defaults;
    }
    return result;
}

int pl_simplify_read(struct pl_simplify *set, const char *path, char why[PL_WHY_BYTES])
{
    char *text = NULL;
    size_t bytes = 0;
    int result = pl_rulefile_read(path, FILE_BYTES_MAX, &text, &bytes);
    if (result != 0)
        snprintf(why, PL_WHY_BYTES, "cannot read rules for names from %.300s: %s", path, strerror(-result));
    else
        result = pl_simplify_parse(set, path, text, bytes, why);
    free(text);
    return result;
}

/* The built-in rules for allocators come last. With one ^ in front of all, the expression is tried in one place
 * only. */
static int join_allocators(struct pl_simplify *set, char why[PL_WHY_BYTES])
{
    char pattern[BUILTIN_BYTES_MAX] = "";
    size_t bytes = 0;
    struct pl_rule_line line = {0};
    while (set->spellings < set->count && set->rule[set->spellings].kind->apply != apply_allocator)
        set->spellings++;
    for (uint32_t i = set->spellings; i < set->count && bytes < sizeof pattern; i++)
        if (is_joined(&set->rule[i]))
            bytes += (size_t) snprintf(pattern + bytes, sizeof pattern - bytes, "%s(%s)", bytes ? "|" : "^(",
                                       set->rule[i].pattern + 1);
    if (bytes < sizeof pattern)
        bytes += (size_t) snprintf(pattern + bytes, sizeof pattern - bytes, ")");
    set->allocators = (struct pl_simplify_rule){
        .kind = set->rule[set->count - 1].kind, .pattern = pattern, .stem = {.anchored = true}};
    int result = bytes < sizeof pattern ? compile(&line, &set->allocators, why) : -E2BIG;
    set->allocators.pattern = set->allocators.stem.text = "";
    return result;
}

struct pl_simplify *pl_simplify_new(void)
{
    char why[PL_WHY_BYTES] = "the built-in rules are too long";
    struct pl_arena *arena = pl_arena_new();
    struct pl_simplify *set = pl_arena_alloc(arena, sizeof *set);
    set->arena = arena;
    if (pl_simplify_parse(set, NULL, pl_simplify_builtin, strlen(pl_simplify_builtin), why) != 0 ||
        join_allocators(set, why) != 0) {
        fprintf(stderr, "plimsoll: %s\n", why);
        abort();
    }
    set->builtin = set->count;
    return set;
}

void pl_simplify_free(struct pl_simplify *set)
{
    forget_rules(set, 0);
    regfree(&set->allocators.expression);
    free(set->rule);
    pl_arena_free(set->arena);
}
