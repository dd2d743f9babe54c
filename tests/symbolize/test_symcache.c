/* SPDX-License-Identifier: MIT */
/*
 * test_symcache.c - the cache of names on disk: it is used, it changes no answer, and nothing that happens to its files
 * or comes from other users can make it give a wrong one.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "reader/symbols/symcache.h"
#include "workshop.h"

#define OTHER_USER 65534

/* ---- readings: the names of many addresses of a binary, as text ---- */

struct reading {
    char *text;
    struct pl_symbolize_counts counts;
    bool debug_info;
};

static struct pl_profile profile_of(const char *path, struct pl_module_view *module)
{
    struct pl_elf *elf = open_elf(path, NULL);
    *module = (struct pl_module_view){.path = path};
    snprintf(module->build_id, sizeof module->build_id, "%s", pl_elf_build_id(elf));
    pl_elf_close(elf);
    return (struct pl_profile){.arena = pl_arena_new(), .directory = "/", .modules = 1, .module = module};
}

static void print_frame(FILE *out, const struct pl_frame_view *frame)
{
    for (uint32_t i = 0; i < frame->places; i++) {
        const struct pl_place *place = &frame->place[i];
        fprintf(out, "%llx %s|%s|%s:%u:%u%s\n", (unsigned long long) frame->address, place->function, place->linkage,
                place->file, place->line, place->column, place->inlined ? " inlined" : "");
    }
}

/* Every `stride`th address of .text. */
static struct reading read_with(const char *name, uint32_t stride, struct pl_symbolize_options options)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s", made(name));
    struct text text = text_of(path);
    struct pl_module_view module;
    struct pl_profile profile = profile_of(path, &module);
    struct pl_module_status status;
    struct reading reading = {0};
    profile.frame = calloc((size_t) (text.high - text.low), sizeof *profile.frame);
    for (uint64_t address = text.low; address < text.high; address += stride)
        profile.frame[profile.frames++] = (struct pl_frame_view){.address = address, .flags = PL_FRAME_EXACT};
    options.counts = &reading.counts;
    assert_int_equal(pl_symbolize(&profile, &options, &status), 0);
    reading.debug_info = status.debug_info;
    size_t bytes;
    FILE *out = open_memstream(&reading.text, &bytes);
    for (uint32_t i = 0; i < profile.frames; i++)
        print_frame(out, &profile.frame[i]);
    fclose(out);
    free(profile.frame);
    pl_arena_free(profile.arena);
    return reading;
}

static struct reading read_cached(const char *name, uint32_t stride)
{
    return read_with(name, stride, (struct pl_symbolize_options){.cache = made("home")});
}

static struct reading read_plain(const char *name, uint32_t stride)
{
    struct reading reading = read_with(name, stride, (struct pl_symbolize_options){0});
    assert_int_equal(reading.counts.cached, 0);
    return reading;
}

enum { ALL, NONE, SOME };

/* The reading has the right names, and this part of them from the cache. */
static void assert_reading(struct reading reading, const struct reading *right, int cached)
{
    assert_string_equal(reading.text, right->text);
    assert_int_equal(reading.debug_info, right->debug_info);
    uint32_t all = right->counts.read;
    assert_int_equal(reading.counts.cached + reading.counts.read, all);
    if (cached == SOME)
        assert_true(reading.counts.cached > 0 && reading.counts.cached < all);
    else
        assert_int_equal(reading.counts.cached, cached == ALL ? all : 0);
    free(reading.text);
}

/* ---- places ---- */

static void make_home(void)
{
    run("rm -rf home && mkdir -m 711 home");
}

static void make_program(void)
{
    make_home();
    run("rm -f program && gcc -O2 -g -Wl,--build-id '%s' -o program", source("inlines.c"));
}

static void make_large_program(void)
{
    make_home();
    run("rm -f program && g++ -std=c++17 -O2 -g -Wl,--build-id '%s' -o program", source("templates.cc"));
}

