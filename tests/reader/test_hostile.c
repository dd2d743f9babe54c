/* SPDX-License-Identifier: MIT */
/*
 * test_hostile.c - invalid and damaged files are refused with a reason, or read with the damage counted.
 *
 * The memory of the arenas is counted (the linker wraps calloc): reading a file must not take more than a small
 * multiple of its size, whatever its counts claim.
 */
#include <errno.h>
#include <math.h>

#include "forged_profile.h"

#define COST_FACTOR                                                                                                    \
    12 /* measured: 7 for a file of nothing but one stack, 6 for one whose stacks unfold to the bound                  \
        */
#define COST_FIXED (4u << 20)

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
static size_t cost_bytes;

void *__wrap_calloc(size_t count, size_t bytes)
{
    cost_bytes += count * bytes;
    return __real_calloc(count, bytes);
}

/* Loads the image if possible, checks pl_profile_valid() and the cost, and returns the damage; -1 if it is refused. */
static int64_t damage_of(const void *image, size_t bytes)
{
    struct pl_profile *profile = NULL;
    char why[PL_WHY_BYTES] = "";
    cost_bytes = 0;
    int result = load_copy(image, bytes, &profile, why);
    assert_true(cost_bytes <= COST_FIXED + COST_FACTOR * bytes);
    if (result != 0) {
        assert_null(profile);
        assert_true(strlen(why) > 0);
        return -1;
    }
    assert_true(pl_profile_valid(profile));
    int64_t damage = (int64_t) profile->damage;
    pl_profile_close(profile);
    return damage;
}

static int64_t damage_of_forge(struct forge *forge)
{
    return damage_of(forge_image(forge), forge_bytes(forge));
}

static void assert_refused(const void *image, size_t bytes, const char *expected)
{
    struct pl_profile *profile = NULL;
    char why[PL_WHY_BYTES] = "";
    assert_true(load_copy(image, bytes, &profile, why) < 0);
    assert_null(profile);
    assert_string_equal(why, expected);
}

/* A file with a module (2), three frames (1, 2, 3: outermost to innermost), a thread, a site (2) and a row (1). */
static struct forge *small_forge(void)
{
    struct forge *forge = forge_build("empty");
    uint32_t module = forge_module(forge, "/bin/app", 1), frame = 0;
    for (uint64_t i = 1; i <= 3; i++)
        frame = forge_frame(forge, frame, module, 0x1000 * i);
    forge_sample(&forge_row_at(forge, forge_row(forge, forge_site(forge, frame), 1))->allocated, 100, 10, 3);
    assert_int_equal(damage_of_forge(forge), 0);
    return forge;
}

static struct pl_frame *frame_at(struct forge *forge, uint32_t frame)
{
    return forge_record(forge, PL_KIND_FRAME, frame);
}

static void a_file_that_is_not_a_profile_is_refused_by_its_first_bytes(void **state)
{
    (void) state;
    assert_refused("", 0, "the profile in memory is empty: not a Plimsoll profile");
    assert_refused("\x7f"
                   "ELF\2\1\1\0",
                   8, "the profile in memory is not a Plimsoll profile (it starts with \"\\x7fELF\")");
    assert_refused("#!/bin/sh\n", 10, "the profile in memory is not a Plimsoll profile (it starts with \"#!/bin/s\")");
    assert_refused("a\"b\\", 4, "the profile in memory is not a Plimsoll profile (it starts with \"a\\x22b\\x5c\")");
    assert_refused("\0\0\0\0\0\0\0\0", 8, "the profile in memory is not a Plimsoll profile (it starts with zeros)");
}

static void a_profile_without_its_directory_is_refused(void **state)
{
    (void) state;
    struct forge *forge = forge_build("leak");
    assert_refused(forge_image(forge), 8,
                   "the profile in memory is truncated: 8 bytes, but a profile has at least 20480");
    assert_refused(forge_image(forge), PL_CHUNKS_OFFSET - 1,
                   "the profile in memory is truncated: 20479 bytes, but a profile has at least 20480");
    forge_free(forge);
}

