/* SPDX-License-Identifier: MIT */
/* paths.c - see paths.h. */
#include "paths.h"

#include "process.h"
#include "settings.h"
#include "sys.h"
#include "text.h"

/* struct utsname as the kernel fills it in: six fields of 65 bytes, the second being the host. */
#define UTS_FIELD 65
#define SNAPSHOT_NAME_BYTES 100 /* of a name that may be of any length */

static void append_host(struct pl_line *line)
{
    static char names[6][UTS_FIELD]; /* not on the stack, which may be a small one; files are opened one at a time */
    if (pl_sys3(__NR_uname, (long) names, 0, 0) == 0)
        pl_line_text(line, names[1]);
}

/* Command names may contain anything; file names may not contain a slash. */
static void append_comm(struct pl_line *line, const char *comm)
{
    for (; *comm; comm++)
        pl_line_char(line, *comm == '/' ? '_' : *comm);
}

static void append_expansion(struct pl_line *line, const struct pl_process *process, char letter)
{
    if (letter == 'p')
        pl_line_number(line, process->pid);
    else if (letter == 'c')
        append_comm(line, process->comm);
    else if (letter == 't')
        pl_line_number(line, pl_sys_clock_ns(CLOCK_REALTIME) / 1000000000u);
    else if (letter == 'h')
        append_host(line);
    else
        pl_line_char(line, letter);
}

/* What comes before a relative path. That the directory was not to be found is kept in the line as too little room. */
static struct pl_line begin(const char *path, char *out, size_t bytes)
{
    struct pl_line line = pl_line_in(out, bytes);
    if (path[0] == '/')
        return line;
    line.full = pl_config.directory[0] != '/';
    pl_line_text(&line, pl_config.directory);
    if (pl_config.directory[1])
        pl_line_char(&line, '/');
    return line;
}

bool pl_path_destination(const struct pl_process *process, const char *pattern, char *out, size_t bytes)
{
    struct pl_line line = begin(pattern, out, bytes);
    for (; *pattern; pattern++) {
        if (pattern[0] == '%' && pattern[1])
            append_expansion(&line, process, *++pattern);
        else
            pl_line_char(&line, *pattern);
    }
    return !line.full;
}

bool pl_path_live(const struct pl_process *process, const char *directory, unsigned attempt, char *out, size_t bytes)
{
    struct pl_line line = begin(directory, out, bytes);
    pl_line_text(&line, directory);
    pl_line_text(&line, "/plimsoll.");
    append_comm(&line, process->comm);
    pl_line_char(&line, '.');
    pl_line_number(&line, process->pid);
    if (attempt) {
        pl_line_char(&line, '.');
        pl_line_number(&line, attempt);
    }
    pl_line_text(&line, PL_SUFFIX);
    return !line.full;
}

static bool is_pattern(const char *out)
{
    while (*out && *out != '%')
        out++;
    return *out != 0;
}

bool pl_path_final(const struct pl_process *process, unsigned attempt, char *out, size_t bytes)
{
    struct pl_line line = pl_line_in(out, bytes);
    pl_line_text(&line, process->destination);
    if (attempt && !is_pattern(pl_config.out)) {
        pl_line_char(&line, '.');
        pl_line_number(&line, process->pid);
        attempt--;
    }
    if (attempt) {
        pl_line_char(&line, '.');
        pl_line_number(&line, attempt);
    }
    return !line.full;
}

static size_t stem_bytes(const char *path)
{
    size_t bytes = pl_text_bytes(path), suffix = sizeof PL_SUFFIX - 1;
    return bytes > suffix && pl_text_same(path + bytes - suffix, PL_SUFFIX) ? bytes - suffix : bytes;
}

/* A name may be any text; part of a file's name may not. */
static void append_name(struct pl_line *line, const char *name)
{
    for (unsigned i = 0; name[i] && i < SNAPSHOT_NAME_BYTES; i++)
        pl_line_char(line, name[i] == '/' || (unsigned char) name[i] < ' ' ? '_' : name[i]);
}

static void append_digits(struct pl_line *line, unsigned number)
{
    for (unsigned least = 1000; least > 1 && number < least; least /= 10)
        pl_line_char(line, '0');
    pl_line_number(line, number);
}

bool pl_path_snapshot(const struct pl_process *process, const char *name, unsigned attempt, char *out, size_t bytes)
{
    struct pl_line line = pl_line_in(out, bytes);
    size_t stem = stem_bytes(process->destination);
    for (size_t i = 0; i < stem; i++)
        pl_line_char(&line, process->destination[i]);
    if (process->forked && !is_pattern(pl_config.out)) { /* as its profile will be called */
        pl_line_char(&line, '.');
        pl_line_number(&line, process->pid);
    }
    if (name) {
        pl_line_char(&line, '.');
        append_name(&line, name);
    }
    if (!name || attempt) {
        pl_line_char(&line, '.');
        append_digits(&line, attempt + 1);
    }
    pl_line_text(&line, PL_SUFFIX);
    return !line.full;
}
