/* SPDX-License-Identifier: MIT */
/*
 * option.c - parses a command line by the command's table of options.
 *
 * For each option: find its row, find its value (after `=`, directly after the letter, or the next word), let its type
 * parse it. Every error message gives the option as it was typed, what is wrong, and what is accepted.
 */
#include "cli/option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "cli/nearest.h"

#define DAYS_FROM_NS (2 * 86400ull * 1000000000u) /* a bound is said in days */

const struct pl_option pl_option_help = {
    .name = "help", .letter = 'h', .help = "print this help", .type = &pl_type_flag};

/* An option as it was typed. */
struct typed {
    const struct pl_option *option;
    char *name;        /* "--sample" or "-s": for messages */
    const char *value; /* NULL: none so far */
};

static const struct pl_option *find_name(const struct pl_command *command, const char *name, size_t bytes)
{
    for (const struct pl_option *o = command->options; o->help; o++)
        if (o->name && strlen(o->name) == bytes && !strncmp(o->name, name, bytes))
            return o;
    return bytes == 4 && !strncmp(name, "help", 4) ? &pl_option_help : NULL;
}

static const struct pl_option *find_letter(const struct pl_command *command, char letter)
{
    for (const struct pl_option *o = command->options; o->help; o++)
        if (o->letter == letter)
            return o;
    return letter == 'h' ? &pl_option_help : NULL;
}

static char *list_choices(const struct pl_option *option)
{
    char *list = pl_say_print("%s", option->choices[0]);
    for (int i = 1; option->choices[i] && i != option->offered; i++) {
        bool last = !option->choices[i + 1] || i + 1 == option->offered;
        char *longer = pl_say_print("%s%s%s", list, last ? " or " : ", ", option->choices[i]);
        free(list);
        list = longer;
    }
    return list;
}

static char *print_bound(const struct pl_option *option, uint64_t bound)
{
    char text[PL_FIGURE_BYTES];
    if (option->type == &pl_type_size || option->type == &pl_type_sample)
        pl_figure_setting(text, bound);
    else if (option->type == &pl_type_budget)
        snprintf(text, sizeof text, "%g%%", (double) bound / 1e4);
    else if (option->type == &pl_type_time || option->type == &pl_type_instant)
        bound < DAYS_FROM_NS ? snprintf(text, sizeof text, "%g s", (double) bound / 1e9)
                             : snprintf(text, sizeof text, "%g days", (double) bound / 86400e9);
    else
        pl_figure_exact(text, bound);
    return pl_say_print("%s", text);
}

static char *complain_bound(const struct pl_option *option, bool small)
{
    if (option->type == &pl_type_percent)
        return pl_say_print("too large; use %s", option->type->accepted);
    char *bound = print_bound(option, small ? option->min : option->max ? option->max : UINT64_MAX);
    char *complaint =
        pl_say_print("too %s; the %s is %s", small ? "small" : "large", small ? "minimum" : "maximum", bound);
    free(bound);
    return complaint;
}

/* ", for example --sample 512K", or for a variable ", for example 512K". The caller frees it. */
static char *give_example(const struct pl_option *option, const char *typed)
{
    if (!option->example)
        return pl_say_print("%s", "");
    return pl_say_print("%sfor example %s%s%s", option->type->accepted ? ", " : "", typed, *typed ? " " : "",
                        option->example);
}

char *pl_option_complaint(const struct pl_option *option, const char *typed, enum pl_verdict verdict)
{
    if (verdict != PL_VALUE_WRONG)
        return complain_bound(option, verdict == PL_VALUE_SMALL);
    bool choice = option->type == &pl_type_choice;
    const char *accepted = option->type->accepted ? option->type->accepted : "";
    char *use = choice ? list_choices(option) : pl_say_print("%s", accepted), *example = give_example(option, typed);
    char *complaint = pl_say_print("%s; use %s%s", option->type->wrong, use, example);
    free(example);
    free(use);
    return complaint;
}

/* The choice with the same two words in the other order: thread,tag for tag,thread. NULL: there is none. */
static const char *find_swapped(const struct pl_option *option, const char *value)
{
    const char *comma = strchr(value, ',');
    char *swapped = comma ? pl_say_print("%s,%.*s", comma + 1, (int) (comma - value), value) : NULL;
    const char *found = NULL;
    for (int i = 0; swapped && option->choices[i]; i++)
        if (!strcmp(option->choices[i], swapped))
            found = option->choices[i];
    free(swapped);
    return found;
}

