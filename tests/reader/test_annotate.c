/* SPDX-License-Identifier: MIT */
/*
 * test_annotate.c - names and endings that are added to a finished file, which stays readable at any time.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "reader/describe.h"
#include "reader/write/annotate.h"
#include "forged_profile.h"

static off_t file_bytes(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_size;
}

/* Writes a profile of the scenario without symbols, and returns its path. */
static void write_bare(const char *scenario, char path[64])
{
    struct forge *forge = forge_build(scenario);
    forge_header(forge)->flags &= ~(uint32_t) PL_FLAG_SYMBOLS;
    forge_header(forge)->count[PL_KIND_SYMBOL] = 0;
    forge_to_file(forge, path);
    forge_free(forge);
}

/* Gives every frame two places named after the frame, the inner one inlined, all in one of eight files. */
static void name_frames(struct pl_profile *profile, size_t name_bytes)
{
    struct pl_place *place = calloc(2 * profile->frames, sizeof *place);
    assert_non_null(place);
    for (uint32_t i = 0; i < profile->frames; i++) {
        for (int p = 0; p < 2; p++) {
            char *name = malloc(name_bytes + 32), *file = malloc(32);
            assert_true(name && file);
            int used = sprintf(name, "f%u_%d_%llx_", i, p, (unsigned long long) profile->frame[i].address);
            memset(name + used, 'n', name_bytes);
            name[(size_t) used + name_bytes] = '\0';
            sprintf(file, "/src/file%u.c", i % 8);
            place[2 * i + (uint32_t) p] = (struct pl_place){
                .function = name, .linkage = "", .file = file, .line = i, .column = 7, .inlined = p == 0};
        }
        profile->frame[i].places = 2;
        profile->frame[i].place = &place[2 * i];
    }
}

static void forget_names(struct pl_profile *profile)
{
    for (uint32_t i = 0; i < 2 * profile->frames; i++) {
        free((void *) (uintptr_t) profile->frame[0].place[i].function);
        free((void *) (uintptr_t) profile->frame[0].place[i].file);
    }
    free((void *) (uintptr_t) profile->frame[0].place);
}

static void assert_same_places(const struct pl_profile *a, const struct pl_profile *b)
{
    assert_int_equal(a->frames, b->frames);
    for (uint32_t i = 0; i < a->frames; i++) {
        assert_int_equal(a->frame[i].places, b->frame[i].places);
        for (uint32_t p = 0; p < a->frame[i].places; p++) {
            const struct pl_place *x = &a->frame[i].place[p], *y = &b->frame[i].place[p];
            assert_string_equal(x->function, y->function);
            assert_string_equal(x->file, y->file);
            assert_int_equal(x->line, y->line);
            assert_int_equal(x->column, y->column);
            assert_int_equal(x->inlined, y->inlined);
        }
    }
}

static void round_trip(const char *scenario, size_t name_bytes)
{
    char path[64], why[PL_WHY_BYTES] = "";
    write_bare(scenario, path);
    struct pl_profile *before = open_file(path);
    assert_int_equal(before->frame[0].places, 0);
    name_frames(before, name_bytes);
    assert_int_equal(pl_annotate(path, before, why), 0);
    struct pl_profile *after = open_file(path);
    assert_same_places(before, after);
    assert_int_equal(after->damage, 0);
    assert_int_equal(after->sites, before->sites);
    assert_int_equal(after->samples, before->samples);
    assert_string_equal(after->executable, before->executable);
    forget_names(before);
    pl_profile_close(before);
    pl_profile_close(after);
    unlink(path);
}

static void names_read_back_as_they_were_written(void **state)
{
    (void) state;
    round_trip("leak", 1);
    round_trip("1k-stacks", 10);
}

static void names_of_thousands_of_characters_fit(void **state)
{
    (void) state;
    round_trip("1k-stacks", 4000);
    round_trip("leak", PL_CHUNK_BYTES - 40);
}

