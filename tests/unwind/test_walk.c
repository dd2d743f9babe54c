/* SPDX-License-Identifier: MIT */
/*
 * test_walk.c - what a walk keeps, where it stops, and the reason that it gives.
 */
#include "unwind_tests.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "core/arch.h"
#include "core/unwind/rules.h"

static struct pl_walk walk;

static int begin(void **state)
{
    (void) state;
    memset(&walk, 0, sizeof walk);
    walk.may_probe = true;
    return 0;
}

/* ---- depth ---- */

static NOINLINE void walk_here(void)
{
    WALK(&walk);
}

static NOINLINE void descend(int depth)
{
    if (depth > 0)
        descend(depth - 1);
    else
        walk_here();
    NOT_LAST();
}

/* Walks a stack of exactly `frames` frames, however many main() has below it. */
static void walk_frames(uint32_t frames)
{
    descend(0);
    uint32_t others = walk.walked;
    assert_true(frames >= others);
    descend((int) (frames - others));
    assert_int_equal(walk.walked, frames);
}

static void a_stack_that_fits_is_kept_completely(void **state)
{
    (void) state;
    walk_frames(PL_WALK_FRAMES);
    assert_int_equal(walk.stop, PL_STOP_END);
    assert_int_equal(walk.frames, PL_WALK_FRAMES);
    for (uint32_t i = 0; i < walk.frames; i++)
        assert_int_equal(walk.frame[i] >> PL_FRAME_FLAG_SHIFT, 0);
}

/* Stacks from one call site that differ only in the number of descend() frames. The first one just fits. */
static void compare_depths(const uint32_t *depths, unsigned count)
{
    static uint64_t kept[PL_WALK_FRAMES + 1][PL_WALK_FRAMES + 1];
    const size_t half = PL_WALK_FRAMES / 2;
    for (unsigned i = 0; i < count; i++) {
        walk_frames(depths[i]);
        assert_int_equal(walk.stop, depths[i] > PL_WALK_FRAMES ? PL_STOP_DEPTH : PL_STOP_END);
        assert_int_equal(walk.frames, PL_WALK_FRAMES + (depths[i] > PL_WALK_FRAMES));
        memcpy(kept[i], walk.frame, sizeof kept[i]);
    }
    for (unsigned i = 1; i < count; i++) {
        assert_int_equal(kept[i][half], PL_FRAME_GAP);
        assert_memory_equal(kept[i], kept[0], half * sizeof **kept);
        assert_memory_equal(kept[i] + half + 1, kept[0] + half, half * sizeof **kept);
    }
}

static void a_stack_one_frame_too_deep_has_a_gap_in_the_middle(void **state)
{
    (void) state;
    compare_depths((const uint32_t[]){PL_WALK_FRAMES, PL_WALK_FRAMES + 1}, 2);
}

/* Wherever the ring of the outer half happens to end. */
static void both_ends_of_a_very_deep_stack_are_kept(void **state)
{
    (void) state;
    uint32_t depths[PL_WALK_FRAMES + 1] = {PL_WALK_FRAMES};
    for (uint32_t i = 1; i <= PL_WALK_FRAMES; i++)
        depths[i] = 3000 + i;
    compare_depths(depths, PL_WALK_FRAMES + 1);
}

/* ---- limits of the stack ---- */

static void the_main_threads_stack_is_found_without_a_system_call(void **state)
{
    (void) state;
    struct pl_stack_bounds bounds;
    uintptr_t sp = pl_arch_stack_pointer();
    pl_bounds_find(&bounds, sp);
    assert_true(bounds.lo < sp && sp < bounds.hi);
    assert_int_equal(bounds.proven, bounds.hi);
}

static void *find_in_thread(void *argument)
{
    pl_bounds_find(argument, pl_arch_stack_pointer());
    return (void *) pl_arch_thread_pointer();
}

static void a_threads_stack_ends_at_its_thread_pointer(void **state)
{
    (void) state;
    pthread_t thread;
    struct pl_stack_bounds bounds;
    void *thread_pointer;
    assert_int_equal(pthread_create(&thread, NULL, find_in_thread, &bounds), 0);
    pthread_join(thread, &thread_pointer);
    assert_int_equal(bounds.hi, (uintptr_t) thread_pointer);
}

