/* SPDX-License-Identifier: MIT */
/*
 * corners.c - combinations of threads, forks, resets and statistics. Each small scene checks its own figures.
 *
 *   corners ACCOUNT SCENE
 *
 * It ends with a message on stderr if something is wrong. Some scenes need settings: see ../stepped.py.
 */
#include "step_figures.h"

#include <fenv.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEGATIVE (UINT64_C(1) << 60) /* a negative figure, as an unsigned number */

/* The tag with this name below the current one. */
static plimsoll_context tag_of(const char *name)
{
    plimsoll_push(name);
    plimsoll_context tag = plimsoll_capture();
    plimsoll_pop();
    return tag;
}

static void allocate_times(int times, size_t bytes)
{
    for (int i = 0; i < times; i++)
        free(malloc(bytes));
}

/* The sum of the pairs whose key ends like this, over all threads. */
struct wanted {
    const char *end;
    uint64_t sum;
};

static int add_up(void *context, const char *key, uint64_t number)
{
    struct wanted *wanted = context;
    size_t bytes = strlen(key), end_bytes = strlen(wanted->end);
    require(number < NEGATIVE, key);
    if (bytes >= end_bytes && strcmp(key + bytes - end_bytes, wanted->end) == 0)
        wanted->sum += number;
    return 0;
}

static uint64_t pairs_of(const char *end)
{
    struct wanted wanted = {end, 0};
    REQUIRE(plimsoll_pairs(add_up, &wanted) == 0);
    return wanted.sum;
}

static pthread_t start_thread(void *(*run)(void *) )
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, run, NULL) == 0);
    return thread;
}

static void run_thread(void *(*run)(void *) )
{
    pthread_join(start_thread(run), NULL);
}

/* ---- statistics while other threads work ---- */

static int enough;
static uint64_t made;

static void *alternate(void *unused)
{
    while (!__atomic_load_n(&enough, __ATOMIC_RELAXED)) {
        plimsoll_push("A");
        free(malloc(32));
        plimsoll_pop();
        plimsoll_push("B");
        free(malloc(32));
        plimsoll_pop();
    }
    return unused;
}

static void *allocate_on(void *unused)
{
    while (!__atomic_load_n(&enough, __ATOMIC_RELAXED)) {
        free(malloc(1000));
        __atomic_store_n(&made, made + 1, __ATOMIC_RELAXED);
    }
    return unused;
}

