/* SPDX-License-Identifier: MIT */
/*
 * test_symbolize.c - whole profiles: which file is trusted, which name is chosen, which address is looked up.
 *
 * The tests construct profiles by hand, as pl_profile_open() would return them.
 */
#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "workshop.h"

#define FRAMES_MAX 16
#define MODULES_MAX 8

struct bench {
    struct pl_profile profile;
    struct pl_frame_view frame[FRAMES_MAX];
    struct pl_module_view module[MODULES_MAX];
    struct pl_module_status status[MODULES_MAX];
};

static void start(struct bench *bench)
{
    memset(bench, 0, sizeof *bench);
    bench->profile.arena = pl_arena_new();
    bench->profile.frame = bench->frame;
    bench->profile.module = bench->module;
    bench->profile.directory = "/";
    bench->profile.header.uid = getuid();
    bench->module[bench->profile.modules++].path = ""; /* for addresses without a module */
}

static void stop(struct bench *bench)
{
    pl_arena_free(bench->profile.arena);
}

static uint32_t add_module(struct bench *bench, const char *path, const char *build_id)
{
    struct pl_module_view *module = &bench->module[bench->profile.modules];
    module->path = path;
    snprintf(module->build_id, sizeof module->build_id, "%s", build_id);
    return bench->profile.modules++;
}

/* Adds a module as the runtime would have recorded it. */
static uint32_t add_file(struct bench *bench, const char *path)
{
    struct pl_elf *elf = open_elf(path, NULL);
    uint32_t module = add_module(bench, path, pl_elf_build_id(elf));
    bench->module[module].fingerprint = pl_elf_fingerprint(elf);
    pl_elf_close(elf);
    return module;
}

static struct pl_frame_view *add_frame(struct bench *bench, uint32_t module, uint64_t address, uint64_t flags)
{
    struct pl_frame_view *frame = &bench->frame[bench->profile.frames++];
    *frame = (struct pl_frame_view){.module = module, .address = address, .flags = flags};
    return frame;
}

static void symbolize(struct bench *bench, struct pl_symbolize_options options)
{
    assert_int_equal(pl_symbolize(&bench->profile, &options, bench->status), 0);
    for (uint32_t i = 0; i < bench->profile.frames; i++) {
        assert_true(bench->frame[i].places >= 1);
        assert_non_null(bench->frame[i].place);
    }
}

/* The outermost function of a frame. */
static const char *function_of(const struct pl_frame_view *frame)
{
    return frame->place[frame->places - 1].function;
}

static void build_program(void)
{
    run("gcc -O1 -g -Wl,--build-id '%s' -o program", source("inlines.c"));
}

/* A profile with a module, the program. Returns the module. */
static uint32_t start_with_program(struct bench *bench)
{
    start(bench);
    build_program();
    return add_file(bench, made("program"));
}

static void a_return_address_belongs_to_the_call_before_it(void **state)
{
    (void) state;
    struct bench bench;
    uint32_t module = start_with_program(&bench);
    uint64_t drain = address_of(made("program"), "drain"), main = address_of(made("program"), "main");
    uint64_t first = drain < main ? main : drain; /* the one that comes second */
    const char *here = drain < main ? "main" : "drain";
    struct pl_frame_view *returned = add_frame(&bench, module, first, 0);
    struct pl_frame_view *interrupted = add_frame(&bench, module, first, PL_FRAME_EXACT);
    struct pl_frame_view *inside = add_frame(&bench, module, first + 1, 0);
    symbolize(&bench, (struct pl_symbolize_options){0});
    assert_string_not_equal(function_of(returned), here);
    assert_string_equal(function_of(interrupted), here);
    assert_string_equal(function_of(inside), here);
    assert_int_equal(bench.status[module].state, PL_MODULE_OK);
    assert_true(bench.status[module].debug_info);
    assert_true(inside->place[0].line > 0);
    stop(&bench);
}

