/* SPDX-License-Identifier: MIT */
/* paths.c - see paths.h. */
#include "paths.h"

#include "process.h"
#include "settings.h"
#include "sys.h"
#include "text.h"

/* struct utsname as the kernel fills it in: six fields of 65 bytes, the second being the host. */
#define UTS_FIELD 65

static void append_host(struct pl_line *line)
{
    static char names[6][UTS_FIELD]; /* not on the stack, which may be a small one; files are opened one at a time */
    if (pl_sys3(SYS_uname, (long) names, 0, 0) == 0)
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
