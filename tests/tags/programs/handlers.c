/* SPDX-License-Identifier: MIT */
/*
 * handlers.c - pushes, allocates and pops as fast as possible, while a timer's handler does the same at any point.
 *
 *   handlers ACCOUNT TURNS PERIOD_US
 *
 * It needs an allocator that is safe in signal handlers. A handler may interrupt the profiler while it changes tags.
 * Then the handler's tag is lost and counted as lost, and its allocations are charged to the tag around. So only sums
 * are known: the calls and bytes in all, and that scopes are balanced in the end, which the tag "after" shows.
 */
#include "account.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static uint32_t handlers_tag;
static plimsoll_tag prepared;
static volatile unsigned long handled;

/* Booked later: the handler may interrupt the account, too. */
static void handle(int signal)
{
    (void) signal;
    if (handled % 2)
        plimsoll_push("handler");
    else
        plimsoll_enter(prepared);
    free(malloc(40));
    plimsoll_push("inner");
    free(calloc(1, 50));
    plimsoll_pop();
    plimsoll_pop();
    handled++;
}

static void book_handled(void)
{
    for (unsigned long i = 0; i < handled; i++) {
        account_entered(handlers_tag);
        account_took(BY_MALLOC, 40, &prepared);
        account_took(BY_CALLOC, 50, &prepared);
        account_popped();
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    struct itimerval timer = {{0, atol(argv[3])}, {0, atol(argv[3])}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    unsigned long turns = strtoul(argv[2], NULL, 10); /* at least */
    account_open(argv[1]);
    handlers_tag = account_tag_below(0, "handler", 7, TAG_NAMED);
    prepared = plimsoll_prepare("handler");
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (unsigned long i = 0; i < turns || handled < 50; i++) {
        push("a");
        give(take(BY_MALLOC, 10));
        push("b");
        push("c");
        pop();
        give(take(BY_REALLOC, 20));
        pop();
        pop();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    book_handled();
    push("after");
    give(take(BY_MALLOC, 30));
    pop();
    give(take(BY_REALLOC, 60));
    return 0;
}