static void the_other_byte_order_is_refused_with_the_reason(void **state)
{
    (void) state;
    struct forge *forge = forge_build("leak");
    forge_header(forge)->byte_order = __builtin_bswap32(PL_BYTE_ORDER);
    forge_header(forge)->version = __builtin_bswap32(PL_VERSION);
    assert_refused(
        forge_image(forge), forge_bytes(forge),
        "the profile in memory was written on a machine with the other byte order: read it on such a machine");
    forge_free(forge);
}

static void chunks_of_another_size_are_damage(void **state)
{
    (void) state;
    struct forge *forge = forge_build("leak");
    forge_header(forge)->chunk_bytes = 2 * PL_CHUNK_BYTES;
    assert_refused(forge_image(forge), forge_bytes(forge),
                   "the profile in memory is damaged (chunks of 32768 bytes instead of 16384)");
    forge_free(forge);
}

static void another_version_is_refused_with_its_number(void **state)
{
    (void) state;
    struct forge *forge = forge_build("leak");
    forge_header(forge)->version = PL_VERSION + 1;
    assert_refused(
        forge_image(forge), forge_bytes(forge),
        "the profile in memory has format version 6, but this plimsoll reads up to version 5: use a newer one");
    forge_header(forge)->version = 3;
    assert_refused(
        forge_image(forge), forge_bytes(forge),
        "the profile in memory was written by an older Plimsoll (format 3), but this one reads formats 4 to 5: "
        "profile the program again");
    forge_header(forge)->version = 0;
    assert_refused(forge_image(forge), forge_bytes(forge),
                   "the profile in memory has format version 0, which no plimsoll writes");
    forge_free(forge);
}

static void a_file_that_cannot_be_opened_is_refused_with_the_reason(void **state)
{
    (void) state;
    struct pl_profile *profile = NULL;
    char why[PL_WHY_BYTES];
    assert_int_equal(pl_profile_open("/nowhere/x.plim", &profile, why), -ENOENT);
    assert_string_equal(why, "cannot open /nowhere/x.plim: No such file or directory");
    assert_int_equal(pl_profile_open("/tmp", &profile, why), -EISDIR);
    assert_string_equal(why, "/tmp is a directory, not a profile");
    assert_int_equal(pl_profile_open("/dev/null", &profile, why), -EINVAL);
    assert_null(profile);
}

static void a_file_truncated_anywhere_is_read_up_to_there_or_refused(void **state)
{
    (void) state;
    struct forge *forge = forge_build("leak");
    size_t bytes = forge_bytes(forge);
    for (size_t cut = 0; cut < PL_CHUNKS_OFFSET; cut += 61)
        assert_int_equal(damage_of(forge_image(forge), cut), -1);
    for (size_t cut = PL_CHUNKS_OFFSET; cut < bytes; cut += 509)
        assert_true(damage_of(forge_image(forge), cut) > 0);
    assert_int_equal(damage_of(forge_image(forge), bytes), 0);
    forge_free(forge);
}

static void a_truncated_record_is_ignored(void **state)
{
    (void) state;
    struct forge *forge = small_forge();
    struct pl_row *row = forge_row_at(forge, 1);
    size_t cut = (size_t) ((unsigned char *) row - forge_image(forge)) + sizeof *row / 2;
    struct pl_profile *profile;
    char why[PL_WHY_BYTES];
    assert_int_equal(load_copy(forge_image(forge), cut, &profile, why), 0);
    assert_int_equal(profile->sites, 0);
    assert_true(profile->damage > 0);
    pl_profile_close(profile);
    forge_free(forge);
}

