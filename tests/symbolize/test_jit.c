/* SPDX-License-Identifier: MIT */
/*
 * test_jit.c - names of code that was made at run time: which of several at an address, and what is in a name. Then
 * broken dumps and maps: truncated anywhere, or with changed bytes. Sanitizers check that nothing is read outside of
 * them.
 */
#include <time.h>
#include <unistd.h>

#include "workshop.h"

#define JIT_PID 4194306u /* larger than any pid of Linux */
#define JIT_MAP "/tmp/perf-4194306.map"
#define JIT_DUMP "jit-4194306.dump"
#define UNIT_NS 1000u

/* ---- names ---- */

static void check_name(const char *name, const char *function, const char *file, uint32_t line, uint32_t column)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_place place;
    pl_jit_name(arena, name, &place);
    assert_string_equal(place.function, function);
    assert_string_equal(place.file, file);
    assert_int_equal(place.line, line);
    assert_int_equal(place.column, column);
    assert_string_equal(place.linkage, strcmp(name, function) ? name : "");
    pl_arena_free(arena);
}

static void names_of_v8_have_functions_files_and_lines(void **state)
{
    (void) state;
    check_name("JS:*handle /srv/app.js:10:23", "handle", "/srv/app.js", 10, 23);
    check_name("JS:^handle /srv/app.js:10:23", "handle", "/srv/app.js", 10, 23);
    check_name("LazyCompile:~handle /srv/app.js:10", "handle", "/srv/app.js", 10, 0);
    check_name("Function:handle file:///srv/my app.mjs:1:2", "handle", "/srv/my app.mjs", 1, 2);
    check_name("JS:~ /srv/app.js:1:1", "(anonymous)", "/srv/app.js", 1, 1);
    check_name("JS:~get size node:internal/url:3:4", "get size", "node:internal/url", 3, 4);
    check_name("JS:*get size app.js:3:4", "get size", "app.js", 3, 4);
    check_name("JS:*plain", "plain", "", 0, 0);
    check_name("JS:*with blank", "with blank", "", 0, 0);
    check_name("JS:* :1", "(anonymous)", "", 1, 0);
    check_name("JS:", "(anonymous)", "", 0, 0);
    check_name("JS:*far /a.js:99999999999:1", "far", "/a.js:99999999999", 1, 0);
}

static void names_of_python_and_java_are_split_and_others_stay(void **state)
{
    (void) state;
    check_name("py::Cart.add:/srv/shop.py", "Cart.add", "/srv/shop.py", 0, 0);
    check_name("py::add", "add", "", 0, 0);
    check_name("py::", "py::", "", 0, 0);
    check_name("Lcom/shop/Cart;::add", "com.shop.Cart.add", "", 0, 0);
    check_name("void com.shop.Cart.add(int)", "void com.shop.Cart.add(int)", "", 0, 0);
    check_name("Builtin:ArrayMap", "Builtin:ArrayMap", "", 0, 0);
    check_name("Lambda", "Lambda", "", 0, 0);
    check_name("x", "x", "", 0, 0);
}

static void names_of_php_and_luajit_have_functions_or_files(void **state)
{
    (void) state;
    check_name("JIT$Cart::add", "Cart::add", "", 0, 0);
    check_name("JIT$/srv/shop.php", "{main}", "/srv/shop.php", 0, 0);
    check_name("JIT$$exception_handler", "JIT$$exception_handler", "", 0, 0);
    check_name("JIT$", "JIT$", "", 0, 0);
    check_name("TRACE-2$Cart::add$38", "Cart::add", "", 0, 0);
    check_name("TRACE-2$/srv/shop.php$38", "{main}", "/srv/shop.php", 38, 0);
    check_name("TRACE-2$add", "add", "", 0, 0);
    check_name("TRACE-2", "TRACE-2", "", 0, 0);
    check_name("TRACE_7::shop.lua:38", "TRACE_7", "shop.lua", 38, 0);
    check_name("TRACE_7::shop", "TRACE_7", "", 0, 0);
}

/* ---- dumps ---- */

