/* SPDX-License-Identifier: MIT */
/*
 * test_names.c - names of functions: demangled, in their scopes, from DWARF or from symbols.
 */
#include "workshop.h"

#define LONG_NAME 4000

/* ---- demangling ---- */

static const char *demangled(const char *name)
{
    static struct pl_arena *arena; /* one for all tests */
    if (!arena)
        arena = pl_arena_new();
    return pl_demangle(arena, name);
}

static void every_mangling_is_supported(void **state)
{
    (void) state;
    assert_string_equal(demangled("_ZN4shop5StockIiE3addERKi"), "shop::Stock<int>::add(int const&)");
    assert_string_equal(demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
    assert_string_equal(demangled("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
    assert_string_equal(demangled("_D3std5stdio7writelnFZv"), "std.stdio.writeln()");
}

static void other_names_are_returned_unchanged(void **state)
{
    (void) state;
    static const char *const name[] = {"", "malloc", "_start", "_Z", "_ZN", "_R", "_D", "_Zrubbish", "__libc_malloc"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        assert_ptr_equal(demangled(name[i]), name[i]);
}

static void names_too_long_to_demangle_are_left_alone(void **state)
{
    (void) state;
    static const size_t length[] = {1000, 8000, 9000, 100000};
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        char *name = malloc(length[i] + 1);
        memset(name, 'P', length[i]); /* a pointer to a pointer to a pointer ... */
        memcpy(name, "_Z1f", 4);
        name[length[i] - 1] = 'i';
        name[length[i]] = '\0';
        const char *readable = demangled(name);
        if (length[i] > 8192)
            assert_ptr_equal(readable, name);
        free(name);
    }
}

/* ---- DWARF ---- */

/* At how many addresses of .text a function has this name, or (with `part`) a name that contains it. */
static uint32_t count_named(struct pl_elf *elf, const char *path, const char *name, bool part)
{
    struct text text = text_of(path);
    uint32_t count = 0;
    for (uint64_t address = text.low; address < text.high; address++) {
        struct found found = find(elf, address);
        for (uint32_t i = 0; i < found.places; i++)
            count += part ? strstr(found.place[i].function, name) != NULL : strcmp(found.place[i].function, name) == 0;
    }
    return count;
}

static void check_names(const char *command)
{
    static const char *const name[] = {
        "shop::Stock<int>::add(int const&, std::",
        "(anonymous namespace)::Clerk::greet",
        "sell(int)::Till::take(int)",
        "sell(int)",
        "operator()(int) const",
    };
    run("%s '%s' -o program", command, source("templates.cc"));
    struct pl_elf *elf = open_elf(made("program"), NULL);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (count_named(elf, made("program"), name[i], true) == 0)
            fail_msg("%s: nothing is called %s", command, name[i]);
    assert_true(count_named(elf, made("program"), "main", false) > 0);
    pl_elf_close(elf);
}

static void cxx_functions_have_their_full_names(void **state)
{
    (void) state;
    check_names("g++ -std=c++17 -O1 -g");
    if (have("clang++"))
        check_names("clang++ -std=c++17 -O1 -g");
}

static void a_function_without_a_linkage_name_is_named_by_its_scopes(void **state)
{
    (void) state;
    run("g++ -std=c++17 -O2 -g '%s' -o program", source("templates.cc"));
    struct pl_elf *elf = open_elf(made("program"), NULL);
    /* The inlined lambda in main: gcc calls it `operator()`, in a class without a name. */
    assert_true(count_named(elf, made("program"), "main::{lambda}::operator()", false) > 0);
    assert_int_equal(count_named(elf, made("program"), "operator()", false), 0);
    pl_elf_close(elf);
}

static void the_linkage_name_is_given_if_it_differs(void **state)
{
    (void) state;
    run("g++ -std=c++17 -O2 -g '%s' -o program", source("templates.cc"));
    struct pl_elf *elf = open_elf(made("program"), NULL);
    struct found found = find(elf, address_of(made("program"), "main"));
    assert_string_equal(found.place[found.places - 1].function, "main");
    assert_string_equal(found.place[found.places - 1].linkage, "");
    found = find(elf, address_of(made("program"), "_ZL4selli"));
    assert_string_equal(found.place[found.places - 1].function, "sell(int)");
    assert_string_equal(found.place[found.places - 1].linkage, "_ZL4selli");
    pl_elf_close(elf);
}

static void rust_functions_have_their_full_names(void **state)
{
    (void) state;
    if (!have("rustc"))
        skip();
    run("rustc -O -g '%s' -o program", source("closures.rs"));
    struct pl_elf *elf = open_elf(made("program"), NULL);
    char symbol[PATH_BYTES];
    ask(symbol, sizeof symbol, "nm program | awk '/Stock.*3add/ {print $3}'");
    struct found found = find(elf, address_of(made("program"), symbol));
    assert_non_null(strstr(found.place[found.places - 1].function, "::Stock::add"));
    assert_null(strstr(found.place[found.places - 1].function, "17h"));
    pl_elf_close(elf);
}

static void write_long_name(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#include <stdlib.h>\n__attribute__((noinline)) void *");
    for (int i = 0; i < LONG_NAME; i++)
        fputc('a' + i % 26, file);
    fprintf(file, "(int n)\n{\n    return malloc(n);\n}\n");
    fclose(file);
}

static void names_of_four_thousand_characters_are_complete(void **state)
{
    (void) state;
    write_long_name(made("long.cc"));
    run("g++ -O1 -g -c long.cc -o long.o && g++ -shared -fPIC -O1 -g long.cc -o program");
    struct pl_elf *elf = open_elf(made("program"), NULL);
    struct text text = text_of(made("program"));
    size_t longest = 0;
    for (uint64_t address = text.low; address < text.high; address++) {
        struct found found = find(elf, address);
        for (uint32_t i = 0; i < found.places; i++)
            longest = strlen(found.place[i].function) > longest ? strlen(found.place[i].function) : longest;
    }
    assert_int_equal(longest, LONG_NAME + strlen("(int)"));
    pl_elf_close(elf);
}

/* ---- symbols ---- */

static const char *name_at(struct pl_elf *elf, uint64_t address)
{
    struct found found = find(elf, address);
    return found.places ? found.place[found.places - 1].function : "";
}

static void without_debug_information_symbols_give_the_names(void **state)
{
    (void) state;
    run("gcc -O1 '%s' -o program", source("inlines.c"));
    struct pl_elf *elf = open_elf(made("program"), NULL);
    assert_false(pl_elf_has_dwarf(elf));
    uint64_t fill = address_of(made("program"), "fill"), drain = address_of(made("program"), "drain");
    assert_string_equal(name_at(elf, fill), "fill");
    assert_string_equal(name_at(elf, fill + 9), "fill");
    assert_string_equal(name_at(elf, drain), "drain");
    struct found found = find(elf, fill);
    assert_int_equal(found.places, 1);
    assert_string_equal(found.place[0].file, "");
    assert_int_equal(found.place[0].line, 0);
    pl_elf_close(elf);
}

static void a_stripped_library_still_names_its_exports(void **state)
{
    (void) state;
    run("gcc -O1 -shared -fPIC '%s' -o whole.so && strip -o program whole.so", source("library.c"));
    struct pl_elf *elf = open_elf(made("program"), NULL);
    uint64_t exported = address_of(made("whole.so"), "shelf_new");
    assert_string_equal(name_at(elf, exported), "shelf_new");
    /* The local function beside it has lost its name, and must not get that of its neighbour. */
    assert_string_equal(name_at(elf, address_of(made("whole.so"), "fill")), "");
    pl_elf_close(elf);
}

static void indirect_functions_and_labels_have_names(void **state)
{
    (void) state;
    run("gcc -O1 -shared -fPIC '%s' -o program", source("library.c"));
    struct pl_elf *elf = open_elf(made("program"), NULL);
    assert_string_equal(name_at(elf, address_of(made("program"), "bare_label") + 2), "bare_label");
    assert_string_equal(name_at(elf, address_of(made("program"), "shelf_weight")), "shelf_weight");
    /* A label inside a function is not a function. */
    assert_string_equal(name_at(elf, address_of(made("program"), "label_inside")), "with_label");
    pl_elf_close(elf);
}

static void stubs_are_named_after_their_targets(void **state)
{
    (void) state;
    run("gcc -O1 -shared -fPIC '%s' -o program", source("library.c"));
    char line[PATH_BYTES];
    ask(line, sizeof line, "objdump -d program | grep '<malloc@plt>:'");
    if (!line[0])
        skip(); /* objdump does not know on this machine */
    struct pl_elf *elf = open_elf(made("program"), NULL);
    assert_string_equal(name_at(elf, strtoull(line, NULL, 16) + 4), "malloc@plt");
    pl_elf_close(elf);
}

static void versions_and_clone_suffixes_are_not_part_of_a_name(void **state)
{
    (void) state;
    FILE *file = fopen(made("marked.s"), "w");
    fprintf(file, ".text\n"
                  ".type cut.part.0,@function\ncut.part.0: nop\n.size cut.part.0,.-cut.part.0\n"
                  ".type cold.cold,@function\ncold.cold: nop\n.size cold.cold,.-cold.cold\n"
                  ".type main.run,@function\nmain.run: nop\n.size main.run,.-main.run\n"
                  ".type old_impl,@function\nold_impl: nop\n.size old_impl,.-old_impl\n"
                  ".symver old_impl,old@V1,remove\n"
                  ".section .note.GNU-stack,\"\",@progbits\n");
    fclose(file);
    run("echo 'V1 { global: old; local: *; };' >map && gcc -shared marked.s -Wl,--version-script=map -o program");
    struct pl_elf *elf = open_elf(made("program"), NULL);
    uint64_t first = address_of(made("program"), "cut.part.0");
    assert_string_equal(name_at(elf, first), "cut");
    assert_string_equal(name_at(elf, first + 1), "cold");
    assert_string_equal(name_at(elf, first + 2), "main.run"); /* Go has dots in names */
    assert_string_equal(name_at(elf, first + 3), "old");
    pl_elf_close(elf);
}

static void addresses_outside_of_code_are_unknown(void **state)
{
    (void) state;
    run("gcc -O1 -g '%s' -o program", source("inlines.c"));
    struct pl_elf *elf = open_elf(made("program"), NULL);
    static const uint64_t address[] = {0, 1, 1ull << 40, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof address / sizeof *address; i++)
        assert_int_equal(find(elf, address[i]).places, 0);
    pl_elf_close(elf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mangling_is_supported),
        cmocka_unit_test(other_names_are_returned_unchanged),
        cmocka_unit_test(names_too_long_to_demangle_are_left_alone),
        cmocka_unit_test(cxx_functions_have_their_full_names),
        cmocka_unit_test(a_function_without_a_linkage_name_is_named_by_its_scopes),
        cmocka_unit_test(the_linkage_name_is_given_if_it_differs),
        cmocka_unit_test(rust_functions_have_their_full_names),
        cmocka_unit_test(names_of_four_thousand_characters_are_complete),
        cmocka_unit_test(without_debug_information_symbols_give_the_names),
        cmocka_unit_test(a_stripped_library_still_names_its_exports),
        cmocka_unit_test(indirect_functions_and_labels_have_names),
        cmocka_unit_test(stubs_are_named_after_their_targets),
        cmocka_unit_test(versions_and_clone_suffixes_are_not_part_of_a_name),
        cmocka_unit_test(addresses_outside_of_code_are_unknown),
    };
    return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