static void counts_beyond_the_chunks_cost_nothing(void **state)
{
    (void) state;
    struct forge *forge = forge_build("leak");
    struct pl_header *header = forge_header(forge);
    size_t bytes = forge_bytes(forge);
    for (int kind = 0; kind < PL_KINDS_MAX; kind++)
        header->count[kind] = kind % 2 ? UINT64_MAX : 0xffffffff;
    header->chunks = UINT64_MAX;
    struct pl_profile *profile;
    char why[PL_WHY_BYTES];
    cost_bytes = 0;
    assert_int_equal(load_copy(forge_image(forge), bytes, &profile, why), 0);
    assert_true(cost_bytes <= COST_FIXED);
    assert_int_equal(profile->sites, 3);
    assert_int_equal(profile->damage, 0); /* a writer without room goes on counting */
    pl_profile_close(profile);
    forge_free(forge);
}

static void a_directory_that_claims_all_chunks_costs_nothing(void **state)
{
    (void) state;
    struct forge *forge = forge_build("leak");
    for (int kind = PL_KIND_TEXT; kind <= PL_KIND_COMPOSITION; kind++) {
        memset(forge_image(forge) + PL_HEADER_BYTES, kind, PL_DIRECTORY_CHUNKS);
        forge_header(forge)->count[kind] = UINT32_MAX;
        assert_true(damage_of(forge_image(forge), PL_CHUNKS_OFFSET + PL_CHUNK_BYTES) >= PL_DIRECTORY_CHUNKS - 1);
    }
    forge_free(forge);
}

/* A scenario whose chunks begin near the end of the first directory; those before are of an unknown kind. */
static struct forge *forge_far_behind(const char *scenario)
{
    struct forge *forge = forge_new();
    uint32_t first = (uint32_t) forge_header(forge)->chunks, used = PL_DIRECTORY_CHUNKS - 2;
    memset(forge_image(forge) + PL_HEADER_BYTES + first, PL_KINDS_MAX - 1, used - first);
    forge_header(forge)->chunks = used;
    forge_find(scenario)->build(forge);
    return forge;
}

static void records_beyond_the_first_directory_are_read(void **state)
{
    (void) state;
    char why[PL_WHY_BYTES];
    struct forge *far = forge_far_behind("exact");
    struct pl_profile *profile, *expected = load_scenario("exact");
    assert_true(forge_header(far)->chunks > PL_DIRECTORY_CHUNKS);
    assert_int_equal(pl_profile_load(forge_image(far), forge_bytes(far), &profile, why), 0);
    assert_int_equal(profile->damage, 0);
    assert_int_equal(profile->sites, expected->sites);
    assert_true(profile->sites > 0);
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_figures found = pl_site_figures(&profile->site[i]), meant = pl_site_figures(&expected->site[i]);
        assert_memory_equal(&found.allocated, &meant.allocated, sizeof found.allocated);
        assert_memory_equal(&found.freed, &meant.freed, sizeof found.freed);
        assert_memory_equal(&found.peak, &meant.peak, sizeof found.peak);
    }
    pl_profile_close(profile);
    pl_profile_close(expected);
    forge_free(far);
}

static void a_hostile_second_directory_costs_nothing(void **state)
{
    (void) state;
    struct forge *forge = forge_far_behind("exact");
    size_t bytes = forge_bytes(forge);
    unsigned char *next = forge_image(forge) + pl_chunk_offset(PL_DIRECTORY_CHUNKS - 1);
    struct pl_profile *profile;
    char why[PL_WHY_BYTES];
    for (int kind = PL_KIND_TEXT; kind <= PL_KIND_DIRECTORY; kind++) { /* the last: directories without end */
        memset(next, kind, PL_DIRECTORY_CHUNKS);
        forge_header(forge)->count[kind] = UINT32_MAX;
        assert_int_equal(pl_profile_load(forge_image(forge), bytes, &profile, why), 0);
        assert_true(kind == PL_KIND_DIRECTORY || profile->damage > PL_DIRECTORY_CHUNKS / 2);
        pl_profile_close(profile);
    }
    forge_image(forge)[pl_chunk_entry(PL_DIRECTORY_CHUNKS - 1)] = PL_KIND_NONE; /* the second one does not exist */
    assert_int_equal(pl_profile_load(forge_image(forge), bytes, &profile, why), 0);
    pl_profile_close(profile);
    forge_free(forge);
}

