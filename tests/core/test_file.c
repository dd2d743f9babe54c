/* SPDX-License-Identifier: MIT */
/*
 * test_file.c - tests file.h: records keep their places, growth stops at its limits, and other files are not touched.
 *
 * This program includes file.c, so that each test can begin with the tables of a new process.
 */
#include "core_tests.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/records/file.c"

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
    inherited.bytes = 0;
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

/* What the file takes of the disk: it is mostly a hole. */
static uint64_t allocated(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t) status.st_blocks * 512 : 0;
}

static struct pl_header *header(void)
{
    return pl_file_header(&file);
}

/* A record as a reader finds it: through the directory in the file, without the writer's memory. */
static uint32_t first_word(int fd, enum pl_kind kind, uint32_t number)
{
    uint8_t directory[PL_DIRECTORY_CHUNKS];
    uint32_t per_chunk = PL_CHUNK_BYTES / pl_record_bytes[kind], k = number / per_chunk, word = 0;
    for (uint32_t i = 0; i < PL_CHUNKS_MAX - 1; i++) {
        if (i % PL_DIRECTORY_CHUNKS == 0)
            assert_int_equal(pread(fd, directory, sizeof directory, (off_t) pl_chunk_entry(i)), sizeof directory);
        if (directory[i % PL_DIRECTORY_CHUNKS] != kind || k--)
            continue;
        off_t at = (off_t) pl_chunk_offset(i) + number % per_chunk * pl_record_bytes[kind];
        assert_int_equal(pread(fd, &word, sizeof word, at), sizeof word);
        break;
    }
    return word;
}

/* ---- creating ---- */

static void existing_files_are_not_changed(void **state)
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
    assert_int_equal(append(PL_KIND_FRAME), 1);
    assert_int_equal(append(PL_KIND_ROW), 1);
    assert_true(pl_file_text(&file, "x", 1).offset > 0);
}

static void a_file_that_cannot_be_created_leaves_nothing_behind(void **state)
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
    NEEDS_KERNEL();
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
    assert_in_range(allocated(file.path), file.file_bytes - SMALL, file.mapped_bytes);
    assert_true(file.file_bytes > 2 * SMALL && lost(PL_LOSS_FILE_FULL) == 0 && header()->full == PL_FULL_NOT);
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
    assert_int_equal(header()->full, PL_FULL_BOUND);
    assert_int_equal(header()->limit_bytes, SMALL);
    assert_true(allocated(file.path) <= SMALL);
    assert_int_equal(append(PL_KIND_FRAME), 2); /* chunks of other kinds still have room */
    assert_int_equal(*(uint32_t *) pl_file_record(&file, PL_KIND_ROW, rows), rows);
}

