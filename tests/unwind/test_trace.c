/* SPDX-License-Identifier: MIT */
/*
 * test_trace.c - a trace's hash names a stack: equal frames have equal hashes, and different ones different.
 *
 * Each test leads to observe() by other stacks. It traces, walks plainly as well, and compares with all that it has
 * seen in this test.
 */
#include "support.h"

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include "rules.h"
#include "trace.h"

#define SEEN_MAX 4096

struct seen {
    uint64_t hash;
    uint32_t frames;
    uint64_t frame[PL_WALK_FRAMES + 1];
};

static struct pl_walk walk;
static struct pl_trace *trace;
static uint32_t generation;
static struct seen *seen;
static unsigned seen_count;
static unsigned retried; /* traces that gave 0 at first */
static unsigned refused; /* and then again */
static unsigned given;

static NOINLINE void walk_here(void)
{
    WALK(&walk);
}

/* As much of the stack as these tests need is proven, so that no trace is refused for that. */
static NOINLINE void prove_stack(void)
{
    void *space = alloca(131072);
    __asm__ volatile("" : : "r"(space) : "memory");
    walk_here();
    NOT_LAST();
}

static int begin(void **state)
{
    (void) state;
    memset(&walk, 0, sizeof walk);
    walk.may_probe = true;
    generation = 1;
    seen_count = retried = refused = given = 0;
    trace = calloc(1, pl_trace_bytes);
    seen = malloc(SEEN_MAX * sizeof *seen);
    prove_stack();
    return !trace || !seen;
}

static int finish(void **state)
{
    (void) state;
    free(trace);
    free(seen);
    return 0;
}

static bool is_walk(const struct seen *stack)
{
    return stack->frames == walk.frames && memcmp(stack->frame, walk.frame, walk.frames * sizeof *walk.frame) == 0;
}

/* The hash and the frames of the same stack: both are known, as one, or both are new. */
static void check(uint64_t hash)
{
    for (unsigned i = 0; i < seen_count; i++) {
        bool same = is_walk(&seen[i]);
        assert_int_equal(seen[i].hash == hash, same);
        if (same)
            return;
    }
    assert_true(seen_count < SEEN_MAX);
    seen[seen_count].hash = hash;
    seen[seen_count].frames = walk.frames;
    memcpy(seen[seen_count++].frame, walk.frame, walk.frames * sizeof *walk.frame);
}

static uint64_t observe_from(const struct pl_start *start)
{
    uint64_t hash = pl_trace_stack(trace, &walk, start, generation);
    pl_unwind(&walk, start);
    if (hash == 0) /* maybe for want of a rule, or of room in a way that is not deep: not so again */
        retried++, hash = pl_trace_stack(trace, &walk, start, generation);
    if (hash == 0) {
        refused++;
        return 0;
    }
    given++;
    assert_true(walk.stop == PL_STOP_END || walk.stop == PL_STOP_ZERO);
    check(hash);
    return hash;
}

static NOINLINE uint64_t observe(void)
{
    struct pl_start start;
    PL_START_HERE(&start);
    return observe_from(&start);
}

/* ---- where it begins ---- */

/* Of a loop that shall stay one: a call in it that the compiler doubles is two stacks. */
#define COUNTER volatile int

static NOINLINE uint64_t trace_here(bool walk_too)
{
    struct pl_start start;
    PL_START_HERE(&start);
    uint64_t hash = pl_trace_stack(trace, &walk, &start, generation);
    if (walk_too)
        pl_unwind(&walk, &start);
    return hash;
}

static void a_stack_is_traced_once_a_walk_has_proven_it(void **state)
{
    (void) state;
    memset(&walk.own, 0, sizeof walk.own);
    for (COUNTER i = 0; i < 6; i++)
        assert_int_equal(trace_here(i == 2) != 0, i > 2);
    walk.own.proven = walk.own.hi; /* as in a new thread */
    pl_trace_forget(trace);
    assert_int_equal(trace_here(true), 0);
    assert_int_equal(trace_here(false), 0); /* called from elsewhere: that rule is not known */
    assert_int_not_equal(observe(), 0);
}

