/* SPDX-License-Identifier: MIT */
/*
 * test_trace.c - the hash of a trace identifies a stack: equal frames have equal hashes, different frames different
 * ones.
 *
 * Each test calls observe() through other stacks. observe() traces the stack, walks it, too, and compares with
 * everything seen before in this test.
 */
#include "unwind_tests.h"

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include "core/unwind/rules.h"
#include "core/unwind/trace.h"

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
static unsigned retried; /* traces that gave 0 the first time */
static unsigned refused; /* and also the second time */
static unsigned given;

static NOINLINE void walk_here(void)
{
    WALK(&walk);
}

/* Proves as much of the stack as these tests need, so that no trace is refused for that reason. */
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

/* Hash and frames of a stack are either both known, together, or both new. */
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
    if (hash == 0) /* a rule or room was missing the first time; not the second time */
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

/* ---- the first trace ---- */

/* Keeps a loop from being unrolled: a call that the compiler duplicates would be two stacks. */
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
    walk.own.proven = walk.own.hi; /* like in a new thread */
    pl_trace_forget(trace);
    assert_int_equal(trace_here(true), 0);
    assert_int_equal(trace_here(false), 0); /* another call site, whose rule is not known */
    assert_int_not_equal(observe(), 0);
}

static void a_walk_learns_rules_and_a_trace_does_not(void **state)
{
    (void) state;
    pl_rule_forget();
    for (COUNTER i = 0; i < 6; i++)
        assert_int_equal(trace_here(i == 2) != 0, i > 2);
}

static void a_stack_pointer_outside_of_the_proven_stack_is_refused(void **state)
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

/* ---- changes from one stack to the next ---- */

/* Before and after a call: keeps the compiler from merging it with another. */
#define OTHER_CALL() __asm__ volatile("nop" ::: "memory")

static NOINLINE void descend(int depth)
{
    if (depth > 0)
        descend(depth - 1);
    else
        observe();
    NOT_LAST();
}

static void recursion_of_changing_depth_is_traced_correctly(void **state)
{
    (void) state;
    struct random random = {7};
    for (COUNTER i = 0; i < 500; i++) {
        COUNTER depth = i <= 100 ? i : i <= 200 ? 200 - i : (int) (next_random(&random) % 101);
        descend(depth);
    }
    assert_int_equal(seen_count, 101);
    assert_true(refused == 0);
}

/* Two call sites at each level, one of them in a function with a larger frame: `sizes` chooses. */
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

static void a_change_of_one_frame_in_the_middle_is_traced_correctly(void **state)
{
    (void) state;
    for (COUNTER i = 0; i < 90; i++)
        path_of(1u << i % 30, 0, 30);
    assert_int_equal(seen_count, 30);
    assert_int_equal(refused, 0);
}

/* Stacks of one layout: each is recalled although another was traced after it, and none before it was traced. */
static uint64_t recalled;

static NOINLINE void recall_below(unsigned path, int levels)
{
    if (levels == 0) {
        struct pl_start start;
        PL_START_HERE(&start);
        recalled = pl_trace_recall(trace, &start, generation);
        if (!recalled)
            observe_from(&start);
    } else if (path & 1)
        recall_below(path >> 1, levels - 1);
    else {
        OTHER_CALL();
        recall_below(path >> 1, levels - 1);
        OTHER_CALL();
    }
    NOT_LAST();
}

static void a_stack_is_recalled_if_it_was_traced_before(void **state)
{
    (void) state;
    uint64_t hash[64];
    for (COUNTER i = 0; i < 3 * 64; i++) {
        recall_below((unsigned) i % 64, 20);
        assert_int_equal(recalled != 0, i >= 64);
        for (COUNTER j = 0; recalled && j < i % 64; j++)
            assert_int_not_equal(recalled, hash[j]);
        if (i >= 128)
            assert_int_equal(recalled, hash[i % 64]);
        hash[i % 64] = recalled;
    }
    for (COUNTER i = 0; i < 6; i++) {
        if (i == 2) /* other hashes: what was seen so far no longer counts */
            generation++, seen_count = 0;
        if (i == 4)
            pl_trace_forget(trace);
        recall_below(1, 20);
        assert_int_equal(recalled != 0, i % 2);
    }
}

static void changes_of_frame_sizes_are_traced_correctly(void **state)
{
    (void) state;
    struct random random = {3};
    for (COUNTER i = 0; i < 1500; i++) {
        uint64_t bits = next_random(&random);
        path_of(bits & 0x111, bits >> 32 & 0x208, 12);
    }
    assert_int_equal(seen_count, 32); /* 3 bits of path, 2 of sizes */
}

