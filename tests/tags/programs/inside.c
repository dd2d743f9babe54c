/* SPDX-License-Identifier: MIT */
/*
 * inside.c - a program that gets its own statistics and compares them with its account.
 *
 *   inside ACCOUNT exact|sampled
 *
 * It ends with a message on stderr if a figure is wrong. Calls and bytes must be exact in both modes, the other figures
 * in exact mode.
 */
#include "account.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define THREADS 3
#define KEEP 200

static bool exact;
static int busy_threads;
static pthread_barrier_t step;
static struct held kept[THREADS + 1][KEEP];

static void same(const char *what, uint64_t seen, uint64_t expected)
{
    char line[256];
    if (seen == expected)
        return;
    snprintf(line, sizeof line, "%s: %llu instead of %llu", what, (unsigned long long) seen,
             (unsigned long long) expected);
    require(false, line);
}

/* ---- expected figures ---- */

#define ALL UINT32_MAX

/* The sum of all cells of a thread, of a tag, or of both. */
static struct plimsoll_stats expected_of(uint32_t thread, uint32_t tag)
{
    struct plimsoll_stats sum = {0};
    for (uint32_t i = 0; i < account->cells; i++) {
        const struct account_cell *cell = &account->cell[i];
        if ((thread != ALL && cell->thread != thread) || (tag != ALL && cell->tag != tag))
            continue;
        for (int f = 0; f < ACCOUNT_FUNCTIONS; f++) {
            sum.calls_of[f] += cell->calls_of[f];
            sum.calls += cell->calls_of[f];
        }
        sum.allocated_bytes += cell->bytes;
        sum.freed_blocks += cell->freed_calls;
        sum.freed_bytes += cell->freed_bytes;
        sum.entered += cell->entered;
    }
    sum.live_blocks = sum.calls - sum.freed_blocks;
    sum.live_bytes = sum.allocated_bytes - sum.freed_bytes;
    return sum;
}

static void compare(const char *whose, const struct plimsoll_stats *seen, const struct plimsoll_stats *true_)
{
    char what[128];
    static const char *const function[] = {"malloc", "calloc", "realloc", "aligned"};
    for (int f = 0; f < ACCOUNT_FUNCTIONS; f++) {
        snprintf(what, sizeof what, "%s, calls of %s", whose, function[f]);
        same(what, seen->calls_of[f], true_->calls_of[f]);
    }
    const struct {
        const char *name;
        uint64_t seen, true_;
        bool in_every_mode;
    } figures[] = {
        {"calls", seen->calls, true_->calls, true},
        {"allocated_bytes", seen->allocated_bytes, true_->allocated_bytes, true},
        {"entered", seen->entered, true_->entered, true},
        {"freed_blocks", seen->freed_blocks, true_->freed_blocks, false},
        {"freed_bytes", seen->freed_bytes, true_->freed_bytes, false},
        {"live_blocks", seen->live_blocks, true_->live_blocks, false},
        {"live_bytes", seen->live_bytes, true_->live_bytes, false},
    };
    for (unsigned i = 0; i < sizeof figures / sizeof *figures; i++) {
        snprintf(what, sizeof what, "%s, %s", whose, figures[i].name);
        if (exact || figures[i].in_every_mode)
            same(what, figures[i].seen, figures[i].true_);
    }
    same("exact", seen->exact, exact);
}

/* What holds at any time. */
static void check_sanity(const struct plimsoll_stats *stats)
{
    uint64_t calls = 0, sized = 0;
    for (int f = 0; f < PLIMSOLL_FUNCTIONS; f++)
        calls += stats->calls_of[f];
    same("calls of all functions", calls, stats->calls);
    for (int i = 0; i < PLIMSOLL_SIZES; i++)
        sized += stats->allocated_sizes[i].blocks;
    if (exact)
        REQUIRE(stats->freed_blocks <= stats->calls && stats->freed_bytes <= stats->allocated_bytes);
    REQUIRE(stats->vm_bytes > 1 << 20 && stats->rss_bytes > 1 << 16 && stats->rss_bytes <= stats->vm_bytes);
    REQUIRE(stats->threads >= 1 && stats->calls >= 1);
    REQUIRE(sized > 0);
}

/* ---- pairs ---- */

struct seen_pairs {
    const char *tag; /* as in keys */
    struct plimsoll_stats tag_sum;
    uint64_t process_calls, process_bytes;
    uint64_t all_calls; /* of all threads and tags */
    unsigned pairs;
};

static bool ends_in(const char *key, const char *tag, const char *metric)
{
    char end[128];
    snprintf(end, sizeof end, ".%s.%s", tag, metric);
    size_t bytes = strlen(key), end_bytes = strlen(end);
    return bytes > end_bytes && strcmp(key + bytes - end_bytes, end) == 0;
}