static void stop_thread(pthread_t thread)
{
    __atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

static void check_not_negative(const struct plimsoll_stats *process)
{
    for (int i = 0; i < PLIMSOLL_SIZES; i++)
        REQUIRE(process->live_sizes[i].blocks < NEGATIVE && process->live_sizes[i].bytes < NEGATIVE);
}

/* A call that is being booked to its tag during the query may be counted twice, once. */
static void ask_for_a_tag(void)
{
    plimsoll_context a = tag_of("A");
    struct plimsoll_stats last = of_tag(a);
    pthread_t thread = start_thread(alternate);
    for (int i = 0; i < 15000; i++) {
        struct plimsoll_stats now = of_tag(a), process = of_process();
        REQUIRE(now.calls + 1 >= last.calls && now.allocated_bytes + 32 >= last.allocated_bytes);
        REQUIRE(now.entered >= last.entered);
        REQUIRE(now.calls <= process.calls + 1 && now.allocated_bytes <= process.allocated_bytes + 32);
        check_not_negative(&process);
        last = now;
    }
    stop_thread(thread);
}

static void ask_for_pairs(void)
{
    uint64_t last = 0;
    pthread_t thread = start_thread(alternate);
    for (int i = 0; i < 3000; i++) {
        uint64_t now = pairs_of(".A.calls");
        REQUIRE(now + 1 >= last && now < NEGATIVE);
        last = now;
    }
    stop_thread(thread);
}

/* As above, a call or two may be seen half booked. */
static void ask_for_bytes(void)
{
    struct plimsoll_stats last = of_process();
    pthread_t thread = start_thread(allocate_on);
    for (int i = 0; i < 40000; i++) {
        struct plimsoll_stats now = of_process();
        REQUIRE(now.calls >= last.calls);
        REQUIRE(now.allocated_bytes + 2 * 1000 >= last.allocated_bytes);
        last = now;
    }
    stop_thread(thread);
}

/* ---- resets ---- */

static void wait_for(uint64_t more)
{
    uint64_t target = __atomic_load_n(&made, __ATOMIC_RELAXED) + more;
    while (__atomic_load_n(&made, __ATOMIC_RELAXED) < target)
        ;
}

/* A thread that has seen the first reset must also see the second. */
static void reset_twice(void)
{
    uint64_t random = 1;
    pthread_t thread = start_thread(allocate_on);
    wait_for(1);
    for (int i = 0; i < 700; i++) {
        plimsoll_reset();
        for (volatile uint32_t pause = draw(&random, 3000); pause > 0; pause--)
            ;
        plimsoll_reset();
        wait_for(300);
        require(of_process().calls >= 200, "allocations after a reset are missing");
    }
    stop_thread(thread);
}

static void ask_after_reset(void)
{
    plimsoll_push("T");
    free(malloc(1));
    plimsoll_reset();
    allocate_times(5, 100);
    same("T.calls", pairs_of(".T.calls"), 5);
    same("-.calls", pairs_of(".-.calls"), 0);
}

#define OLD_BLOCKS 100
#define NEW_BLOCKS 30

/* Frees of blocks from before the reset must not lower the new peak. */
static void peak_after_reset(void)
{
    void *old[OLD_BLOCKS], *new[NEW_BLOCKS];
    for (int i = 0; i < OLD_BLOCKS; i++)
        old[i] = malloc(1000);
    plimsoll_reset();
    for (int i = 0; i < OLD_BLOCKS; i++)
        free(old[i]);
    for (int i = 0; i < NEW_BLOCKS; i++)
        new[i] = malloc(1000);
    same("live", of_process().live_bytes, 1000 * NEW_BLOCKS);
    same("peak", of_process().peak_bytes, 1000 * NEW_BLOCKS);
    for (int i = 0; i < NEW_BLOCKS; i++)
        free(new[i]);
    same("peak, when all is freed", of_process().peak_bytes, 1000 * NEW_BLOCKS);
}

/* ---- frees by other threads ---- */

#define SHARED 2000
#define SHARED_BYTES 1000

static void *shared[SHARED];
static pthread_barrier_t turn;
static bool frees_only;

static void share(int from, int to)
{
    for (int i = from; i < to; i++)
        shared[i] = malloc(SHARED_BYTES);
}

static void free_shared(int from, int to)
{
    for (int i = from; i < to; i++)
        free(shared[i]);
}

static uint64_t live_by_size(void)
{
    struct plimsoll_stats stats = of_process();
    uint64_t blocks = 0;
    for (int i = 0; i < PLIMSOLL_SIZES; i++)
        blocks += stats.live_sizes[i].blocks;
    return blocks;
}

static void *free_and_ask(void *unused)
{
    if (!frees_only)
        free(malloc(1));
    struct plimsoll_stats before = of_process();
    free_shared(0, SHARED / 2);
    struct plimsoll_stats after = of_process();
    same("freed", after.freed_blocks - before.freed_blocks, SHARED / 2);
    same("live", before.live_blocks - after.live_blocks, SHARED / 2);
    same("bytes", before.live_bytes - after.live_bytes, SHARED / 2 * SHARED_BYTES);
    same("peak", after.peak_bytes >= before.live_bytes, 1);
    return unused;
}

static void free_of_another(void)
{
    share(0, SHARED);
    for (int i = 0; i < 2; i++, frees_only = !frees_only) {
        share(0, i * SHARED / 2);
        pthread_join(start_thread(free_and_ask), NULL);
    }
}

#define SINCE (SHARED / 2) /* blocks since the reset */
#define LEFT 100

static void *free_over_a_reset(void *unused)
{
    if (!frees_only)
        free(malloc(1));
    free_shared(0, SHARED / 4);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn); /* meanwhile: the reset, and new blocks */
    uint64_t live = of_process().live_bytes, by_size = live_by_size();
    free_shared(SHARED / 4, SHARED / 2);
    same("live, when older blocks are freed", of_process().live_bytes, live);
    same("by size, when older blocks are freed", live_by_size(), by_size);
    free_shared(SINCE, SHARED - LEFT);
    same("live", live - of_process().live_bytes, (SHARED - LEFT - SINCE) * SHARED_BYTES);
    same("by size", by_size - live_by_size(), SHARED - LEFT - SINCE);
    free(malloc(1));
    same("by size, when the thread has allocated", by_size - live_by_size(), SHARED - LEFT - SINCE);
    return unused;
}

static void free_after_reset(void)
{
    pthread_barrier_init(&turn, NULL, 2);
    for (int i = 0; i < 2; i++, frees_only = !frees_only) {
        share(0, SINCE);
        pthread_t thread = start_thread(free_over_a_reset);
        pthread_barrier_wait(&turn);
        plimsoll_reset();
        share(SINCE, SHARED);
        pthread_barrier_wait(&turn);
        pthread_join(thread, NULL);
        free_shared(SHARED - LEFT, SHARED);
    }
}

/* ---- children ---- */

/* Runs a check in a child, which reports failure by its exit status. */
static void fork_and(int (*child)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(child());
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    same("status of the child", (uint64_t) status, 0);
}

static int is_inactive(void)
{
    return !plimsoll_active();
}

static void new_child(void)
{
    free(malloc(3));
    REQUIRE(plimsoll_active());
    fork_and(is_inactive);
}

static int allocate_in_request(void)
{
    allocate_times(10, 10);
    same("request's calls", of_tag(plimsoll_capture()).calls, 10);
    same("request's calls in pairs", pairs_of(".request.calls"), 10);
    same("calls of no tag", of_tag(0).calls, 0);
    return 0;
}

