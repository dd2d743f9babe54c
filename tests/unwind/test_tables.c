/* SPDX-License-Identifier: MIT */
/*
 * test_tables.c - unwind tables, correct and broken; expressions; and how their modules are found.
 *
 * Broken tables are made from real ones: those of libc are copied into an invented module, directly before an
 * unreadable page, and are then changed in sensitive places. This file defines _dl_find_object, so that the unwinder
 * finds the invented module.
 */
#include "unwind_tests.h"

#include <string.h>
#include <sys/mman.h>

#include "core/unwind/expression.h"
#include "core/unwind/rules.h"
#include "core/unwind/walk.h"

#define PAGE_BYTES 4096ul

static struct pl_walk walk;
static struct images images;

/* The module with the largest tables: libc, or the program that it is linked into. */
static const struct image *largest_image(void)
{
    const struct image *largest = &images.image[0];
    for (unsigned i = 0; i < images.count; i++)
        if (images.image[i].tables_bytes > largest->tables_bytes)
            largest = &images.image[i];
    return largest;
}

/* ---- an invented module ---- */

struct copy {
    char *memory;
    size_t bytes;
    uint8_t *tables;
    uintptr_t tables_bytes;
    uintptr_t shift; /* from the original to the copy, for tables and for their code */
    struct pl_found_module module;
};

/* An ELF header that says where the tables are, so that their limits are exact. */
static void write_header(struct copy *copy)
{
    Elf64_Ehdr *elf = (Elf64_Ehdr *) (void *) copy->memory;
    Elf64_Phdr *program = (Elf64_Phdr *) (void *) (elf + 1);
    memcpy(elf->e_ident, ELFMAG, SELFMAG);
    elf->e_phoff = sizeof *elf;
    elf->e_phentsize = sizeof *program;
    elf->e_phnum = 1;
    *program = (Elf64_Phdr){
        .p_type = PT_LOAD,
        .p_flags = PF_R,
        .p_vaddr = (uintptr_t) copy->tables - (uintptr_t) copy->memory,
        .p_filesz = copy->tables_bytes,
        .p_memsz = copy->tables_bytes,
    };
}