static void a_rule_is_learnt_by_a_walk_and_not_by_a_trace(void **state)
{
    (void) state;
    pl_unwind_forget();
    for (COUNTER i = 0; i < 6; i++)
        assert_int_equal(trace_here(i == 2) != 0, i > 2);
}

static void a_stack_pointer_outside_of_what_is_proven_is_refused(void **state)
{
    (void) state;
    observe();
    struct pl_start start = {(uintptr_t) &observe + 1, walk.own.proven - 8, 0};
    assert_int_equal(pl_trace_stack(trace, &walk, &start, generation), 0);
    start.sp = walk.own.hi;
    assert_int_equal(pl_trace_stack(trace, &walk, &start, generation), 0);
    start.sp = walk.own.proven + 4;
    assert_int_equal(pl_trace_stack(trace, &walk, &start, generation), 0);
    walk.own = (struct pl_stack_bounds){0, 0, 0};
    start.sp = (uintptr_t) &start;
    assert_int_equal(pl_trace_stack(trace, &walk, &start, generation), 0);
}

/* ---- what changes from one stack to the next ---- */

/* Before and after a call: keeps it from becoming one with another. */
#define OTHER_CALL() __asm__ volatile("nop" ::: "memory")

static NOINLINE void descend(int depth)
{
    if (depth > 0)
        descend(depth - 1);
    else
        observe();
    NOT_LAST();
}

static void recursion_up_and_down(void **state)
{
    (void) state;
    struct random random = {7};
    for (COUNTER i = 0; i < 500; i++)
        descend(i <= 100 ? i : i <= 200 ? 200 - i : (int) (next_random(&random) % 101));
    assert_int_equal(seen_count, 101);
    assert_true(refused == 0);
}

/* Two call sites at each level, one of them in a function with a larger frame: `sizes` says which. */
static NOINLINE void path_of(unsigned path, unsigned sizes, int levels);

static NOINLINE void large_frame(unsigned path, unsigned sizes, int levels)
{
    char volatile space[200];
    space[levels] = 1;
    path_of(path, sizes, levels);
    NOT_LAST();
    (void) space[levels];
}

static NOINLINE void path_of(unsigned path, unsigned sizes, int levels)
{
    if (levels == 0)
        observe();
    else if (sizes & 1)
        large_frame(path >> 1, sizes >> 1, levels - 1);
    else if (path & 1)
        path_of(path >> 1, sizes >> 1, levels - 1);
    else {
        OTHER_CALL();
        path_of(path >> 1, sizes >> 1, levels - 1);
        OTHER_CALL();
    }
    NOT_LAST();
}

static void one_frame_in_the_middle(void **state)
{
    (void) state;
    for (COUNTER i = 0; i < 90; i++)
        path_of(1u << i % 30, 0, 30);
    assert_int_equal(seen_count, 30);
    assert_int_equal(refused, 0);
}

static void some_frames_of_other_sizes(void **state)
{
    (void) state;
    struct random random = {3};
    for (COUNTER i = 0; i < 1500; i++) {
        uint64_t bits = next_random(&random);
        path_of(bits & 0x111, bits >> 32 & 0x208, 12);
    }
    assert_int_equal(seen_count, 32); /* 3 bits of path, 2 of sizes */
}

/* More places than there are slots and ways. */
static void many_places_at_once(void **state)
{
    (void) state;
    struct random random = {11};
    for (COUNTER i = 0; i < 4000; i++)
        path_of(0, (unsigned) next_random(&random) & 0xff, 1 + i % 11);
    assert_int_equal(refused, 0);
}

/* ---- frames that are not found by sp alone ---- */

static NOINLINE void growing(size_t bytes)
{
    char volatile *space = alloca(bytes);
    space[0] = 1;
    observe();
    space[0] = 2;
}