/* The path of the only entry. */
static const char *entry_path(void)
{
    char name[PATH_BYTES];
    ask(name, sizeof name, "ls -d home/symbols/*.symbols");
    return made(name);
}

static uint32_t count_files(const char *pattern)
{
    char count[32];
    ask(count, sizeof count, "find home/symbols -name '%s' | wc -l", pattern);
    return (uint32_t) atoi(count);
}

/* ---- what it is for ---- */

static void the_second_reading_takes_all_names_from_the_cache(void **state)
{
    (void) state;
    make_large_program();
    struct reading right = read_plain("program", 1);
    assert_non_null(strstr(right.text, " inlined"));
    assert_reading(read_cached("program", 1), &right, NONE);
    assert_reading(read_cached("program", 1), &right, ALL);
    assert_int_equal(count_files("*"), 2); /* the directory and one entry */
    free(right.text);
}

static void new_addresses_are_added_to_what_is_known(void **state)
{
    (void) state;
    make_large_program();
    struct reading right = read_plain("program", 1), part = read_plain("program", 3);
    assert_reading(read_cached("program", 3), &part, NONE);
    assert_reading(read_cached("program", 1), &right, SOME);
    assert_reading(read_cached("program", 1), &right, ALL);
    assert_reading(read_cached("program", 3), &part, ALL);
    free(part.text);
    free(right.text);
}

static void addresses_without_a_name_are_remembered_too(void **state)
{
    (void) state;
    make_program();
    run("strip program");
    struct reading right = read_plain("program", 1);
    assert_false(right.debug_info);
    assert_reading(read_cached("program", 1), &right, NONE);
    assert_reading(read_cached("program", 1), &right, ALL);
    free(right.text);
}

/* ---- other files with the same build-id ---- */

static void a_debug_file_that_is_installed_later_is_used(void **state)
{
    (void) state;
    make_program();
    struct reading whole = read_plain("program", 1);
    run("objcopy --only-keep-debug program program.debug && objcopy --strip-all program && "
        "objcopy --add-gnu-debuglink=program.debug program && mv program.debug later");
    struct reading bare = read_plain("program", 1);
    assert_string_not_equal(bare.text, whole.text);
    assert_reading(read_cached("program", 1), &bare, NONE);
    assert_reading(read_cached("program", 1), &bare, ALL);
    run("mv later program.debug");
    assert_reading(read_cached("program", 1), &whole, NONE);
    assert_reading(read_cached("program", 1), &whole, ALL);
    run("mv program.debug later");
    assert_reading(read_cached("program", 1), &bare, ALL);
    free(bare.text);
    free(whole.text);
}

static void a_file_that_was_changed_under_its_build_id_is_read_again(void **state)
{
    (void) state;
    make_home();
    run("gcc -O1 -g -Wl,--build-id=0x0123456789abcdef '%s' -o program", source("inlines.c"));
    struct reading before = read_plain("program", 1);
    assert_reading(read_cached("program", 1), &before, NONE);
    assert_reading(read_cached("program", 1), &before, ALL);
    run("sed 's/\\bfill\\b/full/g' '%s' >renamed.c && gcc -O1 -g -Wl,--build-id=0x0123456789abcdef renamed.c -o "
        "program",
        source("inlines.c"));
    struct reading after = read_plain("program", 1);
    assert_string_not_equal(before.text, after.text);
    assert_reading(read_cached("program", 1), &after, NONE);
    assert_reading(read_cached("program", 1), &after, ALL);
    free(before.text);
    free(after.text);
}

/* A .dwo file may come and go without a trace in the binary. */
static void units_in_dwo_files_are_not_remembered(void **state)
{
    (void) state;
    make_home();
    run("gcc -O2 -g -gsplit-dwarf -Wl,--build-id '%s' -o program", source("inlines.c"));
    struct reading whole = read_plain("program", 1);
    run("mkdir away && mv *.dwo away/");
    struct reading bare = read_plain("program", 1);
    assert_string_not_equal(bare.text, whole.text);
    assert_reading(read_cached("program", 1), &bare, NONE);
    run("mv away/* . && rmdir away");
    assert_reading(read_cached("program", 1), &whole, NONE);
    free(bare.text);
    free(whole.text);
}

