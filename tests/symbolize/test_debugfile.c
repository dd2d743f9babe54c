/* SPDX-License-Identifier: MIT */
/*
 * test_debugfile.c - the identity of a binary, and debug information in separate files.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/stat.h>

#include "workshop.h"

/* `whole` has everything, `program` is stripped, `program.debug` has the debug information. */
static void split_program(const char *flags)
{
    run("rm -rf program program.debug .debug debug && gcc -O2 -g %s '%s' -o whole && "
        "objcopy --only-keep-debug whole program.debug && objcopy --strip-all whole program",
        flags, source("inlines.c"));
}

/* Installs `file` below `directory` under the path of its build-id. */
static void install(const char *file, const char *directory)
{
    char id[PL_BUILD_ID_TEXT];
    struct pl_elf *elf = open_elf(made(file), NULL);
    snprintf(id, sizeof id, "%s", pl_elf_build_id(elf));
    pl_elf_close(elf);
    assert_int_equal(strlen(id), 40);
    run("mkdir -p %s/.build-id/%.2s && cp %s %s/.build-id/%.2s/%s.debug", directory, id, file, directory, id, id + 2);
}

/* The stripped program must give the same answers as the whole one. */
static void assert_complete(const struct pl_elf_options *options)
{
    struct pl_elf *elf = open_elf(made("program"), options);
    assert_true(pl_elf_has_dwarf(elf));
    assert_true(assert_agrees_with_llvm(elf, made("whole"), 1) > 50);
    assert_string_equal(find(elf, address_of(made("whole"), "fill")).place[0].function, "fill");
    pl_elf_close(elf);
}

static void assert_no_lines(const struct pl_elf_options *options)
{
    struct pl_elf *elf = open_elf(made("program"), options);
    assert_false(pl_elf_has_dwarf(elf));
    assert_int_equal(find(elf, address_of(made("whole"), "fill")).places, 0);
    pl_elf_close(elf);
}

static void a_build_id_finds_the_debug_file(void **state)
{
    (void) state;
    split_program("-Wl,--build-id");
    install("program.debug", "debug");
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/nowhere:%s", made("debug"));
    assert_complete(&(struct pl_elf_options){.debug_path = path});
    assert_no_lines(&(struct pl_elf_options){.debug_path = made("elsewhere")});
}

static void a_debug_file_of_another_build_is_not_used(void **state)
{
    (void) state;
    split_program("-Wl,--build-id");
    install("program.debug", "debug");
    run("gcc -O1 -g -Wl,--build-id '%s' -o other && objcopy --only-keep-debug other other.debug && "
        "cp other.debug debug/.build-id/*/*.debug",
        source("inlines.c"));
    assert_no_lines(&(struct pl_elf_options){.debug_path = made("debug")});
}

static void a_debug_link_finds_the_file_beside_the_binary(void **state)
{
    (void) state;
    struct pl_elf_options options = {.debug_path = made("elsewhere")};
    split_program("-Wl,--build-id");
    run("objcopy --add-gnu-debuglink=program.debug program");
    assert_complete(&options);
    run("mkdir .debug && mv program.debug .debug/");
    assert_complete(&options);
}

static void a_debug_link_finds_the_file_below_a_debug_directory(void **state)
{
    (void) state;
    split_program("-Wl,--build-id");
    run("objcopy --add-gnu-debuglink=program.debug program && mkdir -p \"debug$(pwd -P)\" && "
        "mv program.debug \"debug$(pwd -P)/\"");
    assert_complete(&(struct pl_elf_options){.debug_path = made("debug")});
}

static void without_a_build_id_the_checksum_decides(void **state)
{
    (void) state;
    struct pl_elf_options options = {.debug_path = made("elsewhere")};
    split_program("-Wl,--build-id=none");
    run("objcopy --add-gnu-debuglink=program.debug program");
    assert_complete(&options);
    run("printf x >>program.debug");
    assert_no_lines(&options);
}

