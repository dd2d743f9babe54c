/* SPDX-License-Identifier: MIT */
/*
 * test_plans.c - the runtime's own plans for the first bytes of functions (core/arch/x86_64_entry.h), for every
 * function that some libraries export: what was moved means the same as before, says Zydis, and every instruction has
 * the length that Zydis says.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>
#include <cmocka.h>

#include "core/arch/x86_64_entry.h"

#define HOOK 0x123456789abcull
#define NEAR (16u << 20) /* below a library's code: where its room would be */
#define FUNCTION_MAX (64u << 10)

static const char *const libraries[] = {"libc.so.6",        "libstdc++.so.6",
                                        "libjemalloc.so.2", "libtcmalloc_minimal.so.4",
                                        "libmimalloc.so.2", "libcrypto.so.3"};

static struct {
    size_t functions, planned, instructions, unknown;
} seen;

static bool decode(const uint8_t *at, size_t bytes, ZydisDecodedInstruction *in, ZydisDecodedOperand *operands)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, at, bytes, in, operands));
}

/* The address that an instruction refers to, or 0. */
static uint64_t address_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands, uint64_t at)
{
    ZyanU64 address = 0;
    for (int i = 0; i < in->operand_count; i++)
        if (in->attributes & ZYDIS_ATTRIB_IS_RELATIVE &&
            ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(in, &operands[i], at, &address)))
            return address;
    return 0;
}

/* ---- lengths ---- */

/* Returns how far both agree; instructions that ours does not know end it. */
static void compare_lengths(const uint8_t *code, unsigned bytes)
{
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    for (unsigned at = 0; at < bytes; at += in.length, seen.instructions++) {
        struct pl_arch_instruction ours = pl_arch_read_instruction(code + at);
        if (!decode(code + at, bytes - at, &in, operands))
            return; /* data */
        if (!ours.bytes) {
            seen.unknown++;
            return;
        }
        if (ours.bytes != in.length)
            fail_msg("%p: %u bytes, not %u", (const void *) (code + at), in.length, ours.bytes);
        bool in_memory = in.attributes & ZYDIS_ATTRIB_IS_RELATIVE && in.raw.disp.size == 32;
        assert_int_equal(ours.relative_at, in_memory ? in.raw.disp.offset : 0);
    }
}

/* ---- plans ---- */

static void compare_moved(const uint8_t *code, const struct pl_arch_entry *plan, uintptr_t room)
{
    ZydisDecodedInstruction was, is;
    ZydisDecodedOperand before[ZYDIS_MAX_OPERAND_COUNT], after[ZYDIS_MAX_OPERAND_COUNT];
    const uint8_t *from = (const uint8_t *) plan->jump, *to = plan->room + (plan->body - room);
    bool ended = false;
    while (from < (const uint8_t *) plan->jump + PL_ARCH_ENTRY_BYTES) {
        assert_true(decode(from, 16, &was, before));
        assert_true(decode(to, 20, &is, after));
        uint64_t at = room + (uint64_t) (to - plan->room);
        if (was.meta.category == ZYDIS_CATEGORY_CALL) {
            assert_int_equal(is.mnemonic, ZYDIS_MNEMONIC_PUSH);
            assert_int_equal((uint32_t) is.raw.imm[0].value.u, (uint32_t) (uintptr_t) (from + was.length));
            to += is.length;
            assert_true(decode(to, 20, &is, after));
            assert_int_equal(is.mnemonic, ZYDIS_MNEMONIC_MOV);
            assert_int_equal((uint32_t) is.raw.imm[0].value.u, (uint32_t) ((uintptr_t) (from + was.length) >> 32));
            to += is.length;
            at = room + (uint64_t) (to - plan->room);
            assert_true(decode(to, 20, &is, after));
            assert_int_equal(is.mnemonic, ZYDIS_MNEMONIC_JMP);
        } else {
            assert_int_equal(was.mnemonic, is.mnemonic);
        }
        assert_int_equal(address_of(&was, before, (uintptr_t) from), address_of(&is, after, at));
        ended = was.meta.category == ZYDIS_CATEGORY_RET || was.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
        from += was.length;
        to += is.length;
    }
    assert_true(decode(to, 20, &is, after));
    assert_int_equal(is.mnemonic, ZYDIS_MNEMONIC_JMP);
    if (!ended)
        assert_int_equal(address_of(&is, after, room + (uint64_t) (to - plan->room)), (uintptr_t) from);
    (void) code;
}