struct dump {
    uint8_t byte[65536];
    size_t bytes;
};

static void put(struct dump *dump, const void *data, size_t bytes)
{
    memcpy(dump->byte + dump->bytes, data, bytes);
    dump->bytes += bytes;
}

static void put_words(struct dump *dump, const uint64_t *word, size_t words)
{
    put(dump, word, words * sizeof *word);
}

static void put_record(struct dump *dump, uint32_t id, size_t bytes, uint64_t units)
{
    const uint32_t head[] = {id, (uint32_t) (16 + bytes)};
    put(dump, head, sizeof head);
    put_words(dump, &(uint64_t){units * UNIT_NS}, 1);
}

static void begin(struct dump *dump, uint32_t pid)
{
    const uint32_t head[] = {0x4a695444, 1, 40, 62, 0, pid};
    *dump = (struct dump){.bytes = 0};
    put(dump, head, sizeof head);
    put_words(dump, (const uint64_t[]){0, 0}, 2);
}

static void put_load(struct dump *dump, uint64_t units, uint64_t address, uint64_t index, const char *name)
{
    put_record(dump, 0, 8 + 32 + strlen(name) + 1 + 4, units);
    put_words(dump, (const uint64_t[]){0, address, address, 256, index}, 5);
    put(dump, name, strlen(name) + 1);
    put(dump, "code", 4);
}

static void put_move(struct dump *dump, uint64_t units, uint64_t from, uint64_t to, uint64_t index)
{
    put_record(dump, 1, 48, units);
    put_words(dump, (const uint64_t[]){0, to, from, to, 256, index}, 6);
}

static void put_lines(struct dump *dump, uint64_t address)
{
    put_record(dump, 2, 16 + 2 * 16 + 5 + 2, 0);
    put_words(dump, (const uint64_t[]){address, 2, address + 16, 12}, 4);
    put(dump, "a.js", 5);
    put_words(dump, (const uint64_t[]){address, 11}, 2);
    put(dump, "\xff", 2);
}

