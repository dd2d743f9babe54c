/* SPDX-License-Identifier: MIT */
/*
 * test_lines.c - debug information of several compilers and linkers, compared with llvm-symbolizer and addr2line.
 *
 * Each row builds one program and compares every address of it: file, line, column and all inlined calls.
 */
#include "workshop.h"

/* %s is the source. The result must be called `program`. */
static const struct build {
    const char *claim;
    const char *tool;
    const char *source;
    const char *command;
} build[] = {
    {"gcc_inlines_have_the_lines_of_llvm", "gcc", "inlines.c", "gcc -O2 -g %s -o program"},
    {"gcc_dwarf_4_has_the_lines_of_llvm", "gcc", "inlines.c", "gcc -O2 -gdwarf-4 %s -o program"},
    {"gcc_without_optimization_has_the_lines_of_llvm", "gcc", "inlines.c", "gcc -O0 -g %s -o program"},
    {"compressed_sections_have_the_lines_of_llvm", "gcc", "inlines.c", "gcc -O2 -g -gz=zlib %s -o program"},
    {"split_units_have_the_lines_of_llvm", "gcc", "inlines.c", "gcc -O2 -g -gsplit-dwarf %s -o program"},
    {"link_time_optimization_has_the_lines_of_llvm", "gcc", "inlines.c", "gcc -O2 -g -flto %s -o program"},
    {"functions_that_the_linker_dropped_do_not_hide_others", "gcc", "dropped.c",
     "yes 'memory[0]++;' | head -900 >steps.h && "
     "gcc -O0 -g -I. -ffunction-sections -Wl,--gc-sections %s -o program"},
    {"position_dependent_code_has_the_lines_of_llvm", "gcc", "inlines.c", "gcc -O2 -g -no-pie %s -o program"},
    {"relative_directories_have_the_lines_of_llvm", "gcc", "inlines.c",
     "mkdir -p deep && cp %s deep/copy.c && gcc -O2 -gdwarf-4 deep/copy.c -o program"},
    {"nested_functions_have_the_lines_of_llvm", "gcc", "nested.c", "gcc -O2 -g %s -o program"},
    {"clang_without_aranges_has_the_lines_of_llvm", "clang", "inlines.c", "clang -O2 -g -gno-pubnames %s -o program"},
    {"clang_dwarf_4_has_the_lines_of_llvm", "clang", "inlines.c", "clang -O2 -gdwarf-4 %s -o program"},
    {"cxx_templates_have_the_lines_of_llvm", "g++", "templates.cc", "g++ -std=c++17 -O2 -g %s -o program"},
    {"cxx_without_optimization_has_the_lines_of_llvm", "g++", "templates.cc", "g++ -std=c++17 -O0 -g %s -o program"},
    {"type_units_have_the_lines_of_llvm", "g++", "templates.cc",
     "g++ -std=c++17 -O2 -gdwarf-4 -fdebug-types-section %s -o program"},
    {"clang_cxx_templates_have_the_lines_of_llvm", "clang++", "templates.cc",
     "clang++ -std=c++17 -O2 -g %s -o program"},
    {"line_tables_only_have_the_lines_of_llvm", "clang++", "templates.cc",
     "clang++ -std=c++17 -O2 -gline-tables-only %s -o program"},
    {"dwz_has_the_lines_of_llvm", "dwz", "templates.cc", "g++ -std=c++17 -O2 -gdwarf-4 %s -o program && dwz program"},
    {"rust_closures_have_the_lines_of_llvm", "rustc", "closures.rs", "rustc -O -g %s -o program"},
};
#define BUILDS (sizeof build / sizeof *build)

/* Every address of small programs. A Rust program contains megabytes of libraries. */
static uint32_t stride_for(struct text text)
{
    uint64_t stride = (text.high - text.low) / 20000;
    return stride > 1 ? (uint32_t) stride : 1;
}