static void frames_that_grow(void **state)
{
    (void) state;
    for (COUNTER i = 0; i < 50; i++)
        growing(16 + (size_t) (i % 13) * 304);
    assert_int_equal(seen_count, 1);
    assert_int_equal(refused, 0);
}

static NOINLINE void realigned(size_t bytes)
{
    char volatile aligned[64] __attribute__((aligned(64)));
    char volatile *space = alloca(bytes);
    aligned[0] = space[0] = 1;
    growing(bytes);
    (void) (aligned[0] + space[0]);
}

static NOINLINE void out_of_line(size_t bytes, size_t shift)
{
    char volatile *space = alloca(shift);
    space[0] = 1;
    realigned(bytes);
    space[0] = 2;
}

static NOINLINE void out_of_line_too(size_t bytes, size_t shift)
{
    char volatile *space = alloca(shift);
    space[0] = 1;
    realigned(bytes);
    space[0] = 3;
}

static void realigned_frames(void **state)
{
    (void) state;
    for (COUNTER i = 0; i < 40; i++)
        out_of_line((size_t) (i % 3) * 1024 + 64, 16 + (size_t) (i % 8) * 16);
    assert_int_equal(seen_count, 1);
    assert_int_equal(refused, 0);
    assert_int_equal(retried, 1);
}

/* What is below the realigned frame stays where it is, and the caller's words move: only the kept CFA tells. */
static void realigned_frames_with_other_callers(void **state)
{
    (void) state;
    for (COUNTER i = 0; i < 200; i++)
        (i * 7 / 3 & 1 ? out_of_line : out_of_line_too)(64, 16 + (size_t) (i % 9) * 16);
    assert_int_equal(seen_count, 2);
    assert_int_equal(refused, 0);
}

/*
 * Both come to observe() with the same sp. In between growing() has moved, but what it left at its old place still
 * looks like a return address: nothing but fp tells the two apart.
 */
static NOINLINE void pad_one(size_t pad, size_t bytes)
{
    char volatile *space = alloca(pad);
    space[0] = 1;
    growing(bytes);
    space[0] = 2;
}

static NOINLINE void pad_two(size_t pad, size_t bytes)
{
    char volatile *space = alloca(pad);
    space[0] = 1;
    growing(bytes);
    space[0] = 3;
}

static void a_saved_fp_that_changes_while_return_addresses_do_not(void **state)
{
    (void) state;
    for (COUNTER i = 0; i < 64; i++)
        (i & 1 ? pad_one : pad_two)(i & 2 ? 1024 : 64, i & 2 ? 64 : 1024);
    assert_int_equal(seen_count, 2);
    assert_int_equal(refused, 0);
}

/* ---- depth ---- */

static void a_stack_of_as_many_frames_as_are_kept_is_traced_and_no_deeper_one(void **state)
{
    (void) state;
    descend(0);
    int fits = (int) (PL_WALK_FRAMES - walk.walked);
    for (int round = 0; round < 3; round++) {
        refused = given = 0;
        for (COUNTER i = 0; i < 5; i++)
            descend(fits);
        assert_int_equal(walk.walked, PL_WALK_FRAMES);
        assert_true(given >= 4); /* the first may want for both a rule and room */
        given = 0;
        descend(fits + 1);
        descend(fits + 500);
        assert_int_equal(given, 0);
    }
    descend(1);
    assert_int_equal(given, 1);
}

static void deep_and_shallow_stacks_in_turn(void **state)
{
    (void) state;
    struct random random = {5};
    for (COUNTER i = 0; i < 1000; i++)
        descend((int) (next_random(&random) % 8) * 25);
    assert_int_equal(seen_count, 8);
    assert_true(refused <= 8);
}

/* ---- other stacks ---- */

static ucontext_t here, there;

static void on_other_stack(void)
{
    descend(3);
    NOT_LAST();
}

static void go_to(void *stack, size_t bytes)
{
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &here;
    makecontext(&there, on_other_stack, 0);
    swapcontext(&here, &there);
}

