/* SPDX-License-Identifier: MIT */
/*
 * program.c - which program a command line runs in the end.
 *
 * A loader that is started by hand runs binaries alone, so what the kernel does with scripts is done here, by its
 * rules: a line of 256 bytes, one argument with all its blanks, the script's path behind it, and again for an
 * interpreter that is a script itself. What the kernel does not want is given to the shell, as execvp() does. And
 * `#!/usr/bin/env NAME` is followed to NAME: env is gone at once, the program that it finds is the one that matters.
 */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

#define LINE_BYTES 256     /* of a script, as the kernel reads it: the last of them can only be a newline */
#define SCRIPT_DEPTH_MAX 5 /* likewise */
#define FOLLOWED_MAX 32    /* env may lead to scripts that lead to env */
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

/* --- which file --- */

/* As exec would: 0, ENOENT or EACCES. */
static int check_file(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return errno;
    return S_ISREG(status.st_mode) && !access(path, X_OK) ? 0 : EACCES;
}

/* A file that is there but may not be executed is passed over for a better one, and remembered. */
static char *search_path(const char *name, int *error)
{
    const char *path = getenv("PATH");
    *error = ENOENT;
    for (path = path ? path : "/bin:/usr/bin"; path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL) {
        int bytes = (int) strcspn(path, ":");
        char *file = pl_say_print("%.*s%s%s", bytes, path, bytes ? "/" : "./", name);
        int verdict = check_file(file);
        if (!verdict) {
            *error = 0;
            return file;
        }
        *error = verdict == EACCES ? EACCES : *error;
        free(file);
    }
    return NULL;
}

static char *find_file(const char *name, int *error)
{
    if (*name && !strchr(name, '/'))
        return search_path(name, error);
    *error = check_file(name);
    return *error && *error != EACCES ? NULL : pl_say_print("%s", name);
}

/* --- what it begins with --- */

enum kind { KIND_BINARY, KIND_SCRIPT, KIND_OTHER };

/* What cannot be read may still be executed: it passes for a binary. */
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

/* "#! /usr/bin/awk -f x \n": "/usr/bin/awk" and "-f x". False: no interpreter is named, or not to its end. */
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

static void fail(struct pl_program *program, int error)
{
    free(program->binary);
    program->binary = NULL;
    program->error = error;
}

static void call(struct pl_program *program, const char *file)
{
    free(program->called);
    program->called = pl_say_print("%s", file);
}

/* The binary becomes `file`, which is told that it is called front[0]. Its other arguments are front[1], ..., rest. */
static void become(struct pl_program *program, char *file, char *const *front, char *const *rest)
{
    char **argv = pl_program_join(front, rest);
    pl_program_free_words(program->argv);
    free(program->binary);
    program->argv = argv;
    program->binary = file;
}

static void become_interpreter(struct pl_program *program, const char *interpreter, const char *argument)
{
    int error = check_file(interpreter);
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

static void become_shell(struct pl_program *program, char *const *argv)
{
    char *front[] = {SHELL, program->path, NULL};
    become(program, pl_say_print("%s", SHELL), front, argv + 1);
    call(program, SHELL);
}

/* "-S perl -w" → "perl", "-w". NULL: what -S can do besides, options, assignments; the caller frees the words. */
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

/* True: env would run something that was found. Otherwise env itself is left to say why not, or to do more than that.
 */
static bool become_env_program(struct pl_program *program)
{
    if (strcmp(basename(program->binary), "env") || !program->argv[1])
        return false;
    char **split = split_string(program->argv[1]), *plain[] = {program->argv[1], NULL};
    char **front = split ? split : plain;
    int error = ENOENT;
    bool understood = *front && **front != '-' && !strchr(*front, '=');
    char *file = understood ? find_file(*front, &error) : NULL;
    if (!error) {
        become(program, file, front, program->argv + 2);
        call(program, file);
    } else {
        free(file);
    }
    pl_program_free_words(split);
    return !error;
}

static void follow_scripts(struct pl_program *program, char *const *argv)
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

struct pl_program pl_program_find(char *const *argv)
{
    struct pl_program program = {.argv = pl_program_join(argv, (char *[]){NULL})};
    program.path = find_file(argv[0], &program.error);
    if (program.path && !program.error) {
        program.binary = pl_say_print("%s", program.path);
        call(&program, program.path);
        follow_scripts(&program, argv);
    }
    return program;
}

void pl_program_free(struct pl_program *program)
{
    free(program->path);
    free(program->binary);
    free(program->called);
    free(program->missing);
    pl_program_free_words(program->argv);
}