static void child_in_tag(void)
{
    plimsoll_push("request");
    free(malloc(5));
    fork_and(allocate_in_request);
}

static int allocate_once(void)
{
    free(malloc(10));
    return 0;
}

static void many_children(void)
{
    for (int i = 0; i < 20; i++)
        fork_and(allocate_once);
}

/* ---- threads ---- */

static void *allocate_without_tag(void *unused)
{
    allocate_times(1000, 10);
    return unused;
}

static void *allocate_in_x(void *unused)
{
    plimsoll_push("X");
    free(malloc(10));
    same("calls of X", of_tag(plimsoll_capture()).calls, 1);
    same("bytes of X", of_tag(plimsoll_capture()).allocated_bytes, 10);
    plimsoll_pop();
    return unused;
}

/* With room for few threads, a new thread reuses the record of an ended one. */
static void taken_over(void)
{
    run_thread(allocate_without_tag);
    run_thread(allocate_in_x);
}

#define CROWD 150
#define CROWD_TAGS 60

static void allocate_in_many(unsigned number)
{
    (void) number;
    for (int i = 0; i < CROWD_TAGS; i++) {
        plimsoll_pushf("tag %d", i);
        give(take(BY_MALLOC, 100));
        plimsoll_pop();
    }
}

/* One after the other, so that the last ones start when the file is full. */
static void crowd(void)
{
    for (unsigned i = 1; i <= CROWD; i++)
        crew_run(i, 1, allocate_in_many);
}

#define EXCHANGED_BYTES 4000
#define SLOTS 256

static void *slot[SLOTS];

/* Nearly all slots are full from the first round to the last but one. */
static void exchange_blocks(unsigned number)
{
    uint64_t random = number;
    for (int i = 0; i < 40000; i++)
        free(__atomic_exchange_n(&slot[draw(&random, SLOTS)], malloc(EXCHANGED_BYTES), __ATOMIC_ACQ_REL));
}

static void exchange(void)
{
    crew_run(1, 4, exchange_blocks);
    for (int i = 0; i < SLOTS; i++)
        free(slot[i]);
}

/* ---- the processor's state ---- */

static void ask_for_everything(void)
{
    struct plimsoll_stats stats;
    of_process();
    of_tag(plimsoll_capture());
    REQUIRE(plimsoll_thread_stats(&stats, sizeof stats) == 0);
    pairs_of(".A.calls");
    allocate_times(1000, 33);
    plimsoll_reset();
}

/* Neither raises flags that the program would see, nor triggers traps that it has enabled. */
static void floating_point(void)
{
    plimsoll_push("A");
    void *kept[10];
    for (int i = 0; i < 10; i++)
        kept[i] = malloc(33);
    feclearexcept(FE_ALL_EXCEPT);
    ask_for_everything();
    same("flags", (uint64_t) fetestexcept(FE_ALL_EXCEPT), 0);
    feenableexcept(FE_ALL_EXCEPT);
    ask_for_everything();
    for (int i = 0; i < 10; i++)
        free(kept[i]);
}

/* ---- names ---- */

static void stay(void)
{
}

/* The number of instructions to enter a new tag: the smallest of several, because tables grow now and then. */
static long steps_of_new_name(const char *prefix)
{
    char name[64];
    long fewest = LONG_MAX;
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "%s %d", prefix, i);
        step_target = LONG_MAX;
        step_taken = 0;
        step_begin();
        plimsoll_push(name);
        step_end();
        plimsoll_pop();
        fewest = step_taken < fewest ? step_taken : fewest;
    }
    return fewest;
}

/* A server that makes a tag of each request's number reaches the limit, but must not become slower. */
static void many_names(void)
{
    step_prepare(stay);
    long first = steps_of_new_name("first");
    for (int i = 0; i < 90000; i++) {
        plimsoll_pushf("request %d", i);
        plimsoll_pop();
    }
    long last = steps_of_new_name("last");
    fprintf(stderr, "%ld instructions at first, %ld at last\n", first, last);
    require(last < 20 * first, "a new name takes longer when there are many");
}

int main(int argc, char **argv)
{
    return account_main(argc, argv,
                        (const struct account_mode[]){
                            {"ask-for-a-tag", ask_for_a_tag},
                            {"ask-for-pairs", ask_for_pairs},
                            {"ask-for-bytes", ask_for_bytes},
                            {"reset-twice", reset_twice},
                            {"ask-after-reset", ask_after_reset},
                            {"peak-after-reset", peak_after_reset},
                            {"free-of-another", free_of_another},
                            {"free-after-reset", free_after_reset},
                            {"new-child", new_child},
                            {"child-in-tag", child_in_tag},
                            {"many-children", many_children},
                            {"taken-over", taken_over},
                            {"crowd", crowd},
                            {"exchange", exchange},
                            {"floating-point", floating_point},
                            {"many-names", many_names},
                            {NULL, NULL},
                        });
}
