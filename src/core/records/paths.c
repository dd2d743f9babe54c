/* SPDX-License-Identifier: MIT */
/* paths.c - see paths.h. */
#include "core/records/paths.h"

#include "core/process.h"
#include "core/sys.h"
#include "core/text.h"
#include "format/settings.h"

/* struct utsname as the kernel fills it in: six fields of 65 bytes, the second being the host. */
#define UTS_FIELD 65
#define LIVE_PREFIX "plimsoll."
#define SNAPSHOT_NAME_BYTES 100 /* a snapshot's name may have any length; so much of it is in the file name */

static void append_host(struct pl_text_line *line)
{
    static char names[6][UTS_FIELD]; /* static, because the stack may be small; only one file is created at a time */
    if (pl_sys3(__NR_uname, (long) names, 0, 0) == 0)
        pl_text_line_text(line, names[1]);
}

/* Command names may contain anything; file names may not contain a slash. */
static void append_comm(struct pl_text_line *line, const char *comm)
{
    for (; *comm; comm++)
        pl_text_line_char(line, *comm == '/' ? '_' : *comm);
}

static void append_expansion(struct pl_text_line *line, const struct pl_process *process, char letter)
{
    if (letter == 'p')
        pl_text_line_number(line, process->pid);
    else if (letter == 'c')
        append_comm(line, process->comm);
    else if (letter == 't')
        pl_text_line_number(line, pl_sys_clock_ns(CLOCK_REALTIME) / 1000000000u);
    else if (letter == 'h')
        append_host(line);
    else
        pl_text_line_char(line, letter);
}

/* Begins a path with the working directory if `path` is relative. If that is not known, the line is marked full. */
static struct pl_text_line begin(const char *path, char *out, size_t bytes)
{
    struct pl_text_line line = pl_text_line_in(out, bytes);
    if (path[0] == '/')
        return line;
    line.full = pl_config.directory[0] != '/';
    pl_text_line_text(&line, pl_config.directory);
    if (pl_config.directory[1])
        pl_text_line_char(&line, '/');
    return line;
}

bool pl_path_destination(const struct pl_process *process, const char *pattern, char *out, size_t bytes)
{
    struct pl_text_line line = begin(pattern, out, bytes);
    for (; *pattern; pattern++) {
        if (pattern[0] == '%' && pattern[1])
            append_expansion(&line, process, *++pattern);
        else
            pl_text_line_char(&line, *pattern);
    }
    return !line.full;
}

bool pl_path_live(const struct pl_process *process, const char *directory, unsigned attempt, char *out, size_t bytes)
{
    struct pl_text_line line = begin(directory, out, bytes);
    pl_text_line_text(&line, directory);
    pl_text_line_text(&line, "/plimsoll.");
    append_comm(&line, process->comm);
    pl_text_line_char(&line, '.');
    pl_text_line_number(&line, process->pid);
    if (attempt) {
        pl_text_line_char(&line, '.');
        pl_text_line_number(&line, attempt);
    }
    pl_text_line_text(&line, PL_SUFFIX);
    return !line.full;
}

bool pl_path_is_pattern(const char *out)
{
    while (*out && *out != '%')
        out++;
    return *out != 0;
}

bool pl_path_final(const struct pl_process *process, unsigned attempt, char *out, size_t bytes)
{
    struct pl_text_line line = pl_text_line_in(out, bytes);
    pl_text_line_text(&line, process->destination);
    if (attempt && !pl_path_is_pattern(pl_config.out)) {
        pl_text_line_char(&line, '.');
        pl_text_line_number(&line, process->pid);
        attempt--;
    }
    if (attempt) {
        pl_text_line_char(&line, '.');
        pl_text_line_number(&line, attempt);
    }
    return !line.full;
}

bool pl_path_is_live(const char *path)
{
    size_t bytes = pl_text_bytes(path), suffix = sizeof PL_SUFFIX - 1;
    const char *name = path;
    for (const char *at = path; *at; at++)
        if (*at == '/')
            name = at + 1;
    for (size_t i = 0; i < sizeof LIVE_PREFIX - 1; i++)
        if (name[i] != LIVE_PREFIX[i])
            return false;
    return bytes > suffix && pl_text_same(path + bytes - suffix, PL_SUFFIX);
}

bool pl_path_aside(const struct pl_process *process, unsigned attempt, char *out, size_t bytes)
{
    struct pl_text_line line = pl_text_line_in(out, bytes);
    pl_text_line_text(&line, process->destination);
    pl_text_line_char(&line, '.');
    pl_text_line_number(&line, process->pid);
    if (attempt) {
        pl_text_line_char(&line, '.');
        pl_text_line_number(&line, attempt);
    }
    pl_text_line_text(&line, ".live");
    return !line.full;
}

static size_t stem_bytes(const char *path)
{
    size_t bytes = pl_text_bytes(path), suffix = sizeof PL_SUFFIX - 1;
    return bytes > suffix && pl_text_same(path + bytes - suffix, PL_SUFFIX) ? bytes - suffix : bytes;
}

/* A snapshot's name may be any text; in a file name, slashes and control characters become '_'. */
static void append_name(struct pl_text_line *line, const char *name)
{
    for (unsigned i = 0; name[i] && i < SNAPSHOT_NAME_BYTES; i++)
        pl_text_line_char(line, name[i] == '/' || (unsigned char) name[i] < ' ' ? '_' : name[i]);
}

static void append_digits(struct pl_text_line *line, unsigned number)
{
    for (unsigned least = 1000; least > 1 && number < least; least /= 10)
        pl_text_line_char(line, '0');
    pl_text_line_number(line, number);
}

bool pl_path_snapshot(const struct pl_process *process, const char *name, unsigned attempt, char *out, size_t bytes)
{
    struct pl_text_line line = pl_text_line_in(out, bytes);
    size_t stem = stem_bytes(process->destination);
    for (size_t i = 0; i < stem; i++)
        pl_text_line_char(&line, process->destination[i]);
    if (process->forked && !pl_path_is_pattern(pl_config.out)) { /* like the child's profile: see pl_path_final() */
        pl_text_line_char(&line, '.');
        pl_text_line_number(&line, process->pid);
    }
    if (name) {
        pl_text_line_char(&line, '.');
        append_name(&line, name);
    }
    if (!name || attempt) {
        pl_text_line_char(&line, '.');
        append_digits(&line, attempt + 1);
    }
    pl_text_line_text(&line, PL_SUFFIX);
    return !line.full;
}