static void a_walk_proves_the_stack_down_to_its_start_and_no_further(void **state)
{
    (void) state;
    descend(0);
    uintptr_t shallow = walk.own.proven;
    assert_in_range(shallow, pl_arch_stack_pointer() - 8192, pl_arch_stack_pointer());
    descend(2000);
    assert_true(walk.own.proven < shallow);
    uintptr_t deep = walk.own.proven;
    descend(0);
    assert_int_equal(walk.own.proven, deep);
}

static void without_system_calls_the_threads_own_stack_is_still_walked_to_its_end(void **state)
{
    (void) state;
    walk.may_probe = false;
    descend(10);
    assert_int_equal(walk.stop, PL_STOP_END);
    assert_true(walk.walked > 10);
}

static void *walk_in_thread(void *unused)
{
    walk.own = (struct pl_stack_bounds){0, 0, 0};
    descend(10);
    return unused;
}

static void a_thread_started_without_system_calls_is_walked_to_its_end(void **state)
{
    (void) state;
    pthread_t thread;
    walk.may_probe = false;
    assert_int_equal(pthread_create(&thread, NULL, walk_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(walk.stop, PL_STOP_END);
    assert_true(walk.walked > 10);
}

/* ---- other stacks ---- */

static ucontext_t here, there;

static void on_other_stack(void)
{
    descend(10);
    NOT_LAST();
}

static void walk_on_other_stack(void)
{
    const size_t bytes = 65536;
    void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &here;
    makecontext(&there, on_other_stack, 0);
    swapcontext(&here, &there);
    munmap(stack, bytes);
}

static void another_stack_is_found_by_a_system_call_and_walked(void **state)
{
    (void) state;
    walk_on_other_stack();
    assert_int_equal(walk.stop, PL_STOP_END);
    assert_int_equal(walk.walked, 13); /* descend(10) .. descend(0), on_other_stack, makecontext's end */
}

static void without_system_calls_another_stack_ends_the_walk(void **state)
{
    (void) state;
    descend(0); /* now the thread's own stack is known */
    walk.may_probe = false;
    walk_on_other_stack();
    assert_int_equal(walk.stop, PL_STOP_FOREIGN);
    assert_int_equal(walk.frames, 1);
    assert_true(walk.frame[0] & PL_FRAME_CUT);
}

static void other_stacks_do_not_become_the_threads_own(void **state)
{
    (void) state;
    descend(0);
    struct pl_stack_bounds before = walk.own;
    walk_on_other_stack();
    assert_memory_equal(&walk.own, &before, sizeof before);
}

/* ---- invalid stacks ---- */

static void an_invalid_stack_pointer_ends_the_walk_at_its_first_frame(void **state)
{
    (void) state;
    static const uintptr_t nowhere[] = {0, 8, 4096, 0x7fffffffffff8, ~7ul, 0xffff800000000000};
    for (unsigned i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        struct pl_start start = {(uintptr_t) &walk_here + 1, nowhere[i], 0};
        pl_unwind(&walk, &start);
        assert_int_equal(walk.frames, 1);
        assert_int_equal(walk.stop, PL_STOP_BOUNDS);
        assert_int_equal(frame_address(&walk, 0), start.pc);
        assert_true(walk.frame[0] & PL_FRAME_CUT);
    }
}

static void a_non_canonical_address_is_not_code(void **state)
{
    (void) state;
    uintptr_t stack[64] = {0};
    walk_here(); /* now its rules are known */
    struct pl_start start = {frame_address(&walk, 0) | 1ul << 47, (uintptr_t) stack, 1};
    pl_unwind(&walk, &start);
    assert_int_equal(walk.frames, 1);
    assert_int_equal(walk.stop, PL_STOP_NO_CFI);
}

/* No tables, and fp = 0, which marks an outermost frame in the ABI. */
static void a_zero_frame_pointer_outside_of_all_tables_ends_the_walk(void **state)
{
    (void) state;
    uintptr_t stack[64] = {0};
    struct pl_start start = {0x10001, (uintptr_t) stack, 0};
    pl_unwind(&walk, &start);
    assert_int_equal(walk.frames, 1);
    assert_int_equal(walk.stop, PL_STOP_END);
}

static void a_chain_of_frame_pointers_that_does_not_ascend_is_not_followed(void **state)
{
    (void) state;
    uintptr_t stack[64] = {0};
    struct pl_start start = {0x10001, (uintptr_t) stack, (uintptr_t) &stack[8]};
    stack[8] = (uintptr_t) &stack[4];
    stack[9] = 0x10002;
    pl_unwind(&walk, &start);
    assert_int_equal(walk.frames, 1);
    assert_int_equal(walk.stop, PL_STOP_NO_CFI);
    stack[8] = (uintptr_t) &stack[16]; /* now it ascends once, and then no more */
    stack[16] = (uintptr_t) &stack[16];
    stack[17] = 0x10003;
    walk.may_probe = false;
    pl_unwind(&walk, &start);
    assert_int_equal(walk.frames, 2);
    assert_int_equal(walk.frame[1], 0x10002 | PL_FRAME_GUESS | PL_FRAME_CUT);
}

static void a_return_address_where_nothing_is_mapped_is_not_a_frame(void **state)
{
    (void) state;
    uintptr_t stack[64] = {0};
    struct pl_start start = {0x10001, (uintptr_t) stack, (uintptr_t) &stack[8]};
    uintptr_t page = (uintptr_t) mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack[8] = (uintptr_t) &stack[16];
    stack[9] = page + 64;
    pl_unwind(&walk, &start);
    assert_int_equal(walk.frames, 2);
    assert_int_equal(walk.frame[1], (page + 64) | PL_FRAME_GUESS | PL_FRAME_CUT);
    munmap((void *) page, 4096);
    pl_unwind(&walk, &start);
    assert_int_equal(walk.frames, 1);
    assert_int_equal(walk.stop, PL_STOP_NO_CFI);
}

/* The version of the code at the return address `at`. */
static uint64_t version_at(uintptr_t at)
{
    uintptr_t stack[64] = {0};
    struct pl_start start = {at, (uintptr_t) stack, 0};
    pl_unwind(&walk, &start);
    return walk.frame[0] >> PL_FRAME_VERSION_SHIFT;
}

static void code_that_replaces_other_code_has_another_version(void **state)
{
    (void) state;
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t one = (uintptr_t) page + 67, two = (uintptr_t) page + 131, at_start = (uintptr_t) page + 1;
    memset(page, 'a', 4096);
    assert_int_equal(version_at(one), 0);
    assert_int_equal(version_at(one), 0);
    memset(page, 'b', 128);
    assert_int_equal(version_at(one), 1);
    assert_int_equal(version_at(two), 0);
    page[67] = 'c'; /* the instruction after the call is not a part of it */
    assert_int_equal(version_at(one), 1);
    page[66] = 'c';
    assert_int_equal(version_at(one), 2);
    assert_int_equal(version_at(at_start), 0);
    for (int i = 0; i < 100; i++) {
        page[66] = (char) i;
        uint64_t version = version_at(one);
        assert_int_equal(version, 3 + i < PL_FRAME_VERSIONS ? 3 + i : PL_FRAME_VERSIONS - 1);
    }
    munmap(page, 4096);
}

static void without_system_calls_code_has_no_versions(void **state)
{
    (void) state;
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    version_at((uintptr_t) page + 64);
    page[60] = 'b';
    walk.may_probe = false;
    assert_int_equal(version_at((uintptr_t) page + 64), 0);
    munmap(page, 4096);
}

struct garbage {
    struct images images;
    struct random random;
    uintptr_t *own;     /* on the thread's own stack */
    uintptr_t *foreign; /* between two guard pages */
    size_t words;
};

static uintptr_t plausible_word(struct garbage *garbage)
{
    uint64_t random = next_random(&garbage->random);
    const struct image *image = &garbage->images.image[random % garbage->images.count];
    switch (random >> 8 & 7) {
    case 0:
        return (uintptr_t) &garbage->own[(random >> 16) % garbage->words];
    case 1:
        return random;
    case 2:
        return (uintptr_t) &garbage->foreign[(random >> 16) % garbage->words];
    case 3:
        return (random & 0xffffff) * 8;
    default:
        return image->code + (random >> 16) % image->code_bytes;
    }
}

static void walk_garbage(struct garbage *garbage)
{
    uint64_t random = next_random(&garbage->random);
    uintptr_t *stack = random & 1 ? garbage->own : garbage->foreign;
    struct pl_start start = {
        .pc = plausible_word(garbage),
        .sp = (uintptr_t) &stack[(random >> 8) % garbage->words],
        .fp = plausible_word(garbage),
    };
    walk.may_probe = random & 2;
    pl_unwind(&walk, &start);
    assert_in_range(walk.frames, 1, PL_WALK_FRAMES + 1);
    assert_true(walk.stop < PL_STOP_COUNT);
}

/* Stacks full of plausible addresses, next to unreadable memory. The main claim is that nothing crashes. */
static void no_state_of_a_stack_crashes_a_walk(void **state)
{
    (void) state;
    enum { WORDS = 2048 };
    uintptr_t own[WORDS];
    struct garbage garbage = {.random = {88172645463325252u}, .own = own, .words = WORDS};
    char *memory = mmap(NULL, sizeof own + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + 4096, sizeof own, PROT_READ | PROT_WRITE);
    garbage.foreign = (uintptr_t *) (void *) (memory + 4096);
    dl_iterate_phdr(collect_image, &garbage.images);
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < WORDS; i++) {
            own[i] = plausible_word(&garbage);
            garbage.foreign[i] = plausible_word(&garbage);
        }
        for (int i = 0; i < 200; i++)
            walk_garbage(&garbage);
    }
    munmap(memory, sizeof own + 8192);
}

