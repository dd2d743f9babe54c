/* SPDX-License-Identifier: MIT */
/*
 * man.c - manual pages, printed for scdoc from the same tables as help.
 *
 * In scdoc's language a paragraph is a line, a tab indents, and a backslash escapes any character. The tables have code
 * between backticks, which becomes bold.
 */
#include "cli/help/man.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/about.h"
#include "cli/help/help.h"
#include "cli/names.h"
#include "format/settings.h"

/* --- texts --- */

static void put_plain(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] != '\n' && ispunct((unsigned char) text[i]))
            putchar('\\');
        putchar(text[i]);
    }
}

static void put_bold(const char *text, size_t bytes)
{
    putchar('*');
    put_plain(text, bytes);
    putchar('*');
}

/* Text between backticks becomes bold. An unpaired backtick is printed as it is. */
static void put_text(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes;) {
        const char *end = text[i] == '`' ? memchr(text + i + 1, '`', bytes - i - 1) : NULL;
        if (end && end > text + i + 1) {
            put_bold(text + i + 1, (size_t) (end - text) - i - 1);
            i = (size_t) (end - text) + 1;
        } else {
            put_plain(text + i, 1);
            i++;
        }
    }
}

/* Adds a full stop, unless there is one. */
static void put_sentence(const char *text)
{
    size_t bytes = strlen(text);
    put_text(text, bytes);
    if (bytes && text[bytes - 1] != '.')
        putchar('.');
}

/* Paragraphs, separated by empty lines. */
static void put_prose(const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t bytes = end ? (size_t) (end - text) : strlen(text);
        put_text(text, bytes);
        printf("\n\n");
        text += bytes;
        text += strspn(text, "\n");
    }
}

static void put_block(const char *lines)
{
    printf("```\n%s%s```\n\n", lines, *lines && lines[strlen(lines) - 1] == '\n' ? "" : "\n");
}

/* Words in capitals are placeholders, and are underlined: "[--] PROGRAM [ARGUMENT...]". STORE+URL is one of them: scdoc
 * does not see the underscore after a plus sign. */
static void put_arguments(const char *text)
{
    while (*text) {
        size_t bytes = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ+");
        if (bytes)
            printf("_%.*s_", (int) bytes, text);
        else
            putchar(*text); /* with a backslash in between, scdoc would not know that a word begins */
        text += bytes ? bytes : 1;
    }
}

static void put_title(const char *title)
{
    printf("# ");
    for (; *title; title++)
        putchar(toupper((unsigned char) *title));
    printf("\n\n");
}

/* --- the page of a command --- */

static void put_option(const struct pl_option *option)
{
    if (option->letter)
        printf("*-%c*, ", option->letter);
    printf("*--%s*", option->name);
    if (option->takes) {
        putchar(' ');
        put_arguments(option->takes);
    }
    printf("\n\t");
    put_sentence(option->help);
    if (option->fallback) {
        printf(" Default: ");
        put_sentence(option->fallback);
    }
    if (option->variable)
        printf(" Environment: *%s*.", option->variable);
    printf("\n\n");
}

static void put_options(const struct pl_command *command)
{
    put_title("options");
    for (const struct pl_option *option = command->options; option->help; option++)
        if (option->heading)
            printf("## %s\n\n", option->help);
        else if (option->name)
            put_option(option);
    put_option(&pl_option_help);
}

static void put_status(int status, const char *meaning)
{
    printf("*%d*\n\t", status);
    put_text(meaning, strlen(meaning));
    printf("\n\n");
}

static void put_statuses(const char *special)
{
    put_title("exit status");
    put_status(PL_EXIT_OK, "Success.");
    put_status(PL_EXIT_FAILURE, "Failure; a line on stderr gives the reason.");
    put_status(PL_EXIT_USAGE, "The command line was not understood; the message says what to type instead.");
    if (special)
        put_prose(special);
}

static void put_references(const struct pl_command *besides)
{
    const char *before = "";
    put_title("see also");
    if (besides) {
        printf("*plimsoll*(1)");
        before = ", ";
    }
    for (size_t i = 0; pl_commands[i]; i++) {
        if (pl_commands[i] == besides)
            continue;
        printf("%s*plimsoll-%s*(1)", before, pl_commands[i]->name);
        before = ", ";
    }
    printf("\n");
}

static void put_command_page(const struct pl_command *command)
{
    printf("plimsoll-%s(1) \"Plimsoll %s\" \"Plimsoll\"\n\n", command->name, PL_ABOUT_VERSION);
    put_title("name");
    printf("plimsoll-%s - %s\n\n", command->name, command->summary);
    put_title("synopsis");
    printf("*plimsoll %s* [_options_] ", command->name);
    put_arguments(command->arguments);
    printf("\n\n");
    put_title("description");
    put_prose(command->details);
    put_options(command);
    put_title("examples");
    put_block(command->examples);
    put_statuses(command->statuses);
    if (command->files) {
        put_title("files");
        put_prose(command->files);
    }
    put_references(command);
}

/* --- plimsoll(1) --- */

static void put_commands(void)
{
    put_title("commands");
    for (size_t i = 0; pl_commands[i]; i++) {
        printf("*plimsoll-%s*(1)\n\t", pl_commands[i]->name);
        put_sentence(pl_commands[i]->summary);
        printf("\n\n");
    }
}

static void put_settings(const struct pl_help_setting *setting)
{
    for (; setting && setting->variable; setting++) {
        printf("*%s*=", setting->variable);
        put_arguments(setting->takes);
        printf("\n\t");
        put_sentence(setting->help);
        printf(" Default: ");
        put_sentence(setting->fallback);
        if (setting->option)
            printf(" Option of *plimsoll-run*(1): *--%s*.", setting->option);
        if (setting->tunable)
            printf(" Tunable: *%s*.", setting->tunable);
        printf("\n\n");
    }
}

static void put_topic(const struct pl_topic *topic)
{
    put_title(topic->name);
    put_prose(topic->text);
    put_settings(pl_help_settings(topic));
    if (!strcmp(topic->name, "names"))
        put_block(pl_simplify_builtin);
}

static void put_main_page(void)
{
    printf("plimsoll(1) \"Plimsoll %s\" \"Plimsoll\"\n\n", PL_ABOUT_VERSION);
    put_title("name");
    printf("plimsoll - shows where a program's heap comes from\n\n");
    put_title("synopsis");
    printf("*plimsoll* _COMMAND_ [_options_] [_arguments_]\n\n");
    put_title("description");
    put_prose(pl_help_about);
    put_prose("Every command takes `--help`. Messages go to stderr and data to stdout.");
    put_commands();
    for (const struct pl_topic *topic = pl_topics; topic->name; topic++)
        put_topic(topic);
    put_title("examples");
    put_block(pl_help_first_steps);
    put_statuses("`plimsoll run` returns the status of the program.");
    put_references(NULL);
}

void pl_man_print(const struct pl_command *command)
{
    if (command)
        put_command_page(command);
    else
        put_main_page();
}
