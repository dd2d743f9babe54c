/* SPDX-License-Identifier: MIT */
/*
 * phases.c - allocates from one site after the other, each on request, and prints what it did.
 *
 *     phases <blocks>...
 *
 * Before every phase it waits for a line on its standard input, so that another process can change the profiler's
 * settings in between. A site is a function. When it has finished, it prints one line:
 *
 *     <function> <calls> <bytes> <live blocks> <live bytes>
 *
 * A second site allocates in every phase, alternating with the first. One block in three is never freed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SITE static __attribute__((noinline, used))
#define BYTES 4096u

struct ledger {
    uint64_t calls, live;
};

static void *volatile sink; /* keeps the compiler from removing pairs of malloc and free */

SITE void *site_everywhere(void)
{
    return sink = malloc(BYTES);
}

#define PHASES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define DEFINE(number)                                                                                                 \
    SITE void *site_phase_##number(void)                                                                               \
    {                                                                                                                  \
        return sink = malloc(BYTES);                                                                                   \
    }
PHASES(DEFINE)
#undef DEFINE

static void *(*const site[])(void) = {
#define ENTRY(number) site_phase_##number,
    PHASES(ENTRY)
#undef ENTRY
};

/* The pages are never touched, so they cost hardly any memory. */
static void allocate(void *(*from)(void), struct ledger *ledger)
{
    void *block = from();
    if (!block)
        abort();
    if (ledger->calls++ % 3 == 0)
        ledger->live++;
    else
        free(block);
}

static void report(const char *name, const struct ledger *l)
{
    printf("%s %llu %llu %llu %llu\n", name, (unsigned long long) l->calls, (unsigned long long) l->calls * BYTES,
           (unsigned long long) l->live, (unsigned long long) l->live * BYTES);
}

int main(int argc, char **argv)
{
    static char out[BUFSIZ], in[BUFSIZ], line[16], name[32];
    struct ledger everywhere = {0, 0};
    setvbuf(stdout, out, _IOLBF, sizeof out);
    setvbuf(stdin, in, _IOLBF, sizeof in);
    for (int phase = 0; phase < argc - 1; phase++) {
        struct ledger ledger = {0, 0};
        printf("ready\n");
        if (!fgets(line, sizeof line, stdin))
            return 1;
        for (long blocks = atol(argv[phase + 1]); blocks > 0; blocks--) {
            allocate(site[phase], &ledger);
            allocate(site_everywhere, &everywhere);
        }
        snprintf(name, sizeof name, "site_phase_%d", phase);
        report(name, &ledger);
    }
    report("site_everywhere", &everywhere);
    return 0;
}