/* ---- the rule cache ---- */

static void a_rule_is_remembered_for_its_own_address_only(void **state)
{
    (void) state;
    pl_rule_forget();
    walk_here();
    uintptr_t where = frame_address(&walk, 0) - 1;
    const uint32_t unknown = PL_RULE_MAKE_SPECIAL(PL_SPECIAL_UNKNOWN);
    assert_int_not_equal(pl_rule_learn(where, pl_walk_scratch(&walk)), unknown);
    assert_int_not_equal(pl_rule_recall(where), unknown);
    for (unsigned bit = 0; bit < 64; bit++) {
        uint32_t rule = pl_rule_recall(where ^ 1ul << bit);
        assert_true(rule == unknown || bit < 12); /* other frames of this walk are close, and remembered too */
    }
}

static void clearing_the_cache_removes_every_rule(void **state)
{
    (void) state;
    walk_here();
    pl_rule_forget();
    for (unsigned i = 0; i < PL_RULE_WORDS; i++)
        assert_int_equal(pl_rules[i], 0);
    walk_here();
    assert_int_equal(walk.stop, PL_STOP_END);
}

/* More addresses than words: lines overflow, and rules replace each other. */
static void a_full_cache_gives_the_same_rules_as_an_empty_one(void **state)
{
    (void) state;
    struct images images = {.count = 0};
    struct random random = {12345};
    enum { ADDRESSES = 3000 };
    static uintptr_t where[ADDRESSES];
    static uint32_t rule[ADDRESSES];
    dl_iterate_phdr(collect_image, &images);
    for (int i = 0; i < ADDRESSES; i++) {
        const struct image *image = &images.image[next_random(&random) % images.count];
        where[i] = (image->code + next_random(&random) % image->code_bytes) >> PL_ARCH_CODE_SHIFT << PL_ARCH_CODE_SHIFT;
        rule[i] = pl_rule_learn(where[i], pl_walk_scratch(&walk));
        pl_rule_forget();
    }
    for (unsigned i = 0; i < PL_RULE_WORDS; i++)
        pl_rules[i] = ~0ul << PL_RULE_BITS | PL_RULE_MAKE_SPECIAL(PL_SPECIAL_END); /* of addresses never looked up */
    for (int i = 0; i < ADDRESSES; i++)
        assert_int_equal(pl_rule_learn(where[i], pl_walk_scratch(&walk)), rule[i]);
    pl_rule_forget();
}