static void debug_information_that_dwz_shares_between_files_is_found(void **state)
{
    (void) state;
    if (!have("dwz"))
        skip();
    run("rm -rf program program.debug debug && mkdir debug && "
        "g++ -std=c++17 -O2 -gdwarf-4 -Wl,--build-id '%s' -o whole && g++ -std=c++17 -O1 -gdwarf-4 '%s' -o second && "
        "cp whole program && dwz -m shared -M shared program second 2>dwz.log",
        source("templates.cc"), source("templates.cc"));
    struct stat status;
    if (stat(made("shared"), &status) != 0)
        skip(); /* dwz found nothing to share on this machine */
    run("readelf -S program | grep -q gnu_debugaltlink");
    /* libdw finds it by the name in the file. */
    struct pl_elf *elf = open_elf(made("program"), NULL);
    assert_agrees_with_llvm(elf, made("whole"), 1);
    pl_elf_close(elf);
    /* We find it by build-id in our debug directories. */
    install("shared", "debug");
    run("mv shared away");
    elf = open_elf(made("program"), &(struct pl_elf_options){.debug_path = made("debug")});
    struct pl_elf *poor = open_elf(made("program"), NULL);
    struct text text = text_of(made("program"));
    uint32_t named = 0, named_poorly = 0;
    for (uint64_t address = text.low; address < text.high; address++) {
        struct found found = find(elf, address), less = find(poor, address);
        assert_int_equal(found.places, less.places);
        for (uint32_t i = 0; i < found.places; i++) {
            named += found.place[i].function[0] != '\0';
            named_poorly += less.place[i].function[0] != '\0';
        }
    }
    assert_true(named > named_poorly);
    pl_elf_close(elf);
    pl_elf_close(poor);
}

static void the_debug_file_alone_gives_the_names_of_a_missing_binary(void **state)
{
    (void) state;
    split_program("-Wl,--build-id");
    install("program.debug", "debug");
    struct pl_elf *program = open_elf(made("program"), NULL), *elf = NULL;
    struct pl_elf_options options = {.debug_path = made("debug")};
    assert_int_equal(pl_elf_open_build_id(pl_elf_build_id(program), &options, &elf), 0);
    assert_true(assert_agrees_with_llvm(elf, made("whole"), 1) > 50);
    pl_elf_close(elf);
    assert_int_not_equal(pl_elf_open_build_id("", &options, &elf), 0);
    assert_int_not_equal(pl_elf_open_build_id("0123456789", &options, &elf), 0);
    pl_elf_close(program);
}

static void a_server_is_asked_only_if_one_is_configured(void **state)
{
    (void) state;
    char url[PATH_BYTES];
    split_program("-Wl,--build-id");
    struct pl_elf *program = open_elf(made("program"), NULL);
    run("mkdir -p server/buildid/%s && cp program.debug server/buildid/%s/debuginfo", pl_elf_build_id(program),
        pl_elf_build_id(program));
    pl_elf_close(program);
    assert_null(pl_debuginfod_new());
    snprintf(url, sizeof url, "file://%s", made("server"));
    setenv("DEBUGINFOD_URLS", url, 1);
    setenv("DEBUGINFOD_CACHE_PATH", made("cache"), 1);
    struct pl_debuginfod *server = pl_debuginfod_new();
    unsetenv("DEBUGINFOD_URLS");
    if (!server)
        skip(); /* libdebuginfod is not installed */
    setenv("DEBUGINFOD_URLS", url, 1);
    assert_complete(&(struct pl_elf_options){.debug_path = made("elsewhere"), .server = server});
    pl_debuginfod_free(server);
    unsetenv("DEBUGINFOD_URLS");
}

static void a_server_that_does_not_answer_is_asked_once(void **state)
{
    (void) state;
    setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1/", 1);
    setenv("DEBUGINFOD_CACHE_PATH", made("cache2"), 1);
    struct pl_debuginfod *server = pl_debuginfod_new();
    struct pl_binary file;
    if (!server)
        skip();
    assert_int_not_equal(pl_debuginfod_find(server, "0123456789abcdef", &file), 0);
    assert_int_equal(pl_debuginfod_find(server, "0123456789abcdef", &file), -ETIMEDOUT);
    pl_debuginfod_free(server);
    unsetenv("DEBUGINFOD_URLS");
}

/* ---- identity ---- */

static uint64_t fnv(uint64_t hash, const void *data, size_t bytes)
{
    for (const unsigned char *byte = data; bytes-- > 0; byte++)
        hash = (hash ^ *byte) * 0x100000001b3ull;
    return hash;
}

