/* SPDX-License-Identifier: MIT */
/*
 * check.c - the check command: checks profiles against rules, for CI:
 *
 *   ok      peak         31.4 MiB  ≤ 32 MiB
 *   FAIL    never freed   2.1 MiB  in 1,204 blocks; worst: index_add_term src/index.c:212 (1.9 MiB)
 *   1 of 2 checks failed
 *
 * All profiles are read before anything is printed: a function, tag or thread that a rule names is considered misspelt
 * only if no profile has it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "cli/check/gate.h"
#include "cli/check/junit.h"
#include "cli/names.h"
#include "cli/option.h"
#include "cli/report/leaks.h"
#include "cli/run/summary.h"
#include "cli/subject.h"
#include "cli/table.h"
#include "cli/term.h"
#include "reader/base/grow.h"

#define GAP 2
#define OUTCOME_WIDTH 6     /* of the longest, unsure */
#define TEXT_WIDTH_LEAST 40 /* if fewer columns are left, the text starts on a new line */

/* A rule as it was given by an option. */
struct typed_rule {
    const char *word, *value; /* value NULL: the rule takes none */
};

struct typed_rules {
    struct typed_rule *rule;
    uint32_t count, capacity;
};

static struct {
    struct typed_rules rules;
    struct pl_type_list files;
    struct pl_leaks_options leaks;
    const char *baseline, *junit, *names;
    bool strict, allow_unmatched, quiet, force;
    const char *sysroot;
    int colour;
} given;

/* Stores a rule unparsed. read_rules() parses all of them, with its own error messages. */
static enum pl_verdict read_rule(const struct pl_option *option, const char *text)
{
    struct typed_rules *rules = option->into;
    rules->rule = pl_grow(rules->rule, rules->count, &rules->capacity, sizeof *rules->rule);
    rules->rule[rules->count++] = (struct typed_rule){option->name, option->takes ? text : NULL};
    return PL_VALUE_OK;
}

static const struct pl_type type_rule = {"not a rule", NULL, read_rule};

/* clang-format off */
static const struct pl_option options[] = {
#define ROW(name_, word_, label_, unit_, takes_, example_, help_)                                                      \
    {.name = word_, .takes = takes_, .help = help_, .type = &type_rule, .into = &given.rules, .example = example_},
    PL_CHECKRULES(ROW)
#undef ROW
    {.name = "rules", .letter = 'r', .takes = "FILE", .help = "read rules from a file, one per line, without the "
     "dashes; may be repeated", .type = &pl_type_files, .into = &given.files},
    {.name = "baseline", .takes = "FILE", .help = "profile to compare with, for relative limits that do not name one",
     .type = &pl_type_text, .into = &given.baseline},
    {.name = "strict", .help = "fail if unsure: a limit within the error of an estimate, or a profile with losses",
     .type = &pl_type_flag, .into = &given.strict},
    {.name = "allow-unmatched", .help = "do not fail if a WHERE matches nothing in any profile",
     .type = &pl_type_flag, .into = &given.allow_unmatched},
    {.name = "suppressions", .takes = "FILE", .help = "exclude leaks that FILE lists in LeakSanitizer's format; may be "
     "repeated", .type = &pl_type_files, .into = &given.leaks.suppressions},
    {.name = "no-default-suppressions", .help = "include memory that system libraries keep on purpose",
     .type = &pl_type_flag, .into = &given.leaks.no_defaults},
    {.name = "junit", .takes = "FILE", .help = "also write the results to FILE, as JUnit XML",
     .type = &pl_type_text, .into = &given.junit},
    {.name = "quiet", .letter = 'q', .help = "print only failed and unsure rules", .type = &pl_type_flag,
     .into = &given.quiet},
    PL_NAMES_OPTION(given.names),
    PL_FORCE_OPTION(given.force),
    PL_SYSROOT_OPTION(given.sysroot),
    PL_COLOUR_OPTION(given.colour),
    {0},
};
/* clang-format on */

/* --- the rules --- */