static unsigned count_rules(const uint64_t *words, unsigned count)
{
    unsigned rules = 0;
    for (unsigned i = 0; i < count; i++)
        rules += words[i] != 0;
    return rules;
}

/* From here on, this process puts rules aside. */
static void a_forked_child_leaves_the_table_of_its_parent_alone(void **state)
{
    (void) state;
    pl_rule_forget();
    walk_here();
    unsigned inherited = count_rules(pl_rules, PL_RULE_WORDS);
    uintptr_t learned = frame_address(&walk, 0) - 1, known = frame_address(&walk, 1) - 1;
    uint32_t rule = pl_rule_learn(known, pl_walk_scratch(&walk));
    pl_rule_put_aside();
    for (int i = 0; i < 3; i++)
        assert_int_equal(pl_rule_learn(known, pl_walk_scratch(&walk)), rule);
    assert_int_equal(count_rules(pl_rules_aside, PL_RULE_ASIDE_WORDS), 0);
    for (uintptr_t at = learned + 1; at < learned + 5; at++) {
        rule = pl_rule_learn(at, pl_walk_scratch(&walk));
        assert_int_equal(pl_rule_learn(at, pl_walk_scratch(&walk)), rule);
        assert_int_equal(pl_rule_known(at), rule);
    }
    assert_int_equal(count_rules(pl_rules, PL_RULE_WORDS), inherited);
    assert_int_not_equal(count_rules(pl_rules_aside, PL_RULE_ASIDE_WORDS), 0);
    pl_rule_forget();
    assert_int_equal(count_rules(pl_rules_aside, PL_RULE_ASIDE_WORDS), 0);
    assert_int_equal(pl_rule_known(learned + 1), PL_RULE_MAKE_SPECIAL(PL_SPECIAL_UNKNOWN));
}