static void a_rebuilt_binary_is_stale_and_not_used(void **state)
{
    (void) state;
    struct bench bench;
    uint32_t module = start_with_program(&bench);
    char before[PL_BUILD_ID_TEXT];
    snprintf(before, sizeof before, "%s", bench.module[module].build_id);
    run("rm program && gcc -O0 -g -Wl,--build-id '%s' -o program", source("inlines.c"));
    struct pl_frame_view *frame = add_frame(&bench, module, address_of(made("program"), "fill") + 1, 0);
    symbolize(&bench, (struct pl_symbolize_options){0});
    assert_int_equal(bench.status[module].state, PL_MODULE_STALE);
    assert_string_equal(function_of(frame), "");
    assert_int_equal(strlen(bench.status[module].now), strlen(before));
    assert_string_not_equal(bench.status[module].now, before);
    frame->places = 0;
    symbolize(&bench, (struct pl_symbolize_options){.force = true});
    assert_int_equal(bench.status[module].state, PL_MODULE_STALE);
    assert_string_equal(function_of(frame), "fill");
    stop(&bench);
}

static void without_build_id_the_fingerprint_reveals_a_rebuilt_binary(void **state)
{
    (void) state;
    struct bench bench;
    start(&bench);
    run("gcc -O1 -g -Wl,--build-id=none '%s' -o program", source("inlines.c"));
    uint32_t module = add_file(&bench, made("program"));
    assert_string_equal(bench.module[module].build_id, "");
    struct pl_frame_view *frame = add_frame(&bench, module, address_of(made("program"), "fill") + 1, 0);
    symbolize(&bench, (struct pl_symbolize_options){0});
    assert_int_equal(bench.status[module].state, PL_MODULE_OK);
    assert_string_equal(function_of(frame), "fill");
    run("rm program && gcc -O0 -g -Wl,--build-id=none '%s' -o program", source("inlines.c"));
    frame->places = 0;
    symbolize(&bench, (struct pl_symbolize_options){0});
    assert_int_equal(bench.status[module].state, PL_MODULE_STALE);
    assert_string_equal(function_of(frame), "");
    stop(&bench);
}

static void missing_and_unreadable_modules_are_reported(void **state)
{
    (void) state;
    static const struct {
        const char *path;
        enum pl_module_state state;
    } expected[] = {
        {"/no/such/file", PL_MODULE_MISSING},  {"/bin/sh (deleted)", PL_MODULE_MISSING}, {"[vdso]", PL_MODULE_NO_ELF},
        {"linux-vdso.so.1", PL_MODULE_NO_ELF}, {"/proc/self/maps", PL_MODULE_NO_ELF},    {"/tmp", PL_MODULE_NO_ELF},
    };
    struct bench bench;
    start(&bench);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        add_frame(&bench, add_module(&bench, expected[i].path, "00112233"), 0x1234, 0);
    symbolize(&bench, (struct pl_symbolize_options){0});
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(bench.status[i + 1].state, expected[i].state);
        assert_false(bench.status[i + 1].debug_info);
        assert_int_equal(bench.frame[i].places, 1);
        assert_string_equal(function_of(&bench.frame[i]), "");
    }
    stop(&bench);
}

static void relative_paths_start_in_the_directory_of_the_process(void **state)
{
    (void) state;
    struct bench bench;
    uint32_t module = start_with_program(&bench);
    bench.module[module].path = "program";
    bench.profile.directory = made(".");
    struct pl_frame_view *frame = add_frame(&bench, module, address_of(made("program"), "fill") + 1, 0);
    symbolize(&bench, (struct pl_symbolize_options){0});
    assert_string_equal(function_of(frame), "fill");
    stop(&bench);
}

static void a_gap_is_not_looked_up(void **state)
{
    (void) state;
    struct bench bench;
    uint32_t module = start_with_program(&bench);
    struct pl_frame_view *gap = add_frame(&bench, module, address_of(made("program"), "fill") + 1, PL_FRAME_GAP);
    symbolize(&bench, (struct pl_symbolize_options){0});
    assert_string_equal(function_of(gap), "");
    stop(&bench);
}