static bool is_metric(const char *key, const char *metric)
{
    const char *dot = strrchr(key, '.');
    return dot && strcmp(dot + 1, metric) == 0;
}

static int see(void *context, const char *key, uint64_t number)
{
    struct seen_pairs *seen = context;
    REQUIRE(strlen(key) <= 1023 && strchr(key, '.'));
    seen->pairs++;
    if (strcmp(key, "process.calls") == 0)
        seen->process_calls = number;
    if (strcmp(key, "process.allocated_bytes") == 0)
        seen->process_bytes = number;
    if (strncmp(key, "process.", 8) != 0 && is_metric(key, "calls"))
        seen->all_calls += number;
    const struct {
        const char *name;
        uint64_t *sum;
    } metrics[] = {
        {"calls", &seen->tag_sum.calls},
        {"allocated_bytes", &seen->tag_sum.allocated_bytes},
        {"entered", &seen->tag_sum.entered},
        {"live_bytes", &seen->tag_sum.live_bytes},
        {"live_blocks", &seen->tag_sum.live_blocks},
        {"freed_bytes", &seen->tag_sum.freed_bytes},
    };
    for (unsigned i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (ends_in(key, seen->tag, metrics[i].name))
            *metrics[i].sum += number;
    return 0;
}

static int stop_at_third(void *context, const char *key, uint64_t number)
{
    (void) key;
    (void) number;
    return ++*(int *) context == 3 ? 42 : 0;
}

static void check_pairs(uint32_t tag, const char *name)
{
    struct seen_pairs seen = {.tag = name};
    struct plimsoll_stats process, true_ = expected_of(ALL, tag);
    REQUIRE(plimsoll_pairs(see, &seen) == 0);
    REQUIRE(plimsoll_stats(&process, sizeof process) == 0);
    same("pairs, process.calls", seen.process_calls, process.calls);
    same("pairs, process.allocated_bytes", seen.process_bytes, process.allocated_bytes);
    same("pairs, calls of all threads and tags", seen.all_calls, process.calls);
    same("pairs, calls", seen.tag_sum.calls, true_.calls);
    same("pairs, allocated_bytes", seen.tag_sum.allocated_bytes, true_.allocated_bytes);
    same("pairs, entered", seen.tag_sum.entered, true_.entered);
    if (exact) {
        same("pairs, live_bytes", seen.tag_sum.live_bytes, true_.live_bytes);
        same("pairs, live_blocks", seen.tag_sum.live_blocks, true_.live_blocks);
        same("pairs, freed_bytes", seen.tag_sum.freed_bytes, true_.freed_bytes);
    }
    int count = 0;
    plimsoll_pairs(stop_at_third, &count);
    same("calls of `see` until it had enough", (uint64_t) count, 3);
}

/* ---- threads ---- */

static plimsoll_context work_context;
static uint32_t work_tag;

static void change_blocks(unsigned number, unsigned from, unsigned turns)
{
    uint64_t random = number + 1;
    for (unsigned i = from; i < from + turns; i++) {
        struct held *block = &kept[number][i % KEEP];
        if (i % 3 == 0)
            *block = take_again(*block, 1 + draw(&random, 3000));
        else {
            give(*block);
            *block = take((enum account_function) draw(&random, ACCOUNT_FUNCTIONS), 1 + draw(&random, 3000));
        }
    }
}

static void work(unsigned number)
{
    struct plimsoll_stats stats;
    push("work");
    if (number == 1) {
        work_context = plimsoll_capture();
        work_tag = account_tag_now();
    }
    for (unsigned i = 0; i < 60; i++) {
        change_blocks(number, 100 * i, 100);
        push("part");
        change_blocks(number, 100 * i, 20);
        pop();
    }
    __atomic_fetch_sub(&busy_threads, 1, __ATOMIC_RELEASE);
    pthread_barrier_wait(&step);
    memset(&stats, 0xa5, sizeof stats);
    REQUIRE(plimsoll_thread_stats(&stats, sizeof stats) == 0);
    struct plimsoll_stats true_ = expected_of(number, ALL);
    compare("thread", &stats, &true_);
    same("thread, threads", stats.threads, 1);
    same("thread, vm_bytes", stats.vm_bytes, 0);
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step); /* main has looked */
    pop();
}

static void look_while_they_work(void)
{
    struct plimsoll_stats before = {0}, now;
    while (__atomic_load_n(&busy_threads, __ATOMIC_ACQUIRE)) {
        REQUIRE(plimsoll_stats(&now, sizeof now) == 0);
        check_sanity(&now);
        REQUIRE(now.calls >= before.calls && now.allocated_bytes >= before.allocated_bytes);
        REQUIRE(now.freed_blocks >= before.freed_blocks || !exact);
        before = now;
    }
}

