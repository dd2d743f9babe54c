/* SPDX-License-Identifier: MIT */
/*
 * pager.c - shows long output on a terminal one screen at a time, as git does.
 *
 * The pager is a child that reads a pipe; our stdout is the other end. `less` gets the options FRX unless LESS says
 * otherwise: it ends at once if everything fits on one screen, keeps colours, and leaves the text on the terminal.
 *
 * While the pager runs, ^C is for the pager: if we died of it, shell and pager would read from one terminal. If the
 * user leaves the pager early, our next write ends us with SIGPIPE, silently.
 */
#include "cli/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/searchpath.h"

static struct {
    pid_t pid;    /* 0: no pager */
    int terminal; /* what stdout was before */
} pager;

/* Is there such a program? A command with several words is left to the shell. */
static bool is_installed(const char *command)
{
    int error = 0;
    if (!strpbrk(command, " \t'\"$&|;()<>"))
        free(pl_searchpath_find(command, &error));
    return !error;
}

/* NULL: none. */
static const char *find_pager(void)
{
    const char *command = getenv("PAGER"), *kind = getenv("TERM");
    if (!command)
        command = "less";
    if (!*command || !strcmp(command, "cat") || !kind || !strcmp(kind, "dumb"))
        return NULL;
    return is_installed(command) ? command : NULL;
}

/* In the child. */
static void become_pager(const char *command, const int ends[2])
{
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    execl("/bin/sh", "sh", "-c", command, (char *) NULL);
    _exit(127);
}

static void connect(pid_t child, const int ends[2])
{
    pager.pid = child;
    pager.terminal = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    atexit(pl_pager_end);
}

/* Stores the width of the terminal in COLUMNS: it cannot be read from stdout any more when that is the pipe. */
static void keep_width(void)
{
    struct winsize size;
    char columns[16];
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return;
    snprintf(columns, sizeof columns, "%u", size.ws_col);
    setenv("COLUMNS", columns, 0);
}

void pl_pager_start(void)
{
    const char *command = find_pager();
    int ends[2];
    if (pager.pid || !command || !isatty(STDOUT_FILENO) || pipe(ends) != 0)
        return;
    keep_width();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        become_pager(command, ends);
    if (child > 0)
        connect(child, ends);
    close(ends[0]);
    close(ends[1]);
}

bool pl_pager_running(void)
{
    return pager.pid != 0;
}

void pl_pager_end(void)
{
    if (!pager.pid)
        return;
    fflush(stdout);
    dup2(pager.terminal, STDOUT_FILENO); /* closes the pipe: the pager sees the end of its input */
    close(pager.terminal);
    while (waitpid(pager.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    pager.pid = 0;
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
}