static void a_frame_that_is_its_own_caller_loses_its_stack_but_not_its_figures(void **state)
{
    (void) state;
    for (uint32_t parent = 1; parent <= 3; parent++) { /* itself, or a frame that leads back to it */
        struct forge *forge = small_forge();
        frame_at(forge, 1)->parent = parent;
        struct pl_profile *profile = forge_load(forge);
        assert_true(profile->damage > 0);
        assert_int_equal(profile->sites, 1);
        assert_int_equal(profile->site[0].stack, PL_NO_STACK);
        assert_int_equal(profile->samples, 3);
        pl_profile_close(profile);
        forge_free(forge);
    }
}

static void frames_that_refer_to_missing_records_are_damage(void **state)
{
    (void) state;
    static const uint32_t nonsense[] = {0, 3, 128, 0xffff, UINT32_MAX};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        struct forge *forge = small_forge();
        frame_at(forge, 2)->module = nonsense[i];
        assert_true(damage_of_forge(forge) > 0);
        forge_free(forge);
    }
}

static void rows_and_sites_that_refer_to_missing_records_are_damage(void **state)
{
    (void) state;
    static const uint32_t nonsense[] = {4, 1024, 1u << 20, UINT32_MAX};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        struct forge *forge = small_forge();
        forge_row_at(forge, 1)->site = nonsense[i];
        assert_int_equal(damage_of_forge(forge), 1);
        forge_row_at(forge, 1)->site = 2;
        forge_row_at(forge, 1)->thread = nonsense[i];
        assert_int_equal(damage_of_forge(forge), 1);
        forge_row_at(forge, 1)->thread = 1;
        ((struct pl_site *) forge_record(forge, PL_KIND_SITE, 2))->stack = nonsense[i];
        assert_int_equal(damage_of_forge(forge), 1);
        ((struct pl_site *) forge_record(forge, PL_KIND_SITE, PL_SITE_OVERFLOW))->stack = nonsense[i];
        forge_row_at(forge, 1)->site = PL_SITE_OVERFLOW;
        assert_int_equal(damage_of_forge(forge), 0); /* the stack of the overflow site is not used */
        forge_free(forge);
    }
}

static void impossible_sums_are_dropped(void **state)
{
    (void) state;
    const double nonsense[] = {NAN, -NAN, INFINITY, -INFINITY, -1, -1e-300, 1e301, 1e-300};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        for (size_t sums = 0; sums < 3; sums++) {
            for (size_t field = 0; field < 4; field++) {
                struct forge *forge = small_forge();
                struct pl_row *row = forge_row_at(forge, 1);
                struct pl_sums *const choice[] = {&row->allocated, &row->freed, &row->remote};
                memcpy((char *) choice[sums] + field * sizeof(double), &nonsense[i], sizeof(double));
                struct pl_profile *profile = forge_load(forge);
                assert_int_equal(profile->damage, 1);
                assert_int_equal(profile->sites, 0);
                assert_true(isfinite(profile->total[PL_METRIC_INUSE_SPACE].value));
                pl_profile_close(profile);
                forge_free(forge);
            }
        }
    }
}

static void impossible_numbers_of_samples_are_dropped(void **state)
{
    (void) state;
    struct forge *forge = small_forge();
    forge_row_at(forge, 1)->allocated.samples = UINT64_MAX;
    assert_int_equal(damage_of_forge(forge), 1);
    forge_free(forge);
}

