/* SPDX-License-Identifier: MIT */
/*
 * test_code.c - how code returns, read from the code itself (code.c), compared with the unwind tables that libc and
 * this program have.
 */
#include "unwind_tests.h"

#include <gnu/libc-version.h>
#include <elf.h>
#include <stdlib.h>

#include "core/arch/x86_64_code.h"
#include "core/unwind/code.h"
#include "core/unwind/ehframe.h"

struct comparison {
    unsigned asked, same, other, never, unknown;
};

static struct pl_cfi cfi;
static struct pl_code code;

/* `pc` is a return address: both say where the caller's return address is, from the same register. */
static void compare_at(struct comparison *count, uintptr_t pc)
{
    struct pl_segment segment;
    if (pl_ehframe_find(&cfi, pc - 1) != PL_CFI_FOUND || cfi.row.cfa_is_expression ||
        cfi.row.how[PL_ARCH_PC] != PL_HOW_AT_OFFSET || !pl_ehframe_segment(&cfi.module, pc, PF_R | PF_X, &segment))
        return;
    count->asked++;
    switch (pl_code_follow(&code, pc, segment)) {
    case PL_CODE_NEVER:
        count->never++;
        return;
    case PL_CODE_UNKNOWN:
        count->unknown++;
        return;
    case PL_CODE_RETURNS:
        break;
    }
    bool from_fp = cfi.row.cfa_register == PL_ARCH_FP;
    if (from_fp != code.now.from_fp) { /* the tables use the other register: nothing to compare */
        count->asked--;
        return;
    }
    bool same = code.now.sp == cfi.row.cfa_offset - 8;
    if (same && cfi.row.how[PL_ARCH_FP] == PL_HOW_AT_OFFSET)
        same = code.now.fp_saved && code.now.fp_at - code.now.sp == cfi.row.value[PL_ARCH_FP] + 8;
    count->same += same;
    count->other += !same;
}

/* All calls in the first instructions of each function that the module's table lists. */
static struct comparison compare_module(const void *eh_frame_hdr)
{
    struct comparison count = {0};
    const uint8_t *header = eh_frame_hdr;
    const int32_t *entry = (const int32_t *) (const void *) (header + 12);
    uint32_t functions = *(const uint32_t *) (const void *) (header + 8);
    assert_int_equal(header[3], 0x3b); /* a table of pairs, relative to the header */
    for (uint32_t i = 0; i + 1 < functions; i++) {
        uintptr_t at = (uintptr_t) header + (uintptr_t) (intptr_t) entry[2 * i];
        uintptr_t end = (uintptr_t) header + (uintptr_t) (intptr_t) entry[2 * i + 2];
        while (at + 24 < end) {
            struct pl_arch_instruction now = pl_arch_read_instruction((const uint8_t *) at);
            if (now.flow == PL_FLOW_UNKNOWN || !now.bytes)
                break;
            at += now.bytes;
            if (now.flow == PL_FLOW_CALL)
                compare_at(&count, at);
        }
    }
    return count;
}

static void code_says_the_same_as_libcs_unwind_tables(void **state)
{
    struct pl_found_module libc;
    (void) state;
    assert_true(pl_find_module((uintptr_t) gnu_get_libc_version, &libc)); /* sanitizers replace no such function */
    struct comparison count = compare_module(libc.eh_frame_hdr);
    print_message("# calls %u: same %u, other %u, never returns %u, unknown %u\n", count.asked, count.same, count.other,
                  count.never, count.unknown);
    assert_true(count.asked > 5000);
    assert_true(count.other * 100 < count.asked);   /* wrong mostly after calls that do not return, such as abort() */
    assert_true(count.same * 10 > count.asked * 9); /* 9 in 10 are found */
}

static struct pl_code_path follow(const uint8_t *bytes, size_t length, enum pl_code_result expected)
{
    struct pl_segment segment = {(uintptr_t) bytes, (uintptr_t) bytes + length};
    assert_int_equal(pl_code_follow(&code, segment.start, segment), expected);
    return code.now;
}
#define FOLLOW(expected, ...) follow((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), expected)

static void a_popped_frame_pointer_is_found(void **state)
{
    (void) state; /* add $8,%rsp; pop %rbp; pop %r12; ret */
    struct pl_code_path path = FOLLOW(PL_CODE_RETURNS, 0x48, 0x83, 0xc4, 8, 0x5d, 0x41, 0x5c, 0xc3);
    assert_int_equal(path.sp, 24);
    assert_true(path.fp_saved && !path.from_fp);
    assert_int_equal(path.fp_at, 8);
}

static void a_frame_that_leaves_is_found_by_its_frame_pointer(void **state)
{
    (void) state; /* leave; ret */
    struct pl_code_path path = FOLLOW(PL_CODE_RETURNS, 0xc9, 0xc3);
    assert_true(path.from_fp && path.fp_saved);
    assert_int_equal(path.sp, 8);
    assert_int_equal(path.fp_at, 0);
}

static void a_loop_without_an_end_never_returns(void **state)
{
    (void) state;
    FOLLOW(PL_CODE_NEVER, 0x31, 0xff, 0x0f, 0x05, 0xeb, 0xfa);         /* xor %edi,%edi; syscall; jmp to the first */
    FOLLOW(PL_CODE_RETURNS, 0x74, 0x02, 0xeb, 0xfc, 0x58, 0xc3);       /* je to pop; jmp to the first; pop %rax; ret */
    FOLLOW(PL_CODE_UNKNOWN, 0xe8, 0, 0, 0, 0, 0x66, 0x90, 0x58, 0xc3); /* a call, and padding: it may not return */
}

static void code_that_is_not_understood_is_unknown(void **state)
{
    (void) state;
    FOLLOW(PL_CODE_UNKNOWN, 0xff, 0xe0);             /* jmp *%rax */
    FOLLOW(PL_CODE_UNKNOWN, 0x48, 0x83, 0xe4, 0xf0); /* and $-16,%rsp */
    FOLLOW(PL_CODE_UNKNOWN, 0x48, 0x83);             /* the end of the segment */
    FOLLOW(PL_CODE_UNKNOWN, 0x06, 0xc3);             /* no instruction */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_says_the_same_as_libcs_unwind_tables),
        cmocka_unit_test(a_popped_frame_pointer_is_found),
        cmocka_unit_test(a_frame_that_leaves_is_found_by_its_frame_pointer),
        cmocka_unit_test(a_loop_without_an_end_never_returns),
        cmocka_unit_test(code_that_is_not_understood_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