static enum pl_exit refuse_value(const struct typed *typed, enum pl_verdict verdict)
{
    const struct pl_option *option = typed->option;
    char *complaint = pl_option_complaint(option, typed->name, verdict);
    pl_say("%s %s: %s", typed->name, typed->value, complaint);
    if (option->type == &pl_type_choice) {
        struct pl_nearest nearest = {.word = typed->value};
        for (int i = 0; option->choices[i]; i++)
            pl_nearest_offer(&nearest, option->choices[i]);
        const char *swapped = find_swapped(option, typed->value), *meant = swapped ? swapped : nearest.best;
        if (meant)
            pl_say("did you mean %s %s?", typed->name, meant);
    }
    free(complaint);
    return PL_EXIT_USAGE;
}

static enum pl_exit refuse_unknown(const struct pl_command *command, const char *word)
{
    size_t bytes = strcspn(word, "=");
    char *name = pl_say_print("%.*s", (int) bytes, word);
    struct pl_nearest nearest = {.word = name + strspn(name, "-")};
    for (const struct pl_option *o = command->options; o->help; o++)
        if (o->name)
            pl_nearest_offer(&nearest, o->name);
    if (nearest.best && word[1] == '-')
        pl_say("%s %s: no such option; did you mean --%s?", command->name, name, nearest.best);
    else
        pl_say("%s %s: no such option; see `%s help %s`", command->name, name, pl_say_self(), command->name);
    free(name);
    return PL_EXIT_USAGE;
}

/* Reads one option with its value. *next is the word after it, or NULL; it is set to NULL if it is the value. */
static enum pl_exit read_option(struct typed *typed, char **next)
{
    const struct pl_option *option = typed->option;
    if (!option->takes && typed->value)
        return pl_say_usage("%s takes no value", typed->name);
    if (!option->takes)
        typed->value = "1";
    else if (!typed->value && !*next)
        return pl_say_usage("%s needs a value: %s %s", typed->name, typed->name, option->takes);
    else if (!typed->value)
        typed->value = *next, *next = NULL;
    enum pl_verdict verdict = option->type->read(option, typed->value);
    if (verdict != PL_VALUE_OK)
        return refuse_value(typed, verdict);
    if (option->raw)
        *option->raw = typed->value;
    return PL_EXIT_OK;
}

static enum pl_exit read_long(const struct pl_command *command, const char *word, char **next, bool *help)
{
    size_t bytes = strcspn(word + 2, "=");
    struct typed typed = {.option = find_name(command, word + 2, bytes),
                          .value = word[2 + bytes] ? word + 2 + bytes + 1 : NULL};
    if (!typed.option)
        return refuse_unknown(command, word);
    typed.name = pl_say_print("--%s", typed.option->name);
    enum pl_exit status = read_option(&typed, next);
    *help |= typed.option == &pl_option_help;
    free(typed.name);
    return status;
}

/* -q, -qx (two flags), -oFILE, -o FILE. */
static enum pl_exit read_letters(const struct pl_command *command, const char *word, char **next, bool *help)
{
    enum pl_exit status = PL_EXIT_OK;
    for (const char *at = word + 1; *at && status == PL_EXIT_OK; at++) {
        struct typed typed = {.option = find_letter(command, *at)};
        if (!typed.option)
            return refuse_unknown(command, word);
        typed.name = pl_say_print("-%c", *at);
        if (typed.option->takes && at[1])
            typed.value = at + 1;
        status = read_option(&typed, next);
        *help |= typed.option == &pl_option_help;
        free(typed.name);
        if (typed.option->takes)
            break;
    }
    return status;
}

enum pl_exit pl_option_parse(const struct pl_command *command, bool anywhere, int *argc, char **argv, bool *help)
{
    int left = 0, i = 0;
    enum pl_exit status = PL_EXIT_OK;
    for (; i < *argc && status == PL_EXIT_OK; i++) {
        char *word = argv[i], *next = i + 1 < *argc ? argv[i + 1] : NULL;
        if (!strcmp(word, "--")) {
            i++;
            break;
        }
        if (word[0] != '-' || !word[1]) {
            if (!anywhere)
                break;
            argv[left++] = word;
            continue;
        }
        bool had_next = next;
        status = word[1] == '-' ? read_long(command, word, &next, help) : read_letters(command, word, &next, help);
        i += had_next && !next;
        if (*help)
            return PL_EXIT_OK;
    }
    while (i < *argc)
        argv[left++] = argv[i++];
    argv[left] = NULL; /* argv is one longer than argc, as main's is */
    *argc = left;
    return status;
}