static enum pl_exit read_rules(struct pl_checkrules *rules)
{
    char why[PL_WHY_BYTES];
    for (uint32_t i = 0; i < given.rules.count; i++) {
        const struct typed_rule *typed = &given.rules.rule[i];
        if (pl_checkrules_add(rules, typed->word, typed->value, why))
            return pl_say_usage("--%s %s: %s", typed->word, typed->value ? typed->value : "", why);
    }
    for (size_t i = 0; i < given.files.count; i++) {
        int error = pl_checkrules_read(rules, given.files.path[i], why);
        if (error)
            return error == -EINVAL ? pl_say_usage("%s", why) : pl_say_failure("%s", why);
    }
    if (!rules->count)
        return pl_say_usage("check needs a rule: %s check --max-peak 200M --no-leaks FILE, or --rules FILE",
                            pl_say_self());
    return PL_EXIT_OK;
}

/* --- baselines --- */

struct baselines {
    struct baseline {
        const char *path;
        struct pl_profile *profile;
    } * item;
    uint32_t count, capacity;
};

static enum pl_exit open_profile(const char *name, struct pl_profile **out)
{
    struct pl_subject_options how = {
        .command = "check", .force = given.force, .sysroot = given.sysroot, .names = {.file = given.names}};
    char *argument = (char *) name;
    return pl_subject_open(&how, 1, &argument, out);
}

/* Opens each baseline once, however many rules name it. `who` is the rule or option that names it. */
static enum pl_exit open_baseline(struct baselines *baselines, const char *path, const char *who,
                                  const struct pl_profile **out)
{
    struct pl_profile *profile;
    for (uint32_t i = 0; i < baselines->count; i++) {
        if (strcmp(baselines->item[i].path, path))
            continue;
        *out = baselines->item[i].profile;
        return PL_EXIT_OK;
    }
    enum pl_exit status = open_profile(path, &profile);
    if (status != PL_EXIT_OK) {
        pl_say("%s: cannot read the baseline", who);
        return status;
    }
    baselines->item = pl_grow(baselines->item, baselines->count, &baselines->capacity, sizeof *baselines->item);
    baselines->item[baselines->count++] = (struct baseline){path, profile};
    *out = profile;
    return PL_EXIT_OK;
}

static enum pl_exit find_baseline(struct baselines *baselines, struct pl_checkrule *rule)
{
    const char *path = rule->baseline ? rule->baseline : given.baseline;
    if (!path)
        return pl_say_usage("%s: no baseline to compare with; name one, as in +5%%:main.plim, or add --baseline FILE",
                            rule->typed);
    return open_baseline(baselines, path, rule->typed, &rule->base);
}

/* Opens the file of --baseline even if no rule uses it: a check must not pass if its baseline cannot be read. */
static enum pl_exit open_baselines(struct pl_checkrules *rules, struct baselines *baselines)
{
    const struct pl_profile *unused;
    enum pl_exit status = PL_EXIT_OK;
    char *who = pl_say_print("--baseline %s", given.baseline ? given.baseline : "");
    if (given.baseline)
        status = open_baseline(baselines, given.baseline, who, &unused);
    free(who);
    for (uint32_t i = 0; i < rules->count && status == PL_EXIT_OK; i++)
        if (rules->rule[i].relative)
            status = find_baseline(baselines, &rules->rule[i]);
    return status;
}

static void close_baselines(struct baselines *baselines)
{
    for (uint32_t i = 0; i < baselines->count; i++)
        pl_profile_close(baselines->item[i].profile);
    free(baselines->item);
}

/* --- the table --- */

struct table {
    struct pl_term term;
    size_t label, figure, limit; /* widths */
};

static bool is_shown(const struct pl_finding *finding)
{
    return !given.quiet || finding->outcome != PL_OUTCOME_OK;
}