static void names_are_not_remembered_while_the_file_of_dwz_is_missing(void **state)
{
    (void) state;
    if (!have("dwz"))
        skip();
    make_home();
    run("rm -f shared && g++ -std=c++17 -O2 -gdwarf-4 -Wl,--build-id '%s' -o program && cp program second && "
        "dwz -m shared -M shared program second 2>dwz.log",
        source("templates.cc"));
    if (access(made("shared"), F_OK))
        skip(); /* dwz found nothing to share on this machine */
    struct reading whole = read_plain("program", 1);
    run("mv shared away");
    struct reading bare = read_plain("program", 1);
    assert_string_not_equal(bare.text, whole.text);
    assert_reading(read_cached("program", 1), &bare, NONE);
    run("mv away shared");
    assert_reading(read_cached("program", 1), &whole, NONE);
    assert_reading(read_cached("program", 1), &whole, ALL);
    free(bare.text);
    free(whole.text);
}

/* ---- damage ---- */

static void assert_replaced(const struct reading *right)
{
    assert_reading(read_cached("program", 16), right, NONE);
    assert_reading(read_cached("program", 16), right, ALL);
}

/* Whichever byte is changed, the entry is not used. */
static void a_damaged_entry_is_ignored_and_replaced(void **state)
{
    (void) state;
    make_program();
    struct reading right = read_plain("program", 16);
    assert_replaced(&right);
    struct stat status;
    assert_int_equal(stat(entry_path(), &status), 0);
    for (off_t at = 0; at < status.st_size; at += at < 256 ? 1 : 61) {
        int fd = open(entry_path(), O_RDWR);
        unsigned char byte;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 0x20;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
        assert_replaced(&right);
    }
    free(right.text);
}

static void a_truncated_entry_is_ignored_and_replaced(void **state)
{
    (void) state;
    static const off_t sizes[] = {0, 1, 39, 40, 41, 200, 1000};
    struct stat status;
    make_program();
    struct reading right = read_plain("program", 16);
    assert_replaced(&right);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(truncate(entry_path(), sizes[i]), 0);
        assert_replaced(&right);
    }
    assert_int_equal(stat(entry_path(), &status), 0);
    assert_int_equal(truncate(entry_path(), status.st_size + 1), 0);
    assert_replaced(&right);
    free(right.text);
}

/* The checksum is no protection against somebody who can compute it. Numbers that lead outside are still not followed.
 */
static void an_entry_with_wrong_numbers_leads_nowhere(void **state)
{
    (void) state;
    make_program();
    struct reading right = read_plain("program", 16);
    assert_replaced(&right);
    run("python3 -c '\n"
        "import glob, struct, zlib\n"
        "path = glob.glob(\"home/symbols/*.symbols\")[0]\n"
        "data = bytearray(open(path, \"rb\").read())\n"
        "identity, answers, places, texts = struct.unpack_from(\"<4I\", data, 16)\n"
        "at = 40 + identity\n"
        "for i in range(answers):\n"
        "    struct.pack_into(\"<I\", data, at + 16 * i + 8, 2 ** 32 - 2 if i %% 2 else places)\n"
        "struct.pack_into(\"<I\", data, 12, zlib.crc32(data[16:]))\n"
        "open(path, \"wb\").write(data)'");
    struct reading reading = read_cached("program", 16);
    assert_string_equal(reading.text, right.text);
    free(reading.text);
    free(right.text);
}

static void half_written_files_are_not_used_and_removed_some_time(void **state)
{
    (void) state;
    make_program();
    struct reading right = read_plain("program", 16);
    run("mkdir -m 700 home/symbols && head -c 100 /dev/zero >home/symbols/.new-0123 && "
        "cp home/symbols/.new-0123 home/symbols/.new-4567 && touch -d '2 hours ago' home/symbols/.new-0123");
    assert_replaced(&right);
    assert_int_equal(count_files(".new-*"), 1);
    free(right.text);
}

