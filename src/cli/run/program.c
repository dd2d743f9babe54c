/* SPDX-License-Identifier: MIT */
/*
 * program.c - finds the binary that a command line finally runs.
 *
 * A loader that is executed directly runs only binaries. So scripts are resolved here by the kernel's rules: a line of
 * up to 256 bytes, one argument that may contain blanks, then the script's path; and again if the interpreter is a
 * script itself. A file that the kernel refuses is given to the shell, as execvp() does. `#!/usr/bin/env NAME` is
 * followed to NAME, because env only executes NAME.
 */
#include "cli/run/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/say.h"
#include "cli/searchpath.h"

#define LINE_BYTES 256     /* of a script, as the kernel reads it: the last of them can only be a newline */
#define SCRIPT_DEPTH_MAX 5 /* likewise */
#define FOLLOWED_MAX 32    /* env may execute a script whose interpreter is env */
#define SHELL "/bin/sh"
#define BLANK " \t"

/* --- lists of words --- */

static size_t count_words(char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    return count;
}

void pl_program_free_words(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}

char **pl_program_join(char *const *front, char *const *rest)
{
    size_t front_count = count_words(front), rest_count = count_words(rest);
    char **joined = pl_say_memory(calloc(front_count + rest_count + 1, sizeof *joined));
    for (size_t i = 0; i < front_count + rest_count; i++)
        joined[i] = pl_say_print("%s", i < front_count ? front[i] : rest[i - front_count]);
    return joined;
}

/* --- its first line --- */

enum kind { KIND_BINARY, KIND_SCRIPT, KIND_OTHER };

/* A file that cannot be read may still be executed: it is taken for a binary. */
static enum kind read_head(const char *path, char line[LINE_BYTES + 1])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t bytes = fd < 0 ? -1 : read(fd, line, LINE_BYTES);
    if (fd >= 0)
        close(fd);
    line[bytes > 0 ? bytes : 0] = 0;
    if (bytes >= 2 && !memcmp(line, "#!", 2))
        return KIND_SCRIPT;
    return bytes < 0 || (bytes >= 4 && !memcmp(line, "\177ELF", 4)) ? KIND_BINARY : KIND_OTHER;
}

/* "#! /usr/bin/awk -f x \n": "/usr/bin/awk" and "-f x". False: there is no interpreter, or its path is cut off. */
static bool parse_line(char *line, char **interpreter, char **argument)
{
    bool whole = strlen(line) < LINE_BYTES || strchr(line, '\n');
    line[whole ? strcspn(line, "\n") : LINE_BYTES - 1] = 0;
    for (size_t bytes = strlen(line); bytes && strchr(BLANK, line[bytes - 1]);)
        line[--bytes] = 0;
    *interpreter = line + 2 + strspn(line + 2, BLANK);
    char *end = *interpreter + strcspn(*interpreter, BLANK);
    *argument = end + strspn(end, BLANK);
    if (!**interpreter || (!*end && !whole))
        return false;
    *end = 0;
    return true;
}

/* --- from script to binary --- */

static void fail(struct pl_program_command *program, int error)
{
    free(program->binary);
    program->binary = NULL;
    program->error = error;
}

static void call(struct pl_program_command *program, const char *file)
{
    free(program->called);
    program->called = pl_say_print("%s", file);
}

/* Makes `file` the binary; its argv is front[0], front[1], ..., rest. Takes over `file`. */
static void become(struct pl_program_command *program, char *file, char *const *front, char *const *rest)
{
    char **argv = pl_program_join(front, rest);
    pl_program_free_words(program->argv);
    free(program->binary);
    program->argv = argv;
    program->binary = file;
}

static void become_interpreter(struct pl_program_command *program, const char *interpreter, const char *argument)
{
    int error = pl_searchpath_check(interpreter);
    if (error == ENOENT)
        program->missing = pl_say_print("%s", interpreter);
    if (error) {
        fail(program, error);
        return;
    }
    char *script = program->binary;
    char *front[] = {(char *) interpreter, *argument ? (char *) argument : script, *argument ? script : NULL, NULL};
    become(program, pl_say_print("%s", interpreter), front, program->argv + 1);
}

static void become_shell(struct pl_program_command *program, char *const *argv)
{
    char *front[] = {SHELL, program->path, NULL};
    become(program, pl_say_print("%s", SHELL), front, argv + 1);
    call(program, SHELL);
}

/* "-S perl -w" → "perl", "-w". NULL: not -S, or with quotes, escapes, variables or comments, which we leave to env. The
 * caller frees the words. */
static char **split_string(const char *text)
{
    if (strncmp(text, "-S", 2) || strpbrk(text, "\"'\\$#"))
        return NULL;
    char *copy = pl_say_print("%s", text + 2), *save, *word = strtok_r(copy, BLANK, &save);
    char **words = pl_say_memory(calloc(strlen(text) + 1, sizeof *words));
    for (size_t i = 0; word; word = strtok_r(NULL, BLANK, &save))
        words[i++] = pl_say_print("%s", word);
    free(copy);
    return words;
}

/* Replaces env by the program that it would run. False: the program was not found, or env has options or assignments;
 * then env itself is run. */
static bool become_env_program(struct pl_program_command *program)
{
    if (strcmp(basename(program->binary), "env") || !program->argv[1])
        return false;
    char **split = split_string(program->argv[1]), *plain[] = {program->argv[1], NULL};
    char **front = split ? split : plain;
    int error = ENOENT;
    bool understood = *front && **front != '-' && !strchr(*front, '=');
    char *file = understood ? pl_searchpath_find(*front, &error) : NULL;
    if (!error) {
        become(program, file, front, program->argv + 2);
        call(program, file);
    } else {
        free(file);
    }
    pl_program_free_words(split);
    return !error;
}

static void follow_scripts(struct pl_program_command *program, char *const *argv)
{
    char line[LINE_BYTES + 1], *interpreter, *argument;
    int depth = 0;
    for (int followed = 0; program->binary && followed < FOLLOWED_MAX; followed++) {
        enum kind kind = read_head(program->binary, line);
        if (kind == KIND_BINARY)
            return;
        if (kind == KIND_OTHER || !parse_line(line, &interpreter, &argument)) {
            become_shell(program, argv);
            return;
        }
        if (depth++ == SCRIPT_DEPTH_MAX) {
            fail(program, ELOOP);
            return;
        }
        become_interpreter(program, interpreter, argument);
        if (program->binary && become_env_program(program))
            depth = 0;
    }
}

struct pl_program_command pl_program_find(char *const *argv)
{
    struct pl_program_command program = {.argv = pl_program_join(argv, (char *[]){NULL})};
    program.path = pl_searchpath_find(argv[0], &program.error);
    if (program.path && !program.error) {
        program.binary = pl_say_print("%s", program.path);
        call(&program, program.path);
        follow_scripts(&program, argv);
    }
    return program;
}

void pl_program_free(struct pl_program_command *program)
{
    free(program->path);
    free(program->binary);
    free(program->called);
    free(program->missing);
    pl_program_free_words(program->argv);
}
