/* SPDX-License-Identifier: MIT */
/*
 * test_file.c - what file.h promises: records keep their places, growth stops where it must, and nothing else is
 * touched.
 *
 * file.c is part of this program, so that each test can begin with the tables of a new process.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "file.c"

#define LIMIT (4u << 20)
#define SMALL (256u << 10)
#define THREADS 4

static struct pl_file file;

static int open_file(uint64_t limit_bytes)
{
    memset(&file, 0, sizeof file);
    memset(&chunks, 0, sizeof chunks);
    new_directory();
    return pl_file_create(&file, in_directory("x.plim"), limit_bytes) == 0 ? 0 : -1;
}

static int large_file(void **state)
{
    (void) state;
    return open_file(LIMIT);
}

static int small_file(void **state)
{
    (void) state;
    return open_file(SMALL);
}

static int drop_file(void **state)
{
    (void) state;
    if (file.base)
        munmap(file.base, file.mapped_bytes);
    inherited.base = NULL;
    close(file.fd);
    drop_directory();
    return 0;
}

static uint64_t lost(enum pl_loss loss)
{
    return pl_file_header(&file)->losses[loss];
}

static uint32_t append(enum pl_kind kind)
{
    uint32_t *at;
    uint32_t number = pl_file_append(&file, kind, (void **) &at);
    if (number)
        *at = number;
    return number;
}

static off_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : -1;
}

/* A record as a reader finds it: by the directory in the file, and by nothing the writer remembers. */
static uint32_t first_word(int fd, enum pl_kind kind, uint32_t number)
{
    uint8_t directory[PL_CHUNKS_MAX];
    uint32_t per_chunk = PL_CHUNK_BYTES / pl_record_bytes[kind], k = number / per_chunk, word = 0;
    assert_int_equal(pread(fd, directory, sizeof directory, PL_HEADER_BYTES), sizeof directory);
    for (uint32_t i = 0; i < PL_CHUNKS_MAX; i++) {
        if (directory[i] != kind || k--)
            continue;
        off_t at = PL_CHUNKS_OFFSET + (off_t) i * PL_CHUNK_BYTES + number % per_chunk * pl_record_bytes[kind];
        assert_int_equal(pread(fd, &word, sizeof word, at), sizeof word);
        break;
    }
    return word;
}

/* ---- creating ---- */

static void what_is_in_the_way_stays_as_it_is(void **state)
{
    (void) state;
    struct pl_file other = {0};
    int fd = open(in_directory("there"), O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(fd, "precious", 8), 8);
    close(fd);
    assert_int_equal(symlink(in_directory("elsewhere"), in_directory("link")), 0);
    assert_int_equal(mkdir(in_directory("directory"), 0700), 0);
    assert_int_equal(pl_file_create(&other, in_directory("there"), LIMIT), -EEXIST);
    assert_int_equal(pl_file_create(&other, in_directory("link"), LIMIT), -EEXIST);
    assert_int_equal(pl_file_create(&other, in_directory("directory"), LIMIT), -EEXIST);
    assert_int_equal(pl_file_create(&other, in_directory("none/x"), LIMIT), -ENOENT);
    assert_null(other.base);
    assert_int_equal(size_of(in_directory("there")), 8);
    assert_int_equal(size_of(in_directory("elsewhere")), -1);
}

