/* SPDX-License-Identifier: MIT */
/*
 * option.h - commands and their options, each declared once.
 *
 * A command is a row in main.c and a file of its own; its options are rows of one table in that file. Parsing, error
 * messages, --help, `plimsoll help`, docs/commands.md, manual pages and completion all read these rows.
 */
#ifndef PL_OPTION_H
#define PL_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/say.h"

struct pl_option;

enum pl_verdict {
    PL_VALUE_OK,
    PL_VALUE_WRONG, /* not of the type at all */
    PL_VALUE_SMALL,
    PL_VALUE_LARGE,
};

/* A kind of value. `read` checks the text and stores into option->into, which may be NULL to check only. */
struct pl_type {
    const char *wrong;    /* "not a size" */
    const char *accepted; /* "bytes with K, M or G"; NULL: messages give only an example */
    enum pl_verdict (*read)(const struct pl_option *option, const char *text);
};

extern const struct pl_type pl_type_flag;    /* bool; takes no value */
extern const struct pl_type pl_type_text;    /* const char *; anything but the empty text */
extern const struct pl_type pl_type_size;    /* uint64_t; bytes */
extern const struct pl_type pl_type_sample;  /* uint64_t; bytes, or a word, which is not stored */
extern const struct pl_type pl_type_budget;  /* uint64_t; percent, stored as parts per million */
extern const struct pl_type pl_type_count;   /* uint64_t */
extern const struct pl_type pl_type_time;    /* uint64_t; nanoseconds */
extern const struct pl_type pl_type_instant; /* the same, with fractions */
extern const struct pl_type pl_type_percent; /* double; 1 for 1% */
extern const struct pl_type pl_type_choice;  /* int; index into option->choices */
extern const struct pl_type pl_type_pattern; /* const char *; a file name with %p, %c, %t, %h, %% */
extern const struct pl_type pl_type_names;   /* const char *; words separated by commas */
extern const struct pl_type pl_type_files;   /* struct pl_type_list; the option may be repeated */

/* The values of an option that may be repeated, in the order of the command line. The strings are those of argv. */
struct pl_type_list {
    const char **path;
    size_t count;
};

struct pl_option {
    const char *name; /* without dashes; NULL: only its variable sets it */
    char letter;      /* 0: none */
    const char *takes;
    const char *fallback; /* the default, in words; NULL: help does not mention it */
    const char *variable; /* environment variable that sets the same; NULL: none */
    const char *help;     /* NULL ends the table */
    bool heading;         /* no option: `help` is the heading of the rows that follow */
    const struct pl_type *type;
    void *into;
    const char **raw;  /* gets the text as it was given; may be NULL */
    uint64_t min, max; /* for sizes, budgets and counts; max 0: no bound */
    const char *example;
    const char *const *choices;
    int offered; /* lists show only the first so many choices; 0: all. Help must name these, too */
};

/* Separates the options that most users need from the others. */
#define PL_OPTION_MORE                                                                                                 \
    {                                                                                                                  \
        .heading = true, .help = "More options"                                                                        \
    }

struct pl_command {
    const char *name;
    const char *arguments; /* as in the usage line: "FILE|PID" */
    const char *summary;   /* one line */
    const char *details;   /* paragraphs, separated by an empty line */
    const char *examples;  /* lines: "COMMAND  # what it does" */
    const char *statuses;  /* what to add on exit statuses, besides 0, 1 and 2; NULL: nothing */
    const char *files;     /* files that it reads and writes besides its arguments; NULL: none */
    bool reads_newest;     /* without an argument, it reads the newest profile in this directory */
    const struct pl_option *options;
    int (*main)(int argc, char **argv); /* gets the arguments without the options; returns the exit status */
};

/* --help, which every command takes. */
extern const struct pl_option pl_option_help;

/* The table of main.c; NULL ends it. */
extern const struct pl_command *const pl_commands[];
const struct pl_command *pl_command_find(const char *name);

extern const struct pl_command pl_command_run, pl_command_report, pl_command_view, pl_command_top, pl_command_html,
    pl_command_ls, pl_command_snapshot, pl_command_control, pl_command_diff, pl_command_check, pl_command_merge,
    pl_command_export, pl_command_help, pl_command_version, pl_command_attach, pl_command_detach,
    pl_command_leaks, pl_command_retained, pl_command_serve, pl_command_push;

/*
 * Reads the options up to the first argument that is not one (or, if `anywhere`, all of them; never beyond `--`), and
 * moves the other arguments to the front of argv. Sets `help` if --help is among them. On failure the error has been
 * printed.
 */
enum pl_exit pl_option_parse(const struct pl_command *command, bool anywhere, int *argc, char **argv, bool *help);

/* Why a value was not accepted: "not a size; use bytes with K, M or G, for example --sample 512K". `typed` is the
 * option as the user typed it, "" for a variable. The caller frees the text. */
char *pl_option_complaint(const struct pl_option *option, const char *typed, enum pl_verdict verdict);

#endif
