/* SPDX-License-Identifier: MIT */
/*
 * help.c - the help command. It prints the tables of commands, options and topics: for a terminal, and as
 * docs/commands.md.
 */
#include "cli/help/help.h"

#include <stdlib.h>
#include <string.h>

#include "cli/help/complete.h"
#include "cli/help/man.h"
#include "cli/names.h"
#include "cli/nearest.h"
#include "cli/term.h"
#include "format/settings.h"

static struct {
    bool markdown;
    bool man;
    int complete;
} given = {.complete = -1};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "markdown", .help = "print docs/commands.md: every command, option and topic", .type = &pl_type_flag,
     .into = &given.markdown},
    {.name = "man", .help = "print the manual page of COMMAND, or of plimsoll, as scdoc source",
     .type = &pl_type_flag, .into = &given.man},
    {.name = "complete", .takes = "SHELL", .help = "print the completion script for a shell: bash or zsh",
     .type = &pl_type_choice, .into = &given.complete, .choices = pl_complete_shells},
    {0},
};
/* clang-format on */

static const struct pl_help_setting settings[] = {
#define ROW(name, variable, option, kind, least, most, example, takes, fallback, help)                                 \
    {variable, option, NULL, takes, fallback, help},
    PL_SETTINGS(ROW)
#undef ROW
        {0},
};

static const struct pl_help_setting glibc_settings[] = {
#define ROW(name, variable, tunable, takes, fallback, help) {variable, NULL, tunable, takes, fallback, help},
    PL_GLIBC_SETTINGS(ROW)
#undef ROW
        {0},
};

const struct pl_help_setting *pl_help_settings(const struct pl_topic *topic)
{
    static const struct {
        const char *topic;
        const struct pl_help_setting *settings;
    } tables[] = {{"environment", settings}, {"glibc", glibc_settings}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!strcmp(tables[i].topic, topic->name))
            return tables[i].settings;
    return NULL;
}

const char pl_help_about[] = "Plimsoll shows where a program's heap comes from: which call stacks allocate, how much, "
                             "and what is still live.\n";
const char pl_help_first_steps[] = "plimsoll run -- ./server --port 80     # run and profile a program\n"
                                   "plimsoll report FILE                   # print a report; also takes a PID\n";

/* --- for a terminal --- */

#define TEXT_COLUMN 26

static void print_row(struct pl_term *term, const char *left, const char *text)
{
    pl_term_print(term, PL_STYLE_PLAIN, "  %s", left);
    if (term->column + 2 > TEXT_COLUMN)
        pl_term_end(term);
    pl_term_fill(term, text, TEXT_COLUMN);
}

/* " (default: 512K; $PLIMSOLL_SAMPLE)", or only one of the two, or "". The caller frees it. */
static char *print_note(const struct pl_option *option)
{
    if (option->fallback && option->variable)
        return pl_say_print(" (default: %s; $%s)", option->fallback, option->variable);
    if (option->fallback)
        return pl_say_print(" (default: %s)", option->fallback);
    return option->variable ? pl_say_print(" ($%s)", option->variable) : pl_say_print("%s", "");
}

static void print_option(struct pl_term *term, const struct pl_option *option)
{
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    const char *takes = option->takes ? option->takes : "";
    char *left = pl_say_print("%s--%s%s%s", letter, option->name, *takes ? " " : "", takes);
    char *note = print_note(option);
    char *text = pl_say_print("%s%s", option->help, note);
    print_row(term, left, text);
    free(text);
    free(note);
    free(left);
}

static void print_title(struct pl_term *term, const char *title)
{
    pl_term_end(term);
    pl_term_put(term, PL_STYLE_BOLD, title);
    pl_term_end(term);
}

static void print_block(struct pl_term *term, const char *lines)
{
    while (*lines) {
        size_t bytes = strcspn(lines, "\n");
        pl_term_print(term, PL_STYLE_PLAIN, "  %.*s", (int) bytes, lines);
        pl_term_end(term);
        lines += bytes + (lines[bytes] == '\n');
    }
}

