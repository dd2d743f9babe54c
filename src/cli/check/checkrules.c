/* SPDX-License-Identifier: MIT */
/*
 * checkrules.c - parses the rules of `check`, which are the same as options and in files.
 *
 * A value is [WHERE=]LIMIT. The last `=` in front of something that looks like a limit ends WHERE, so that regular
 * expressions (operator==) and file names may contain others.
 */
#include "cli/check/checkrules.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/rulefile.h"
#include "cli/nearest.h"
#include "reader/base/grow.h"

#define FILE_BYTES_MAX (1u << 20)
#define LIMIT_MAX (1ull << 53) /* a double holds all whole numbers up to there */

const struct pl_checkrules_info pl_checkrules_info[PL_CHECKRULE_KINDS] = {
#define ROW(name, word_, label_, unit_, takes_, example_, help)                                                        \
    [PL_CHECKRULE_##                                                                                                   \
        name] = {.word = word_, .label = label_, .takes = takes_, .example = example_, .unit = PL_UNIT_##unit_},
    PL_CHECKRULES(ROW)
#undef ROW
};

/* The rules that --max-growth stands for. */
static const enum pl_checkrule_kind growing[] = {PL_CHECKRULE_PEAK, PL_CHECKRULE_LIVE, PL_CHECKRULE_ALLOCATED,
                                                 PL_CHECKRULE_CALLS};

__attribute__((format(printf, 2, 3))) static int complain(char why[PL_WHY_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, PL_WHY_BYTES, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

/* --- limits --- */

/* "5%", "5%:main.plim", "+5". */
static int read_growth(struct pl_checkrule *rule, const char *text, char why[PL_WHY_BYTES])
{
    char *end = NULL;
    text += *text == '+';
    double percent = isdigit((unsigned char) *text) || *text == '.' ? strtod(text, &end) : NAN;
    if (!isfinite(percent))
        return complain(why, "not a percentage; use a number and a baseline, for example +5%%:main.plim");
    end += *end == '%';
    if (*end && (*end != ':' || !end[1]))
        return complain(why, "only a colon and a profile may follow the percentage, for example 5%%:main.plim");
    rule->relative = true;
    rule->limit = percent / 100;
    rule->baseline = *end ? pl_say_print("%s", end + 1) : NULL;
    return 0;
}

static int complain_value(const struct pl_option *option, enum pl_verdict verdict, char why[PL_WHY_BYTES])
{
    char *complaint = pl_option_complaint(option, "", verdict);
    complain(why, "%s", complaint);
    free(complaint);
    return -EINVAL;
}

static int read_percent(struct pl_checkrule *rule, const char *text, char why[PL_WHY_BYTES])
{
    struct pl_option option = {.type = &pl_type_percent, .into = &rule->limit, .example = "60%"};
    enum pl_verdict verdict = pl_type_percent.read(&option, text);
    rule->limit /= 100;
    return verdict == PL_VALUE_OK ? 0 : complain_value(&option, verdict, why);
}

static int read_whole(struct pl_checkrule *rule, const struct pl_type *type, const char *text, char why[PL_WHY_BYTES])
{
    uint64_t value = 0;
    struct pl_option option = {
        .type = type, .into = &value, .example = type == &pl_type_size ? "200M" : "1000", .max = LIMIT_MAX};
    enum pl_verdict verdict = type->read(&option, text);
    rule->limit = (double) value;
    return verdict == PL_VALUE_OK ? 0 : complain_value(&option, verdict, why);
}

/* "6.5M". Bytes have no fractions: a point without a unit is a typo. */
static int read_size(struct pl_checkrule *rule, const char *text, char why[PL_WHY_BYTES])
{
    static const char digits[] = "0123456789";
    static const struct pl_option most = {.type = &pl_type_size, .max = LIMIT_MAX};
    const char *point = text + strspn(text, digits);
    size_t decimals = *point == '.' ? strspn(point + 1, digits) : 0;
    if (!decimals)
        return read_whole(rule, &pl_type_size, text, why);
    char *one = pl_say_print("1%s", point + 1 + decimals);
    int result = read_whole(rule, &pl_type_size, one, why);
    free(one);
    if (result)
        return result;
    if (rule->limit <= 1)
        return complain(why, "not a size; with a decimal point it needs a unit, for example 6.5M");
    rule->limit = floor(rule->limit * strtod(text, NULL));
    return rule->limit <= LIMIT_MAX ? 0 : complain_value(&most, PL_VALUE_LARGE, why);
}

static int read_limit(struct pl_checkrule *rule, const char *text, char why[PL_WHY_BYTES])
{
    enum pl_checkrule_unit unit = pl_checkrules_info[rule->kind].unit;
    if (unit == PL_UNIT_SHARE && *text == '+')
        return complain(why, "a share is not compared with a baseline; use a limit, for example 60%%");
    if (unit == PL_UNIT_SHARE)
        return read_percent(rule, text, why);
    if (unit == PL_UNIT_GROWTH || *text == '+')
        return read_growth(rule, text, why);
    return unit == PL_UNIT_BYTES ? read_size(rule, text, why) : read_whole(rule, &pl_type_count, text, why);
}

/* --- places --- */

static const struct {
    const char *prefix;
    enum pl_checkrule_where where;
} kinds_of_places[] = {{"function:", PL_WHERE_FUNCTION}, {"tag:", PL_WHERE_TAG}, {"thread:", PL_WHERE_THREAD}};

/* Two colons are no prefix: tag::push is a C++ function. */
static void tell_place(struct pl_checkrule *rule)
{
    rule->where = PL_WHERE_FUNCTION;
    rule->name = rule->place;
    for (size_t i = 0; i < sizeof kinds_of_places / sizeof *kinds_of_places; i++) {
        size_t bytes = strlen(kinds_of_places[i].prefix);
        if (strncmp(rule->place, kinds_of_places[i].prefix, bytes) || rule->place[bytes] == ':')
            continue;
        rule->where = kinds_of_places[i].where;
        rule->name = rule->place + bytes;
    }
}

static int read_place(struct pl_checkrule *rule, const char *text, size_t bytes, char why[PL_WHY_BYTES])
{
    char said[PL_WHY_BYTES / 2];
    const char *word = pl_checkrules_info[rule->kind].word;
    if (!strchr(pl_checkrules_info[rule->kind].takes, '='))
        return complain(why, "it applies only to the whole process: %s %s", word, pl_checkrules_info[rule->kind].takes);
    rule->place = pl_grow_text(text, bytes);
    tell_place(rule);
    if (!*rule->name)
        return complain(why, "no name before the `=`; use a function, tag:NAME or thread:NAME");
    if (rule->where == PL_WHERE_TAG)
        return 0;
    int error = regcomp(&rule->regex, rule->name, REG_EXTENDED | REG_NOSUB);
    if (!error)
        return 0;
    regerror(error, &rule->regex, said, sizeof said);
    rule->where = PL_WHERE_ALL; /* there is nothing to free */
    return complain(why, "%s; use a POSIX extended regular expression, for example 'parse_.*'", said);
}

/* Where the limit begins. */
static const char *find_limit(const char *value)
{
    const char *limit = value;
    for (const char *at = *value == '+' ? NULL : strchr(value, '='); at; at = strchr(at + 1, '='))
        if (isdigit((unsigned char) at[1]) || at[1] == '+' || at[1] == '.' || !at[1])
            limit = at + 1;
    return limit;
}

static int read_value(struct pl_checkrule *rule, const char *value, char why[PL_WHY_BYTES])
{
    const char *limit = find_limit(value);
    int result = limit > value ? read_place(rule, value, (size_t) (limit - 1 - value), why) : 0;
    return result ? result : read_limit(rule, limit, why);
}

/* --- rules --- */

static void free_rule(struct pl_checkrule *rule)
{
    if (rule->where == PL_WHERE_FUNCTION || rule->where == PL_WHERE_THREAD)
        regfree(&rule->regex);
    free(rule->text);
    free(rule->typed);
    free(rule->place);
    free(rule->baseline);
}

static int find_kind(const char *word, char why[PL_WHY_BYTES])
{
    struct pl_nearest nearest = {.word = word};
    for (int i = 0; i < PL_CHECKRULE_KINDS; i++) {
        pl_nearest_offer(&nearest, pl_checkrules_info[i].word);
        if (!strcmp(pl_checkrules_info[i].word, word))
            return i;
    }
    if (nearest.best)
        return complain(why, "no such rule; did you mean %s?", nearest.best);
    return complain(why, "no such rule; `%s help check` lists them", pl_say_self());
}

static char *print_rule(enum pl_checkrule_kind kind, const char *value)
{
    return pl_say_print("%s%s%s", pl_checkrules_info[kind].word, value ? " " : "", value ? value : "");
}

/* `typed`: the rule as the user wrote it. */
static int add_one(struct pl_checkrules *rules, enum pl_checkrule_kind kind, const char *value, const char *typed,
                   char why[PL_WHY_BYTES])
{
    struct pl_checkrule rule = {.kind = kind};
    int result = value ? read_value(&rule, value, why) : 0;
    if (result) {
        free_rule(&rule);
        return result;
    }
    rule.text = print_rule(kind, value);
    rule.typed = pl_say_print("%s", typed);
    rules->rule = pl_grow(rules->rule, rules->count, &rules->capacity, sizeof *rules->rule);
    rules->rule[rules->count++] = rule;
    return 0;
}

/* Adds four rules, each as if the user had written it. */
static int add_growth(struct pl_checkrules *rules, const char *value, const char *typed, char why[PL_WHY_BYTES])
{
    const char *limit = find_limit(value);
    char *relative = pl_say_print("%.*s%s%s", (int) (limit - value), value, *limit == '+' ? "" : "+", limit);
    int result = 0;
    for (size_t i = 0; i < sizeof growing / sizeof *growing && !result; i++)
        result = add_one(rules, growing[i], relative, typed, why);
    free(relative);
    return result;
}

int pl_checkrules_add(struct pl_checkrules *rules, const char *word, const char *value, char why[PL_WHY_BYTES])
{
    int kind = find_kind(word, why);
    if (kind < 0)
        return kind;
    const struct pl_checkrules_info *info = &pl_checkrules_info[kind];
    if (info->takes && (!value || !*value))
        return complain(why, "it needs a limit: %s %s", word, info->takes);
    if (!info->takes && value)
        return complain(why, "it takes no value");
    char *typed = print_rule((enum pl_checkrule_kind) kind, value);
    int result = kind == PL_CHECKRULE_GROWTH ? add_growth(rules, value, typed, why)
                                             : add_one(rules, (enum pl_checkrule_kind) kind, value, typed, why);
    free(typed);
    return result;
}

/* --- files --- */

/* Removes a comment after a rule: a `#` after a blank. */
static void drop_comment(char *text)
{
    for (char *at = text; *at; at++)
        if (pl_rulefile_blank(*at) && at[1] == '#')
            at[0] = at[1] = 0;
    for (size_t bytes = strlen(text); bytes && pl_rulefile_blank(text[bytes - 1]);)
        text[--bytes] = 0;
}

static int add_line(struct pl_checkrules *rules, const struct pl_rule_line *line, char why[PL_WHY_BYTES])
{
    char said[PL_WHY_BYTES], *text = pl_grow_text(line->text, line->bytes), *word = text, *end = text, *value;
    if (strlen(text) < line->bytes) {
        free(text);
        return pl_rulefile_complain(line, why, "not a text file");
    }
    drop_comment(text);
    if (!strncmp(word, "--", 2))
        word += 2; /* as on a command line */
    for (end = word; *end && !pl_rulefile_blank(*end);)
        end++;
    for (value = end; pl_rulefile_blank(*value);)
        value++;
    *end = 0;
    int result = pl_checkrules_add(rules, word, *value ? value : NULL, said);
    if (result)
        result = pl_rulefile_complain(line, why, "%s%s%s: %s", word, *value ? " " : "", value, said);
    free(text);
    return result;
}

int pl_checkrules_read(struct pl_checkrules *rules, const char *path, char why[PL_WHY_BYTES])
{
    char *text = NULL;
    size_t bytes = 0;
    uint32_t before = rules->count;
    int result = pl_rulefile_read(path, FILE_BYTES_MAX, &text, &bytes);
    if (result)
        return complain(why, "cannot read rules from %s: %s", path, strerror(-result)), result;
    struct pl_rule_line line = {.path = path, .next = text, .end = text + bytes};
    while (!result && pl_rulefile_next(&line))
        result = add_line(rules, &line, why);
    free(text);
    if (!result && rules->count == before)
        return complain(why, "%s contains no rules; a rule is, for example: max-peak 200M", path);
    return result;
}

void pl_checkrules_free(struct pl_checkrules *rules)
{
    for (uint32_t i = 0; i < rules->count; i++)
        free_rule(&rules->rule[i]);
    free(rules->rule);
    *rules = (struct pl_checkrules){0};
}
