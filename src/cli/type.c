/* SPDX-License-Identifier: MIT */
/*
 * type.c - the types of values that options and environment variables take, and how each is parsed.
 *
 * Parsers are strict: the whole text must be valid, so that a typing error is an error and not a different setting.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/option.h"

#define STORE(type, option, value)                                                                                     \
    do {                                                                                                               \
        if ((option)->into)                                                                                            \
            *(type *) (option)->into = (value);                                                                        \
    } while (0)

static enum pl_verdict read_flag(const struct pl_option *option, const char *text)
{
    if (strcmp(text, "0") && strcmp(text, "1"))
        return PL_VALUE_WRONG;
    STORE(bool, option, *text == '1');
    return PL_VALUE_OK;
}

static enum pl_verdict read_text(const struct pl_option *option, const char *text)
{
    if (!*text)
        return PL_VALUE_WRONG;
    STORE(const char *, option, text);
    return PL_VALUE_OK;
}

static enum pl_verdict check_bounds(const struct pl_option *option, uint64_t value)
{
    if (value < option->min)
        return PL_VALUE_SMALL;
    return option->max && value > option->max ? PL_VALUE_LARGE : PL_VALUE_OK;
}

static enum pl_verdict keep_number(const struct pl_option *option, uint64_t value)
{
    enum pl_verdict verdict = check_bounds(option, value);
    if (verdict == PL_VALUE_OK)
        STORE(uint64_t, option, value);
    return verdict;
}

/* Digits only: strtoull alone would accept signs and leading blanks, and wrap "-1" around. */
static enum pl_verdict read_digits(const char *text, uint64_t *value, const char **end)
{
    char *stop;
    if (!isdigit((unsigned char) *text))
        return PL_VALUE_WRONG;
    errno = 0;
    *value = strtoull(text, &stop, 10);
    *end = stop;
    return errno == ERANGE ? PL_VALUE_LARGE : PL_VALUE_OK;
}

static enum pl_verdict read_count(const struct pl_option *option, const char *text)
{
    uint64_t value;
    const char *end;
    enum pl_verdict verdict = read_digits(text, &value, &end);
    if (verdict == PL_VALUE_WRONG || *end)
        return PL_VALUE_WRONG;
    return verdict == PL_VALUE_OK ? keep_number(option, value) : verdict;
}

/* "", K, M, G, T, each also as KB and KiB: all binary. Returns the shift, or -1. */
static int unit_shift(const char *unit)
{
    static const char letters[] = "KMGT";
    const char *at = *unit ? strchr(letters, toupper((unsigned char) *unit)) : NULL;
    if (!*unit || !strcasecmp(unit, "B"))
        return 0;
    if (!at || (unit[1] && strcasecmp(unit + 1, "B") && strcasecmp(unit + 1, "iB")))
        return -1;
    return (int) (at - letters + 1) * 10;
}

static enum pl_verdict read_size(const struct pl_option *option, const char *text)
{
    uint64_t value;
    const char *end;
    enum pl_verdict verdict = read_digits(text, &value, &end);
    int shift = verdict == PL_VALUE_WRONG ? -1 : unit_shift(end);
    if (shift < 0)
        return PL_VALUE_WRONG;
    if (verdict == PL_VALUE_LARGE || value > UINT64_MAX >> shift)
        return PL_VALUE_LARGE;
    return keep_number(option, value << shift);
}

static enum pl_verdict read_sample(const struct pl_option *option, const char *text)
{
    return strcmp(text, "exact") && strcmp(text, "auto") ? read_size(option, text) : PL_VALUE_OK;
}

/* A percentage with up to four decimals, with or without `%`: exactly what the runtime accepts. */
#define PPM_OF_PERCENT 10000u
static enum pl_verdict read_budget(const struct pl_option *option, const char *text)
{
    uint64_t percent, ppm = 0, scale = PPM_OF_PERCENT;
    const char *end;
    if (read_digits(text, &percent, &end) == PL_VALUE_WRONG)
        return PL_VALUE_WRONG;
    if (*end == '.')
        for (end++; isdigit((unsigned char) *end) && scale > 1; end++)
            ppm += (uint64_t) (*end - '0') * (scale /= 10);
    if (*end == '%')
        end++;
    if (*end)
        return PL_VALUE_WRONG;
    return percent > UINT32_MAX ? PL_VALUE_LARGE : keep_number(option, percent * PPM_OF_PERCENT + ppm);
}