static void impossible_weights_are_left_out(void **state)
{
    (void) state;
    const float nonsense[] = {NAN, INFINITY, -INFINITY, -1};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        struct forge *forge = small_forge();
        struct pl_row *row = forge_row_at(forge, 1);
        row->sizes[3] = row->lives[31] = row->made[0] = row->gone[7] = nonsense[i];
        row->temporaries = row->realloc_calls = row->realloc_moved = (double) nonsense[i];
        row->realloc_in_place = row->exit_objects = row->exit_space = (double) nonsense[i];
        row->skew.objects = (double) nonsense[i];
        struct pl_profile *profile = forge_load(forge);
        assert_int_equal(profile->damage, 1);
        assert_int_equal(profile->samples, 3);
        assert_true(profile->spread.sizes[3] == 0 && profile->spread.exit_space == 0);
        assert_true(unpack_site(&profile->site[0])->figures.skew.objects == 0);
        pl_profile_close(profile);
        forge_free(forge);
    }
}

static void with_impossible_saved_sums_the_peak_is_what_is_live(void **state)
{
    (void) state;
    const double nonsense[] = {NAN, INFINITY, -INFINITY, 1e301};
    for (size_t i = 0; i < 2 * sizeof nonsense / sizeof *nonsense; i++) {
        struct forge *forge = small_forge();
        struct pl_row *row = forge_row_at(forge, 1);
        forge_header(forge)->peak = (struct pl_peak){.bytes = 1 << 20, .era = 5, .peaks = 1};
        row->era = row->remote_era = 6;
        (i % 2 ? &row->peak : &row->peak_remote)->space = nonsense[i / 2];
        struct pl_profile *profile = forge_load(forge);
        assert_int_equal(profile->damage, 1);
        assert_true(profile->total[PL_METRIC_PEAK_SPACE].value == 3000);
        assert_true(profile->total[PL_METRIC_INUSE_SPACE].value == 3000);
        pl_profile_close(profile);
        forge_free(forge);
    }
}

/* Replaces each word of a record of the scenario in turn by several harmful values. */
static void hurt_every_word_of(const char *scenario, enum pl_kind kind, uint32_t number, size_t bytes)
{
    static const uint64_t nonsense[] = {1, 1ull << 31, UINT32_MAX, 1ull << 53, 1ull << 63, UINT64_MAX};
    struct forge *forge = forge_build(scenario);
    unsigned char *record = kind == PL_KIND_NONE ? forge_image(forge) : forge_record(forge, kind, number);
    for (size_t at = kind == PL_KIND_NONE ? 24 : 0; at < bytes; at += 4) {
        for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
            unsigned char before[8];
            memcpy(before, record + at, 8);
            memcpy(record + at, &nonsense[i], at % 8 == 0 ? 8 : 4);
            assert_true(damage_of_forge(forge) >= 0); /* which also checks pl_profile_valid() */
            memcpy(record + at, before, 8);
        }
    }
    forge_free(forge);
}

static void no_harmful_word_makes_a_profile_invalid(void **state)
{
    (void) state;
    hurt_every_word_of("exact", PL_KIND_TALLY, 2, sizeof(struct pl_tally));
    hurt_every_word_of("exact", PL_KIND_REMOTE, 1, sizeof(struct pl_remote));
    for (uint32_t i = 1; i <= 3; i++)
        hurt_every_word_of("small", PL_KIND_SMALL, i, sizeof(struct pl_small));
    hurt_every_word_of("small", PL_KIND_REMOTE, 1, sizeof(struct pl_remote));
    hurt_every_word_of("small", PL_KIND_COMPOSITION, 1, 128);
    hurt_every_word_of("exact", PL_KIND_MOMENT, 3, sizeof(struct pl_moment));
    hurt_every_word_of("exact", PL_KIND_COMPOSITION, 2, 128);
    hurt_every_word_of("auto", PL_KIND_ROW, 1, sizeof(struct pl_row));
    hurt_every_word_of("exact", PL_KIND_NONE, 0, 160); /* the header up to its number of chunks */
    hurt_every_word_of("auto", PL_KIND_NONE, 0, 160);
}

