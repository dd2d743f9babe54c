/* SPDX-License-Identifier: MIT */
/*
 * measure.c - runs a command and records what it used: CPU time and the largest resident set, including children.
 *
 * It is a separate program because a child's largest resident set starts with its parent's at the fork, and this parent
 * is small. Variables are set only in the child, so that nothing is preloaded here.
 *
 * usage: measure FILE [NAME=VALUE...] -- COMMAND...      writes "user_us system_us max_rss_kib wait_status"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long long microseconds(struct timeval time)
{
    return time.tv_sec * 1000000ll + time.tv_usec;
}

static _Noreturn void become(char **words)
{
    for (; *words && strcmp(*words, "--") != 0; words++)
        putenv(*words);
    if (*words && words[1])
        execvp(words[1], words + 1);
    perror("measure");
    _exit(127);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("usage: measure FILE [NAME=VALUE...] -- COMMAND...\n", stderr);
        return 2;
    }
    pid_t child = fork();
    if (child == 0)
        become(argv + 2);

    int status;
    struct rusage used;
    if (child < 0 || wait4(child, &status, 0, &used) != child) {
        perror("measure");
        return 1;
    }
    FILE *file = fopen(argv[1], "w");
    if (!file) {
        perror(argv[1]);
        return 1;
    }
    fprintf(file, "%lld %lld %ld %d\n", microseconds(used.ru_utime), microseconds(used.ru_stime), used.ru_maxrss,
            status);
    return fclose(file) ? 1 : 0;
}