static void a_limit_on_file_size_stops_growth_without_a_signal(void **state)
{
    (void) state;
    struct rlimit before, little;
    drop_file(NULL);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = (struct rlimit){SMALL + 4096, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    int opened = open_file(LIMIT);
    for (int i = 0; i < 2000; i++)
        append(PL_KIND_ROW);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(opened, 0);
    assert_true(lost(PL_LOSS_FILE_FULL) > 0);
    assert_int_equal(header()->full, PL_FULL_FILE_LIMIT);
    assert_int_equal(header()->limit_bytes, little.rlim_cur & ~(PL_ARCH_PAGE_MOST - 1ull));
    assert_true(size_of(file.path) <= (off_t) little.rlim_cur);
}

static void a_limit_that_is_set_later_does_not_stop_growth(void **state)
{
    (void) state;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    for (int i = 0; i < 2000; i++)
        append(PL_KIND_ROW);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(lost(PL_LOSS_FILE_FULL), 0);
}

/* Only part of a limited address space is ours; what is mapped already stays. */
static void a_limited_address_space_stops_growth_before_it_is_used_up(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    struct rlimit before, little;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    little = (struct rlimit){GROW_FIRST * AS_SHARE, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    for (int i = 0; i < 5000; i++)
        append(PL_KIND_ROW);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(lost(PL_LOSS_FILE_FULL) > 0);
    assert_int_equal(header()->full, PL_FULL_ADDRESSES);
    assert_int_equal(file.mapped_bytes, GROW_FIRST);
}

static void a_file_that_could_not_grow_grows_again_when_it_can(void **state)
{
    (void) state;
    void *wall = mmap(file.base + file.mapped_bytes, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    unsigned before = 0, after = 0;
    for (int i = 0; i < 4000; i++)
        before += append(PL_KIND_ROW) != 0;
    assert_true(wall != MAP_FAILED && before <= GROW_FIRST / sizeof(struct pl_row));
    assert_int_equal(header()->full, PL_FULL_ADDRESSES);
    assert_int_equal(lost(PL_LOSS_FILE_FULL), 4000 - before);
    assert_int_equal(munmap(wall, 4096), 0);
    for (int i = 0; i < 2000; i++)
        after += append(PL_KIND_ROW) != 0;
    assert_in_range(after, 2000 - REFUSED_FOR, 2000);
    assert_true(file.chunks <= (before + 2000) / (PL_CHUNK_BYTES / sizeof(struct pl_row)) + 2); /* no empty chunk */
}

/* Where the kernel does not give us the place that we ask for, the file is mapped whole. */
static void without_a_place_to_grow_the_file_is_mapped_whole(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    struct rlimit before, little;
    drop_file(NULL);
    memset(&file, 0, sizeof file);
    new_directory();
    int fd = open(in_directory("whole"), O_CREAT | O_RDWR, 0600);
    file.limit_bytes = LIMIT;
    assert_true(map_whole(&file, fd) && file.mapped_bytes == LIMIT);
    munmap(file.base, file.mapped_bytes);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    little = (struct rlimit){LIMIT / 4 * AS_SHARE, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool mapped = map_whole(&file, fd);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    close(fd);
    if (page != MAP_FAILED) /* not under a sanitizer, which has more address space than that already */
        assert_true(mapped && file.mapped_bytes == LIMIT / 4);
}

/* Before Linux 5.14 there is no call for a range of pages. */
static void every_kernel_can_allocate_pages_without_a_descriptor(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    uint32_t word = 0;
    uint64_t before = allocated(file.path);
    uint8_t *page = file.base + file.file_bytes;
    assert_true(map_more(&file, file.base, file.file_bytes + 8 * 4096));
    for (int i = 0; i < 8; i++)
        assert_int_equal(pl_sys_touch(&word, page + i * 4096), 0);
    assert_int_equal(allocated(file.path), before + 8 * 4096);
    assert_int_equal(truncate(file.path, (off_t) file.file_bytes), 0);
    assert_int_equal(pl_sys_touch(&word, page), -EFAULT); /* where a store would raise SIGBUS */
    assert_int_equal(populate(page, 4096), -EFAULT);
}

static void a_short_process_takes_a_page_of_memory_for_each_kind_of_record(void **state)
{
    (void) state;
    static const enum pl_kind kinds[] = {PL_KIND_MODULE, PL_KIND_FRAME, PL_KIND_THREAD, PL_KIND_SITE, PL_KIND_SMALL};
    const unsigned kinds_count = sizeof kinds / sizeof kinds[0];
    NEEDS_KERNEL();
    assert_int_equal(allocated(file.path), PAGE);
    for (unsigned i = 0; i < kinds_count; i++)
        assert_int_equal(append(kinds[i]), 1);
    assert_in_range(allocated(file.path), kinds_count * 4096, (2 + kinds_count) * PAGE);
    uint64_t before = allocated(file.path);
    for (unsigned i = 2; i < PAGE / sizeof(struct pl_small) && i < 64; i++)
        assert_int_equal(append(PL_KIND_SMALL), i);
    assert_int_equal(allocated(file.path), before);
    for (unsigned i = 2; i < 2000; i++) /* beyond the pages that are allocated one by one */
        assert_int_equal(append(PL_KIND_SITE), i);
    int fd = open(file.path, O_RDONLY);
    for (unsigned i = 1; i < 2000; i++)
        assert_int_equal(first_word(fd, PL_KIND_SITE, i), i);
    close(fd);
}

/* A store into a page of a hole, where no memory is left, would raise SIGBUS, and so would a load. */
static void a_record_whose_page_finds_no_memory_is_nowhere(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    assert_int_equal(append(PL_KIND_THREAD), 1);
    off_t size = size_of(file.path);
    assert_int_equal(truncate(file.path, PL_CHUNKS_OFFSET + PL_CHUNK_BYTES), 0); /* as if there were no more memory */
    assert_int_equal(append(PL_KIND_SITE), 0);
    assert_int_equal(header()->full, PL_FULL_DEVICE);
    assert_int_equal(lost(PL_LOSS_FILE_FULL), 1);
    assert_ptr_equal(pl_file_record(&file, PL_KIND_SITE, 1), pl_file_nowhere);
    assert_int_equal(truncate(file.path, size), 0);
    uint32_t number = 0;
    for (unsigned i = 0; i <= REFUSED_FOR && !number; i++)
        number = append(PL_KIND_SITE);
    assert_int_not_equal(number, 0);
    assert_ptr_not_equal(pl_file_record(&file, PL_KIND_SITE, number), pl_file_nowhere);
}

static void a_record_of_which_one_page_finds_no_memory_is_nowhere(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    assert_int_equal(append(PL_KIND_TALLY), 1);
    const uint8_t *first = pl_file_record(&file, PL_KIND_TALLY, 1);
    uint64_t left = PAGE - (uint64_t) (first - file.base) % PAGE;
    if (left > PL_CHUNK_BYTES / 2) /* large pages: the chunk has no second one */
        skip();
    uint32_t across = 1 + (uint32_t) (left / sizeof(struct pl_tally)); /* begins in the page, and ends behind it */
    while (header()->count[PL_KIND_TALLY] < across)
        append(PL_KIND_TALLY);
    assert_int_equal(truncate(file.path, (off_t) ((uint64_t) (first - file.base) + left)), 0);
    assert_int_equal(append(PL_KIND_TALLY), 0);
    assert_ptr_not_equal(pl_file_record(&file, PL_KIND_TALLY, across - 1), pl_file_nowhere);
    assert_ptr_equal(pl_file_record(&file, PL_KIND_TALLY, across), pl_file_nowhere);
}

static void a_copy_has_every_record_and_allocates_no_page_of_the_file(void **state)
{
    (void) state;
    static struct pl_header room;
    NEEDS_KERNEL();
    for (unsigned i = 1; i <= 700; i++) {
        assert_int_equal(append(PL_KIND_ROW), i);
        if (i % 20 == 0)
            assert_int_equal(append(PL_KIND_SITE), i / 20);
    }
    uint64_t before = allocated(file.path);
    const char *copy = in_directory("copy.plim");
    assert_int_equal(pl_file_copy(&file, copy, &room, NULL), 0);
    assert_int_equal(allocated(file.path), before);
    assert_in_range(allocated(copy), PAGE, before);
    int fd = open(copy, O_RDONLY);
    for (unsigned i = 1; i <= 700; i++)
        assert_int_equal(first_word(fd, PL_KIND_ROW, i), i);
    for (unsigned i = 1; i <= 35; i++)
        assert_int_equal(first_word(fd, PL_KIND_SITE, i), i);
    close(fd);
}

static void a_frozen_file_does_not_grow_and_a_thawed_one_does(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    uint64_t at_first = allocated(file.path);
    pl_file_freeze(&file, true);
    for (int i = 0; i < 2000; i++)
        append(PL_KIND_ROW);
    assert_true(lost(PL_LOSS_SANDBOX) > 0 && lost(PL_LOSS_FILE_FULL) == 0 && header()->full == PL_FULL_SANDBOX);
    assert_int_equal(allocated(file.path), at_first);
    pl_file_freeze(&file, false);
    uint64_t before = lost(PL_LOSS_SANDBOX);
    for (int i = 0; i < 100; i++)
        assert_int_not_equal(append(PL_KIND_ROW), 0);
    assert_int_equal(lost(PL_LOSS_SANDBOX), before);
}

static void thawing_a_full_file_makes_no_room(void **state)
{
    (void) state;
    for (int i = 0; i < 2000; i++)
        append(PL_KIND_ROW);
    uint32_t why = file.full;
    pl_file_freeze(&file, true);
    pl_file_freeze(&file, false);
    assert_int_equal(file.full, why);
}

static void reserved_records_are_available_when_the_file_is_frozen(void **state)
{
    (void) state;
    pl_file_reserve(&file, 2 << 20);
    pl_file_freeze(&file, true);
    unsigned rows = (2 << 20) / PL_CHUNK_BYTES * (PL_CHUNK_BYTES / sizeof(struct pl_row));
    for (unsigned i = 1; i < rows; i++) /* there is no record 0 */
        assert_int_not_equal(append(PL_KIND_ROW), 0);
    pl_file_reserve(&file, 1ull << 40); /* more than possible: reserves as much as possible, or nothing */
    assert_true(file.file_bytes <= file.mapped_bytes);
}

/* A thread that claimed a chunk may be stopped, or leave by longjmp, before it assigns it. */
static void a_claim_that_was_left_behind_is_completed_by_others(void **state)
{
    (void) state;
    for (int i = 0; i < 2000; i++) {
        if (i == 700) {
            chunks.claims[file.chunks] = (uint32_t) PL_KIND_SITE << CLAIM_SHIFT;
            file.file_bytes -= PL_CHUNK_BYTES; /* nor was the new size published */
        }
        assert_int_not_equal(append(PL_KIND_ROW), 0);
    }
    assert_int_not_equal(*chunk_of(PL_KIND_SITE, 0), 0);
    assert_int_equal(append(PL_KIND_SITE), 1);
    assert_int_equal(file.base[PL_HEADER_BYTES + *chunk_of(PL_KIND_SITE, 0) - 1], PL_KIND_SITE);
    for (uint32_t number = 1; number <= 2000; number += 13)
        assert_int_equal(*(uint32_t *) pl_file_record(&file, PL_KIND_ROW, number), number);
}

/* Another thread has extended the mapping and was stopped before it could say so, or a signal handler has left by
 * longjmp in between: the mapping may end anywhere behind the published end. */
static void a_mapping_that_is_longer_than_published_is_recognised(void **state)
{
    static const uint32_t pages[] = {1, 3, 40, GROW_FIRST / PAGE, GROW_FIRST / PAGE + 3, 2 * GROW_FIRST / PAGE + 1};
    for (unsigned i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (i > 0) {
            drop_file(state);
            assert_int_equal(large_file(state), 0);
        }
        uint64_t longer = GROW_FIRST + (uint64_t) pages[i] * PAGE;
        assert_int_equal(pl_sys_stretch(file.base, GROW_FIRST, longer), (long) file.base);
        assert_int_equal(file.mapped_bytes, GROW_FIRST);
        for (int n = 0; n < 4000; n++)
            assert_int_not_equal(append(PL_KIND_ROW), 0);
        assert_in_range(file.mapped_bytes, longer, LIMIT + PAGE);
        assert_int_equal(header()->full, PL_FULL_NOT);
    }
}

static void a_mapping_of_the_program_is_not_taken_for_ours(void **state)
{
    (void) state;
    uint8_t *theirs = file.base + file.mapped_bytes;
    assert_ptr_equal(
        mmap(theirs, 2 * GROW_FIRST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), theirs);
    for (int i = 0; i < 8000; i++)
        append(PL_KIND_ROW);
    for (unsigned i = 0; i < 2 * GROW_FIRST; i++)
        assert_int_equal(theirs[i], 0);
    assert_int_equal(munmap(theirs, 2 * GROW_FIRST), 0);
}

/* ---- descriptors and paths ---- */

/* Descriptors that this program was started with do not count: they were open before `file` was made. */
#define DESCRIPTORS 4096
static bool open_at_start[DESCRIPTORS];

static void note_open_descriptors(void)
{
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        open_at_start[fd] = fcntl(fd, F_GETFD) >= 0;
}

static void no_descriptor_stays_open(void **state)
{
    (void) state;
    for (int i = 0; i < 2000; i++)
        assert_int_not_equal(append(PL_KIND_ROW), 0);
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        assert_int_equal(fcntl(fd, F_GETFD) >= 0, open_at_start[fd]);
}

/* On disk, a store into a hole can make the kernel read ahead: megabytes of zeros in the page cache for each process.
 * In memory the claim holds anyway. */
static void only_what_is_allocated_is_in_the_page_cache(void **state)
{
    (void) state;
    static unsigned char resident[LIMIT / 4096];
    struct pl_file on_disk = {0};
    char path[64];
    size_t pages = 0;
    snprintf(path, sizeof path, "core-file.%d.plim", getpid());
    memset(&chunks, 0, sizeof chunks);
    inherited.base = NULL;
    assert_int_equal(pl_file_create(&on_disk, path, LIMIT), 0);
    pl_file_reserve(&on_disk, GROW_FIRST);
    assert_true(on_disk.file_bytes > GROW_FIRST);
    int fd = open(path, O_RDONLY);
    void *at = mmap(NULL, LIMIT, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    assert_int_equal(mincore(at, LIMIT, resident), 0);
    for (size_t i = 0; i < sizeof resident; i++)
        pages += resident[i] & 1;
    munmap(at, LIMIT);
    munmap(on_disk.base, on_disk.mapped_bytes);
    close(fd);
    unlink(path);
    assert_true(pages <= on_disk.file_bytes / 4096);
}

static void the_file_grows_when_its_path_names_another_file(void **state)
{
    (void) state;
    assert_int_equal(rename(file.path, in_directory("moved")), 0);
    close(open(file.path, O_CREAT | O_RDWR, 0600));
    for (int i = 0; i < 2000; i++)
        assert_int_not_equal(append(PL_KIND_ROW), 0);
    pl_file_trim(&file);
    assert_int_equal(size_of(file.path), 0);
    assert_int_equal(size_of(in_directory("moved")), LIMIT);
}

static void at_the_end_the_file_gets_the_size_of_its_allocated_part(void **state)
{
    (void) state;
    for (int i = 0; i < 2000; i++)
        append(PL_KIND_ROW);
    assert_int_equal(size_of(file.path), LIMIT);
    pl_file_trim(&file);
    assert_int_equal(size_of(file.path), file.file_bytes);
    for (int i = 0; i < 6000; i++) /* threads go on freeing, and that may append: it must not raise SIGBUS */
        append(PL_KIND_REMOTE);
    assert_true(lost(PL_LOSS_FILE_FULL) > 0 && size_of(file.path) == (off_t) file.file_bytes);
}

static void a_file_that_is_growing_is_not_trimmed(void **state)
{
    (void) state;
    file.growing = 1;
    pl_file_trim(&file);
    assert_int_equal(size_of(file.path), LIMIT);
}

/* ---- text ---- */

static void text_never_crosses_a_chunk_and_reads_back_unchanged(void **state)
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

static void empty_and_oversized_texts_are_refused(void **state)
{
    (void) state;
    static char text[PL_PATH_MAX + 1];
    uint64_t before = pl_file_header(&file)->count[PL_KIND_TEXT];
    assert_int_equal(pl_file_text(&file, text, 0).bytes, 0);
    assert_int_equal(pl_file_text(&file, text, sizeof text).bytes, 0);
    assert_int_equal(pl_file_header(&file)->count[PL_KIND_TEXT], before);
    assert_int_equal(pl_file_text(&file, text, PL_PATH_MAX).bytes, PL_PATH_MAX);
}

static void text_without_room_in_the_file_is_refused(void **state)
{
    (void) state;
    static char text[4000];
    unsigned kept = 0;
    for (int i = 0; i < 200; i++)
        kept += pl_file_text(&file, text, sizeof text).bytes == sizeof text;
    assert_in_range(kept, 40, 60);
    assert_int_equal(lost(PL_LOSS_FILE_FULL), 200 - kept);
}

/* ---- beyond the first directory ---- */

#define HUGE (300ull << 20)

static int huge_file(void **state)
{
    (void) state;
    return open_file(HUGE);
}

/* As if all chunks before `chunk` were in use, without allocating them. */
static void use_chunks_up_to(uint32_t chunk)
{
    file.file_bytes = pl_chunk_offset(chunk) & ~4095ull;
    file.chunks = chunk;
}

static void the_last_chunk_of_a_directory_is_the_next_directory(void **state)
{
    (void) state;
    uint32_t per_chunk = PL_CHUNK_BYTES / sizeof(struct pl_row), last = 0;
    use_chunks_up_to(PL_DIRECTORY_CHUNKS - 3);
    for (uint32_t i = 0; i < 6 * per_chunk; i++)
        assert_true((last = append(PL_KIND_ROW)) != 0);
    assert_int_equal(*chunk_of(PL_KIND_ROW, 1), PL_DIRECTORY_CHUNKS - 2 + 1);
    assert_int_equal(*chunk_of(PL_KIND_ROW, 2), PL_DIRECTORY_CHUNKS + 1);
    assert_int_equal(file.base[pl_chunk_entry(PL_DIRECTORY_CHUNKS - 1)], PL_KIND_DIRECTORY);
    assert_int_equal(file.base[pl_chunk_offset(PL_DIRECTORY_CHUNKS - 1)], PL_KIND_ROW);
    int fd = open(in_directory("x.plim"), O_RDONLY);
    for (uint32_t i = 1; i <= last; i += 7)
        assert_int_equal(first_word(fd, PL_KIND_ROW, i), i);
    close(fd);
}

/* The word of a live block names a tally by its place in the first 256 MiB. Other records may lie behind them. */
static void a_tally_beyond_the_reach_of_live_blocks_is_refused(void **state)
{
    (void) state;
    use_chunks_up_to((uint32_t) ((PL_BLOCK_TALLY_END - PL_CHUNKS_OFFSET) / PL_CHUNK_BYTES));
    assert_int_equal(append(PL_KIND_TALLY), 0);
    assert_int_equal(header()->full, PL_FULL_FORMAT);
    assert_int_equal(lost(PL_LOSS_FILE_FULL), 1);
    assert_true(append(PL_KIND_ROW) != 0);
    assert_int_equal(append(PL_KIND_TALLY), 0);
    assert_int_equal(lost(PL_LOSS_FILE_FULL), 2);
}

/* ---- copies ---- */

static long copy_to(const char *name)
{
    static struct pl_header room;
    return pl_file_copy(&file, in_directory(name), &room, NULL);
}

static void a_copy_holds_the_used_part_and_overwrites_nothing(void **state)
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

static void a_copy_has_all_directories(void **state)
{
    (void) state;
    uint32_t per_chunk = PL_CHUNK_BYTES / sizeof(struct pl_row), last = 0;
    use_chunks_up_to(PL_DIRECTORY_CHUNKS - 2);
    for (uint32_t i = 0; i < 3 * per_chunk; i++)
        last = append(PL_KIND_ROW);
    memset(file.base + PL_HEADER_BYTES, PL_KIND_DIRECTORY, PL_DIRECTORY_CHUNKS - 2); /* these are not copied */
    assert_int_equal(copy_to("copy"), 0);
    int fd = open(in_directory("copy"), O_RDONLY);
    for (uint32_t i = 1; i <= last; i += 7)
        assert_int_equal(first_word(fd, PL_KIND_ROW, i), i);
    close(fd);
}

static void a_copy_above_the_size_limit_leaves_nothing_behind(void **state)
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
#define HUGE_ONE(test) cmocka_unit_test_setup_teardown(test, huge_file, drop_file)
#define SMALL_ONE(test) cmocka_unit_test_setup_teardown(test, small_file, drop_file)

int main(void)
{
    note_open_descriptors();
    const struct CMUnitTest tests[] = {
        LARGE(existing_files_are_not_changed),
        LARGE(a_new_file_is_private_and_has_no_record_0),
        LARGE(a_file_that_cannot_be_created_leaves_nothing_behind),
        LARGE(records_of_all_kinds_keep_their_places),
        SMALL_ONE(growth_stops_at_the_limit_and_each_loss_is_counted),
        LARGE(a_limit_on_file_size_stops_growth_without_a_signal),
        LARGE(a_copy_has_every_record_and_allocates_no_page_of_the_file),
        LARGE(a_record_whose_page_finds_no_memory_is_nowhere),
        LARGE(a_record_of_which_one_page_finds_no_memory_is_nowhere),
        LARGE(a_short_process_takes_a_page_of_memory_for_each_kind_of_record),
        LARGE(a_frozen_file_does_not_grow_and_a_thawed_one_does),
        SMALL_ONE(thawing_a_full_file_makes_no_room),
        LARGE(reserved_records_are_available_when_the_file_is_frozen),
        LARGE(a_limit_that_is_set_later_does_not_stop_growth),
        LARGE(a_limited_address_space_stops_growth_before_it_is_used_up),
        LARGE(a_file_that_could_not_grow_grows_again_when_it_can),
        LARGE(without_a_place_to_grow_the_file_is_mapped_whole),
        LARGE(every_kernel_can_allocate_pages_without_a_descriptor),
        LARGE(a_claim_that_was_left_behind_is_completed_by_others),
        LARGE(a_mapping_that_is_longer_than_published_is_recognised),
        LARGE(a_mapping_of_the_program_is_not_taken_for_ours),
        LARGE(no_descriptor_stays_open),
        LARGE(only_what_is_allocated_is_in_the_page_cache),
        LARGE(the_file_grows_when_its_path_names_another_file),
        LARGE(at_the_end_the_file_gets_the_size_of_its_allocated_part),
        LARGE(a_file_that_is_growing_is_not_trimmed),
        LARGE(text_never_crosses_a_chunk_and_reads_back_unchanged),
        LARGE(empty_and_oversized_texts_are_refused),
        SMALL_ONE(text_without_room_in_the_file_is_refused),
        HUGE_ONE(the_last_chunk_of_a_directory_is_the_next_directory),
        HUGE_ONE(a_tally_beyond_the_reach_of_live_blocks_is_refused),
        HUGE_ONE(a_copy_has_all_directories),
        LARGE(a_copy_holds_the_used_part_and_overwrites_nothing),
        LARGE(a_copy_above_the_size_limit_leaves_nothing_behind),
        LARGE(threads_append_without_losing_or_sharing_a_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