static void a_child_that_lives_long_has_its_rules_in_the_table(void **state)
{
    (void) state;
    pl_rule_forget();
    pl_rule_put_aside();
    walk_here();
    uintptr_t where = frame_address(&walk, 0) - 1;
    uint32_t rule = pl_rule_known(where);
    assert_int_equal(pl_rule_recall(where), PL_RULE_MAKE_SPECIAL(PL_SPECIAL_UNKNOWN));
    for (int i = 0; i < 20000; i++)
        assert_int_equal(pl_rule_known(where), rule);
    assert_int_equal(pl_rule_recall(where), rule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_stack_that_fits_is_kept_completely, begin),
        cmocka_unit_test_setup(a_stack_one_frame_too_deep_has_a_gap_in_the_middle, begin),
        cmocka_unit_test_setup(both_ends_of_a_very_deep_stack_are_kept, begin),
        cmocka_unit_test_setup(the_main_threads_stack_is_found_without_a_system_call, begin),
        cmocka_unit_test_setup(a_threads_stack_ends_at_its_thread_pointer, begin),
        cmocka_unit_test_setup(a_walk_proves_the_stack_down_to_its_start_and_no_further, begin),
        cmocka_unit_test_setup(without_system_calls_the_threads_own_stack_is_still_walked_to_its_end, begin),
        cmocka_unit_test_setup(a_thread_started_without_system_calls_is_walked_to_its_end, begin),
        cmocka_unit_test_setup(another_stack_is_found_by_a_system_call_and_walked, begin),
        cmocka_unit_test_setup(without_system_calls_another_stack_ends_the_walk, begin),
        cmocka_unit_test_setup(other_stacks_do_not_become_the_threads_own, begin),
        cmocka_unit_test_setup(an_invalid_stack_pointer_ends_the_walk_at_its_first_frame, begin),
        cmocka_unit_test_setup(a_non_canonical_address_is_not_code, begin),
        cmocka_unit_test_setup(a_zero_frame_pointer_outside_of_all_tables_ends_the_walk, begin),
        cmocka_unit_test_setup(a_chain_of_frame_pointers_that_does_not_ascend_is_not_followed, begin),
        cmocka_unit_test_setup(a_return_address_where_nothing_is_mapped_is_not_a_frame, begin),
        cmocka_unit_test_setup(code_that_replaces_other_code_has_another_version, begin),
        cmocka_unit_test_setup(without_system_calls_code_has_no_versions, begin),
        cmocka_unit_test_setup(no_state_of_a_stack_crashes_a_walk, begin),
        cmocka_unit_test_setup(a_rule_is_remembered_for_its_own_address_only, begin),
        cmocka_unit_test_setup(clearing_the_cache_removes_every_rule, begin),
        cmocka_unit_test_setup(a_full_cache_gives_the_same_rules_as_an_empty_one, begin),
        cmocka_unit_test_setup(a_forked_child_leaves_the_table_of_its_parent_alone, begin),
        cmocka_unit_test_setup(a_child_that_lives_long_has_its_rules_in_the_table, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