static void tallies_and_remotes_that_refer_to_missing_records_are_damage(void **state)
{
    (void) state;
    static const uint32_t nonsense[] = {100, 1u << 20, UINT32_MAX};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        struct forge *forge = forge_build("exact");
        struct pl_remote *remote = forge_record(forge, PL_KIND_REMOTE, 1);
        forge_tally_at(forge, 1)->site = nonsense[i];
        assert_int_equal(damage_of_forge(forge), 1);
        forge_tally_at(forge, 3)->thread = nonsense[i];
        assert_int_equal(damage_of_forge(forge), 3); /* a heap composition refers to it, too */
        forge_tally_at(forge, 2)->remote = nonsense[i];
        assert_int_equal(damage_of_forge(forge), 3); /* only the reference in the remote record is used */
        remote->tally = nonsense[i];
        assert_int_equal(damage_of_forge(forge), 4);
        forge_free(forge);
    }
}

static void small_records_that_refer_to_missing_records_are_damage(void **state)
{
    (void) state;
    static const uint32_t nonsense[] = {100, 1u << 20, UINT32_MAX};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        struct forge *forge = forge_build("small");
        struct pl_remote *remote = forge_record(forge, PL_KIND_REMOTE, 1);
        assert_int_equal(damage_of_forge(forge), 0);
        forge_small_at(forge, 2)->site = nonsense[i] | PL_SMALL_MARK;
        assert_int_equal(damage_of_forge(forge), 1);
        forge_small_at(forge, 3)->thread = nonsense[i];
        assert_int_equal(damage_of_forge(forge), 3); /* a heap composition refers to it, too */
        forge_small_at(forge, 1)->grown = nonsense[i];
        assert_int_equal(damage_of_forge(forge), 3); /* as if the tally had never been published */
        remote->tally = nonsense[i] | PL_SMALL_MARK;
        assert_int_equal(damage_of_forge(forge), 4);
        forge_free(forge);
    }
}

static void impossible_counts_are_dropped(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    forge_tally_at(forge, 1)->calls = UINT64_MAX;
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->sites, 2);
    assert_int_equal(profile->damage, 4); /* three heap compositions refer to it, too */
    pl_profile_close(profile);
    forge_free(forge);
}

/* The sites still have the allocations. */
static void impossible_counts_of_threads_are_ignored(void **state)
{
    (void) state;
    for (int field = 0; field < 2; field++) {
        struct forge *forge = forge_build("exact");
        struct pl_thread_record *thread = forge_record(forge, PL_KIND_THREAD, 1);
        struct pl_profile *before = forge_load(forge);
        *(field ? &thread->bytes : &thread->calls[PL_FN_CALLOC]) = UINT64_MAX / 3 * 2;
        thread->threads = 900000000;
        struct pl_profile *profile = forge_load(forge);
        assert_int_equal(profile->damage, before->damage + 1);
        assert_true(profile->total[PL_METRIC_ALLOC_OBJECTS].value <= before->total[PL_METRIC_ALLOC_OBJECTS].value);
        assert_true(profile->total[PL_METRIC_ALLOC_SPACE].value <= before->total[PL_METRIC_ALLOC_SPACE].value);
        assert_int_equal(profile->thread[0].threads, 0);
        pl_profile_close(profile);
        pl_profile_close(before);
        forge_free(forge);
    }
}

static void frees_beyond_the_counted_allocations_are_discarded_and_counted(void **state)
{
    (void) state;
    struct forge *forge = forge_build("exact");
    ((struct pl_remote *) forge_record(forge, PL_KIND_REMOTE, 1))->calls += 5;
    struct pl_profile *profile = forge_load(forge);
    assert_true(profile->total[PL_METRIC_INUSE_OBJECTS].value == 1000);
    assert_int_equal(profile->in_flight, 1);
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
    forge_free(forge);
}

