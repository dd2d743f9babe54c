/* SPDX-License-Identifier: MIT */
/*
 * known.c - a program with known figures:
 *
 *     parse_line     1,000 blocks of 100 bytes, each freed at once
 *     build_table    100 blocks of 10,000 bytes (with "more" 110), all live at the peak, then freed
 *     keep_session   50 blocks of 2,000 bytes, never freed
 *     answer         40 blocks of 500 bytes under the tag request/answer, freed
 *     work           20 blocks of 1,000 bytes in the thread "worker", freed
 *
 * usage: known [more|die|wait|tidy|alone|crumb]
 *     more: a larger table; die: ends by SIGKILL; wait: prints a line and waits for a signal; tidy: frees everything;
 *     alone: without the thread; crumb: like alone, with one more parse_line
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plimsoll.h"

#define OWN_FRAME __attribute__((noinline))

static char *table[110], *session[50];

/* Hides from the compiler what happens to the block. */
static void *use(void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

OWN_FRAME static void parse_line(void)
{
    free(use(malloc(100)));
}

OWN_FRAME static void build_table(int rows)
{
    for (int i = 0; i < rows; i++)
        table[i] = use(malloc(10000));
}

OWN_FRAME static void keep_session(void)
{
    for (int i = 0; i < 50; i++)
        session[i] = use(malloc(2000));
}

OWN_FRAME static void answer(void)
{
    void *block[40];
    plimsoll_push("request");
    plimsoll_push("answer");
    for (int i = 0; i < 40; i++)
        block[i] = use(malloc(500));
    for (int i = 0; i < 40; i++)
        free(block[i]);
    plimsoll_pop();
    plimsoll_pop();
}

OWN_FRAME static void *work(void *unused)
{
    void *block[20];
    for (int i = 0; i < 20; i++)
        block[i] = use(malloc(1000));
    for (int i = 0; i < 20; i++)
        free(block[i]);
    return unused;
}

static void *begin(void *unused)
{
    pthread_setname_np(pthread_self(), "worker");
    return work(unused);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t thread;
    bool crumb = !strcmp(how, "crumb");
    for (int i = 0; i < 1000 + crumb; i++)
        parse_line();
    build_table(strcmp(how, "more") ? 100 : 110);
    for (int i = 0; i < 110; i++)
        free(table[i]);
    answer();
    if (strcmp(how, "alone") && !crumb && !pthread_create(&thread, NULL, begin, NULL))
        pthread_join(thread, NULL);
    if (strcmp(how, "tidy"))
        keep_session();
    if (!strcmp(how, "wait") && write(STDOUT_FILENO, "up\n", 3) == 3)
        pause();
    if (!strcmp(how, "die"))
        raise(SIGKILL);
    return 0;
}