/* ---- other users, links ---- */

/* Nothing is used or made. */
static void assert_unused(const struct reading *right)
{
    assert_reading(read_cached("program", 16), right, NONE);
    assert_reading(read_cached("program", 16), right, NONE);
}

static void a_directory_that_others_can_use_is_not_used(void **state)
{
    (void) state;
    make_program();
    struct reading right = read_plain("program", 16);
    assert_replaced(&right);
    run("chmod 0750 home/symbols");
    assert_unused(&right);
    run("chmod 0700 home/symbols && chmod 0777 home");
    assert_unused(&right);
    run("chmod 0711 home");
    assert_reading(read_cached("program", 16), &right, ALL);
    run("chmod 0644 home/symbols/*.symbols");
    assert_replaced(&right);
    free(right.text);
}

static void what_belongs_to_another_user_is_not_used(void **state)
{
    (void) state;
    if (geteuid() != 0)
        skip(); /* only root can give files away */
    make_program();
    struct reading right = read_plain("program", 16);
    assert_replaced(&right);
    run("chown %d home", OTHER_USER);
    assert_unused(&right);
    run("chown 0 home && chown %d home/symbols", OTHER_USER);
    assert_unused(&right);
    run("chown 0 home/symbols && chown %d home/symbols/*.symbols", OTHER_USER);
    assert_replaced(&right);
    run("rm -r home/symbols && chown %d home", OTHER_USER);
    assert_unused(&right);
    assert_int_not_equal(access(made("home/symbols"), F_OK), 0);
    free(right.text);
}

static void links_are_not_followed(void **state)
{
    (void) state;
    make_program();
    struct reading right = read_plain("program", 16);
    assert_replaced(&right);
    run("mv home/symbols home/elsewhere && ln -s elsewhere home/symbols");
    assert_unused(&right);
    run("rm -r home && mkdir -m 711 home");
    assert_replaced(&right);
    run("cd home/symbols && entry=$(echo *.symbols) && mv $entry ../entry && cp -p ../entry ../before && "
        "ln -s ../entry $entry");
    assert_replaced(&right);
    run("cmp home/entry home/before && test ! -L home/symbols/*.symbols");
    free(right.text);
}

/* ---- where it cannot be ---- */

static void without_a_directory_names_are_found_as_ever(void **state)
{
    (void) state;
    make_program();
    struct reading right = read_plain("program", 16);
    run("rm -r home");
    assert_unused(&right);
    run("touch home");
    assert_unused(&right);
    run("rm home && mkdir -m 711 home && touch home/symbols");
    assert_unused(&right);
    free(right.text);
}

/* Without the check, SIGXFSZ would end us. */
static void a_limit_on_file_sizes_is_respected(void **state)
{
    (void) state;
    make_program();
    struct reading right = read_plain("program", 16);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 100, .rlim_max = RLIM_INFINITY});
        struct reading reading = read_cached("program", 16);
        _exit(strcmp(reading.text, right.text) != 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count_files("*.symbols"), 0);
    free(right.text);
}

/* ---- bound ---- */

static uint64_t bytes_of(const char *name)
{
    struct stat status;
    assert_int_equal(stat(made(name), &status), 0);
    return (uint64_t) status.st_size;
}