/* Reads the image in memory, like the runtime. */
static int compare_loaded(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void) bytes;
    uint32_t *compared = context;
    const ElfW(Ehdr) *header = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_offset == 0)
            header = (const void *) (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    if (!header || path[0] != '/')
        return 0;
    uint64_t hash = fnv(0xcbf29ce484222325ull, header, 64);
    hash = fnv(hash, (const char *) header + header->e_phoff, (size_t) header->e_phnum * header->e_phentsize);
    struct pl_elf *elf = open_elf(path, NULL);
    assert_int_equal(pl_elf_fingerprint(elf), hash);
    pl_elf_close(elf);
    ++*compared;
    return 0;
}

static void the_fingerprint_is_that_of_the_loaded_image(void **state)
{
    (void) state;
    uint32_t compared = 0;
    dl_iterate_phdr(compare_loaded, &compared);
    assert_true(compared >= 4); /* this program, libc, libdw, libelf */
}

static void builds_without_build_id_differ_in_their_fingerprint(void **state)
{
    (void) state;
    run("gcc -O1 -Wl,--build-id=none '%s' -o one && gcc -O0 -Wl,--build-id=none '%s' -o two", source("inlines.c"),
        source("inlines.c"));
    struct pl_elf *one = open_elf(made("one"), NULL), *two = open_elf(made("two"), NULL);
    assert_string_equal(pl_elf_build_id(one), "");
    assert_true(pl_elf_fingerprint(one) != pl_elf_fingerprint(two));
    pl_elf_close(one);
    pl_elf_close(two);
}

static void the_build_id_is_the_one_readelf_shows(void **state)
{
    (void) state;
    char id[PATH_BYTES];
    run("gcc -O1 -Wl,--build-id '%s' -o program", source("inlines.c"));
    ask(id, sizeof id, "readelf -n program | awk '/Build ID/ {print $3}'");
    struct pl_elf *elf = open_elf(made("program"), NULL);
    assert_string_equal(pl_elf_build_id(elf), id);
    pl_elf_close(elf);
}

static void a_file_that_is_not_elf_is_refused_with_a_reason(void **state)
{
    (void) state;
    struct pl_elf *elf = NULL;
    char why[PL_WHY_BYTES] = "";
    run("echo text >text && : >empty && mkfifo pipe && printf '\\177ELF' >short && ar rc archive.a text");
    static const char *const name[] = {"text", "empty", "pipe", "archive.a", "", "nothing"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        why[0] = '\0';
        assert_true(pl_elf_open(made(name[i]), &elf, why) < 0);
        assert_non_null(strstr(why, made(name[i])));
        assert_null(elf);
    }
    pl_elf_open(made("short"), &elf, why); /* may succeed or fail, but must not crash */
    pl_elf_close(elf);
}

static void symbolic_links_stay_inside_the_system_root(void **state)
{
    (void) state;
    run("mkdir -p root/lib && gcc -O1 '%s' -o root/lib/real && ln -s /lib/real root/link", source("inlines.c"));
    struct pl_elf *elf = open_elf("/link", &(struct pl_elf_options){.sysroot = made("root")});
    assert_string_equal(find(elf, address_of(made("root/lib/real"), "fill")).place[0].function, "fill");
    pl_elf_close(elf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_build_id_finds_the_debug_file),
        cmocka_unit_test(a_debug_file_of_another_build_is_not_used),
        cmocka_unit_test(a_debug_link_finds_the_file_beside_the_binary),
        cmocka_unit_test(a_debug_link_finds_the_file_below_a_debug_directory),
        cmocka_unit_test(without_a_build_id_the_checksum_decides),
        cmocka_unit_test(debug_information_that_dwz_shares_between_files_is_found),
        cmocka_unit_test(the_debug_file_alone_gives_the_names_of_a_missing_binary),
        cmocka_unit_test(a_server_is_asked_only_if_one_is_configured),
        cmocka_unit_test(a_server_that_does_not_answer_is_asked_once),
        cmocka_unit_test(the_fingerprint_is_that_of_the_loaded_image),
        cmocka_unit_test(builds_without_build_id_differ_in_their_fingerprint),
        cmocka_unit_test(the_build_id_is_the_one_readelf_shows),
        cmocka_unit_test(a_file_that_is_not_elf_is_refused_with_a_reason),
        cmocka_unit_test(symbolic_links_stay_inside_the_system_root),
    };
    return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