static void coroutines_on_the_heap_are_refused(void **state)
{
    (void) state;
    void *stack = malloc(65536);
    descend(3);
    for (int i = 0; i < 5; i++) {
        given = refused = 0;
        go_to(stack, 65536);
        assert_int_equal(given, 0);
        descend(3);
        assert_int_equal(given, 1);
    }
    free(stack);
}

static NOINLINE void go_to_array(void)
{
    char stack[32768];
    go_to(stack, sizeof stack);
    NOT_LAST();
}

static void coroutines_on_an_array_of_the_own_stack_are_told_apart(void **state)
{
    (void) state;
    for (COUNTER i = 0; i < 5; i++) {
        go_to_array();
        descend(3);
    }
    assert_int_equal(seen_count, 2);
}

static void handle(int number)
{
    (void) number;
    descend(2);
    NOT_LAST();
}

static void raise_here(int flags)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = flags}, old;
    sigaction(SIGUSR1, &action, &old);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &old, NULL);
}

static void below_a_signal_handler_nothing_is_traced(void **state)
{
    (void) state;
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536}, old;
    sigaltstack(&stack, &old);
    descend(2);
    for (int i = 0; i < 4; i++) {
        given = 0;
        raise_here(i % 2 ? SA_ONSTACK : 0);
        assert_int_equal(given, 0);
        descend(2);
        assert_int_equal(given, 1);
    }
    sigaltstack(&old, NULL);
    free(stack.ss_sp);
}

/* ---- thrown out ---- */

static sigjmp_buf out;
static volatile sig_atomic_t inside;
static unsigned thrown;

static void throw_out(int number)
{
    (void) number;
    if (inside)
        siglongjmp(out, 1);
}

static NOINLINE void trace_only(void)
{
    struct pl_start start;
    PL_START_HERE(&start);
    inside = 1;
    pl_trace_stack(trace, &walk, &start, generation);
    inside = 0;
}

static NOINLINE void trace_path(unsigned path, int levels)
{
    if (levels == 0)
        for (int i = 0; i < 50; i++)
            trace_only();
    else if (path & 1)
        trace_path(path >> 1, levels - 1);
    else {
        OTHER_CALL();
        trace_path(path >> 1, levels - 1);
        OTHER_CALL();
    }
    NOT_LAST();
}

static void a_trace_that_is_thrown_out_leaves_nothing_false_behind(void **state)
{
    (void) state;
    struct random random = {17};
    struct sigaction action = {.sa_handler = throw_out}, old;
    sigaction(SIGALRM, &action, &old);
    thrown = 0;
    for (volatile int i = 0; i < 300; i++) {
        unsigned bits = (unsigned) next_random(&random);
        struct itimerval timer = {{0, 37}, {0, 40 + bits % 100}}, none = {{0, 0}, {0, 0}};
        if (sigsetjmp(out, 1) == 0) {
            setitimer(ITIMER_REAL, &timer, NULL);
            for (unsigned path = bits;; path += 77) {
                inside = 0;
                trace_path(path & 0x3ff, 20);
            }
        }
        setitimer(ITIMER_REAL, &none, NULL);
        inside = 0;
        thrown++;
        path_of(bits & 3, bits >> 8 & 12, 5);
        descend((int) (bits % 90));
    }
    sigaction(SIGALRM, &old, NULL);
    assert_int_equal(thrown, 300);
}

/* ---- generations ---- */

static void another_generation_has_other_hashes(void **state)
{
    (void) state;
    struct pl_start start;
    uint64_t hash[3][2];
    observe();
    PL_START_HERE(&start);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 3; i++)
            hash[i][round] = pl_trace_stack(trace, &walk, &start, i);
    for (int i = 0; i < 3; i++) {
        assert_int_not_equal(hash[i][0], 0);
        assert_int_equal(hash[i][0], hash[i][1]);
        assert_int_not_equal(hash[i][0], hash[(i + 1) % 3][0]);
    }
    pl_trace_forget(trace);
    assert_int_equal(pl_trace_stack(trace, &walk, &start, 2), hash[2][0]);
}