/* Lets the file use all chunks up to `chunk`, without writing them. */
static void use_chunks_up_to(const char *path, uint32_t chunk)
{
    uint64_t used;
    uint8_t unknown[PL_DIRECTORY_CHUNKS];
    int fd = open(path, O_RDWR);
    memset(unknown, PL_KINDS_MAX - 1, sizeof unknown);
    assert_int_equal(pread(fd, &used, sizeof used, offsetof(struct pl_header, chunks)), sizeof used);
    assert_int_equal(pwrite(fd, unknown, chunk - used, (off_t) pl_chunk_entry((uint32_t) used)), chunk - used);
    assert_int_equal(ftruncate(fd, (off_t) pl_chunk_offset(chunk)), 0);
    close(fd);
}

static void names_fit_behind_the_chunks_of_the_first_directory(void **state)
{
    (void) state;
    for (uint32_t left = 0; left < 3; left++) {
        char path[64], why[PL_WHY_BYTES] = "";
        write_bare("1k-stacks", path);
        use_chunks_up_to(path, PL_DIRECTORY_CHUNKS - 1 - left);
        struct pl_profile *before = open_file(path);
        name_frames(before, 1000);
        assert_int_equal(pl_annotate(path, before, why), 0);
        struct pl_profile *after = open_file(path);
        assert_same_places(before, after);
        assert_int_equal(after->damage, 0);
        assert_true(after->header.chunks > PL_DIRECTORY_CHUNKS);
        assert_int_equal(file_bytes(path), pl_chunk_offset((uint32_t) after->header.chunks));
        forget_names(before);
        pl_profile_close(before);
        pl_profile_close(after);
        unlink(path);
    }
}

static void a_name_longer_than_a_chunk_is_truncated(void **state)
{
    (void) state;
    char path[64], why[PL_WHY_BYTES] = "";
    write_bare("deep", path);
    struct pl_profile *before = open_file(path);
    name_frames(before, 3 * PL_CHUNK_BYTES);
    assert_int_equal(pl_annotate(path, before, why), 0);
    struct pl_profile *after = open_file(path);
    assert_int_equal(after->damage, 0);
    assert_int_equal(strlen(after->frame[0].place[0].function), PL_CHUNK_BYTES);
    forget_names(before);
    pl_profile_close(before);
    pl_profile_close(after);
    unlink(path);
}

static void frames_without_a_name_get_no_record(void **state)
{
    (void) state;
    static const struct pl_place nothing = {.function = "", .linkage = "", .file = ""};
    char path[64], why[PL_WHY_BYTES] = "";
    write_bare("leak", path);
    struct pl_profile *profile = open_file(path);
    for (uint32_t i = 0; i < profile->frames; i++) {
        profile->frame[i].places = 1;
        profile->frame[i].place = &nothing;
    }
    assert_int_equal(pl_annotate(path, profile, why), 0);
    pl_profile_close(profile);
    profile = open_file(path);
    assert_true(profile->header.flags & PL_FLAG_SYMBOLS);
    assert_int_equal(profile->header.count[PL_KIND_SYMBOL], 1);
    assert_int_equal(profile->frame[0].places, 0);
    pl_profile_close(profile);
    unlink(path);
}

static void a_file_that_has_symbols_is_not_changed(void **state)
{
    (void) state;
    char path[64], why[PL_WHY_BYTES] = "";
    struct forge *forge = forge_build("leak");
    forge_to_file(forge, path);
    forge_free(forge);
    struct pl_profile *profile = open_file(path);
    off_t bytes = file_bytes(path);
    assert_int_equal(pl_annotate(path, profile, why), 0);
    assert_int_equal(file_bytes(path), bytes);
    pl_profile_close(profile);
    unlink(path);
}

static void space_reserved_for_growth_is_cut_off(void **state)
{
    (void) state;
    char path[64], why[PL_WHY_BYTES] = "";
    write_bare("leak", path);
    off_t bytes = file_bytes(path);
    assert_int_equal(truncate(path, bytes + (1 << 20)), 0);
    struct pl_profile *profile = open_file(path);
    name_frames(profile, 1);
    assert_int_equal(pl_annotate(path, profile, why), 0);
    assert_true(file_bytes(path) <= bytes + 2 * (off_t) PL_CHUNK_BYTES);
    forget_names(profile);
    pl_profile_close(profile);
    unlink(path);
}