void pl_help_command(const struct pl_command *command, FILE *out)
{
    struct pl_term term = pl_term_open(out, PL_COLOUR_AUTO);
    pl_term_print(&term, PL_STYLE_PLAIN, "Usage: plimsoll %s [options]%s%s", command->name,
                  *command->arguments ? " " : "", command->arguments);
    pl_term_end(&term);
    pl_term_end(&term);
    pl_term_fill(&term, command->details, 0);
    print_title(&term, "Options");
    for (const struct pl_option *option = command->options; option->help; option++)
        if (option->heading)
            print_title(&term, option->help);
        else if (option->name)
            print_option(&term, option);
    print_option(&term, &pl_option_help);
    print_title(&term, "Examples");
    print_block(&term, command->examples);
}

void pl_help_overview(FILE *out)
{
    struct pl_term term = pl_term_open(out, PL_COLOUR_AUTO);
    pl_term_fill(&term, pl_help_about, 0);
    pl_term_end(&term);
    print_block(&term, pl_help_first_steps);
    print_title(&term, "Commands");
    for (size_t i = 0; pl_commands[i]; i++)
        print_row(&term, pl_commands[i]->name, pl_commands[i]->summary);
    print_title(&term, "Topics");
    for (const struct pl_topic *topic = pl_topics; topic->name; topic++)
        print_row(&term, topic->name, topic->summary);
    pl_term_end(&term);
    pl_term_fill(&term, "`plimsoll help WORD` explains a command or a topic.\n", 0);
}

static void print_settings(struct pl_term *term, const struct pl_help_setting *setting)
{
    if (setting)
        print_title(term, "Variables");
    for (; setting && setting->variable; setting++) {
        const char *tunable = setting->tunable ? setting->tunable : "";
        char *text = pl_say_print("%s (%s; default: %s%s%s)", setting->help, setting->takes, setting->fallback,
                                  *tunable ? "; tunable " : "", tunable);
        print_row(term, setting->variable, text);
        free(text);
    }
}

static void print_topic(const struct pl_topic *topic)
{
    struct pl_term term = pl_term_open(stdout, PL_COLOUR_AUTO);
    pl_term_fill(&term, topic->text, 0);
    print_settings(&term, pl_help_settings(topic));
    if (!strcmp(topic->name, "names")) {
        print_title(&term, "Built in");
        pl_names_print(&term);
    }
}

/* --- as Markdown --- */

/* Wraps prose at 120 columns, as the rest of docs/ is. */
static void mark_prose(const char *text)
{
    struct pl_term term = {.out = stdout, .width = 120};
    pl_term_fill(&term, text, 0);
    printf("\n\n");
}

/* `|` would end a cell of a table. */
static void mark_cell(const char *text)
{
    for (; *text; text++)
        printf(*text == '|' ? "\\%c" : "%c", *text);
}

static void mark_option(const struct pl_option *option)
{
    printf("| ");
    if (option->letter)
        printf("`-%c`, ", option->letter);
    printf("`--%s", option->name);
    if (option->takes) {
        printf(" ");
        mark_cell(option->takes);
    }
    printf("` | ");
    mark_cell(option->help);
    printf(" | %s | ", option->fallback ? option->fallback : "");
    printf(option->variable ? "`%s` |\n" : "|\n", option->variable);
}

/* With a prompt: a test runs the lines that have one. */
static void mark_examples(const char *lines)
{
    while (*lines) {
        size_t bytes = strcspn(lines, "\n");
        printf("$ %.*s\n", (int) bytes, lines);
        lines += bytes + (lines[bytes] == '\n');
    }
}

#define OPTION_COLUMNS "| option | what it does | default | variable |\n|---|---|---|---|\n"

static void mark_command(const struct pl_command *command)
{
    printf("## plimsoll %s\n\n```\nplimsoll %s [options]%s%s\n```\n\n", command->name, command->name,
           *command->arguments ? " " : "", command->arguments);
    mark_prose(command->details);
    if (command->options->help)
        printf(OPTION_COLUMNS);
    for (const struct pl_option *option = command->options; option->help; option++)
        if (option->heading)
            printf("\n%s:\n\n" OPTION_COLUMNS, option->help);
        else if (option->name)
            mark_option(option);
    printf("%s```\n", command->options->help ? "\n" : "");
    mark_examples(command->examples);
    printf("```\n\n");
}