static void a_new_file_is_private_and_has_no_record_0(void **state)
{
    (void) state;
    struct stat status;
    assert_int_equal(stat(file.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(fcntl(file.fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(append(PL_KIND_FRAME), 1);
    assert_int_equal(append(PL_KIND_ROW), 1);
    assert_true(pl_file_text(&file, "x", 1).offset > 0);
}

static void a_file_that_cannot_have_its_first_blocks_leaves_nothing_behind(void **state)
{
    (void) state;
    struct rlimit before, little = {SMALL - 1, RLIM_INFINITY};
    struct pl_file other = {0};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    long result = pl_file_create(&other, in_directory("y.plim"), LIMIT);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(result < 0 && !other.base);
    assert_int_equal(size_of(in_directory("y.plim")), -1);
}

/* ---- growing ---- */

static void records_of_all_kinds_keep_their_places(void **state)
{
    (void) state;
    static const enum pl_kind kinds[] = {PL_KIND_MODULE, PL_KIND_FRAME, PL_KIND_THREAD, PL_KIND_SITE, PL_KIND_ROW};
    uint64_t random = 1;
    uint32_t last[PL_KINDS_MAX] = {0};
    for (int i = 0; i < 12000; i++) {
        enum pl_kind kind = kinds[draw(&random, 5)];
        assert_int_equal(append(kind), last[kind] + 1);
        last[kind]++;
    }
    int fd = open(file.path, O_RDONLY);
    for (int k = 0; k < 5; k++)
        for (uint32_t n = 1; n <= last[kinds[k]]; n += 7)
            assert_int_equal(first_word(fd, kinds[k], n), n);
    close(fd);
    assert_int_equal(size_of(file.path), file.file_bytes);
    assert_true(file.file_bytes > SMALL && lost(PL_LOSS_FILE_FULL) == 0);
}

static void growth_stops_at_the_limit_and_each_loss_is_counted(void **state)
{
    (void) state;
    uint32_t rows = 0, refused = 0;
    assert_int_equal(append(PL_KIND_FRAME), 1);
    for (int i = 0; i < 2000; i++)
        append(PL_KIND_ROW) ? rows++ : refused++;
    assert_in_range(rows, SMALL * 7 / 10 / sizeof(struct pl_row), SMALL / sizeof(struct pl_row));
    assert_int_equal(lost(PL_LOSS_FILE_FULL), refused);
    assert_true(size_of(file.path) <= SMALL);
    assert_int_equal(append(PL_KIND_FRAME), 2); /* where there is room, there is room */
    assert_int_equal(*(uint32_t *) pl_file_record(&file, PL_KIND_ROW, rows), rows);
}

static void a_limit_on_file_size_stops_growth_without_a_signal(void **state)
{
    (void) state;
    struct rlimit before, little;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = (struct rlimit){SMALL + 4096, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    for (int i = 0; i < 2000; i++)
        append(PL_KIND_ROW);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(lost(PL_LOSS_FILE_FULL) > 0);
    assert_true(size_of(file.path) <= (off_t) little.rlim_cur);
}

static void a_frozen_file_stays_as_it_is_and_a_thawed_one_grows(void **state)
{
    (void) state;
    pl_file_freeze(&file, true);
    for (int i = 0; i < 2000; i++)
        append(PL_KIND_ROW);
    assert_true(lost(PL_LOSS_SANDBOX) > 0 && lost(PL_LOSS_FILE_FULL) == 0);
    assert_int_equal(size_of(file.path), SMALL);
    pl_file_freeze(&file, false);
    uint64_t before = lost(PL_LOSS_SANDBOX);
    for (int i = 0; i < 100; i++)
        assert_int_not_equal(append(PL_KIND_ROW), 0);
    assert_int_equal(lost(PL_LOSS_SANDBOX), before);
}

static void a_file_that_is_full_is_not_filled_by_thawing(void **state)
{
    (void) state;
    for (int i = 0; i < 2000; i++)
        append(PL_KIND_ROW);
    uint32_t why = file.full;
    pl_file_freeze(&file, true);
    pl_file_freeze(&file, false);
    assert_int_equal(file.full, why);
}

static void what_was_reserved_is_there_when_the_file_is_frozen(void **state)
{
    (void) state;
    pl_file_reserve(&file, 2 << 20);
    pl_file_freeze(&file, true);
    unsigned rows = (2 << 20) / PL_CHUNK_BYTES * (PL_CHUNK_BYTES / sizeof(struct pl_row));
    for (unsigned i = 1; i < rows; i++) /* there is no record 0 */
        assert_int_not_equal(append(PL_KIND_ROW), 0);
    pl_file_reserve(&file, 1ull << 40); /* more than there can be: as much as there can be, or nothing */
    assert_true(file.file_bytes <= file.mapped_bytes);
}

static void a_lock_left_behind_by_this_thread_is_its_own(void **state)
{
    (void) state;
    file.grow_lock = pl_thread_pointer();
    for (int i = 0; i < 2000; i++)
        assert_int_not_equal(append(PL_KIND_ROW), 0);
    assert_int_equal(file.grow_lock, 0);
}

static void a_lock_that_nobody_will_ever_give_back_costs_growth_and_no_more(void **state)
{
    (void) state;
    file.grow_lock = 1; /* of a thread that was killed while it held it */
    for (int i = 0; i < 2000; i++)
        append(PL_KIND_ROW);
    assert_int_equal(lost(PL_LOSS_FILE_FULL), 2000);
}

/* ---- descriptors ---- */

static void a_descriptor_that_was_closed_is_opened_again(void **state)
{
    (void) state;
    close(file.fd);
    for (int i = 0; i < 2000; i++)
        assert_int_not_equal(append(PL_KIND_ROW), 0);
}

static void a_descriptor_that_is_another_file_now_is_left_alone(void **state)
{
    (void) state;
    int other = open(in_directory("other"), O_CREAT | O_RDWR, 0600);
    assert_int_equal(dup2(other, file.fd), file.fd);
    for (int i = 0; i < 2000; i++)
        assert_int_not_equal(append(PL_KIND_ROW), 0);
    assert_int_equal(size_of(in_directory("other")), 0);
    close(other);
}

static void a_path_that_is_another_file_now_is_left_alone(void **state)
{
    (void) state;
    close(file.fd);
    assert_int_equal(rename(file.path, in_directory("moved")), 0);
    close(open(file.path, O_CREAT | O_RDWR, 0600));
    for (int i = 0; i < 2000; i++)
        append(PL_KIND_ROW);
    assert_int_equal(size_of(file.path), 0);
    assert_true(lost(PL_LOSS_FILE_FULL) > 0);
}

/* ---- text ---- */

static void text_never_crosses_a_chunk_and_comes_back_as_it_was(void **state)
{
    (void) state;
    static char text[PL_PATH_MAX];
    uint64_t random = 3;
    for (int i = 0; i < 700; i++) {
        uint32_t bytes = (uint32_t) draw(&random, PL_PATH_MAX) + 1;
        memset(text, 'a' + i % 26, bytes);
        struct pl_text kept = pl_file_text(&file, text, bytes);
        assert_int_equal(kept.bytes, bytes);
        assert_int_equal(kept.offset / PL_CHUNK_BYTES, (kept.offset + bytes - 1) / PL_CHUNK_BYTES);
        assert_memory_equal(pl_file_record(&file, PL_KIND_TEXT, kept.offset), text, bytes);
    }
}

static void text_of_no_or_too_many_bytes_is_no_text(void **state)
{
    (void) state;
    static char text[PL_PATH_MAX + 1];
    uint64_t before = pl_file_header(&file)->count[PL_KIND_TEXT];
    assert_int_equal(pl_file_text(&file, text, 0).bytes, 0);
    assert_int_equal(pl_file_text(&file, text, sizeof text).bytes, 0);
    assert_int_equal(pl_file_header(&file)->count[PL_KIND_TEXT], before);
    assert_int_equal(pl_file_text(&file, text, PL_PATH_MAX).bytes, PL_PATH_MAX);
}

static void text_that_finds_no_room_is_no_text(void **state)
{
    (void) state;
    static char text[4000];
    unsigned kept = 0;
    for (int i = 0; i < 200; i++)
        kept += pl_file_text(&file, text, sizeof text).bytes == sizeof text;
    assert_in_range(kept, 40, 60);
    assert_int_equal(lost(PL_LOSS_FILE_FULL), 200 - kept);
}

/* ---- copies ---- */

static long copy_to(const char *name)
{
    static struct pl_header room;
    return pl_file_copy(&file, in_directory(name), &room, NULL);
}

static void a_copy_holds_what_is_in_use_and_overwrites_nothing(void **state)
{
    (void) state;
    static uint8_t bytes[LIMIT];
    for (int i = 0; i < 3000; i++)
        append(PL_KIND_ROW);
    uint64_t used = PL_CHUNKS_OFFSET + pl_file_header(&file)->chunks * PL_CHUNK_BYTES;
    assert_int_equal(copy_to("copy"), 0);
    assert_int_equal(size_of(in_directory("copy")), used);
    int fd = open(in_directory("copy"), O_RDONLY);
    assert_int_equal(read(fd, bytes, sizeof bytes), used);
    assert_memory_equal(bytes, file.base, used);
    close(fd);
    assert_int_equal(copy_to("copy"), -EEXIST);
    assert_int_equal(copy_to("none/copy"), -ENOENT);
}

static void a_copy_that_may_not_be_that_large_leaves_nothing_behind(void **state)
{
    (void) state;
    struct rlimit before, little;
    for (int i = 0; i < 3000; i++)
        append(PL_KIND_ROW);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = (struct rlimit){100000, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    long result = copy_to("copy");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(result, -EFBIG);
    assert_int_equal(size_of(in_directory("copy")), -1);
}

/* ---- threads ---- */

#define EACH 1200
static uint32_t numbers[THREADS][EACH];

static void append_rows(unsigned number)
{
    for (unsigned i = 0; i < EACH; i++)
        numbers[number][i] = append(PL_KIND_ROW);
}

static void threads_append_without_losing_or_sharing_a_record(void **state)
{
    (void) state;
    static uint8_t taken[THREADS * EACH + 1];
    memset(taken, 0, sizeof taken);
    run_threads(THREADS, append_rows);
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned i = 0; i < EACH; i++) {
            uint32_t n = numbers[t][i];
            assert_in_range(n, 1, THREADS * EACH);
            assert_int_equal(taken[n]++, 0);
            assert_int_equal(*(uint32_t *) pl_file_record(&file, PL_KIND_ROW, n), n);
        }
    assert_int_equal(lost(PL_LOSS_FILE_FULL), 0);
}

#define LARGE(test) cmocka_unit_test_setup_teardown(test, large_file, drop_file)
#define SMALL_ONE(test) cmocka_unit_test_setup_teardown(test, small_file, drop_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LARGE(what_is_in_the_way_stays_as_it_is),
        LARGE(a_new_file_is_private_and_has_no_record_0),
        LARGE(a_file_that_cannot_have_its_first_blocks_leaves_nothing_behind),
        LARGE(records_of_all_kinds_keep_their_places),
        SMALL_ONE(growth_stops_at_the_limit_and_each_loss_is_counted),
        LARGE(a_limit_on_file_size_stops_growth_without_a_signal),
        LARGE(a_frozen_file_stays_as_it_is_and_a_thawed_one_grows),
        SMALL_ONE(a_file_that_is_full_is_not_filled_by_thawing),
        LARGE(what_was_reserved_is_there_when_the_file_is_frozen),
        LARGE(a_lock_left_behind_by_this_thread_is_its_own),
        LARGE(a_lock_that_nobody_will_ever_give_back_costs_growth_and_no_more),
        LARGE(a_descriptor_that_was_closed_is_opened_again),
        LARGE(a_descriptor_that_is_another_file_now_is_left_alone),
        LARGE(a_path_that_is_another_file_now_is_left_alone),
        LARGE(text_never_crosses_a_chunk_and_comes_back_as_it_was),
        LARGE(text_of_no_or_too_many_bytes_is_no_text),
        SMALL_ONE(text_that_finds_no_room_is_no_text),
        LARGE(a_copy_holds_what_is_in_use_and_overwrites_nothing),
        LARGE(a_copy_that_may_not_be_that_large_leaves_nothing_behind),
        LARGE(threads_append_without_losing_or_sharing_a_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