static void the_entry_that_was_not_used_for_the_longest_time_goes_first(void **state)
{
    (void) state;
    static const char *const names[] = {"aaaaaaaa", "bbbbbbbb", "cccccccc"}; /* and build-ids */
    make_home();
    for (size_t i = 0; i < 3; i++)
        run("gcc -O1 -g -Wl,--build-id=0x%s '%s' -o %s", names[i], source("inlines.c"), names[i]);
    struct reading right = read_plain(names[0], 1);
    for (int i = 0; i < 2; i++) {
        free(read_cached(names[i], 1).text);
        run("touch -d '%d hours ago' home/symbols/%s-*", 9 - i, names[i]);
    }
    assert_reading(read_cached(names[0], 1), &right, ALL); /* now the second is the oldest */
    char name[PATH_BYTES];
    ask(name, sizeof name, "ls -d home/symbols/%s-*", names[0]);
    uint64_t bound = bytes_of(name) * 5 / 2;
    struct reading third =
        read_with(names[2], 1, (struct pl_symbolize_options){.cache = made("home"), .cache_bytes_max = bound});
    assert_int_equal(count_files("aaaaaaaa-*"), 1);
    assert_int_equal(count_files("bbbbbbbb-*"), 0);
    assert_int_equal(count_files("cccccccc-*"), 1);
    free(third.text);
    free(right.text);
}

static void files_that_are_not_entries_are_never_removed(void **state)
{
    (void) state;
    make_program();
    struct reading right = read_plain("program", 1);
    run("mkdir -m 700 home/symbols && head -c 100000 /dev/zero >home/symbols/thesis.symbols && "
        "touch -d '2 years ago' home/symbols/thesis.symbols");
    struct pl_symbolize_options small = {.cache = made("home"), .cache_bytes_max = 1};
    assert_reading(read_with("program", 1, small), &right, NONE);
    assert_int_equal(count_files("*.symbols"), 1);
    assert_int_equal(bytes_of("home/symbols/thesis.symbols"), 100000);
    free(right.text);
}

/* ---- many at once ---- */

#define WRITERS 6
#define ROUNDS 12

/* Each of them reads other addresses, so that each has something to write. */
static void work(uint32_t seed, const struct reading *right)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t stride = 2 + (seed * ROUNDS + round) % 7;
        struct reading plain = read_plain("program", stride), reading = read_cached("program", stride);
        if (strcmp(plain.text, reading.text))
            _exit(1);
        if (round % 4 == 3)
            run("rm -f home/symbols/*.symbols");
    }
    struct reading reading = read_cached("program", 16);
    _exit(strcmp(reading.text, right->text) != 0);
}

static void commands_that_run_at_once_do_not_disturb_each_other(void **state)
{
    (void) state;
    make_program();
    struct reading right = read_plain("program", 16);
    for (uint32_t i = 0; i < WRITERS; i++)
        if (fork() == 0)
            work(i, &right);
    for (uint32_t i = 0; i < WRITERS; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(".new-*"), 0);
    free(read_cached("program", 16).text);
    assert_reading(read_cached("program", 16), &right, ALL);
    free(right.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_reading_takes_all_names_from_the_cache),
        cmocka_unit_test(new_addresses_are_added_to_what_is_known),
        cmocka_unit_test(addresses_without_a_name_are_remembered_too),
        cmocka_unit_test(a_debug_file_that_is_installed_later_is_used),
        cmocka_unit_test(a_file_that_was_changed_under_its_build_id_is_read_again),
        cmocka_unit_test(units_in_dwo_files_are_not_remembered),
        cmocka_unit_test(names_are_not_remembered_while_the_file_of_dwz_is_missing),
        cmocka_unit_test(a_damaged_entry_is_ignored_and_replaced),
        cmocka_unit_test(a_truncated_entry_is_ignored_and_replaced),
        cmocka_unit_test(an_entry_with_wrong_numbers_leads_nowhere),
        cmocka_unit_test(half_written_files_are_not_used_and_removed_some_time),
        cmocka_unit_test(a_directory_that_others_can_use_is_not_used),
        cmocka_unit_test(what_belongs_to_another_user_is_not_used),
        cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(without_a_directory_names_are_found_as_ever),
        cmocka_unit_test(a_limit_on_file_sizes_is_respected),
        cmocka_unit_test(the_entry_that_was_not_used_for_the_longest_time_goes_first),
        cmocka_unit_test(files_that_are_not_entries_are_never_removed),
        cmocka_unit_test(commands_that_run_at_once_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