static void *observe_in_thread(void *argument)
{
    struct pl_trace *mine = calloc(1, pl_trace_bytes);
    struct pl_walk *own = calloc(1, sizeof *own);
    uint64_t *hash = argument;
    struct pl_start start;
    PL_START_HERE(&start);
    own->may_probe = true;
    pl_unwind(own, &start);
    *hash = pl_trace_stack(mine, own, &start, 1);
    free(mine);
    free(own);
    return NULL;
}

static void equal_stacks_of_two_threads_have_equal_hashes(void **state)
{
    (void) state;
    uint64_t hash[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, observe_in_thread, &hash[i]), 0);
        pthread_join(thread, NULL);
    }
    assert_int_not_equal(hash[0], 0);
    assert_int_equal(hash[0], hash[1]);
}

/* ---- anything ---- */

enum { WORDS = 512 };

static uintptr_t plausible_word(struct random *random, const struct images *images, uintptr_t *stack)
{
    uint64_t bits = next_random(random);
    const struct image *image = &images->image[bits % images->count];
    switch (bits >> 8 & 15) {
    case 0:
        return 0;
    case 1:
    case 2:
    case 3:
        return (uintptr_t) &stack[(bits >> 16) % WORDS];
    case 4:
        return bits;
    default:
        return image->code + (bits >> 16) % image->code_bytes;
    }
}

/* A few words change from one trace to the next, whatever they mean. */
static void no_state_of_a_stack_gets_anothers_hash(void **state)
{
    (void) state;
    static uintptr_t stack[WORDS];
    struct random random = {88172645463325252u};
    struct images images = {.count = 0};
    dl_iterate_phdr(collect_image, &images);
    unsigned total = 0;
    for (int round = 0; round < 300; round++) {
        seen_count = 0;
        pl_trace_forget(trace);
        walk.own = (struct pl_stack_bounds){(uintptr_t) stack, (uintptr_t) &stack[WORDS], (uintptr_t) stack};
        for (int i = 0; i < WORDS; i++)
            stack[i] = plausible_word(&random, &images, stack);
        uintptr_t pc[2] = {plausible_word(&random, &images, stack), plausible_word(&random, &images, stack)};
        for (int i = 0; i < 300; i++) {
            uint64_t bits = next_random(&random);
            struct pl_start start = {pc[bits & 1], (uintptr_t) &stack[(bits >> 1 & 3) * 2],
                                     (uintptr_t) &stack[8 + (bits >> 3 & 1) * 16]};
            observe_from(&start);
            stack[(bits >> 16) % 128] = plausible_word(&random, &images, stack);
        }
        total += given;
    }
    assert_true(total > 1000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
    const struct CMUnitTest tests[] = {
        TEST(a_stack_is_traced_once_a_walk_has_proven_it),
        TEST(a_rule_is_learnt_by_a_walk_and_not_by_a_trace),
        TEST(a_stack_pointer_outside_of_what_is_proven_is_refused),
        TEST(recursion_up_and_down),
        TEST(one_frame_in_the_middle),
        TEST(some_frames_of_other_sizes),
        TEST(many_places_at_once),
        TEST(frames_that_grow),
        TEST(realigned_frames),
        TEST(realigned_frames_with_other_callers),
        TEST(a_saved_fp_that_changes_while_return_addresses_do_not),
        TEST(a_stack_of_as_many_frames_as_are_kept_is_traced_and_no_deeper_one),
        TEST(deep_and_shallow_stacks_in_turn),
        TEST(coroutines_on_the_heap_are_refused),
        TEST(coroutines_on_an_array_of_the_own_stack_are_told_apart),
        TEST(below_a_signal_handler_nothing_is_traced),
        TEST(a_trace_that_is_thrown_out_leaves_nothing_false_behind),
        TEST(another_generation_has_other_hashes),
        TEST(equal_stacks_of_two_threads_have_equal_hashes),
        TEST(no_state_of_a_stack_gets_anothers_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