static uintptr_t page_up(uintptr_t address)
{
    return (address + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

static void make_copy(struct copy *copy, const struct image *image)
{
    uintptr_t lowest = image->code < image->header ? image->code : image->header;
    uintptr_t code_end = image->code + image->code_bytes;
    uintptr_t tables_end = image->header + image->tables_bytes;
    uintptr_t before = image->header - lowest;
    uintptr_t after = code_end > tables_end ? code_end - tables_end : 0;
    copy->bytes = page_up(before) + page_up(image->tables_bytes) + page_up(after) + 4 * PAGE_BYTES;
    copy->memory = mmap(NULL, copy->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uintptr_t end = (uintptr_t) copy->memory + PAGE_BYTES + page_up(before) + page_up(image->tables_bytes) + PAGE_BYTES;
    copy->shift = (end - image->tables_bytes - image->header) & ~15ul; /* the rules of PLT stubs depend on pc & 15 */
    copy->tables = (uint8_t *) (image->header + copy->shift);
    copy->tables_bytes = image->tables_bytes;
    uintptr_t first = (uintptr_t) copy->tables & ~(PAGE_BYTES - 1);
    mprotect((void *) first, end - first, PROT_READ | PROT_WRITE);
    mprotect(copy->memory, PAGE_BYTES, PROT_READ | PROT_WRITE);
    memcpy(copy->tables, (const void *) image->header, image->tables_bytes);
    write_header(copy);
    copy->module = (struct pl_found_module){
        .start = (uintptr_t) copy->memory,
        .end = (uintptr_t) copy->memory + copy->bytes,
        .bias = (uintptr_t) copy->memory,
        .eh_frame_hdr = copy->tables,
    };
}

static struct copy copied;
static bool inventing; /* the invented module is the only one */

/* In place of the loader's function. */
int _dl_find_object(void *address, struct dl_find_object *result)
{
    static int (*next)(void *, struct dl_find_object *);
    static struct link_map map;
    const struct pl_found_module *module = &copied.module;
    if (!inventing) {
        if (!next)
            next = (int (*)(void *, struct dl_find_object *)) dlsym(RTLD_NEXT, "_dl_find_object");
        return next(address, result);
    }
    if ((uintptr_t) address < module->start || (uintptr_t) address >= module->end)
        return -1;
    map.l_addr = module->bias;
    *result = (struct dl_find_object){
        .dlfo_map_start = (void *) module->start,
        .dlfo_map_end = (void *) module->end,
        .dlfo_link_map = &map,
        .dlfo_eh_frame = (void *) (uintptr_t) module->eh_frame_hdr,
    };
    return 0;
}

static int begin(void **state)
{
    (void) state;
    memset(&walk, 0, sizeof walk);
    walk.may_probe = true;
    images.count = 0;
    dl_iterate_phdr(collect_image, &images);
    make_copy(&copied, largest_image());
    inventing = true;
    pl_rule_forget();
    return 0;
}

static int end(void **state)
{
    (void) state;
    inventing = false;
    pl_rule_forget();
    munmap(copied.memory, copied.bytes);
    return 0;
}

static uintptr_t random_code(const struct image *image, struct random *random)
{
    return image->code + next_random(random) % image->code_bytes;
}

static uint32_t rule_of(uintptr_t where)
{
    uint32_t rule = pl_rule_learn(where, pl_walk_scratch(&walk));
    pl_rule_forget();
    return rule;
}

/* ---- correct tables ---- */

static void a_copied_module_has_the_rules_of_its_original(void **state)
{
    (void) state;
    const struct image *image = largest_image();
    struct random random = {4711};
    unsigned plain = 0;
    for (int i = 0; i < 3000; i++) {
        uintptr_t where = random_code(image, &random);
        inventing = false;
        uint32_t original = rule_of(where);
        inventing = true;
        assert_int_equal(rule_of(where + copied.shift), original);
        plain += PL_RULE_BASE(original) <= PL_RULE_FP;
    }
    assert_true(plain > 1500);
}

static void without_a_sorted_table_the_entries_are_searched_one_by_one(void **state)
{
    (void) state;
    const struct image *image = largest_image();
    struct random random = {4712};
    for (int i = 0; i < 60; i++) {
        uintptr_t where = random_code(image, &random) + copied.shift;
        uint32_t sorted = rule_of(where);
        uint8_t encoding = copied.tables[3];
        copied.tables[3] = 0xff;
        assert_int_equal(rule_of(where), sorted);
        copied.tables[3] = encoding;
    }
}

/* ---- broken tables ---- */

/* Where the entry of an address lies, which is worth breaking. */
struct target {
    uint8_t *start;
    size_t bytes;
};

static struct target pick_target(struct pl_cfi *cfi, struct random *random)
{
    uint8_t *cie_end = (uint8_t *) (uintptr_t) cfi->common.end;
    uint8_t *fde_end = (uint8_t *) (uintptr_t) cfi->cursor.end;
    switch (next_random(random) % 4) {
    case 0:
        return (struct target){copied.tables, 12};
    case 1:
        return (struct target){cie_end - 24, 24};
    default:
        return (struct target){(uint8_t *) cfi->entry, (size_t) (fde_end - (uint8_t *) cfi->entry)};
    }
}

/* Steps out of a frame of the copied module, on a stack of random words, with every register known. */
static void step_through(uintptr_t where, struct random *random)
{
    static uintptr_t stack[512];
    struct pl_scratch *scratch = pl_walk_scratch(&walk);
    for (unsigned i = 0; i < 512; i++)
        stack[i] = next_random(random) % 4 ? random_code(largest_image(), random) + copied.shift
                                           : (uintptr_t) &stack[next_random(random) % 512];
    struct pl_start start = {where + 1, (uintptr_t) &stack[16], (uintptr_t) &stack[next_random(random) % 512]};
    pl_unwind(&walk, &start);
    assert_in_range(walk.frames, 1, PL_WALK_FRAMES + 1);

    for (unsigned i = 0; i < PL_ARCH_REGISTERS; i++)
        scratch->registers.value[i] = (uintptr_t) &stack[next_random(random) % 512];
    scratch->registers.known = ~0u;
    scratch->here = (struct pl_walk_place){where + 1, start.sp, start.fp, where, start.sp, 0};
    scratch->registers_known = true;
    struct pl_walk_place place = scratch->here;
    pl_registers_step(&walk, &place);
}

static void no_change_to_the_tables_crashes_a_walk(void **state)
{
    (void) state;
    struct random random = {20001};
    unsigned refused = 0;
    for (int round = 0; round < 20000; round++) {
        uintptr_t where = random_code(largest_image(), &random) + copied.shift;
        struct pl_cfi *cfi = &pl_walk_scratch(&walk)->cfi;
        if (pl_ehframe_find(cfi, where) != PL_CFI_FOUND)
            continue;
        struct target target = pick_target(cfi, &random);
        uint8_t saved[4096];
        if (target.bytes > sizeof saved)
            continue;
        memcpy(saved, target.start, target.bytes);
        for (unsigned flips = 1 + next_random(&random) % 6; flips > 0; flips--)
            target.start[next_random(&random) % target.bytes] = (uint8_t) (next_random(&random) >> 20);
        refused += pl_ehframe_find(cfi, where) == PL_CFI_BAD;
        step_through(where, &random);
        memcpy(target.start, saved, target.bytes);
        pl_rule_forget();
    }
    assert_true(refused > 1000); /* many changes had an effect */
}

static void truncated_tables_are_never_read_beyond_their_end(void **state)
{
    (void) state;
    struct random random = {20002};
    Elf64_Phdr *program = (Elf64_Phdr *) (void *) (copied.memory + sizeof(Elf64_Ehdr));
    for (int round = 0; round < 3000; round++) {
        uintptr_t cut = next_random(&random) % copied.tables_bytes;
        program->p_filesz = copied.tables_bytes - cut;
        uintptr_t where = random_code(largest_image(), &random) + copied.shift;
        struct pl_cfi *cfi = &pl_walk_scratch(&walk)->cfi;
        enum pl_cfi_result result = pl_ehframe_find(cfi, where);
        if (result == PL_CFI_FOUND)
            assert_true((uintptr_t) cfi->cursor.end <= (uintptr_t) copied.tables + program->p_filesz);
        pl_rule_forget();
    }
    program->p_filesz = copied.tables_bytes;
}

/* ---- expressions ---- */

struct example {
    const char *meaning;
    bool understood;
    uint64_t value;
    uint8_t bytes;
    uint8_t program[24];
};

#define BREG(number) (0x70 + (number))
#define LIT(number) (0x30 + (number))

/* Register n holds 1000 + n; the word at `memory` is 0x1122334455667788. The first operand is 5000. */
static const struct example examples[] = {
    {"nothing: the first operand", true, 5000, 0, {0}},
    {"a literal", true, 31, 1, {LIT(31)}},
    {"a register", true, 1003, 1, {0x50 + 3}},
    {"a register and an offset", true, 999, 3, {BREG(7), 0x78, 0x96}},
    {"a register by number", true, 1012, 3, {0x92, 12, 0}},
    {"a register that we do not have, such as the length of vectors on AArch64", false, 0, 3, {0x92, 46, 0}},
    {"a signed byte", true, (uint64_t) -2, 2, {0x09, 0xfe}},
    {"an unsigned byte", true, 254, 2, {0x08, 0xfe}},
    {"two signed bytes", true, (uint64_t) -257, 3, {0x0b, 0xff, 0xfe}},
    {"four unsigned bytes", true, 0xfffefdfc, 5, {0x0c, 0xfc, 0xfd, 0xfe, 0xff}},
    {"eight bytes", true, 0x0807060504030201, 9, {0x0e, 1, 2, 3, 4, 5, 6, 7, 8}},
    {"eight bytes cut short", false, 0, 8, {0x0e, 1, 2, 3, 4, 5, 6, 7}},
    {"LEB128", true, 624485, 4, {0x10, 0xe5, 0x8e, 0x26}},
    {"signed LEB128", true, (uint64_t) -123456, 4, {0x11, 0xc0, 0xbb, 0x78}},
    {"plus", true, 5003, 2, {LIT(3), 0x22}},
    {"plus a constant", true, 5200, 3, {0x23, 0xc8, 1}},
    {"minus", true, 4997, 2, {LIT(3), 0x1c}},
    {"times", true, 15000, 2, {LIT(3), 0x1e}},
    {"divided", true, 1666, 2, {LIT(3), 0x1b}},
    {"divided by zero", false, 0, 2, {LIT(0), 0x1b}},
    {"the rest", true, 2, 2, {LIT(3), 0x1d}},
    {"the rest by zero", false, 0, 2, {LIT(0), 0x1d}},
    {"and", true, 8, 2, {LIT(12), 0x1a}},
    {"or", true, 5007, 2, {LIT(15) - 8, 0x21}},
    {"exclusive or", true, 5000 ^ 31, 2, {LIT(31), 0x27}},
    {"shifted left", true, 40000, 2, {LIT(3), 0x24}},
    {"shifted right", true, 625, 2, {LIT(3), 0x25}},
    {"shifted right with its sign", true, (uint64_t) -1, 4, {0x09, 0xfe, LIT(3), 0x26}},
    {"shifted out", true, 0, 4, {0x08, 200, 0x24, 0x96}},
    {"negated", true, (uint64_t) -5000, 1, {0x1f}},
    {"not", true, ~5000ull, 1, {0x20}},
    {"absolute", true, 2, 3, {0x09, 0xfe, 0x19}},
    {"swapped", true, 3 - 5000ull, 3, {LIT(3), 0x16, 0x1c}},
    {"rotated", true, 2, 6, {LIT(1), LIT(2), 0x17, 0x13, 0x13, 0x96}},
    {"over", true, 5000, 2, {LIT(1), 0x14}},
    {"picked", true, 5000, 4, {LIT(1), LIT(2), 0x15, 2}},
    {"picked too deep", false, 0, 2, {0x15, 1}},
    {"duplicated", true, 10000, 2, {0x12, 0x22}},
    {"dropped once too often", false, 0, 2, {0x13, 0x13}},
    {"equal", true, 1, 3, {LIT(2), LIT(2), 0x29}},
    {"less, as signed numbers", true, 1, 4, {0x09, 0xfe, LIT(2), 0x2d}},
    {"greater or equal", true, 0, 4, {0x09, 0xfe, LIT(2), 0x2a}},
    {"not equal", true, 1, 3, {LIT(2), LIT(3), 0x2e}},
    {"skipped", true, 5000, 5, {0x2f, 2, 0, LIT(1), LIT(2)}},
    {"branched", true, 7, 6, {LIT(7), LIT(1), 0x28, 1, 0, 0x1f}},
    {"not branched", true, (uint64_t) -7, 6, {LIT(7), LIT(0), 0x28, 1, 0, 0x1f}},
    {"a loop without an end", false, 0, 3, {0x2f, 0xfd, 0xff}},
    {"a jump to outside", false, 0, 3, {0x2f, 1, 0}},
    {"an operation that does not exist", false, 0, 1, {0xff}},
};

static bool compute(struct pl_machine *machine, struct pl_cfi *cfi, const uint8_t *program, unsigned bytes,
                    uint64_t *out)
{
    static uint8_t table[64];
    const uint64_t first = 5000;
    table[0] = (uint8_t) bytes;
    memcpy(table + 1, program, bytes);
    cfi->tables = (struct pl_segment){(uintptr_t) table, (uintptr_t) table + 1 + bytes};
    return pl_expression_compute(machine, (uintptr_t) table, &first, out);
}

static void expressions_are_evaluated_correctly(void **state)
{
    (void) state;
    struct pl_registers registers = {.known = ~0ull};
    struct pl_cfi cfi;
    struct pl_machine machine = {.cfi = &cfi, .registers = &registers};
    for (unsigned i = 0; i < PL_ARCH_REGISTERS; i++)
        registers.value[i] = 1000 + i;
    for (unsigned i = 0; i < sizeof examples / sizeof *examples; i++) {
        uint64_t value = 0;
        bool understood = compute(&machine, &cfi, examples[i].program, examples[i].bytes, &value);
        if (understood != examples[i].understood || (understood && value != examples[i].value))
            fail_msg("%s: %s, %#llx", examples[i].meaning, understood ? "understood" : "refused",
                     (unsigned long long) value);
    }
}

static void expressions_load_only_readable_memory(void **state)
{
    (void) state;
    static const uint64_t memory = 0x1122334455667788;
    struct pl_registers registers = {.known = 1, .value = {(uintptr_t) &memory, 4711}};
    struct pl_cfi cfi;
    struct pl_machine machine = {.cfi = &cfi, .registers = &registers, .memory = &walk};
    uint64_t value;
    assert_true(compute(&machine, &cfi, (const uint8_t[]){BREG(0), 0, 0x06}, 3, &value));
    assert_int_equal(value, memory);
    assert_true(compute(&machine, &cfi, (const uint8_t[]){BREG(0), 4, 0x94, 2}, 4, &value));
    assert_int_equal(value, 0x3344);
    assert_false(compute(&machine, &cfi, (const uint8_t[]){BREG(0), 4, 0x94, 8}, 4, &value)); /* crosses the limit */
    assert_false(compute(&machine, &cfi, (const uint8_t[]){LIT(8), 0x06}, 2, &value));
    assert_false(compute(&machine, &cfi, (const uint8_t[]){BREG(1), 0}, 2, &value)); /* the register is not known */
    machine.memory = NULL;
    assert_false(compute(&machine, &cfi, (const uint8_t[]){BREG(0), 0, 0x06}, 3, &value));
}

/* ---- modules ---- */

static void a_module_is_found_by_any_address_in_it(void **state)
{
    (void) state;
    const struct pl_found_module *module = &copied.module;
    const uintptr_t inside[] = {module->start, module->start + 1, module->end - 1};
    const uintptr_t outside[] = {0, module->start - 1, module->end, ~0ul};
    struct pl_found_module found;
    for (unsigned i = 0; i < sizeof inside / sizeof *inside; i++) {
        assert_true(pl_find_module(inside[i], &found));
        assert_true(found.start == module->start && found.end == module->end && found.bias == module->bias);
        assert_ptr_equal(found.eh_frame_hdr, module->eh_frame_hdr);
        assert_true(pl_find_same_module(inside[i], module->start));
    }
    for (unsigned i = 0; i < sizeof outside / sizeof *outside; i++) {
        assert_false(pl_find_module(outside[i], &found));
        assert_false(pl_find_same_module(outside[i], module->start) || pl_find_same_module(module->start, outside[i]));
    }
}

static void functions_of_two_modules_are_not_in_the_same_module(void **state)
{
    (void) state;
    inventing = false;
    assert_true(pl_find_same_module((uintptr_t) memcpy, (uintptr_t) mprotect));
    assert_true(pl_find_same_module((uintptr_t) begin, (uintptr_t) end));
    assert_false(pl_find_same_module((uintptr_t) begin, (uintptr_t) _r_debug.r_brk));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_copied_module_has_the_rules_of_its_original, begin, end),
        cmocka_unit_test_setup_teardown(without_a_sorted_table_the_entries_are_searched_one_by_one, begin, end),
        cmocka_unit_test_setup_teardown(no_change_to_the_tables_crashes_a_walk, begin, end),
        cmocka_unit_test_setup_teardown(truncated_tables_are_never_read_beyond_their_end, begin, end),
        cmocka_unit_test_setup_teardown(expressions_are_evaluated_correctly, begin, end),
        cmocka_unit_test_setup_teardown(expressions_load_only_readable_memory, begin, end),
        cmocka_unit_test_setup_teardown(a_module_is_found_by_any_address_in_it, begin, end),
        cmocka_unit_test_setup_teardown(functions_of_two_modules_are_not_in_the_same_module, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
