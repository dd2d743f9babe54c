/* SPDX-License-Identifier: MIT */
/*
 * processes.c - tags at the beginning and the end of processes.
 *
 *   processes ACCOUNT fork     inside a scope: the child stays in it, and both pop; also a grandchild
 *   processes ACCOUNT vfork    a child that only calls exec, inside a scope
 *   processes ACCOUNT busy N   N threads in scopes, until it is killed
 */
#include "../../lib/patience.h"
#include "account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 60

static void wait_for(pid_t child)
{
    int status = 1;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* ---- fork ---- */

static plimsoll_tag prepared;

static void live_as_child(const char *path, unsigned generations)
{
    char next[512];
    account_open_child(path);
    allocate(100 * generations); /* in the tag that the parent was in */
    push("child");
    allocate(20);
    enter(prepared, "prepared");
    allocate(30);
    pop();
    pop();
    snprintf(next, sizeof next, "%s.child", path);
    pid_t child = generations > 1 ? fork() : 0;
    if (generations > 1 && child == 0) {
        live_as_child(next, generations - 1);
        exit(0);
    }
    if (child)
        wait_for(child);
    allocate(40);
    pop();
    allocate(50);
    pop();
    allocate(60);   /* the root */
    pop();          /* surplus */
    push("around"); /* a tag that the parent knows */
    allocate(70);
    pop();
}

static void fork_inside(const char *path)
{
    char childs[512];
    prepared = plimsoll_prepare("prepared");
    push("around");
    allocate(10);
    push("inside");
    allocate(11);
    snprintf(childs, sizeof childs, "%s.child", path);
    pid_t child = fork();
    if (child == 0) {
        live_as_child(childs, 2);
        exit(0);
    }
    for (unsigned i = 0; i < TURNS; i++)
        allocate(12);
    wait_for(child);
    pop();
    allocate(13);
    pop();
    allocate(14);
}

/* ---- vfork ---- */

static void vfork_inside(void)
{
    for (unsigned i = 0; i < 5; i++) {
        push("around");
        allocate(10);
        push("spawns");
        pid_t child = vfork();
        if (child == 0) {
            execl("/bin/true", "true", (char *) NULL);
            _exit(1);
        }
        wait_for(child);
        allocate(20);
        pop();
        allocate(30);
        pop();
        allocate(40);
    }
}

/* ---- kill ---- */

static void go_on(unsigned number)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    uint64_t random = number;
    for (;;) {
        if (account_depth() < 5 && (!account_depth() || draw(&random, 2)))
            push(names[draw(&random, 4)]);
        else
            pop();
        give(take((enum account_function) draw(&random, ACCOUNT_FUNCTIONS), 1 + draw(&random, 3000)));
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    alarm(PATIENCE_S);
    account_open(argv[1]);
    if (strcmp(argv[2], "fork") == 0)
        fork_inside(argv[1]);
    if (strcmp(argv[2], "vfork") == 0)
        vfork_inside();
    if (strcmp(argv[2], "busy") == 0)
        crew_run(1, (unsigned) atoi(argv[3]), go_on);
    return 0;
}
