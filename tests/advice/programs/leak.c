/* SPDX-License-Identifier: MIT */
/*
 * leak.c - for a few seconds, forgets blocks continuously; or fills a cache in the first part of this time. `wrapper`
 * forgets blocks of two owners that allocate through the same function.
 *
 *   leak forget|cache|wrapper
 */
#include "case.h"

#define SECONDS 2.6
#define CACHE_SECONDS 1.0
#define BLOCK_BYTES 500
#define BLOCKS_PER_ROUND 4

static APART void *site_forget(void)
{
    return case_use(malloc(BLOCK_BYTES));
}

static APART void *site_names(void)
{
    return case_use(site_forget());
}

static APART void *site_numbers(void)
{
    return memset(case_use(site_forget()), 1, BLOCK_BYTES); /* not the same code, which would become one function */
}

/* Names become fewer and numbers more: they are not of the same age, so they are two leaks. */
static void serve_owners(double passed)
{
    for (int more = 0; more < 13 - 10 * passed; more++)
        site_names();
    for (int more = 0; more < 3 + 10 * passed; more++)
        site_numbers();
}

static APART void *site_cache(void)
{
    return case_use(malloc(BLOCK_BYTES));
}

static APART void *site_request(size_t bytes)
{
    return case_use(malloc(bytes));
}

/* Two at a time, so that they are not temporary. */
static void serve(void)
{
    void *one = site_request(300), *other = site_request(700);
    free(one);
    free(other);
}

int main(int count, char **words)
{
    bool forget = case_is(count, words, "forget"), wrapper = case_is(count, words, "wrapper");
    if (!forget && !wrapper && !case_is(count, words, "cache"))
        return case_unknown(words[0]);
    for (double start = case_seconds(), now = start; now < start + SECONDS; now = case_seconds()) {
        for (int i = 0; i < BLOCKS_PER_ROUND; i++) {
            if (forget)
                site_forget();
            else if (wrapper)
                serve_owners((now - start) / SECONDS);
            else if (now < start + CACHE_SECONDS)
                site_cache();
        }
        serve();
        case_wait();
    }
    return 0;
}