static void look_while_they_rest(void)
{
    struct plimsoll_stats stats, true_ = expected_of(ALL, work_tag);
    memset(&stats, 0xa5, sizeof stats);
    REQUIRE(plimsoll_tag_stats(work_context, &stats, sizeof stats) == 0);
    compare("tag", &stats, &true_);
    same("tag, threads", stats.threads, THREADS);
    same("tag, tags", stats.tags, 1);
    same("tag, vm_bytes", stats.vm_bytes, 0);
    check_pairs(work_tag, "work");
}

static void *work_as(void *number)
{
    account_thread((unsigned) (uintptr_t) number);
    work((unsigned) (uintptr_t) number);
    return NULL;
}

static void run_threads(void)
{
    pthread_t thread[THREADS];
    push_loose("crew");
    pthread_barrier_init(&step, NULL, THREADS + 1);
    busy_threads = THREADS;
    for (uintptr_t i = 1; i <= THREADS; i++)
        REQUIRE(pthread_create(&thread[i - 1], NULL, work_as, (void *) i) == 0);
    look_while_they_work();
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    look_while_they_rest();
    pthread_barrier_wait(&step);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    pop();
}

/* ---- in handlers ---- */

static volatile unsigned handled;

static void handle(int signal)
{
    struct plimsoll_stats stats;
    (void) signal;
    int saved = errno;
    REQUIRE(plimsoll_stats(&stats, sizeof stats) == 0);
    REQUIRE(plimsoll_thread_stats(&stats, sizeof stats) == 0);
    REQUIRE(errno == saved);
    handled++;
}

static void interrupt(void)
{
    struct itimerval timer = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    push("interrupted");
    for (unsigned i = 0; handled < 200; i++) {
        change_blocks(0, i, 50);
        push("part");
        pop();
    }
    pop();
    setitimer(ITIMER_REAL, &never, NULL);
}

/* ---- one thread ---- */

static void see_nothing_allocated(void)
{
    struct plimsoll_stats before, after, ignored;
    int count = 0;
    REQUIRE(plimsoll_thread_stats(&before, sizeof before) == 0);
    REQUIRE(plimsoll_stats(&ignored, sizeof ignored) == 0);
    REQUIRE(plimsoll_tag_stats(plimsoll_capture(), &ignored, sizeof ignored) == 0);
    plimsoll_pairs(stop_at_third, &count);
    REQUIRE(plimsoll_thread_stats(&after, sizeof after) == 0);
    same("calls while asking", after.calls, before.calls);
    same("live while asking", after.live_bytes, before.live_bytes);
}

/* Requests only the first bytes: nothing after them may be written, for programs built with an older header. */
static void ask_for_less(void)
{
    struct plimsoll_stats stats;
    memset(&stats, 0x5a, sizeof stats);
    REQUIRE(plimsoll_stats(&stats, sizeof stats.calls) == 0);
    REQUIRE(stats.calls != 0x5a5a5a5a5a5a5a5au);
    same("beyond what was asked for", stats.calls_of[0], 0x5a5a5a5a5a5a5a5au);
}

static void see_differences(void)
{
    struct plimsoll_stats before, after;
    REQUIRE(plimsoll_stats(&before, sizeof before) == 0);
    push("difference");
    struct held small = take(BY_MALLOC, 20), large = take(BY_ALIGNED, 5000);
    pop();
    REQUIRE(plimsoll_stats(&after, sizeof after) == 0);
    same("2 more calls", after.calls - before.calls, 2);
    same("1 more malloc", after.calls_of[PLIMSOLL_MALLOC] - before.calls_of[PLIMSOLL_MALLOC], 1);
    same("1 more aligned", after.calls_of[PLIMSOLL_ALIGNED] - before.calls_of[PLIMSOLL_ALIGNED], 1);
    same("5,020 bytes more", after.allocated_bytes - before.allocated_bytes, 5020);
    same("1 more entered", after.entered - before.entered, 1);
    if (exact) {
        same("5,020 live bytes more", after.live_bytes - before.live_bytes, 5020);
        same("a small block more", after.live_sizes[1].blocks - before.live_sizes[1].blocks, 1);
        same("its bytes", after.live_sizes[1].bytes - before.live_sizes[1].bytes, 20);
        same("a large block more", after.allocated_sizes[9].blocks - before.allocated_sizes[9].blocks, 1);
        same("its bytes", after.allocated_sizes[9].bytes - before.allocated_sizes[9].bytes, 5000);
    }
    give(small);
    give(large);
    REQUIRE(plimsoll_stats(&before, sizeof before) == 0);
    if (exact)
        same("5,020 live bytes less", after.live_bytes - before.live_bytes, 5020);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    exact = strcmp(argv[2], "exact") == 0;
    account_open(argv[1]);
    see_differences();
    see_nothing_allocated();
    ask_for_less();
    run_threads();
    see_differences();
    interrupt();
    see_nothing_allocated();
    return 0;
}