static void save(const char *path, const void *data, size_t bytes)
{
    unlink(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

static struct pl_jit *open_jit(struct pl_profile *profile)
{
    static char directory[4096];
    snprintf(directory, sizeof directory, "%s", made(""));
    *profile = (struct pl_profile){.arena = pl_arena_new(), .directory = directory, .unit_s = UNIT_NS / 1e9};
    profile->header.pid = JIT_PID;
    profile->header.uid = getuid();
    return pl_jit_open(profile, NULL);
}

/* What was at `address` when it was seen, in the dump that was saved. */
static const char *at(uint64_t address, uint64_t units)
{
    static char text[256];
    struct pl_profile profile;
    struct pl_place place;
    struct pl_jit *jit = open_jit(&profile);
    struct pl_jit_question question = {.address = address, .units = units, .versions = 1};
    snprintf(text, sizeof text, "none");
    if (jit && pl_jit_find(jit, &question, &place))
        snprintf(text, sizeof text, *place.file ? "%s %s:%u" : "%s", place.function, place.file, place.line);
    pl_jit_free(jit);
    pl_arena_free(profile.arena);
    return text;
}

static void make_story(struct dump *dump)
{
    begin(dump, JIT_PID);
    put_load(dump, 1000, 0x10000, 0, "first");
    put_load(dump, 3000, 0x10080, 1, "second");
    put_lines(dump, 0x20000);
    put_load(dump, 5000, 0x20000, 2, "third");
    put_move(dump, 7000, 0x20000, 0x30000, 2);
    put_load(dump, 8000, 0x20000, 3, "fourth");
}

static void the_last_code_before_it_was_seen_counts(void **state)
{
    (void) state;
    static struct dump dump;
    make_story(&dump);
    save(made(JIT_DUMP), dump.byte, dump.bytes);
    assert_string_equal(at(0x10000, 2000), "first");
    assert_string_equal(at(0x10090, 2000), "first");
    assert_string_equal(at(0x10090, 4000), "second");
    assert_string_equal(at(0x10090, 0), "second"); /* not known when */
    assert_string_equal(at(0x10010, 4000), "first");
    assert_string_equal(at(0x10000, 500), "none"); /* before there was code */
    assert_string_equal(at(0x10180, 4000), "none");
    assert_string_equal(at(0x20000, 6000), "third a.js:11");
    assert_string_equal(at(0x20010, 6000), "third a.js:12");
    assert_string_equal(at(0x30010, 9000), "third a.js:12");
    assert_string_equal(at(0x30010, 6000), "none");
    assert_string_equal(at(0x20000, 9000), "fourth");
    unlink(made(JIT_DUMP));
    assert_string_equal(at(0x10000, 2000), "none");
}

static void a_dump_of_another_process_or_of_another_machine_is_not_used(void **state)
{
    (void) state;
    static struct dump dump;
    begin(&dump, JIT_PID + 1);
    put_load(&dump, 1000, 0x10000, 0, "first");
    save(made(JIT_DUMP), dump.byte, dump.bytes);
    assert_string_equal(at(0x10000, 2000), "none");
    make_story(&dump);
    memcpy(dump.byte, "JiTD", 4); /* the other byte order */
    save(made(JIT_DUMP), dump.byte, dump.bytes);
    assert_string_equal(at(0x10000, 2000), "none");
    unlink(made(JIT_DUMP));
}

/* A record of lines with this file name, in which `after` bytes follow the last entry; the code's name has a line, too.
 */
static const char *with_file(const char *file, size_t bytes, const char *after, size_t after_bytes)
{
    static struct dump dump;
    begin(&dump, JIT_PID);
    put_record(&dump, 2, 16 + 16 + bytes + after_bytes, 0);
    put_words(&dump, (const uint64_t[]){0x10000, 1, 0x10000, 12}, 4);
    put(&dump, file, bytes);
    put(&dump, after, after_bytes);
    put_load(&dump, 1000, 0x10000, 0, "JS:*keep /b.js:7:1");
    save(made(JIT_DUMP), dump.byte, dump.bytes);
    const char *found = at(0x10000, 2000);
    unlink(made(JIT_DUMP));
    return found;
}

/* As V8 of Node 20 writes it: the name of the file has been freed. */
static void lines_are_not_used_if_their_record_makes_no_sense(void **state)
{
    (void) state;
    assert_string_equal(with_file("/a.js", 6, "", 0), "keep /a.js:12");
    assert_string_equal(with_file("/\xc3\xa4.js", 7, "\0\0\0\0\0\0", 7), "keep /\xc3\xa4.js:12");
    assert_string_equal(with_file("p5Y`\x05", 6, "", 0), "keep /b.js:7");
    assert_string_equal(with_file("8\xf0\xc9I\xefU", 7, "", 0), "keep /b.js:7");
    assert_string_equal(with_file("p5Y", 4, "\0\0\0\0a)J", 8), "keep /b.js:7");
    assert_string_equal(with_file("p5Y", 4, "\0\0\0a)J", 7), "keep /b.js:7");
    assert_string_equal(with_file("/a.js", 5, "", 0), "keep /b.js:7"); /* no NUL */
}

static void where_a_dump_knows_nothing_a_map_is_asked(void **state)
{
    (void) state;
    static struct dump dump;
    static const char map[] = "10000 100 of the map\n50000 100 only there\n";
    make_story(&dump);
    save(made(JIT_DUMP), dump.byte, dump.bytes);
    save(JIT_MAP, map, strlen(map));
    assert_string_equal(at(0x10000, 2000), "first");
    assert_string_equal(at(0x50000, 2000), "only there");
    unlink(made(JIT_DUMP));
    assert_string_equal(at(0x10000, 2000), "of the map");
    unlink(JIT_MAP);
}

/* ---- versions, in a map ---- */

static const char *version(uint32_t number, uint32_t of)
{
    static char text[256];
    struct pl_profile profile;
    struct pl_place place;
    struct pl_jit *jit = open_jit(&profile);
    struct pl_jit_question question = {.address = 0x10010, .version = number, .versions = of};
    assert_non_null(jit);
    snprintf(text, sizeof text, "%s", pl_jit_find(jit, &question, &place) ? place.function : "none");
    pl_jit_free(jit);
    pl_arena_free(profile.arena);
    return text;
}

static void names_of_a_map_are_told_apart_by_versions_if_there_is_one_for_each(void **state)
{
    (void) state;
    static const char map[] = "10000 100 one\n10000 100 one\n10008 40 two\n20000 10 other\n10000 20 three\n";
    save(JIT_MAP, map, strlen(map));
    assert_string_equal(version(0, 3), "one");
    assert_string_equal(version(1, 3), "two");
    assert_string_equal(version(2, 3), "three");
    assert_string_equal(version(0, 1), "three"); /* the last */
    assert_string_equal(version(0, 2), "none");  /* one or two? */
    assert_string_equal(version(1, 2), "three");
    assert_string_equal(version(3, 5), "none");
    unlink(JIT_MAP);
}

/* ---- damage ---- */

static void ask_everywhere(void)
{
    struct pl_profile profile;
    struct pl_place place;
    struct pl_jit *jit = open_jit(&profile);
    for (uint64_t address = 0xff80; jit && address < 0x30200; address += 0x7f)
        if (pl_jit_find(jit, &(struct pl_jit_question){address, address % 9000, 0, 2}, &place))
            assert_true(strlen(place.function) + strlen(place.file) < 65536);
    pl_jit_free(jit);
    pl_arena_free(profile.arena);
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t) (*state >> 33);
}

static void damage(const char *where, const uint8_t *data, size_t bytes)
{
    static uint8_t copy[65536];
    char path[4096];
    snprintf(path, sizeof path, "%s", where);
    uint64_t random = bytes;
    for (size_t cut = 0; cut <= bytes; cut++) {
        save(path, data, cut);
        ask_everywhere();
    }
    for (int round = 0; round < 2000; round++) {
        memcpy(copy, data, bytes);
        for (int i = 0; i <= round % 6; i++) {
            static const uint8_t likely[] = {0, 1, 2, 4, 0x7f, 0x80, 0xff, '\n', ' ', ':'};
            uint32_t value = next_random(&random);
            copy[next_random(&random) % bytes] = value % 2 ? likely[value / 2 % sizeof likely] : (uint8_t) (value >> 8);
        }
        save(path, copy, bytes);
        ask_everywhere();
    }
    unlink(path);
}

static void broken_dumps_and_maps_are_harmless(void **state)
{
    (void) state;
    static struct dump dump;
    static const char map[] = "10000 100 JS:*a /b.js:1:2\n10040 10 py::b:/c.py\n20000 ff Lcom/A;::b\n30000 7 x";
    make_story(&dump);
    damage(made(JIT_DUMP), dump.byte, dump.bytes);
    damage(JIT_MAP, (const uint8_t *) map, strlen(map));
}

/* Every address has had all of the code: a search must not take time that grows with the square of the file. */
static void much_code_at_one_address_is_no_problem(void **state)
{
    (void) state;
    FILE *file = fopen(JIT_MAP, "w");
    for (int i = 0; i < 20000; i++)
        fprintf(file, "10000 20000 code %d\n", i);
    fclose(file);
    ask_everywhere();
    unlink(JIT_MAP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_v8_have_functions_files_and_lines),
        cmocka_unit_test(names_of_python_and_java_are_split_and_others_stay),
        cmocka_unit_test(names_of_php_and_luajit_have_functions_or_files),
        cmocka_unit_test(the_last_code_before_it_was_seen_counts),
        cmocka_unit_test(a_dump_of_another_process_or_of_another_machine_is_not_used),
        cmocka_unit_test(lines_are_not_used_if_their_record_makes_no_sense),
        cmocka_unit_test(where_a_dump_knows_nothing_a_map_is_asked),
        cmocka_unit_test(names_of_a_map_are_told_apart_by_versions_if_there_is_one_for_each),
        cmocka_unit_test(broken_dumps_and_maps_are_harmless),
        cmocka_unit_test(much_code_at_one_address_is_no_problem),
    };
    return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