static void frames_at_one_address_share_their_places(void **state)
{
    (void) state;
    struct bench bench;
    uint32_t module = start_with_program(&bench);
    uint64_t fill = address_of(made("program"), "fill");
    struct pl_frame_view *one = add_frame(&bench, module, fill + 5, 0);
    struct pl_frame_view *two = add_frame(&bench, module, fill + 4, PL_FRAME_EXACT);
    symbolize(&bench, (struct pl_symbolize_options){0});
    assert_ptr_equal(one->place, two->place);
    assert_int_equal(one->places, two->places);
    stop(&bench);
}

/* ---- stored symbols ---- */

static const struct pl_place stored = {.function = "stored", .linkage = "", .file = "stored.c", .line = 7};
static const struct pl_place stored_without_line = {.function = "stored", .linkage = "", .file = ""};

static void stored_names_are_used_if_the_binary_is_missing(void **state)
{
    (void) state;
    struct bench bench;
    start(&bench);
    uint32_t module = add_module(&bench, "/no/such/file", "00112233");
    struct pl_frame_view *frame = add_frame(&bench, module, 0x1234, 0);
    frame->place = &stored_without_line;
    frame->places = 1;
    symbolize(&bench, (struct pl_symbolize_options){0});
    assert_string_equal(function_of(frame), "stored");
    stop(&bench);
}

static void stored_names_take_precedence_over_a_stale_binary_even_with_force(void **state)
{
    (void) state;
    struct bench bench;
    start(&bench);
    build_program();
    uint32_t module = add_module(&bench, made("program"), "00112233");
    struct pl_frame_view *frame = add_frame(&bench, module, address_of(made("program"), "fill") + 1, 0);
    frame->place = &stored_without_line;
    frame->places = 1;
    symbolize(&bench, (struct pl_symbolize_options){.force = true});
    assert_string_equal(function_of(frame), "stored");
    stop(&bench);
}

static void a_stored_line_is_final_but_a_missing_one_is_looked_up(void **state)
{
    (void) state;
    struct bench bench;
    uint32_t module = start_with_program(&bench);
    uint64_t fill = address_of(made("program"), "fill");
    struct pl_frame_view *complete = add_frame(&bench, module, fill + 1, 0);
    struct pl_frame_view *partial = add_frame(&bench, module, fill + 2, 0);
    complete->place = &stored;
    partial->place = &stored_without_line;
    complete->places = partial->places = 1;
    symbolize(&bench, (struct pl_symbolize_options){0});
    assert_string_equal(function_of(complete), "stored");
    assert_string_equal(function_of(partial), "fill");
    stop(&bench);
}

/* ---- JIT ---- */

#define JIT_PID 4194305u /* larger than any pid of Linux */
#define JIT_MAP "/tmp/perf-4194305.map"

static void write_map(mode_t mode)
{
    FILE *file = fopen(JIT_MAP, "w");
    assert_non_null(file);
    fprintf(file, "10000 100 first\n"
                  "10040 10 second, with a space\n"
                  "rubbish\n"
                  "20000 zz none\n"
                  "30000 0 empty\n"
                  "fffffffffffffff0 100 beyond\n"
                  "10040 8 third: newer code at an old address\n"
                  "40000 10 last line without an end");
    fclose(file);
    assert_int_equal(chmod(JIT_MAP, mode), 0);
}

static const char *jit_name(uint64_t address, uint64_t start_ns)
{
    static char name[256];
    struct bench bench;
    start(&bench);
    bench.profile.header.pid = JIT_PID;
    bench.profile.header.start_realtime_ns = start_ns;
    struct pl_frame_view *frame = add_frame(&bench, 0, address, PL_FRAME_EXACT);
    symbolize(&bench, (struct pl_symbolize_options){0});
    assert_int_equal(bench.status[0].state, PL_MODULE_NO_ELF);
    snprintf(name, sizeof name, "%s", function_of(frame));
    stop(&bench);
    return name;
}

