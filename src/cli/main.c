/* SPDX-License-Identifier: MIT */
/*
 * main.c - finds the command, reads its options, runs it. Each command is one row here, and a file
 * of its name beside this one or in a folder.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/help/help.h"
#include "cli/nearest.h"
#include "cli/option.h"
#include "cli/pager.h"
#include "cli/run/summary.h"
#include "cli/subject.h"

/* clang-format off */
const struct pl_command *const pl_commands[] = {
    &pl_command_run,
    &pl_command_report,
    &pl_command_view,
    &pl_command_top,
    &pl_command_serve,
    &pl_command_push,
    &pl_command_html,
    &pl_command_ls,
    &pl_command_attach,
    &pl_command_detach,
    &pl_command_leaks,
    &pl_command_retained,
    &pl_command_snapshot,
    &pl_command_control,
    &pl_command_diff,
    &pl_command_check,
    &pl_command_merge,
    &pl_command_export,
    &pl_command_help,
    &pl_command_version,
    NULL,
};
/* clang-format on */

struct synonym {
    const char *word, *command;
};

const struct pl_command *pl_command_find(const char *name)
{
    for (size_t i = 0; pl_commands[i]; i++)
        if (!strcmp(pl_commands[i]->name, name))
            return pl_commands[i];
    return NULL;
}

/* What other profilers call our commands. */
static const struct synonym elsewhere[] = {
    {"record", "run"},         {"profile", "run"},     {"start", "run"},    {"exec", "run"},
    {"show", "report"},        {"print", "report"},    {"stats", "report"},
    {"tree", "report --tree"}, {"list", "ls"},         {"ps", "ls"},        {"web", "view"},
    {"agent", "serve"},        {"flamegraph", "html"}, {"compare", "diff"}, {"convert", "export"},
    {"htop", "top"},           {"watch", "top"},
};

/* A word that is no command is often a misspelt command, a program to run, or a profile to read. */
static enum pl_exit refuse_word(const char *word)
{
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (!strcmp(elsewhere[i].word, word))
            return pl_say_usage("%s: no such command; did you mean `%s %s`?", word, pl_say_self(),
                                elsewhere[i].command);
    struct pl_nearest nearest = {.word = word};
    for (size_t i = 0; pl_commands[i]; i++)
        pl_nearest_offer(&nearest, pl_commands[i]->name);
    if (nearest.best)
        return pl_say_usage("%s: no such command; did you mean `%s %s`?", word, pl_say_self(), nearest.best);
    if (strchr(word, '/') && !access(word, X_OK))
        return pl_say_usage("%s: no such command; to profile it: %s run -- %s", word, pl_say_self(), word);
    if (!access(word, R_OK) || (*word && word[strspn(word, "0123456789")] == 0))
        return pl_say_usage("%s: no such command; to read it: %s report %s", word, pl_say_self(), word);
    return pl_say_usage("%s: no such command; see `%s help`", word, pl_say_self());
}

static const struct synonym synonyms[] = {
    {"--help", "help"}, {"-h", "help"}, {"--version", "version"}, {"-V", "version"}};

static const char *command_word(const char *word)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (!strcmp(synonyms[i].word, word))
            return synonyms[i].command;
    return word;
}

/* Runs the command on the newest profile in this directory, and says which that is. */
static int run_newest(const struct pl_command *command)
{
    char *newest = pl_subject_newest(), *argv[] = {newest, NULL};
    if (newest) {
        char *typed = pl_summary_typed(newest);
        pl_say("reading %s, the newest profile here", typed);
        free(typed);
    }
    int status = command->main(newest ? 1 : 0, argv);
    free(newest);
    return status;
}

static int run_command(const struct pl_command *command, int argc, char **argv)
{
    bool help = false, anywhere = command != &pl_command_run; /* options after PROGRAM belong to PROGRAM */
    enum pl_exit status = pl_option_parse(command, anywhere, &argc, argv, &help);
    if (help)
        pl_help_command(command, stdout);
    if (status != PL_EXIT_OK || help)
        return (int) status;
    return argc == 0 && command->reads_newest ? run_newest(command) : command->main(argc, argv);
}

int main(int argc, char **argv)
{
    if (argc > 0)
        pl_say_typed_as(argv[0]);
    if (argc < 2) {
        pl_help_overview(stderr);
        return PL_EXIT_USAGE;
    }
    const struct pl_command *command = pl_command_find(command_word(argv[1]));
    int status = command ? run_command(command, argc - 2, argv + 2) : (int) refuse_word(argv[1]);
    /* A failed write to stdout must not look like success. */
    int error = pl_say_flush();
    pl_pager_end();
    if (error && status == PL_EXIT_OK)
        status = pl_say_failure("cannot write to stdout: %s", strerror(error));
    return status;
}