static void program_agrees(void **state)
{
    const struct build *by = *state;
    char command[PATH_BYTES * 2];
    if (!have(by->tool))
        skip();
    run("rm -f program");
    snprintf(command, sizeof command, by->command, source(by->source));
    run("%s", command);
    const char *program = made("program");
    uint32_t stride = stride_for(text_of(program));
    struct pl_elf *elf = open_elf(program, NULL);
    assert_true(pl_elf_has_dwarf(elf));
    assert_true(assert_agrees_with_llvm(elf, program, stride) > 20);
    pl_elf_close(elf);
}

static void innermost_lines_are_those_of_addr2line(void **state)
{
    (void) state;
    run("gcc -O2 -g '%s' -o program", source("inlines.c"));
    struct pl_elf *elf = open_elf(made("program"), NULL);
    assert_true(assert_agrees_with_addr2line(elf, made("program"), 1) > 50);
    pl_elf_close(elf);
}

static void a_repeated_query_has_the_same_result(void **state)
{
    (void) state;
    run("g++ -std=c++17 -O2 -g '%s' -o program", source("templates.cc"));
    struct pl_elf *elf = open_elf(made("program"), NULL), *other = open_elf(made("program"), NULL);
    struct text text = text_of(made("program"));
    for (uint64_t address = text.low; address < text.high; address++)
        find(elf, address);
    /* Backwards in a new index: the order of queries must not matter. */
    for (uint64_t address = text.high; address-- > text.low;) {
        struct found first = find(elf, address), second = find(other, address);
        assert_int_equal(first.places, second.places);
        for (uint32_t i = 0; i < first.places; i++) {
            assert_string_equal(first.place[i].function, second.place[i].function);
            assert_string_equal(first.place[i].file, second.place[i].file);
            assert_int_equal(first.place[i].line, second.place[i].line);
        }
    }
    pl_elf_close(elf);
    pl_elf_close(other);
}

static void only_the_outermost_place_is_not_inlined(void **state)
{
    (void) state;
    run("gcc -O2 -g '%s' -o program", source("inlines.c"));
    struct pl_elf *elf = open_elf(made("program"), NULL);
    struct text text = text_of(made("program"));
    uint32_t deepest = 0;
    for (uint64_t address = text.low; address < text.high; address++) {
        struct found found = find(elf, address);
        for (uint32_t i = 0; i < found.places; i++)
            assert_int_equal(found.place[i].inlined, i + 1 < found.places);
        deepest = found.places > deepest ? found.places : deepest;
    }
    assert_true(deepest >= 3); /* checked() in copy() in push() in fill() */
    pl_elf_close(elf);
}

static void a_limited_answer_keeps_the_innermost_places(void **state)
{
    (void) state;
    run("gcc -O2 -g '%s' -o program", source("inlines.c"));
    struct pl_elf *elf = open_elf(made("program"), NULL);
    struct text text = text_of(made("program"));
    for (uint64_t address = text.low; address < text.high; address++) {
        struct found all = find(elf, address);
        struct pl_place one;
        assert_int_equal(pl_elf_find(elf, address, &one, 0), 0);
        assert_int_equal(pl_elf_find(elf, address, &one, 1), all.places > 0);
        if (all.places > 1)
            assert_string_equal(one.function, all.place[0].function);
    }
    pl_elf_close(elf);
}

int main(void)
{
    static const struct CMUnitTest other[] = {
        cmocka_unit_test(innermost_lines_are_those_of_addr2line),
        cmocka_unit_test(a_repeated_query_has_the_same_result),
        cmocka_unit_test(only_the_outermost_place_is_not_inlined),
        cmocka_unit_test(a_limited_answer_keeps_the_innermost_places),
    };
    enum { OTHERS = sizeof other / sizeof *other };
    struct CMUnitTest tests[BUILDS + OTHERS];
    for (size_t i = 0; i < BUILDS; i++)
        tests[i] = (struct CMUnitTest){
            .name = build[i].claim, .test_func = program_agrees, .initial_state = (void *) &build[i]};
    memcpy(tests + BUILDS, other, sizeof other);
    return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
