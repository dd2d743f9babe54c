/* SPDX-License-Identifier: MIT */
/*
 * loads.c - runs a loader to list the libraries that it would load.
 */
#include "cli/run/loads.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start_list(char *const *command, FILE **out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t child;
    posix_spawn_file_actions_t actions; /* posix_spawn() copies no page tables, as fork() would */
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, STDERR_FILENO); /* the program's errors are printed when it runs */
    if (posix_spawn(&child, command[0], &actions, NULL, command, environ))
        child = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out = child > 0 ? fdopen(ends[0], "r") : NULL;
    if (!*out)
        close(ends[0]);
    return child;
}

/* "\tlibm.so.6 => /lib/libm.so.6 (0x...)" or "\t/lib64/ld-linux-x86-64.so.2 (0x...)": the path, or NULL. */
static char *path_in(char *line)
{
    char *path = strchr(line, '/'), *end = strrchr(line, '(');
    if (!path || !end || end <= path + 1)
        return NULL;
    end[-1] = 0;
    return path;
}

void pl_loads(char *const *command, void (*each)(void *context, const char *path), void *context)
{
    FILE *list = NULL;
    char *line = NULL;
    size_t room = 0;
    pid_t child = start_list(command, &list);
    while (list && getline(&line, &room, list) > 0) { /* read to the end, so that the loader gets no SIGPIPE */
        char *path = path_in(line);
        if (path)
            each(context, path);
    }
    free(line);
    if (list)
        fclose(list);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}