static void lay_out(struct table *table, const struct pl_suite *suite, uint32_t suites)
{
    for (uint32_t s = 0; s < suites; s++) {
        for (uint32_t i = 0; i < suite[s].findings; i++) {
            if (!is_shown(&suite[s].finding[i]))
                continue;
            pl_table_widen(&table->label, suite[s].finding[i].label);
            pl_table_widen(&table->figure, suite[s].finding[i].figure);
            pl_table_widen(&table->limit, suite[s].finding[i].limit);
        }
    }
}

static void put_finding(struct table *table, const struct pl_finding *finding)
{
    static const char *const words[PL_OUTCOMES] = {"ok", "unsure", "FAIL"};
    static const enum pl_style styles[PL_OUTCOMES] = {PL_STYLE_DIM, PL_STYLE_BOLD, PL_STYLE_WARN};
    struct pl_term *term = &table->term;
    size_t label = OUTCOME_WIDTH + GAP, figure = label + table->label + GAP;
    size_t limit = figure + table->figure + GAP, text = limit + (table->limit ? table->limit + GAP : 0);
    pl_term_put(term, styles[finding->outcome], words[finding->outcome]);
    pl_term_pad(term, label);
    pl_term_put(term, PL_STYLE_PLAIN, finding->label);
    pl_term_pad(term, figure);
    pl_term_right(term, PL_STYLE_BOLD, finding->figure, table->figure);
    if (*finding->limit) {
        pl_term_pad(term, limit);
        pl_term_put(term, PL_STYLE_PLAIN, finding->limit);
    }
    if (*finding->words && text + TEXT_WIDTH_LEAST > term->width) {
        pl_term_end(term);
        text = label;
    }
    if (*finding->words) {
        pl_term_pad(term, text);
        pl_term_words(term, PL_STYLE_PLAIN, finding->words, text);
    }
    pl_term_end(term);
}

static void put_suite(struct table *table, const struct pl_suite *suite, bool titled)
{
    struct pl_term *term = &table->term;
    if (given.quiet && !suite->failed && !suite->unsure)
        return;
    char *notes = pl_gate_notes(suite, pl_say_self());
    if (titled) {
        pl_term_put(term, PL_STYLE_HEAD, suite->subject);
        pl_term_end(term);
    }
    for (uint32_t i = 0; i < suite->findings; i++)
        if (is_shown(&suite->finding[i]))
            put_finding(table, &suite->finding[i]);
    if (*notes) {
        pl_term_put(term, PL_STYLE_DIM, "note");
        pl_term_pad(term, OUTCOME_WIDTH + GAP);
        pl_term_words(term, PL_STYLE_DIM, notes, OUTCOME_WIDTH + GAP);
        pl_term_end(term);
    }
    free(notes);
    if (titled)
        pl_term_end(term);
}

static void put_conclusion(struct pl_term *term, const struct pl_suite *suite, uint32_t suites, uint32_t *failed)
{
    uint32_t findings = 0, unsure = 0;
    *failed = 0;
    for (uint32_t i = 0; i < suites; i++) {
        findings += suite[i].findings;
        unsure += suite[i].unsure;
        *failed += suite[i].failed;
    }
    if (*failed)
        pl_term_print(term, PL_STYLE_WARN, "%u of %u check%s failed", *failed, findings, findings == 1 ? "" : "s");
    else if (!given.quiet || unsure)
        pl_term_print(term, PL_STYLE_PLAIN, "%u check%s passed", findings, findings == 1 ? "" : "s");
    if (unsure)
        pl_term_print(term, PL_STYLE_PLAIN, " (%u unsure)", unsure);
    if (term->column)
        pl_term_end(term);
}

static enum pl_exit print(const struct pl_suite *suite, uint32_t suites)
{
    struct table table = {.term = pl_term_open(stdout, (enum pl_colour) given.colour)};
    uint32_t failed;
    lay_out(&table, suite, suites);
    for (uint32_t i = 0; i < suites; i++)
        put_suite(&table, &suite[i], suites > 1);
    put_conclusion(&table.term, suite, suites, &failed);
    return failed ? PL_EXIT_FAILURE : PL_EXIT_OK;
}

/* --- the command --- */