static void texts_outside_the_file_are_empty(void **state)
{
    (void) state;
    const struct pl_text nonsense[] = {
        {0, UINT32_MAX}, {UINT32_MAX, 1}, {UINT32_MAX, UINT32_MAX}, {PL_CHUNK_BYTES - 2, 4}, {8, PL_CHUNK_BYTES},
    };
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        struct forge *forge = small_forge();
        for (int t = 0; t < 3; t++) /* a second chunk, so that crossing into it is not past the end */
            forge_text(forge, (char[PL_CHUNK_BYTES / 2]){0}, PL_CHUNK_BYTES / 2);
        struct pl_header *header = forge_header(forge);
        header->executable = header->command = nonsense[i];
        ((struct pl_module *) forge_record(forge, PL_KIND_MODULE, 2))->path = nonsense[i];
        struct pl_profile *profile = forge_load(forge);
        assert_true(profile->damage > 0);
        assert_string_equal(profile->executable, "");
        assert_null(profile->argv[0]);
        assert_string_equal(profile->module[1].path, "");
        pl_profile_close(profile);
        forge_free(forge);
    }
}

static void overlapping_texts_have_a_limited_cost(void **state)
{
    (void) state;
    struct forge *forge = small_forge();
    char text[PL_CHUNK_BYTES];
    memset(text, 'x', sizeof text);
    uint32_t offset = forge_text(forge, text, sizeof text).offset;
    for (uint32_t i = 0; i < 8000; i++) {
        uint32_t module = forge_module(forge, "", 1);
        ((struct pl_module *) forge_record(forge, PL_KIND_MODULE, module))->path =
            (struct pl_text){offset + i, PL_CHUNK_BYTES - i};
    }
    assert_true(damage_of_forge(forge) > 0); /* which also checks the cost */
    forge_free(forge);
}

static void stacks_that_would_expand_beyond_the_limit_are_damage(void **state)
{
    (void) state;
    struct forge *forge = small_forge();
    uint32_t frame = 0;
    for (uint32_t i = 0; i < 50000; i++) { /* 50,000 stacks of up to 50,000 frames: 1.25 billion entries */
        frame = forge_frame(forge, frame, 2, 0x1000 + i);
        forge_sample(&forge_row_at(forge, forge_row(forge, forge_site(forge, frame), 1))->allocated, 1, 1, 1);
    }
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->samples, 50003);
    assert_true(profile->damage > 0);
    pl_profile_close(profile);
    assert_true(damage_of_forge(forge) > 0);
    forge_free(forge);
}

static void a_file_with_one_huge_stack_costs_a_small_multiple_of_its_size(void **state)
{
    (void) state;
    struct forge *forge = small_forge();
    uint32_t frame = 0;
    for (uint32_t i = 0; i < 300000; i++)
        frame = forge_frame(forge, frame, 2, 0x1000 + i);
    forge_sample(&forge_row_at(forge, forge_row(forge, forge_site(forge, frame), 1))->allocated, 1, 1, 1);
    assert_int_equal(damage_of_forge(forge), 0);
    forge_free(forge);
}

static void a_build_id_longer_than_its_field_is_ignored(void **state)
{
    (void) state;
    struct forge *forge = small_forge();
    ((struct pl_module *) forge_record(forge, PL_KIND_MODULE, 2))->build_id_bytes = PL_BUILD_ID_MAX + 1;
    struct pl_profile *profile = forge_load(forge);
    assert_int_equal(profile->damage, 1);
    assert_string_equal(profile->module[1].build_id, "");
    pl_profile_close(profile);
    forge_free(forge);
}

static void symbols_for_missing_frames_are_damage(void **state)
{
    (void) state;
    struct forge *forge = small_forge();
    forge_symbol(forge, 1000, "f", "f.c", 1);
    forge_symbol(forge, UINT32_MAX, "f", "f.c", 1);
    forge_header(forge)->flags |= PL_FLAG_SYMBOLS;
    assert_int_equal(damage_of_forge(forge), 2);
    forge_free(forge);
}

