/* SPDX-License-Identifier: MIT */
/*
 * main.c - finds the command, reads its options, runs it. Each command is one row here and one file beside it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "nearest.h"
#include "option.h"

const struct pl_command *const pl_commands[] = {
    &pl_command_run,
    &pl_command_report,
    &pl_command_view,
    &pl_command_html,
    &pl_command_ls,
    &pl_command_snapshot,
    &pl_command_diff,
    &pl_command_check,
    &pl_command_merge,
    &pl_command_export,
    &pl_command_help,
    &pl_command_version,
    NULL,
};

const struct pl_command *pl_command_find(const char *name)
{
    for (size_t i = 0; pl_commands[i]; i++)
        if (!strcmp(pl_commands[i]->name, name))
            return pl_commands[i];
    return NULL;
}

/* Words for which no command exists are often the argument of an obvious one. */
static enum pl_exit refuse_word(const char *word)
{
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

static const struct synonym {
    const char *word, *command;
} synonyms[] = {{"--help", "help"}, {"-h", "help"}, {"--version", "version"}, {"-V", "version"}};

static const char *command_word(const char *word)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (!strcmp(synonyms[i].word, word))
            return synonyms[i].command;
    return word;
}

static int run_command(const struct pl_command *command, int argc, char **argv)
{
    bool help = false, anywhere = command != &pl_command_run; /* the options behind PROGRAM are PROGRAM's */
    enum pl_exit status = pl_option_parse(command, anywhere, &argc, argv, &help);
    if (help)
        pl_help_command(command, stdout);
    return status != PL_EXIT_OK || help ? (int) status : command->main(argc, argv);
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
    /* Data that did not arrive must not look like success; a reader that left early (head, less) is no failure. */
    int error = pl_say_flush();
    if (error && status == PL_EXIT_OK)
        status = pl_say_failure("cannot write to stdout: %s", strerror(error));
    return status;
}