/* As if the first attempt had been killed just before its last write. */
static void an_interrupted_attempt_is_invisible_and_can_be_repeated(void **state)
{
    (void) state;
    char path[64], why[PL_WHY_BYTES] = "";
    write_bare("leak", path);
    struct pl_profile *profile = open_file(path);
    name_frames(profile, 1);
    assert_int_equal(pl_annotate(path, profile, why), 0);

    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint32_t flags = profile->header.flags;
    assert_int_equal(pwrite(fd, &flags, sizeof flags, offsetof(struct pl_header, flags)), sizeof flags);
    close(fd);
    struct pl_profile *without = open_file(path);
    assert_int_equal(without->frame[0].places, 0);
    assert_int_equal(without->damage, 0);
    pl_profile_close(without);

    assert_int_equal(pl_annotate(path, profile, why), 0);
    struct pl_profile *after = open_file(path);
    assert_same_places(profile, after);
    assert_int_equal(after->damage, 0);
    forget_names(profile);
    pl_profile_close(profile);
    pl_profile_close(after);
    unlink(path);
}

static void a_full_disk_leaves_the_profile_unchanged(void **state)
{
    (void) state;
    char path[64], why[PL_WHY_BYTES] = "";
    write_bare("1k-stacks", path);
    struct pl_profile *profile = open_file(path);
    name_frames(profile, 1000);
    struct rlimit old, tight;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = (struct rlimit){.rlim_cur = (rlim_t) file_bytes(path) + 50000, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    off_t bytes = file_bytes(path);
    int result = pl_annotate(path, profile, why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(result, -EFBIG);
    assert_non_null(strstr(why, "cannot write symbols to"));
    assert_int_equal(file_bytes(path), bytes);
    struct pl_profile *after = open_file(path);
    assert_int_equal(after->damage, 0);
    assert_int_equal(after->frame[0].places, 0);
    assert_int_equal(after->samples, profile->samples);
    forget_names(profile);
    pl_profile_close(profile);
    pl_profile_close(after);
    unlink(path);
}

static void symbols_of_another_process_are_refused(void **state)
{
    (void) state;
    char path[64], why[PL_WHY_BYTES] = "";
    write_bare("leak", path);
    struct pl_profile *profile = open_file(path);
    profile->header.pid++;
    assert_int_equal(pl_annotate(path, profile, why), -EINVAL);
    assert_non_null(strstr(why, "is not the profile that the symbols are for"));
    pl_profile_close(profile);
    unlink(path);
}

/* ---- endings ---- */

static void assert_ending(const struct pl_profile *profile, const char *expected)
{
    char ending[64];
    pl_describe_ending(profile, ending, sizeof ending);
    assert_string_equal(ending, expected);
}

static void a_wait_status_is_stored_and_shown(void **state)
{
    (void) state;
    static const struct {
        int status;
        const char *told;
    } cases[] = {
        {0, "exited 0"},
        {3 << 8, "exited 3"},
        {SIGKILL, "killed by SIGKILL"},
        {SIGSEGV | 0x80, "killed by SIGSEGV, core dumped"},
        {40, "killed by signal 40"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64], why[PL_WHY_BYTES] = "";
        write_bare("killed", path);
        struct pl_profile *profile = open_file(path);
        assert_ending(profile, "ended, exit status unknown");
        uint64_t end_ns = profile->header.start_monotonic_ns + 2500000000u;
        pl_profile_close(profile);
        assert_int_equal(pl_annotate_ending(path, cases[i].status, end_ns, why), 0);
        profile = open_file(path);
        assert_ending(profile, cases[i].told);
        assert_true(fabs(profile->duration_s - 2.5) < 1e-6);
        pl_profile_close(profile);
        unlink(path);
    }
}

static void the_ending_that_a_process_recorded_holds_until_a_wait_status_is_stored(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("leak");
    profile->header.exit_status = 4;
    assert_ending(profile, "exited 4");
    profile->header.end = PL_END_QUICK;
    assert_ending(profile, "exited 4");
    profile->header.flags |= PL_FLAG_WAITED;
    profile->header.wait_status = SIGTERM;
    assert_ending(profile, "killed by SIGTERM");
    profile->header.end = PL_END_EXEC; /* the wait status is that of the next program */
    assert_ending(profile, "became another program (exec)");
    pl_profile_close(profile);
}

static void the_end_time_that_a_process_recorded_is_kept(void **state)
{
    (void) state;
    char path[64], why[PL_WHY_BYTES] = "";
    write_bare("leak", path);
    assert_int_equal(pl_annotate_ending(path, 0, 1, why), 0);
    struct pl_profile *profile = open_file(path);
    assert_true(fabs(profile->duration_s - 12.8) < 1e-6);
    pl_profile_close(profile);
    unlink(path);
}

/* ---- running ---- */

/* Field 22, if the command has no spaces. */
static uint64_t start_ticks_of(pid_t pid)
{
    char name[64];
    unsigned long long ticks = 0;
    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    FILE *file = fopen(name, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file,
                            "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                            "%*d %llu",
                            &ticks),
                     1);
    fclose(file);
    return ticks;
}

static void write_for(pid_t pid, uint64_t ticks, char path[64])
{
    struct forge *forge = forge_build("killed");
    forge_header(forge)->pid = (uint32_t) pid;
    forge_header(forge)->start_ticks = ticks;
    forge_to_file(forge, path);
    forge_free(forge);
}

static bool told_running(const char *path)
{
    struct pl_profile *profile = open_file(path);
    bool running = profile->running;
    if (running)
        assert_ending(profile, "running");
    pl_profile_close(profile);
    return running;
}

static void a_process_is_running_if_pid_and_start_time_match(void **state)
{
    (void) state;
    char path[64];
    write_for(getpid(), start_ticks_of(getpid()), path);
    assert_true(told_running(path));
    unlink(path);
    write_for(getpid(), start_ticks_of(getpid()) + 1, path); /* an earlier process with our pid */
    assert_false(told_running(path));
    unlink(path);
    write_for(0, 0, path);
    assert_false(told_running(path));
    unlink(path);
}

static void a_zombie_is_not_running(void **state)
{
    (void) state;
    char path[64];
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t) child, &info, WEXITED | WNOWAIT), 0);
    write_for(child, start_ticks_of(child), path);
    assert_false(told_running(path));
    unlink(path);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void the_file_of_a_running_process_is_not_annotated(void **state)
{
    (void) state;
    char path[64], why[PL_WHY_BYTES] = "";
    write_for(getpid(), start_ticks_of(getpid()), path);
    struct pl_profile *profile = open_file(path);
    assert_int_equal(pl_annotate(path, profile, why), -EBUSY);
    assert_int_equal(pl_annotate_ending(path, 0, 0, why), -EBUSY);
    assert_non_null(strstr(why, "is still being written by process"));
    pl_profile_close(profile);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_read_back_as_they_were_written),
        cmocka_unit_test(names_of_thousands_of_characters_fit),
        cmocka_unit_test(names_fit_behind_the_chunks_of_the_first_directory),
        cmocka_unit_test(a_name_longer_than_a_chunk_is_truncated),
        cmocka_unit_test(frames_without_a_name_get_no_record),
        cmocka_unit_test(a_file_that_has_symbols_is_not_changed),
        cmocka_unit_test(space_reserved_for_growth_is_cut_off),
        cmocka_unit_test(an_interrupted_attempt_is_invisible_and_can_be_repeated),
        cmocka_unit_test(a_full_disk_leaves_the_profile_unchanged),
        cmocka_unit_test(symbols_of_another_process_are_refused),
        cmocka_unit_test(a_wait_status_is_stored_and_shown),
        cmocka_unit_test(the_ending_that_a_process_recorded_holds_until_a_wait_status_is_stored),
        cmocka_unit_test(the_end_time_that_a_process_recorded_is_kept),
        cmocka_unit_test(a_process_is_running_if_pid_and_start_time_match),
        cmocka_unit_test(a_zombie_is_not_running),
        cmocka_unit_test(the_file_of_a_running_process_is_not_annotated),
    };
    return cmocka_run_group_tests_name("annotate", tests, NULL, NULL);
}