static void chunks_of_an_unknown_kind_are_skipped(void **state)
{
    (void) state;
    struct forge *forge = small_forge();
    unsigned char *directory = forge_image(forge) + PL_HEADER_BYTES;
    directory[forge_header(forge)->chunks++] = 31;
    directory[forge_header(forge)->chunks++] = 255;
    assert_int_equal(damage_of_forge(forge), 0);
    forge_free(forge);
}

/* Changes random bytes of the meaningful parts. The file is read or refused, within the cost. */
static void random_changes_never_make_a_profile_invalid(void **state)
{
    (void) state;
    uint64_t random = 12345;
    for (int round = 0; round < 1500; round++) {
        struct forge *forge = forge_build(round % 3 == 0 ? "inlined" : round % 3 == 1 ? "duplicates" : "leak");
        size_t bytes = forge_bytes(forge); /* before its own count of chunks is changed */
        for (int change = 0; change < 12; change++) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            size_t at = (random >> 20) % (change < 4 ? 900 : bytes - PL_CHUNKS_OFFSET);
            if (change >= 4) /* records sit at the beginning of chunks */
                at = PL_CHUNKS_OFFSET + at / PL_CHUNK_BYTES * PL_CHUNK_BYTES + at % 1024;
            if (at >= 32) /* changes before this are only refused */
                forge_image(forge)[at] = (unsigned char) (random >> 56);
        }
        damage_of(forge_image(forge), bytes);
        forge_free(forge);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_not_a_profile_is_refused_by_its_first_bytes),
        cmocka_unit_test(a_profile_without_its_directory_is_refused),
        cmocka_unit_test(the_other_byte_order_is_refused_with_the_reason),
        cmocka_unit_test(chunks_of_another_size_are_damage),
        cmocka_unit_test(another_version_is_refused_with_its_number),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_refused_with_the_reason),
        cmocka_unit_test(a_file_truncated_anywhere_is_read_up_to_there_or_refused),
        cmocka_unit_test(a_truncated_record_is_ignored),
        cmocka_unit_test(counts_beyond_the_chunks_cost_nothing),
        cmocka_unit_test(a_directory_that_claims_all_chunks_costs_nothing),
        cmocka_unit_test(records_beyond_the_first_directory_are_read),
        cmocka_unit_test(a_hostile_second_directory_costs_nothing),
        cmocka_unit_test(a_frame_that_is_its_own_caller_loses_its_stack_but_not_its_figures),
        cmocka_unit_test(frames_that_refer_to_missing_records_are_damage),
        cmocka_unit_test(rows_and_sites_that_refer_to_missing_records_are_damage),
        cmocka_unit_test(impossible_sums_are_dropped),
        cmocka_unit_test(impossible_numbers_of_samples_are_dropped),
        cmocka_unit_test(impossible_weights_are_left_out),
        cmocka_unit_test(with_impossible_saved_sums_the_peak_is_what_is_live),
        cmocka_unit_test(no_harmful_word_makes_a_profile_invalid),
        cmocka_unit_test(tallies_and_remotes_that_refer_to_missing_records_are_damage),
        cmocka_unit_test(small_records_that_refer_to_missing_records_are_damage),
        cmocka_unit_test(impossible_counts_are_dropped),
        cmocka_unit_test(impossible_counts_of_threads_are_ignored),
        cmocka_unit_test(frees_beyond_the_counted_allocations_are_discarded_and_counted),
        cmocka_unit_test(texts_outside_the_file_are_empty),
        cmocka_unit_test(overlapping_texts_have_a_limited_cost),
        cmocka_unit_test(stacks_that_would_expand_beyond_the_limit_are_damage),
        cmocka_unit_test(a_file_with_one_huge_stack_costs_a_small_multiple_of_its_size),
        cmocka_unit_test(a_build_id_longer_than_its_field_is_ignored),
        cmocka_unit_test(symbols_for_missing_frames_are_damage),
        cmocka_unit_test(chunks_of_an_unknown_kind_are_skipped),
        cmocka_unit_test(random_changes_never_make_a_profile_invalid),
    };
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