/* Reads the digits after a decimal point as a fraction, and moves past them. */
static double read_fraction(const char **at)
{
    double fraction = 0, place = 0.1;
    if (**at != '.' || !isdigit((unsigned char) (*at)[1]))
        return 0;
    for (++*at; isdigit((unsigned char) **at); ++*at, place /= 10)
        fraction += place * (**at - '0');
    return fraction;
}

/* A number of seconds, or with its unit: 500ms, 10s, 5m, 1h. */
static enum pl_verdict read_duration(const struct pl_option *option, const char *text, bool fractions)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"", 1000000000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
    uint64_t value;
    const char *end;
    enum pl_verdict verdict = read_digits(text, &value, &end);
    double fraction = verdict == PL_VALUE_WRONG || !fractions ? 0 : read_fraction(&end);
    for (size_t i = 0; verdict != PL_VALUE_WRONG && i < sizeof units / sizeof *units; i++) {
        if (strcmp(units[i].unit, end))
            continue;
        bool fits = verdict == PL_VALUE_OK && value < UINT64_MAX / units[i].ns;
        uint64_t rest = (uint64_t) (fraction * (double) units[i].ns + 0.5);
        return fits ? keep_number(option, value * units[i].ns + rest) : PL_VALUE_LARGE;
    }
    return PL_VALUE_WRONG;
}

static enum pl_verdict read_time(const struct pl_option *option, const char *text)
{
    return read_duration(option, text, false);
}

/* Accepts fractions, as in reports: 2.5s. */
static enum pl_verdict read_instant(const struct pl_option *option, const char *text)
{
    return read_duration(option, text, true);
}

static enum pl_verdict read_percent(const struct pl_option *option, const char *text)
{
    char *end;
    if (!isdigit((unsigned char) *text) && *text != '.')
        return PL_VALUE_WRONG;
    double value = strtod(text, &end);
    if (end == text || (*end == '%' ? end[1] : *end) || !isfinite(value))
        return PL_VALUE_WRONG;
    if (value > 100)
        return PL_VALUE_LARGE;
    STORE(double, option, value);
    return PL_VALUE_OK;
}

static enum pl_verdict read_choice(const struct pl_option *option, const char *text)
{
    for (int i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], text))
            continue;
        STORE(int, option, i);
        return PL_VALUE_OK;
    }
    return PL_VALUE_WRONG;
}

static enum pl_verdict read_pattern(const struct pl_option *option, const char *text)
{
    for (const char *at = strchr(text, '%'); at; at = strchr(at + 2, '%'))
        if (!at[1] || !strchr("pcth%", at[1]))
            return PL_VALUE_WRONG;
    return read_text(option, text);
}

static enum pl_verdict read_names(const struct pl_option *option, const char *text)
{
    for (const char *word = text;; word++) {
        size_t bytes = strcspn(word, ",");
        if (!bytes)
            return PL_VALUE_WRONG;
        word += bytes;
        if (!*word)
            break;
    }
    return read_text(option, text);
}

static enum pl_verdict read_files(const struct pl_option *option, const char *text)
{
    struct pl_type_list *files = option->into;
    if (!*text)
        return PL_VALUE_WRONG;
    if (!files)
        return PL_VALUE_OK;
    files->path = pl_say_memory(reallocarray(files->path, files->count + 1, sizeof *files->path));
    files->path[files->count++] = text;
    return PL_VALUE_OK;
}

const struct pl_type pl_type_flag = {"neither 0 nor 1", "0 or 1", read_flag};
const struct pl_type pl_type_text = {"empty", "a name", read_text};
const struct pl_type pl_type_size = {"not a size", "bytes with K, M or G", read_size};
const struct pl_type pl_type_sample = {"not a size", "bytes with K, M or G, exact or auto", read_sample};
const struct pl_type pl_type_budget = {"not a percentage", NULL, read_budget};
const struct pl_type pl_type_count = {"not a number", "a whole number", read_count};
const struct pl_type pl_type_time = {"not a time", "a number with ms, s, m or h", read_time};
const struct pl_type pl_type_instant = {"not a time", "a number with ms, s, m or h", read_instant};
const struct pl_type pl_type_percent = {"not a percentage", "a number from 0 to 100", read_percent};
const struct pl_type pl_type_choice = {"not a choice", "one of", read_choice};
const struct pl_type pl_type_pattern = {"not a file name pattern",
                                        "%p (pid), %c (command), %t (time), %h (host) or %% after each percent sign",
                                        read_pattern};
const struct pl_type pl_type_names = {"not a list of command names", "names separated by commas", read_names};
const struct pl_type pl_type_files = {"empty", "the name of a file", read_files};