static void hold_one(const char *argument, struct pl_checkrules *rules, struct pl_suppressions *suppressions,
                     struct pl_suite *out)
{
    struct pl_profile *profile;
    char *typed = pl_summary_typed(argument);
    if (open_profile(argument, &profile) == PL_EXIT_OK) {
        pl_gate_hold(profile, typed, rules, suppressions, out);
        pl_profile_close(profile);
    } else {
        pl_gate_refuse(typed, out);
    }
    free(typed);
}

static enum pl_exit check_all(int argc, char **argv, struct pl_checkrules *rules, struct pl_suppressions *suppressions)
{
    struct pl_gate_options how = {.strict = given.strict, .allow_unmatched = given.allow_unmatched};
    uint32_t suites = (uint32_t) argc;
    struct pl_suite *suite = pl_grow_zeroed(suites, sizeof *suite);
    for (uint32_t i = 0; i < suites; i++)
        hold_one(argv[i], rules, suppressions, &suite[i]);
    pl_gate_settle(suite, suites, &how);
    enum pl_exit status = print(suite, suites);
    int error = given.junit ? pl_junit_write(given.junit, suite, suites) : 0;
    if (error)
        status = pl_say_failure("cannot write %s: %s", given.junit, strerror(-error));
    for (uint32_t i = 0; i < suites; i++)
        pl_gate_free(&suite[i]);
    free(suite);
    return status;
}

static enum pl_exit check(int argc, char **argv, struct pl_checkrules *rules, struct baselines *baselines)
{
    uint32_t asked_for = 0;
    enum pl_exit status = read_rules(rules);
    if (status == PL_EXIT_OK && !argc)
        status = pl_subject_check("check", argc, argv);
    if (status == PL_EXIT_OK)
        status = open_baselines(rules, baselines);
    if (status != PL_EXIT_OK)
        return status;
    struct pl_suppressions *suppressions = pl_leaks_suppressions(&given.leaks, &asked_for);
    if (!suppressions)
        return PL_EXIT_FAILURE;
    status = check_all(argc, argv, rules, suppressions);
    pl_leaks_unmatched(suppressions, asked_for);
    pl_suppressions_free(suppressions);
    return status;
}

static int check_main(int argc, char **argv)
{
    struct pl_checkrules rules = {0};
    struct baselines baselines = {0};
    enum pl_exit status = check(argc, argv, &rules, &baselines);
    close_baselines(&baselines);
    pl_checkrules_free(&rules);
    free(given.rules.rule);
    return status;
}

const struct pl_command pl_command_check = {
    .name = "check",
    .arguments = "FILE|PID...",
    .summary = "check profiles against limits, for CI",
    .details =
        "Prints a line for each rule, ok or FAIL, with the figure, the limit, and the site that contributes most. Each "
        "FILE or PID is checked by itself; to check the sum of several, give their directory, or merge them first.\n"
        "\n"
        "A limit applies to the whole process or, with WHERE=, to a part of it: a regular expression for functions "
        "anywhere in the stack (and source files and modules, as --focus of report), tag:NAME, or thread:REGEX. It is "
        "a number, or +PCT[:FILE]: that much more than FILE, or the --baseline, has.\n"
        "\n"
        "Figures of sampled profiles have errors. If the limit lies within the error, the outcome is unsure. That "
        "passes, so that a check does not fail by chance; with --strict it fails. A rule that cannot be decided fails, "
        "with the reason: for example --no-leaks for a killed process, or a WHERE that matches nothing. See "
        "docs/check.md.",
    .examples = "plimsoll run --exact -o app.plim -- perl -e '$n{$_} = \"x\" x 50 for 1 .. 2000'\n"
                "plimsoll check --max-peak 64M --max-calls 100000 app.plim\n"
                "plimsoll check --max-peak '+5%:app.plim' --max-growth 5%:app.plim --junit check.xml app.plim",
    .statuses = "The status is 1 if a check fails, and 2 if a rule was not understood.",
    .files = PL_NAMES_FILES,
    .options = options,
    .main = check_main,
};