static void a_perf_map_names_code_without_a_module(void **state)
{
    (void) state;
    write_map(0644);
    assert_string_equal(jit_name(0x10000, 0), "first");
    assert_string_equal(jit_name(0x100ff, 0), "first");
    assert_string_equal(jit_name(0x10100, 0), "");
    assert_string_equal(jit_name(0x10048, 0), "second, with a space");
    assert_string_equal(jit_name(0x10047, 0), "third: newer code at an old address");
    assert_string_equal(jit_name(0x20000, 0), "");
    assert_string_equal(jit_name(0x40001, 0), "last line without an end");
    unlink(JIT_MAP);
    assert_string_equal(jit_name(0x10000, 0), "");
}

static void a_perf_map_that_others_may_write_is_not_used(void **state)
{
    (void) state;
    write_map(0666);
    assert_string_equal(jit_name(0x10000, 0), "");
    write_map(0664);
    assert_string_equal(jit_name(0x10000, 0), "");
    unlink(JIT_MAP);
    assert_int_equal(symlink(made("map"), JIT_MAP), 0);
    run("echo 10000 100 linked >map");
    assert_string_equal(jit_name(0x10000, 0), "");
    unlink(JIT_MAP);
    assert_int_equal(mkfifo(JIT_MAP, 0600), 0);
    assert_string_equal(jit_name(0x10000, 0), "");
    unlink(JIT_MAP);
}

static void a_perf_map_of_an_earlier_process_is_not_used(void **state)
{
    (void) state;
    uint64_t now_ns = (uint64_t) time(NULL) * 1000000000ull;
    write_map(0644);
    assert_string_equal(jit_name(0x10000, now_ns - 5000000000ull), "first");
    assert_string_equal(jit_name(0x10000, now_ns + 10000000000ull), "");
    unlink(JIT_MAP);
}

static void a_perf_map_of_another_user_is_not_used(void **state)
{
    (void) state;
    write_map(0644);
    if (getuid() == 0)
        assert_int_equal(chown(JIT_MAP, 65534, 65534), 0);
    struct bench bench;
    start(&bench);
    bench.profile.header.pid = JIT_PID;
    bench.profile.header.uid = 12345;
    struct pl_frame_view *frame = add_frame(&bench, 0, 0x10000, PL_FRAME_EXACT);
    symbolize(&bench, (struct pl_symbolize_options){0});
    assert_string_equal(function_of(frame), "");
    stop(&bench);
    unlink(JIT_MAP);
}

/* ---- progress ---- */

static void note_progress(void *context, double fraction)
{
    double *last = context;
    assert_true(fraction >= *last && fraction <= 1.0);
    *last = fraction;
}

static void progress_rises_to_one(void **state)
{
    (void) state;
    struct bench bench;
    double last = 0;
    start(&bench);
    build_program();
    uint32_t module = add_file(&bench, made("program"));
    for (uint32_t i = 0; i < FRAMES_MAX; i++)
        add_frame(&bench, i % 2 ? module : 0, 0x1000 + i, 0);
    symbolize(&bench, (struct pl_symbolize_options){.progress = note_progress, .context = &last});
    assert_true(last == 1.0);
    stop(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_return_address_belongs_to_the_call_before_it),
        cmocka_unit_test(a_rebuilt_binary_is_stale_and_not_used),
        cmocka_unit_test(without_build_id_the_fingerprint_reveals_a_rebuilt_binary),
        cmocka_unit_test(missing_and_unreadable_modules_are_reported),
        cmocka_unit_test(relative_paths_start_in_the_directory_of_the_process),
        cmocka_unit_test(a_gap_is_not_looked_up),
        cmocka_unit_test(frames_at_one_address_share_their_places),
        cmocka_unit_test(stored_names_are_used_if_the_binary_is_missing),
        cmocka_unit_test(stored_names_take_precedence_over_a_stale_binary_even_with_force),
        cmocka_unit_test(a_stored_line_is_final_but_a_missing_one_is_looked_up),
        cmocka_unit_test(a_perf_map_names_code_without_a_module),
        cmocka_unit_test(a_perf_map_that_others_may_write_is_not_used),
        cmocka_unit_test(a_perf_map_of_an_earlier_process_is_not_used),
        cmocka_unit_test(a_perf_map_of_another_user_is_not_used),
        cmocka_unit_test(progress_rises_to_one),
    };
    return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
