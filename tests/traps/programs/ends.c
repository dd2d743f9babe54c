/* SPDX-License-Identifier: MIT */
/*
 * ends.c - allocates 300 blocks, frees 100 of them, and ends in one of many ways.
 *
 *   ends HOW [wait]     with wait, prints "ready" and sleeps first
 */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include "trap.h"

static APART void *ends_allocate(void)
{
    return keep(malloc(64));
}

static void *exit_in_thread(void *unused)
{
    exit(5);
    return unused;
}

static void by_return(void)
{
}

static void by_exit(void)
{
    exit(5);
}

static void by_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, exit_in_thread, NULL);
    pause();
}

static void by_main_thread(void)
{
    pthread_exit(NULL);
}

static void by_underscore(void)
{
    _exit(5);
}

static void by_capital(void)
{
    _Exit(5);
}

static void by_quick_exit(void)
{
    quick_exit(5);
}

static void by_syscall(void)
{
    syscall(SYS_exit_group, 5);
}

static void leave_from_handler(void)
{
    _exit(6);
}

static void by_handler(void)
{
    atexit(leave_from_handler);
    exit(5);
}

static void by_segv(void)
{
    *(volatile int *) keep(NULL) = 1;
}

static void by_closing(void)
{
    fclose(stdin);
    fclose(stdout);
    fclose(stderr);
}

static const struct {
    const char *name;
    void (*end)(void);
    int signal;
} ways[] = {
    {"return", by_return, 0},           {"exit", by_exit, 0},        {"thread", by_thread, 0},
    {"main-thread", by_main_thread, 0}, {"_exit", by_underscore, 0}, {"_Exit", by_capital, 0},
    {"quick_exit", by_quick_exit, 0},   {"syscall", by_syscall, 0},  {"handler", by_handler, 0},
    {"closing", by_closing, 0},         {"abort", abort, 0},         {"segv", by_segv, 0},
    {"SIGTERM", NULL, SIGTERM},         {"SIGKILL", NULL, SIGKILL},  {"SIGINT", NULL, SIGINT},
};

int main(int argc, char **argv)
{
    static void *block[300];
    for (int i = 0; i < 300; i++)
        block[i] = ends_allocate();
    for (int i = 0; i < 300; i += 3)
        free(block[i]);
    if (argc > 2) {
        dprintf(1, "ready\n");
        pause();
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (argc < 2 || !is(ways[i].name, argv[1]))
            continue;
        if (ways[i].signal)
            raise(ways[i].signal);
        ways[i].end();
        return 0;
    }
    return 99;
}
