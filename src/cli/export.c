/* SPDX-License-Identifier: MIT */
/*
 * export.c - the export command: a profile in another format, for machines.
 */
#include "export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "option.h"
#include "proc.h"
#include "subject.h"

static pl_export_function *const functions[] = {
#define ROW(name, help) pl_export_##name,
    PL_EXPORT_FORMATS(ROW)
#undef ROW
};

static const char *const names[] = {
#define ROW(name, help) #name,
    PL_EXPORT_FORMATS(ROW)
#undef ROW
        NULL,
};

static struct {
    int format;
    const char *output;
    bool force;
    bool no_symbols;
} given;

#define HELP(name, help) "; " #name ": " help
/* clang-format off */
static const struct pl_option options[] = {
    {.name = "format", .letter = 'f', .takes = "NAME", .fallback = "json", .help = "the format" PL_EXPORT_FORMATS(HELP),
     .type = &pl_type_choice, .into = &given.format, .choices = names},
    {.name = "output", .letter = 'o', .takes = "FILE", .fallback = "stdout", .help = "where to write it",
     .type = &pl_type_text, .into = &given.output},
    {.name = "force", .help = "use binaries that were rebuilt since the profile was made", .type = &pl_type_flag,
     .into = &given.force},
    {.name = "no-symbols", .help = "leave addresses as they are", .type = &pl_type_flag, .into = &given.no_symbols},
    {0},
};
/* clang-format on */

/* 0 or an errno. */
static int write_stream(const struct pl_profile *profile, FILE *out)
{
    if (!out)
        return errno;
    functions[given.format](profile, out);
    int error = ferror(out) ? EIO : 0;
    return fclose(out) ? errno : error;
}

/* Into a temporary file that then takes the name: an export that failed leaves what was there before. */
static int replace(const struct pl_profile *profile, const char *path)
{
    char *temporary = pl_say_print("%s.%d.tmp", path, getpid());
    FILE *out = fopen(temporary, "wex");
    bool made = out;
    int error = write_stream(profile, out);
    if (!error && rename(temporary, path))
        error = errno;
    if (error && made)
        unlink(temporary);
    free(temporary);
    return error;
}

/* A device, a pipe or a link is written to as it is: to replace /dev/full by a file would be somebody's bad day. */
static int write_file(const struct pl_profile *profile, const char *path)
{
    struct pl_header header;
    struct stat status;
    if (pl_proc_header(path, &header))
        return pl_say_usage("--output %s is a profile; choose another name for the %s", path, names[given.format]);
    bool plain = lstat(path, &status) || S_ISREG(status.st_mode);
    int error = plain ? replace(profile, path) : write_stream(profile, fopen(path, "we"));
    return error ? pl_say_failure("cannot write %s: %s", path, strerror(error)) : PL_EXIT_OK;
}

static int export_main(int argc, char **argv)
{
    struct pl_profile *profile;
    struct pl_subject_options how = {.command = "export", .force = given.force, .no_symbols = given.no_symbols};
    int status = pl_subject_open(&how, argc, argv, &profile);
    if (status != PL_EXIT_OK)
        return status;
    if (given.output && strcmp(given.output, "-"))
        status = write_file(profile, given.output);
    else
        functions[given.format](profile, stdout);
    pl_profile_close(profile);
    return status;
}

const struct pl_command pl_command_export = {
    .name = "export",
    .arguments = "FILE|PID",
    .summary = "write a profile in another format, for machines",
    .details =
        "Writes everything that is in a profile, with names, in the chosen format. The JSON schema is described in "
        "docs/json.md. Like report, it reads a finished profile or a running process.",
    .examples = "plimsoll export --format json out.plim -o out.json\n"
                "plimsoll export PID",
    .options = options,
    .main = export_main,
};