static void check_function(const uint8_t *code, unsigned bytes)
{
    struct pl_arch_entry plan;
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    uint64_t hook;
    uintptr_t room = ((uintptr_t) code - NEAR) & ~(uintptr_t) 4095;
    seen.functions++;
    compare_lengths(code, bytes);
    if (!pl_arch_plan_entry(code, bytes, room, HOOK, &plan))
        return;
    seen.planned++;
    assert_true(decode(plan.after, sizeof plan.after, &in, operands));
    assert_int_equal(address_of(&in, operands, plan.jump), room);
    assert_true(decode(plan.room, 20, &in, operands));
    assert_int_equal(in.mnemonic, ZYDIS_MNEMONIC_JMP);
    assert_int_equal(address_of(&in, operands, room), room + in.length);
    memcpy(&hook, plan.room + in.length, sizeof hook);
    assert_int_equal(hook, HOOK);
    compare_moved(code, &plan, room);
}

static void check_library(const struct link_map *map)
{
    const Elf64_Sym *symbol = NULL;
    const uint32_t *hash = NULL;
    for (const Elf64_Dyn *entry = map->l_ld; entry->d_tag; entry++) {
        symbol = entry->d_tag == DT_SYMTAB ? (const void *) entry->d_un.d_ptr : symbol;
        hash = entry->d_tag == DT_GNU_HASH ? (const void *) entry->d_un.d_ptr : hash;
    }
    const uint32_t *bucket = hash + 4 + hash[2] * 2, *chain = bucket + hash[0];
    for (uint32_t b = 0; b < hash[0]; b++)
        for (uint32_t i = bucket[b]; i >= hash[1]; i++) {
            if (ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC && symbol[i].st_size && symbol[i].st_size < FUNCTION_MAX)
                check_function((const uint8_t *) map->l_addr + symbol[i].st_value, (unsigned) symbol[i].st_size);
            if (chain[i - hash[1]] & 1)
                break;
        }
}

static void functions_of_libraries_are_moved_without_a_change_of_meaning(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        struct link_map *map;
        if (library && !dlinfo(library, RTLD_DI_LINKMAP, &map))
            check_library(map);
    }
    print_message("# %zu functions, %zu can be hooked; %zu instructions, of which %zu are not known\n", seen.functions,
                  seen.planned, seen.instructions, seen.unknown);
    assert_true(seen.planned > 5000 && seen.planned > seen.functions * 8 / 10);
}

/* ---- what must be refused ---- */

static bool can(const char *code, unsigned bytes)
{
    static uint8_t memory[4096];
    struct pl_arch_entry plan;
    memset(memory, 0xcc, sizeof memory);
    memcpy(memory + 1024, code, bytes);
    return pl_arch_plan_entry(memory + 1024, bytes, (uintptr_t) memory + 2048, HOOK, &plan);
}

#define CAN(code) can(code, sizeof(code) - 1)

static void what_cannot_be_hooked_is_refused(void **state)
{
    (void) state;
    assert_true(CAN("\x55\x48\x89\xe5\x41\x54\xc3"));
    assert_true(CAN("\xe9\x00\x10\x00\x00"));
    assert_true(CAN("\x48\x83\xec\x08\xe8\x00\x10\x00\x00\x48\x83\xc4\x08\xc3"));
    assert_false(CAN("\x31\xc0\xc3"));                         /* too short */
    assert_false(CAN("\xff\xd0\x48\x83\xc4\x08\xc3"));         /* call *%rax */
    assert_false(CAN("\x06\x06\x06\x06\x06\x06"));             /* no instruction */
    assert_false(CAN("\xe3\x03\x48\x89\xf8\xc3"));             /* jrcxz */
    assert_false(CAN("\x55\x48\x89\xe5\x41\x54\xeb\xf9"));     /* leads back to the second instruction */
    assert_false(CAN("\x55\x48\x89\xe5\x41\x54\xeb\xf8"));     /* to the first: it would come to the hook again */
    assert_false(CAN("\x55\x48\x89\xe5\x41\x54\xc3\x06\x06")); /* what cannot be read might lead back */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_libraries_are_moved_without_a_change_of_meaning),
        cmocka_unit_test(what_cannot_be_hooked_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