/* A table of settings has either options or tunables. */
static void mark_settings(const struct pl_help_setting *setting)
{
    if (!setting)
        return;
    printf("| variable | %s | takes | default | what it does |\n|---|---|---|---|---|\n",
           setting->tunable ? "tunable" : "option of `run`");
    for (; setting->variable; setting++) {
        printf("| `%s` | ", setting->variable);
        if (setting->tunable)
            printf("`%s` | ", setting->tunable);
        else
            printf(setting->option ? "`--%s` | " : "| ", setting->option);
        mark_cell(setting->takes);
        printf(" | %s | ", setting->fallback);
        mark_cell(setting->help);
        printf(" |\n");
    }
    printf("\n");
}

static void mark_everything(void)
{
    printf("# Commands\n\n<!-- Printed by `plimsoll help --markdown`; a test compares the two. -->\n\n");
    mark_prose("Every command takes `--help`. Messages go to stderr and data to stdout. The exit status is 0 for "
               "success, 1 for a failure, 2 for a command line that was not understood; `plimsoll run` returns the "
               "status of the program.");
    for (size_t i = 0; pl_commands[i]; i++)
        mark_command(pl_commands[i]);
    for (const struct pl_topic *topic = pl_topics; topic->name; topic++) {
        printf("## Topic: %s\n\n", topic->name);
        mark_prose(topic->text);
        mark_settings(pl_help_settings(topic));
        if (!strcmp(topic->name, "names"))
            printf("```\n%s```\n\n", pl_simplify_builtin);
    }
}

/* --- the command --- */

static enum pl_exit refuse_word(const char *word)
{
    struct pl_nearest nearest = {.word = word};
    for (size_t i = 0; pl_commands[i]; i++)
        pl_nearest_offer(&nearest, pl_commands[i]->name);
    for (const struct pl_topic *topic = pl_topics; topic->name; topic++)
        pl_nearest_offer(&nearest, topic->name);
    if (nearest.best)
        return pl_say_usage("help %s: no such command or topic; did you mean `%s help %s`?", word, pl_say_self(),
                            nearest.best);
    return pl_say_usage("help %s: no such command or topic; `%s help` lists them", word, pl_say_self());
}

static int help_word(const char *word)
{
    const struct pl_command *command = pl_command_find(word);
    if (command) {
        pl_help_command(command, stdout);
        return PL_EXIT_OK;
    }
    for (const struct pl_topic *topic = pl_topics; topic->name; topic++) {
        if (strcmp(topic->name, word))
            continue;
        print_topic(topic);
        return PL_EXIT_OK;
    }
    return refuse_word(word);
}

static int print_man(const char *word)
{
    const struct pl_command *command = word ? pl_command_find(word) : NULL;
    if (word && !command)
        return pl_say_usage("help --man %s: no such command; `%s help` lists them", word, pl_say_self());
    pl_man_print(command);
    return PL_EXIT_OK;
}

static int help_main(int argc, char **argv)
{
    if (argc > 1)
        return pl_say_usage("help takes one word, a command or a topic; got %s and %s", argv[0], argv[1]);
    if (given.man)
        return print_man(argv[0]);
    if (given.complete >= 0)
        pl_complete_print(given.complete);
    else if (given.markdown)
        mark_everything();
    else if (argc == 1)
        return help_word(argv[0]);
    else
        pl_help_overview(stdout);
    return PL_EXIT_OK;
}

const struct pl_command pl_command_help = {
    .name = "help",
    .arguments = "[COMMAND|TOPIC]",
    .summary = "explain a command or a topic",
    .details = "Lists the commands and topics, or explains one of them.\n"
               "\n"
               "Manual pages and completion scripts are made from the same tables: --man prints a manual page, "
               "--complete a completion script.",
    .examples = "plimsoll help run\n"
                "plimsoll help static\n"
                "plimsoll help --complete bash >plimsoll.bash; source plimsoll.bash",
    .options = options,
    .main = help_main,
};
