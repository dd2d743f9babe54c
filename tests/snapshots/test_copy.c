/* SPDX-License-Identifier: MIT */
/*
 * test_copy.c - a copy has everything that the profile has, with the same numbers, and is marked as a snapshot.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "reader/base/arena.h"
#include "reader/image.h"
#include "reader/write/annotate.h"
#include "reader/write/copy.h"
#include "forged_profile.h"

#define LAST_KIND PL_KIND_SCOPE

static int copy_file(const char *from, const char *name, int fd)
{
    struct pl_copy *copy;
    char why[PL_WHY_BYTES] = "";
    if (pl_copy_take(from, &copy, why) != 0)
        fail_msg("%s", why);
    int result = pl_copy_write(copy, name, fd);
    pl_copy_free(copy);
    return result;
}

/* Writes the copy to a file. The caller unlinks it. */
static void copy_forge(struct forge *forge, const char *name, char path[64])
{
    char original[64];
    forge_to_file(forge, original);
    strcpy(path, "/tmp/plimsoll-copy.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(copy_file(original, name, fd), 0);
    close(fd);
    unlink(original);
}

static struct pl_header read_header(const char *path)
{
    struct pl_header header;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    close(fd);
    return header;
}

static struct pl_image take(const char *path, struct pl_arena *arena)
{
    struct pl_image image;
    char why[PL_WHY_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pl_image_take(&(struct pl_image_source){.name = path, .fd = fd}, arena, &image, why), 0);
    close(fd);
    return image;
}

/* ---- contents ---- */

/* Adds 1,000 records of every kind with distinguishable bytes. Rows have an even sequence word. */
static void fill(struct forge *forge, enum pl_kind kind)
{
    uint32_t bytes = kind == PL_KIND_TEXT ? 1 : pl_record_bytes[kind];
    uint32_t first = forge_append(forge, kind, 1000);
    for (uint32_t i = first; i < first + 1000; i++) {
        unsigned char *record = forge_record(forge, kind, i);
        for (uint32_t at = 0; at < bytes; at++)
            record[at] = (unsigned char) (1 + (kind * 31 + i * 7 + at) % 250);
        if (kind == PL_KIND_ROW)
            ((struct pl_row *) (void *) record)->sequence = 2 * i;
    }
}

static void every_record_of_every_kind_keeps_its_number_and_its_bytes(void **state)
{
    (void) state;
    struct forge *forge = forge_build("leak");
    for (int kind = PL_KIND_TEXT; kind <= LAST_KIND; kind++) {
        forge_append(forge, (enum pl_kind) kind, 2);
        fill(forge, (enum pl_kind) kind);
    }
    char original[64], path[64];
    forge_to_file(forge, original);
    copy_forge(forge, "", path);
    struct pl_arena *arena = pl_arena_new();
    struct pl_image from = take(original, arena), to = take(path, arena);
    for (int kind = PL_KIND_TEXT; kind <= LAST_KIND; kind++) {
        uint32_t bytes = kind == PL_KIND_TEXT ? 1 : pl_record_bytes[kind];
        assert_true(from.table[kind].count > 1000);
        assert_int_equal(from.table[kind].count, to.table[kind].count);
        assert_memory_equal(from.table[kind].record, to.table[kind].record, (size_t) from.table[kind].count * bytes);
    }
    assert_int_equal(to.damage, 0);
    pl_arena_free(arena);
    forge_free(forge);
    unlink(original);
    unlink(path);
}

static void the_copy_reads_like_the_original(void **state)
{
    (void) state;
    char path[64];
    struct forge *forge = forge_build("leak");
    struct pl_profile *original = forge_load(forge);
    copy_forge(forge, "", path);
    struct pl_profile *copy = open_file(path);
    assert_int_equal(copy->damage, original->damage);
    assert_int_equal(copy->sites, original->sites);
    assert_int_equal(copy->stacks, original->stacks);
    assert_int_equal(copy->threads, original->threads);
    assert_string_equal(copy->executable, original->executable);
    for (int i = 0; i < PL_METRIC_COUNT; i++)
        assert_true(copy->total[i].value == original->total[i].value);
    pl_profile_close(copy);
    pl_profile_close(original);
    forge_free(forge);
    unlink(path);
}

static void space_reserved_for_growth_is_not_copied(void **state)
{
    (void) state;
    char original[64];
    struct forge *forge = forge_build("leak");
    forge_to_file(forge, original);
    assert_int_equal(truncate(original, 8 << 20), 0);
    int fd = memfd_create("copy", MFD_CLOEXEC);
    assert_int_equal(copy_file(original, "", fd), 0);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_true(status.st_size <= (off_t) forge_bytes(forge) + (off_t) PL_CHUNK_BYTES);
    close(fd);
    unlink(original);
    forge_free(forge);
}

/* ---- marks ---- */

static void the_copy_is_marked_as_a_snapshot_with_its_name(void **state)
{
    (void) state;
    char path[64];
    struct forge *forge = forge_build("leak");
    forge_header(forge)->destination = forge_text(forge, "/home/me/app.plim", 17);
    forge_header(forge)->flags |= PL_FLAG_NO_OUTPUT;
    copy_forge(forge, "warm \"x\" é", path);
    struct pl_header header = read_header(path);
    struct pl_profile *profile = open_file(path);
    assert_true(header.flags & PL_FLAG_SNAPSHOT);
    assert_false(header.flags & PL_FLAG_NO_OUTPUT);
    assert_true(header.snapshot_ns > 0);
    assert_string_equal(profile->snapshot_name, "warm \"x\" é");
    assert_string_equal(profile->destination, "");
    assert_false(profile->running);
    pl_profile_close(profile);
    forge_free(forge);
    unlink(path);
}

static void a_name_never_crosses_a_chunk(void **state)
{
    (void) state;
    for (uint32_t left = 0; left < 8; left++) {
        char path[64];
        struct forge *forge = forge_build("leak");
        uint32_t used = (uint32_t) forge_header(forge)->count[PL_KIND_TEXT] % PL_CHUNK_BYTES;
        forge_append(forge, PL_KIND_TEXT, PL_CHUNK_BYTES - used - left);
        copy_forge(forge, "name", path);
        struct pl_text name = read_header(path).snapshot_name;
        assert_int_equal(name.offset / PL_CHUNK_BYTES, (name.offset + name.bytes - 1) / PL_CHUNK_BYTES);
        struct pl_profile *profile = open_file(path);
        assert_string_equal(profile->snapshot_name, "name");
        assert_int_equal(profile->damage, 0);
        pl_profile_close(profile);
        forge_free(forge);
        unlink(path);
    }
}

static void the_destination_is_known_before_anything_is_written(void **state)
{
    (void) state;
    char original[64], why[PL_WHY_BYTES];
    struct pl_copy *copy;
    struct forge *forge = forge_build("leak");
    forge_header(forge)->destination = forge_text(forge, "/home/me/app.plim", 17);
    forge_to_file(forge, original);
    assert_int_equal(pl_copy_take(original, &copy, why), 0);
    assert_string_equal(pl_copy_destination(copy), "/home/me/app.plim");
    pl_copy_free(copy);
    forge_header(forge)->destination = (struct pl_text){UINT32_MAX - 3, 17};
    assert_int_equal(forge_write(forge, original), 0);
    assert_int_equal(pl_copy_take(original, &copy, why), 0);
    assert_string_equal(pl_copy_destination(copy), "");
    pl_copy_free(copy);
    forge_free(forge);
    unlink(original);
}

/* Pid and start time are those of this very process, which is running. */
static void symbols_can_be_added_to_the_snapshot_of_a_running_process_but_not_to_its_profile(void **state)
{
    (void) state;
    char original[64], path[64], why[PL_WHY_BYTES], line[1024] = "";
    FILE *stat = fopen("/proc/self/stat", "re");
    assert_true(fgets(line, sizeof line, stat) != NULL);
    fclose(stat);
    char *field = strrchr(line, ')');
    for (int i = 2; i < 22; i++)
        field = strchr(field + 1, ' ');
    struct forge *forge = forge_build("leak");
    struct pl_header *header = forge_header(forge);
    header->pid = (uint32_t) getpid();
    header->start_ticks = strtoull(field + 1, NULL, 10);
    header->end = PL_END_NONE;
    header->flags &= ~(uint32_t) (PL_FLAG_WAITED | PL_FLAG_SYMBOLS);
    forge_to_file(forge, original);
    copy_forge(forge, "", path);
    struct pl_profile *profile = open_file(path);
    assert_int_equal(pl_annotate(original, profile, why), -EBUSY);
    assert_int_equal(pl_annotate(path, profile, why), 0);
    pl_profile_close(profile);
    forge_free(forge);
    unlink(original);
    unlink(path);
}

/* ---- failures ---- */

static int writes_left = -1; /* until the disk is full; -1: never */

ssize_t __real_pwrite64(int fd, const void *data, size_t bytes, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t bytes, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t bytes, off_t at)
{
    if (writes_left == 0) {
        errno = ENOSPC;
        return -1;
    }
    writes_left -= writes_left > 0;
    return __real_pwrite64(fd, data, bytes, at);
}

/* A process killed between two writes leaves the same as one that finds the disk full. */
static void an_unfinished_copy_cannot_be_read_as_a_profile(void **state)
{
    (void) state;
    struct forge *forge = forge_build("leak");
    char original[64], path[] = "/tmp/plimsoll-copy.XXXXXX", why[PL_WHY_BYTES];
    forge_to_file(forge, original);
    int fd = mkstemp(path), result = -ENOSPC;
    assert_true(fd >= 0);
    for (int writes = 0; result == -ENOSPC; writes++) {
        struct pl_profile *profile = NULL;
        assert_int_equal(ftruncate(fd, 0), 0);
        writes_left = writes;
        result = copy_file(original, "", fd);
        writes_left = -1;
        assert_int_equal(pl_profile_open(path, &profile, why) == 0, result == 0);
        pl_profile_close(profile);
        assert_true(writes < 1000);
    }
    assert_int_equal(result, 0);
    close(fd);
    unlink(path);
    unlink(original);
    forge_free(forge);
}

static void a_file_that_is_not_a_profile_is_refused_with_a_reason(void **state)
{
    (void) state;
    struct pl_copy *copy = NULL;
    char why[PL_WHY_BYTES] = "";
    assert_int_equal(pl_copy_take("/nonexistent", &copy, why), -ENOENT);
    assert_string_equal(why, "cannot open /nonexistent: No such file or directory");
    assert_true(pl_copy_take("/proc/self/exe", &copy, why) < 0);
    assert_true(strstr(why, "not a Plimsoll profile") != NULL);
    assert_null(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_of_every_kind_keeps_its_number_and_its_bytes),
        cmocka_unit_test(the_copy_reads_like_the_original),
        cmocka_unit_test(space_reserved_for_growth_is_not_copied),
        cmocka_unit_test(the_copy_is_marked_as_a_snapshot_with_its_name),
        cmocka_unit_test(a_name_never_crosses_a_chunk),
        cmocka_unit_test(the_destination_is_known_before_anything_is_written),
        cmocka_unit_test(symbols_can_be_added_to_the_snapshot_of_a_running_process_but_not_to_its_profile),
        cmocka_unit_test(an_unfinished_copy_cannot_be_read_as_a_profile),
        cmocka_unit_test(a_file_that_is_not_a_profile_is_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
