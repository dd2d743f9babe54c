/* SPDX-License-Identifier: MIT */
/* test_entry.c - plans for the first bytes of functions: what is changed, what is copied elsewhere, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "attach/machine.h"

#define ENTRY 0x7f0000001000ull
#define ROOM 0x7f0000800000ull
#define SLOT 0x7e0000000000ull

static struct pl_machine_plan plan;

static const char *plan_at(uint64_t entry, const void *code, size_t bytes)
{
    const struct pl_machine_function function = {
        .entry = entry, .code = code, .bytes = bytes, .slot = SLOT, .room = ROOM};
    return pl_machine_plan(&function, &plan);
}

#define PLAN(code) plan_at(ENTRY, code, sizeof(code) - 1)

/* Where the jump of 5 bytes at `at` leads. */
static uint64_t target(const uint8_t *code, uint64_t at)
{
    int32_t distance;
    assert_int_equal(code[0], 0xe9);
    memcpy(&distance, code + 1, sizeof distance);
    return at + 5 + (uint64_t) (int64_t) distance;
}

static const uint8_t *body(void)
{
    return plan.room + (plan.patch.body - ROOM);
}

static void a_jump_replaces_five_bytes_and_the_body_continues_behind_them(void **state)
{
    (void) state;
    /* push %rbp; mov %rsp,%rbp; push %r12; ret */
    static const char code[] = "\x55\x48\x89\xe5\x41\x54\xc3";
    assert_null(PLAN(code));
    assert_int_equal(plan.patch.jump, ENTRY);
    assert_int_equal(plan.patch.bytes, 5);
    assert_memory_equal(plan.patch.before, code, 5);
    assert_int_equal(target(plan.patch.after, ENTRY), ROOM);
    assert_memory_equal(body(), code, 6); /* whole instructions */
    assert_int_equal(target(body() + 6, plan.patch.body + 6), ENTRY + 6);
}

static void the_mark_for_indirect_calls_stays(void **state)
{
    (void) state;
    /* endbr64; sub $8,%rsp; xor %eax,%eax; ret */
    static const char code[] = "\xf3\x0f\x1e\xfa\x48\x83\xec\x08\x31\xc0\xc3";
    assert_null(PLAN(code));
    assert_int_equal(plan.patch.jump, ENTRY + 4);
    assert_memory_equal(plan.patch.before, code + 4, 5);
    assert_memory_equal(body(), code + 4, 6);
    assert_int_equal(target(body() + 6, plan.patch.body + 6), ENTRY + 10);
}

static void addresses_relative_to_the_pc_are_corrected(void **state)
{
    (void) state;
    /* mov 0x100(%rip),%rax; je +0x20; nop ... */
    static const char code[64] = "\x74\x20\x48\x8b\x05\x00\x01\x00\x00\xc3";
    assert_null(plan_at(ENTRY, code, sizeof code));
    int32_t distance;
    assert_int_equal(body()[0], 0x0f); /* a branch of 2 bytes becomes one of 6 */
    assert_int_equal(body()[1], 0x84);
    memcpy(&distance, body() + 2, sizeof distance);
    assert_int_equal(plan.patch.body + 6 + (uint64_t) (int64_t) distance, ENTRY + 2 + 0x20);
    memcpy(&distance, body() + 6 + 3, sizeof distance);
    assert_int_equal(plan.patch.body + 13 + (uint64_t) (int64_t) distance, ENTRY + 9 + 0x100);
}

static void a_function_that_only_jumps_elsewhere_is_followed(void **state)
{
    (void) state;
    static const char code[] = "\xe9\x00\x10\x00\x00";
    assert_null(PLAN(code));
    assert_int_equal(target(body(), plan.patch.body), ENTRY + 5 + 0x1000);
}

static void a_call_returns_to_where_it_would_have_returned(void **state)
{
    (void) state;
    /* sub $8,%rsp; call; add $8,%rsp; ret */
    static const char code[] = "\x48\x83\xec\x08\xe8\x00\x10\x00\x00\x48\x83\xc4\x08\xc3";
    uint32_t low, high;
    assert_null(PLAN(code));
    memcpy(&low, body() + 5, sizeof low);
    memcpy(&high, body() + 13, sizeof high);
    assert_int_equal((uint64_t) high << 32 | low, ENTRY + 9);
    assert_int_equal(target(body() + 17, plan.patch.body + 17), ENTRY + 9 + 0x1000);
}

static void what_cannot_be_hooked_is_refused(void **state)
{
    (void) state;
    assert_string_equal(PLAN("\x31\xc0\xc3"), "it is too short");
    assert_string_equal(PLAN("\xff\xd0\x48\x83\xc4\x08\xc3"), "it begins with a call");
    assert_string_equal(PLAN("\x06\x06\x06\x06\x06\x06"), "its code cannot be decoded");
    /* push %rbp; 1: mov %rsp,%rbp; push %r12; jmp 1b */
    assert_string_equal(PLAN("\x55\x48\x89\xe5\x41\x54\xeb\xf9"), "it jumps back to its first instructions");
    /* a loop around the whole function, to its entry, is fine: it is a call of itself */
    assert_null(PLAN("\x55\x48\x89\xe5\x41\x54\xeb\xf8"));
    static const char code[] = "\x55\x48\x89\xe5\x41\x54\xc3";
    assert_string_equal(plan_at(0x7f0000001ffdull, code, sizeof code - 1), "its first instructions lie in two pages");
    assert_null(plan_at(0x7f0000001ffbull, code, sizeof code - 1));
    assert_string_equal(plan_at(ENTRY - (4ull << 30), code, sizeof code - 1), "it is too far away");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jump_replaces_five_bytes_and_the_body_continues_behind_them),
        cmocka_unit_test(the_mark_for_indirect_calls_stays),
        cmocka_unit_test(addresses_relative_to_the_pc_are_corrected),
        cmocka_unit_test(a_function_that_only_jumps_elsewhere_is_followed),
        cmocka_unit_test(a_call_returns_to_where_it_would_have_returned),
        cmocka_unit_test(what_cannot_be_hooked_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