/* More call sites than slots and ways. */
static void many_alternating_call_sites_are_traced_correctly(void **state)
{
    (void) state;
    struct random random = {11};
    for (COUNTER i = 0; i < 4000; i++)
        path_of(0, (unsigned) next_random(&random) & 0xff, 1 + i % 11);
    assert_int_equal(refused, 0);
}

/* ---- frames that need more than sp ---- */

static NOINLINE void growing(size_t bytes)
{
    char volatile *space = alloca(bytes);
    space[0] = 1;
    observe();
    space[0] = 2;
}

static void growing_frames_are_traced_correctly(void **state)
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

static void realigned_frames_are_traced_correctly(void **state)
{
    (void) state;
    for (COUNTER i = 0; i < 40; i++)
        out_of_line((size_t) (i % 3) * 1024 + 64, 16 + (size_t) (i % 8) * 16);
    assert_int_equal(seen_count, 1);
    assert_int_equal(refused, 0);
    assert_int_equal(retried, 1);
}

/* The stack below the realigned frame stays where it is, and its caller's words move: only the stored CFA shows it. */
static void realigned_frames_with_other_callers_are_traced_correctly(void **state)
{
    (void) state;
    for (COUNTER i = 0; i < 200; i++)
        (i * 7 / 3 & 1 ? out_of_line : out_of_line_too)(64, 16 + (size_t) (i % 9) * 16);
    assert_int_equal(seen_count, 2);
    assert_int_equal(refused, 0);
}

/*
 * Both call observe() with the same sp. In between growing() has moved, but its old place still contains what looks
 * like a return address: only fp distinguishes the two.
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

static void a_change_of_only_the_saved_fp_is_detected(void **state)
{
    (void) state;
    for (COUNTER i = 0; i < 64; i++)
        (i & 1 ? pad_one : pad_two)(i & 2 ? 1024 : 64, i & 2 ? 64 : 1024);
    assert_int_equal(seen_count, 2);
    assert_int_equal(refused, 0);
}

/* ---- depth ---- */

static void a_stack_is_traced_up_to_the_number_of_kept_frames_and_not_deeper(void **state)
{
    (void) state;
    descend(0);
    int fits = (int) (PL_WALK_FRAMES - walk.walked);
    for (int round = 0; round < 3; round++) {
        refused = given = 0;
        for (COUNTER i = 0; i < 5; i++)
            descend(fits);
        assert_int_equal(walk.walked, PL_WALK_FRAMES);
        assert_true(given >= 4); /* the first may lack both a rule and room */
        given = 0;
        descend(fits + 1);
        descend(fits + 500);
        assert_int_equal(given, 0);
    }
    descend(1);
    assert_int_equal(given, 1);
}

static void alternating_deep_and_shallow_stacks_are_traced_correctly(void **state)
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

static void coroutines_on_an_array_of_the_threads_own_stack_have_their_own_hashes(void **state)
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

static void stacks_below_a_signal_handler_are_not_traced(void **state)
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

/* ---- jumps out of a trace ---- */

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

static void a_trace_left_by_a_jump_leaves_nothing_wrong(void **state)
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

static void hashes_of_another_generation_are_different(void **state)
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

/* ---- random stacks ---- */

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

/* A few random words change from one trace to the next. */
static void different_stacks_never_have_the_same_hash(void **state)
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
        TEST(a_walk_learns_rules_and_a_trace_does_not),
        TEST(a_stack_pointer_outside_of_the_proven_stack_is_refused),
        TEST(recursion_of_changing_depth_is_traced_correctly),
        TEST(a_change_of_one_frame_in_the_middle_is_traced_correctly),
        TEST(a_stack_is_recalled_if_it_was_traced_before),
        TEST(changes_of_frame_sizes_are_traced_correctly),
        TEST(many_alternating_call_sites_are_traced_correctly),
        TEST(growing_frames_are_traced_correctly),
        TEST(realigned_frames_are_traced_correctly),
        TEST(realigned_frames_with_other_callers_are_traced_correctly),
        TEST(a_change_of_only_the_saved_fp_is_detected),
        TEST(a_stack_is_traced_up_to_the_number_of_kept_frames_and_not_deeper),
        TEST(alternating_deep_and_shallow_stacks_are_traced_correctly),
        TEST(coroutines_on_the_heap_are_refused),
        TEST(coroutines_on_an_array_of_the_threads_own_stack_have_their_own_hashes),
        TEST(stacks_below_a_signal_handler_are_not_traced),
        TEST(a_trace_left_by_a_jump_leaves_nothing_wrong),
        TEST(hashes_of_another_generation_are_different),
        TEST(equal_stacks_of_two_threads_have_equal_hashes),
        TEST(different_stacks_never_have_the_same_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
