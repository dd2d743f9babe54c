/* SPDX-License-Identifier: MIT */
/*
 * shorts.c - thousands of threads that make a few allocations each.
 *
 *   shorts LEDGER THREADS
 *
 * A thread frees one block at once, gives one to main, which frees it, and never frees the third. Threads share four
 * rows of the ledger in turn.
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define SITES(X) X(brief) X(passed) X(left)
LEDGER_DECLARE(SITES);

#define AT_A_TIME 4

struct life {
    unsigned number;
    size_t bytes;
    struct block passed;
};

#define SITE(name)                                                                                                     \
    static APART struct block site_##name(size_t bytes)                                                                \
    {                                                                                                                  \
        return LEDGER_ALLOCATE(SITE_##name, bytes, malloc(bytes));                                                     \
    }
SITE(brief)
SITE(passed)
SITE(left)

static void *live(void *argument)
{
    struct life *life = argument;
    ledger_thread(life->number);
    site_left(life->bytes);
    life->passed = site_passed(2 * life->bytes);
    ledger_free(site_brief(3 * life->bytes));
    return NULL;
}

int main(int argc, char **argv)
{
    struct life life[AT_A_TIME];
    pthread_t thread[AT_A_TIME];
    if (argc != 3)
        return 2;
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    for (unsigned done = 0, all = (unsigned) atoi(argv[2]); done < all; done += AT_A_TIME) {
        for (unsigned i = 0; i < AT_A_TIME; i++) {
            life[i] = (struct life){.number = i + 1, .bytes = 1 + (done + i) % 100};
            if (pthread_create(&thread[i], NULL, live, &life[i]))
                return 3;
        }
        for (unsigned i = 0; i < AT_A_TIME; i++) {
            pthread_join(thread[i], NULL);
            ledger_free(life[i].passed);
        }
    }
    return 0;
}
