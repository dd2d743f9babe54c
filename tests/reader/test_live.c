/* SPDX-License-Identifier: MIT */
/*
 * test_live.c - a file that is written, grown or truncated while it is read.
 *
 * Threads of this program act as the profiled process: they write to a shared mapping of a forged file with the
 * writer's protocol. Their figures obey equations (every sample has weight 10 and 100 bytes), so a reading that mixes
 * two states is detected.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "forged_profile.h"

#define ROWS 200
#define TALLIES 64
#define READINGS 150 /* at least: on a busy machine the writers may not have run by then */
#define WEIGHT 10.0
#define SIZE 100.0
#define KEPT 3

#define FRAMES_PER_CHUNK (PL_CHUNK_BYTES / sizeof(struct pl_frame)) /* the same for sites, which have the same size */
#define ROWS_PER_CHUNK (PL_CHUNK_BYTES / sizeof(struct pl_row))
#define ROW_FIRST ((ROWS + ROWS_PER_CHUNK) / ROWS_PER_CHUNK * ROWS_PER_CHUNK) /* after those of set_up(), and row 0 */
#define PUBLISHED 1024                                                        /* a chunk of frames */

struct stage {
    char path[64];
    unsigned char *map;
    size_t bytes;
    size_t row_offset[ROWS];
    size_t tally_offset[TALLIES];
    size_t remote_offset[TALLIES];
    _Atomic uint64_t given[TALLIES];
    atomic_bool stop;
};

/* Writes the image to a file and maps the file. */
static void map_file(struct stage *stage, struct forge *forge)
{
    forge_to_file(forge, stage->path);
    stage->bytes = forge_bytes(forge);
    forge_free(forge);
    int fd = open(stage->path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    stage->map = mmap(NULL, PL_FILE_BYTES_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    assert_true(stage->map != MAP_FAILED);
    close(fd);
    atomic_store(&stage->stop, false);
}

/* A mapped file with ROWS rows, each with its own stack. */
static void set_up(struct stage *stage)
{
    struct forge *forge = forge_build("empty");
    uint32_t module = forge_module(forge, "/bin/app", 1);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t row = forge_row(forge, forge_site(forge, forge_frame(forge, 0, module, 0x1000 + i)), 1);
        stage->row_offset[i] = (size_t) ((unsigned char *) forge_row_at(forge, row) - forge_image(forge));
    }
    map_file(stage, forge);
}

static void tear_down(struct stage *stage)
{
    munmap(stage->map, PL_FILE_BYTES_MAX);
    unlink(stage->path);
}

static struct pl_row *row_of(struct stage *stage, uint32_t i)
{
    return (struct pl_row *) (stage->map + stage->row_offset[i]);
}

static void store(double *to, double value)
{
    __atomic_store(to, &value, __ATOMIC_RELAXED);
}

/* Writes one sample, word by word, between two steps of the sequence. */
static void write_sample(struct pl_row *row, struct pl_sums *sums)
{
    struct pl_sums next = *sums;
    forge_sample(&next, SIZE, WEIGHT, 1);
    __atomic_store_n(&row->sequence, row->sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    store(&sums->objects, next.objects);
    store(&sums->space, next.space);
    store(&sums->objects_variance, next.objects_variance);
    store(&sums->space_variance, next.space_variance);
    __atomic_store_n(&sums->samples, next.samples, __ATOMIC_RELAXED);
    __atomic_store_n(&row->sequence, row->sequence + 1, __ATOMIC_RELEASE);
}

static void *allocate_and_free(void *context)
{
    struct stage *stage = context;
    for (uint32_t i = 0; !atomic_load(&stage->stop); i++) {
        struct pl_row *row = row_of(stage, i % ROWS);
        write_sample(row, &row->allocated);
        if (i / ROWS % 2)
            write_sample(row, &row->freed);
    }
    return NULL;
}

static void add(double *to, double value)
{
    double now = *to, next;
    do
        next = now + value;
    while (!__atomic_compare_exchange(to, &now, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* Frees blocks of another thread as soon as they are allocated, except for the last KEPT of each row. */
static void *free_remotely(void *context)
{
    struct stage *stage = context;
    for (uint32_t i = 0; !atomic_load(&stage->stop); i++) {
        struct pl_row *row = row_of(stage, i % ROWS);
        struct pl_sums *sums = &row->remote;
        if (__atomic_load_n(&row->allocated.samples, __ATOMIC_ACQUIRE) <= sums->samples + KEPT)
            continue;
        add(&sums->objects, WEIGHT);
        add(&sums->space, WEIGHT * SIZE);
        add(&sums->objects_variance, WEIGHT * (WEIGHT - 1));
        add(&sums->space_variance, WEIGHT * (WEIGHT - 1) * SIZE * SIZE);
        __atomic_fetch_add(&sums->samples, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void *only_allocate(void *context)
{
    struct stage *stage = context;
    for (uint32_t i = 0; !atomic_load(&stage->stop); i++) {
        struct pl_row *row = row_of(stage, i % ROWS);
        write_sample(row, &row->allocated);
    }
    return NULL;
}

static struct pl_profile *open_profile(const struct stage *stage)
{
    struct pl_profile *profile = NULL;
    char why[PL_WHY_BYTES] = "";
    if (pl_profile_open(stage->path, &profile, why) != 0)
        fail_msg("%s", why);
    assert_true(pl_profile_valid(profile));
    return profile;
}

static bool one_moment(const struct pl_sums *sums)
{
    double n = (double) sums->samples;
    return sums->objects == n * WEIGHT && sums->space == n * WEIGHT * SIZE &&
           sums->objects_variance == n * WEIGHT * (WEIGHT - 1) &&
           sums->space_variance == n * WEIGHT * (WEIGHT - 1) * SIZE * SIZE;
}

static void every_row_is_read_consistently(void **state)
{
    (void) state;
    static struct stage stage;
    pthread_t writer;
    set_up(&stage);
    assert_int_equal(pthread_create(&writer, NULL, allocate_and_free, &stage), 0);
    uint64_t torn = 0, in_flight = 0, samples = 0, readings = 0;
    for (; readings < READINGS || samples == 0; readings++) {
        struct pl_profile *profile = open_profile(&stage);
        for (uint32_t s = 0; s < profile->sites; s++)
            torn += !one_moment(&unpack_site(&profile->site[s])->figures.allocated.sampled) ||
                    !one_moment(&unpack_site(&profile->site[s])->figures.freed.sampled);
        assert_true(profile->samples >= samples); /* a later reading never sees less */
        samples = profile->samples;
        in_flight += profile->in_flight;
        assert_int_equal(profile->damage, 0);
        pl_profile_close(profile);
    }
    atomic_store(&stage.stop, true);
    pthread_join(writer, NULL);
    assert_true(torn <= in_flight); /* only rows that are reported as in flight */
    assert_true(in_flight < readings * ROWS / 20);
    tear_down(&stage);
}

static void a_free_by_another_thread_is_never_seen_without_its_allocation(void **state)
{
    (void) state;
    static struct stage stage;
    pthread_t owner, other;
    set_up(&stage);
    for (uint32_t i = 0; i < KEPT * ROWS; i++)
        write_sample(row_of(&stage, i % ROWS), &row_of(&stage, i % ROWS)->allocated);
    assert_int_equal(pthread_create(&owner, NULL, only_allocate, &stage), 0);
    assert_int_equal(pthread_create(&other, NULL, free_remotely, &stage), 0);
    double freed = 0;
    for (int i = 0; i < READINGS || freed == 0; i++) {
        struct pl_profile *profile = open_profile(&stage);
        assert_int_equal(profile->sites, ROWS);
        for (uint32_t s = 0; s < profile->sites; s++) {
            const struct pl_figures *figures = &unpack_site(&profile->site[s])->figures;
            freed += figures->freed.sampled.objects;
            assert_true(figures->allocated.sampled.objects - figures->freed.sampled.objects >= KEPT * WEIGHT);
        }
        pl_profile_close(profile);
    }
    atomic_store(&stage.stop, true);
    pthread_join(owner, NULL);
    pthread_join(other, NULL);
    tear_down(&stage);
}

/* Grows the file like the writer: first the space, then the directory entry. NULL if it cannot grow. */
static void *add_chunk(struct stage *stage, enum pl_kind kind)
{
    struct pl_header *header = (struct pl_header *) stage->map;
    uint64_t chunk = header->chunks;
    size_t offset = PL_CHUNKS_OFFSET + chunk * PL_CHUNK_BYTES;
    if (truncate(stage->path, (off_t) (offset + PL_CHUNK_BYTES)) != 0)
        return NULL;
    header->chunks = chunk + 1;
    __atomic_store_n(stage->map + PL_HEADER_BYTES + chunk, (uint8_t) kind, __ATOMIC_RELEASE);
    return stage->map + offset;
}

/* A frame, its site and its row: the i-th of their second, second and next chunks. */
static void publish_one(struct stage *stage, uint32_t i, struct pl_frame *frame, struct pl_site *site,
                        struct pl_row *row)
{
    struct pl_header *header = (struct pl_header *) stage->map;
    uint32_t number = FRAMES_PER_CHUNK + i;
    header->count[PL_KIND_FRAME] = header->count[PL_KIND_SITE] = number + 1;
    header->count[PL_KIND_ROW] = ROW_FIRST + i + 1;
    frame->parent = i % 20 ? number - 1 : 0;
    frame->where = 0x100000 + i;
    __atomic_store_n(&frame->module, 2, __ATOMIC_RELEASE);
    site->stack = number;
    __atomic_store_n(&site->valid, 1, __ATOMIC_RELEASE);
    row->thread = 1;
    forge_sample(&row->allocated, SIZE, WEIGHT, 1);
    __atomic_store_n(&row->site, number, __ATOMIC_RELEASE);
}

static void *publish(void *context)
{
    struct stage *stage = context;
    struct pl_frame *frame = add_chunk(stage, PL_KIND_FRAME);
    struct pl_site *site = add_chunk(stage, PL_KIND_SITE);
    struct pl_row *row = NULL;
    for (uint32_t i = 0; i < PUBLISHED && !atomic_load(&stage->stop); i++) {
        if (i % ROWS_PER_CHUNK == 0)
            row = add_chunk(stage, PL_KIND_ROW);
        if (!frame || !site || !row)
            return "cannot grow";
        publish_one(stage, i, frame + i, site + i, row + i % ROWS_PER_CHUNK);
        if (i % 16 == 0)
            sched_yield();
    }
    return NULL;
}

static void the_records_that_a_row_refers_to_are_found_while_the_file_grows(void **state)
{
    (void) state;
    for (int round = 0; round < 20; round++) {
        static struct stage stage;
        pthread_t writer;
        void *problem;
        set_up(&stage);
        assert_int_equal(pthread_create(&writer, NULL, publish, &stage), 0);
        uint64_t samples = 0;
        for (int i = 0; i < 10000 && samples < PUBLISHED; i++) {
            struct pl_profile *profile = open_profile(&stage);
            assert_int_equal(profile->damage, 0);
            assert_true(profile->samples >= samples);
            samples = profile->samples;
            for (uint32_t s = 0; s < profile->sites; s++)
                assert_true(profile->site[s].stack != PL_NO_STACK);
            pl_profile_close(profile);
        }
        atomic_store(&stage.stop, true);
        pthread_join(writer, &problem);
        assert_null(problem);
        assert_int_equal(samples, PUBLISHED);
        tear_down(&stage);
    }
}

static void *cut_and_restore(void *context)
{
    struct stage *stage = context;
    for (uint32_t i = 0; !atomic_load(&stage->stop); i++)
        if (truncate(stage->path, (off_t) (i % 2 ? stage->bytes : i * 997 % stage->bytes)) != 0)
            return "cannot truncate";
    return NULL;
}

static void a_file_truncated_while_it_is_read_does_not_crash_the_reader(void **state)
{
    (void) state;
    static struct stage stage;
    pthread_t cutter;
    void *problem;
    set_up(&stage);
    assert_int_equal(pthread_create(&cutter, NULL, cut_and_restore, &stage), 0);
    for (int i = 0; i < READINGS; i++) {
        struct pl_profile *profile = NULL;
        char why[PL_WHY_BYTES] = "";
        if (pl_profile_open(stage.path, &profile, why) == 0) {
            assert_true(pl_profile_valid(profile));
            pl_profile_close(profile);
        } else {
            assert_true(strlen(why) > 0);
        }
    }
    atomic_store(&stage.stop, true);
    pthread_join(cutter, &problem);
    assert_null(problem);
    tear_down(&stage);
}

static void a_row_that_is_always_being_written_does_not_block_the_reader(void **state)
{
    (void) state;
    static struct stage stage;
    set_up(&stage);
    for (uint32_t i = 0; i < ROWS; i++) {
        write_sample(row_of(&stage, i), &row_of(&stage, i)->allocated);
        row_of(&stage, i)->sequence = 1;
    }
    struct pl_profile *profile = open_profile(&stage);
    assert_int_equal(profile->in_flight, ROWS);
    assert_int_equal(profile->samples, ROWS);
    pl_profile_close(profile);
    tear_down(&stage);
}

/* ---- tallies ---- */

/* A mapped file with TALLIES tallies, each with its own stack and a remote record. */
static void set_up_tallies(struct stage *stage)
{
    struct forge *forge = forge_build("empty");
    uint32_t module = forge_module(forge, "/bin/app", 1);
    forge_header(forge)->mode = PL_MODE_EXACT;
    for (uint32_t i = 0; i < TALLIES; i++) {
        uint32_t tally = forge_tally(forge, forge_site(forge, forge_frame(forge, 0, module, 0x1000 + i)), 1);
        stage->tally_offset[i] = (size_t) ((unsigned char *) forge_tally_at(forge, tally) - forge_image(forge));
        stage->remote_offset[i] = (size_t) ((unsigned char *) forge_remote(forge, tally) - forge_image(forge));
    }
    map_file(stage, forge);
}

static struct pl_tally *tally_of(struct stage *stage, uint32_t i)
{
    return (struct pl_tally *) (stage->map + stage->tally_offset[i]);
}

static struct pl_remote *remote_of(struct stage *stage, uint32_t i)
{
    return (struct pl_remote *) (stage->map + stage->remote_offset[i]);
}

static void count(uint64_t *calls, uint64_t *bytes)
{
    __atomic_store_n(calls, *calls + 1, __ATOMIC_RELEASE);
    __atomic_store_n(bytes, *bytes + (uint64_t) SIZE, __ATOMIC_RELEASE);
}

/* Frees every other block at once, and leaves the rest to the other thread, which frees it as soon as possible. Often
 * nothing is live. */
static void *count_allocations_and_frees(void *context)
{
    struct stage *stage = context;
    for (uint32_t i = 0; !atomic_load(&stage->stop); i++) {
        struct pl_tally *tally = tally_of(stage, i % TALLIES);
        count(&tally->calls, &tally->bytes);
        if (i / TALLIES % 2)
            count(&tally->freed_calls, &tally->freed_bytes);
        else
            atomic_fetch_add(&stage->given[i % TALLIES], 1);
    }
    return NULL;
}

static void *free_counted_blocks(void *context)
{
    struct stage *stage = context;
    for (uint32_t i = 0; !atomic_load(&stage->stop); i++) {
        struct pl_remote *remote = remote_of(stage, i % TALLIES);
        if (atomic_load(&stage->given[i % TALLIES]) > remote->calls)
            count(&remote->calls, &remote->bytes);
    }
    return NULL;
}

static void a_counted_free_is_never_seen_without_its_allocation(void **state)
{
    (void) state;
    static struct stage stage;
    pthread_t owner, other;
    set_up_tallies(&stage);
    assert_int_equal(pthread_create(&owner, NULL, count_allocations_and_frees, &stage), 0);
    assert_int_equal(pthread_create(&other, NULL, free_counted_blocks, &stage), 0);
    double freed = 0;
    for (int i = 0; i < READINGS || freed == 0; i++) {
        struct pl_profile *profile = open_profile(&stage);
        assert_int_equal(profile->in_flight, 0); /* no free had to be discarded */
        assert_int_equal(profile->damage, 0);
        for (uint32_t s = 0; s < profile->sites; s++)
            freed += unpack_site(&profile->site[s])->figures.freed.exact_objects;
        pl_profile_close(profile);
    }
    atomic_store(&stage.stop, true);
    pthread_join(owner, NULL);
    pthread_join(other, NULL);
    tear_down(&stage);
}

/* A heap by the rules of format.h: a tally that changes in an era first saves its figures of the peak. */
struct heap {
    struct pl_header *header;
    uint64_t live, peak;
    uint32_t era;
};

static void allocate(struct heap *heap, struct pl_tally *tally)
{
    if (tally->era != heap->era) {
        tally->peak_calls = tally->calls;
        tally->peak_bytes = tally->bytes;
        __atomic_store_n(&tally->era, heap->era, __ATOMIC_RELEASE);
    }
    count(&tally->calls, &tally->bytes);
    heap->live += (uint64_t) SIZE;
}

static void release(struct heap *heap, struct pl_tally *tally)
{
    if (tally->freed_era != heap->era) {
        tally->peak_freed_calls = tally->freed_calls;
        tally->peak_freed_bytes = tally->freed_bytes;
        __atomic_store_n(&tally->freed_era, heap->era, __ATOMIC_RELEASE);
    }
    count(&tally->freed_calls, &tally->freed_bytes);
    heap->live -= (uint64_t) SIZE;
}

static void declare_peak(struct heap *heap)
{
    heap->peak = heap->live;
    heap->era++;
    __atomic_store_n(&heap->header->peak.bytes, heap->live, __ATOMIC_RELAXED);
    __atomic_store_n(&heap->header->peak.peaks, heap->header->peak.peaks + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&heap->header->peak.era, heap->era, __ATOMIC_RELEASE);
}

/* The heap grows beyond its peak and then shrinks. Its state before that is the new peak. */
static void rise_and_fall(struct heap *heap, struct stage *stage)
{
    for (uint32_t i = 0; heap->live <= heap->peak + 1000; i++)
        allocate(heap, tally_of(stage, (i + heap->era) * 7 % TALLIES));
    declare_peak(heap);
    for (uint32_t i = 0; i < TALLIES; i += 3)
        if (tally_of(stage, i)->calls > tally_of(stage, i)->freed_calls)
            release(heap, tally_of(stage, i));
}

/* The writer runs inside of the reader's calls of pread. */
static struct {
    struct stage *stage;
    struct heap heap;
    void (*take)(void);
    uint32_t preads_left; /* before the writer runs; 0: it does not run */
} turn;

ssize_t __real_pread64(int fd, void *out, size_t bytes, off_t offset);
ssize_t __wrap_pread64(int fd, void *out, size_t bytes, off_t offset);

ssize_t __wrap_pread64(int fd, void *out, size_t bytes, off_t offset)
{
    if (turn.preads_left > 0 && --turn.preads_left == 0)
        turn.take();
    return __real_pread64(fd, out, bytes, offset);
}

static void take_to_rise_and_fall(void)
{
    rise_and_fall(&turn.heap, turn.stage);
}

static void the_peak_of_a_running_program_is_consistent(void **state)
{
    (void) state;
    static struct stage stage;
    set_up_tallies(&stage);
    turn.stage = &stage;
    turn.take = take_to_rise_and_fall;
    turn.heap = (struct heap){.header = (struct pl_header *) stage.map};
    rise_and_fall(&turn.heap, &stage);
    bool interrupted = true;
    for (uint32_t after = 1; interrupted; after++) {
        turn.preads_left = after;
        struct pl_profile *profile = open_profile(&stage);
        assert_true(profile->total[PL_METRIC_PEAK_SPACE].value == (double) profile->header.peak.bytes);
        assert_true(profile->peak_s < profile->duration_s); /* the peak is in the past */
        pl_profile_close(profile);
        interrupted = turn.preads_left == 0;
    }
    turn.preads_left = 0;
    assert_true(turn.heap.era > 30);
    tear_down(&stage);
}

/* ---- tags ---- */

#define CALLS 1000

/* Offsets in the file of: a thread with CALLS calls that it has not booked yet, and its scopes of two tags; another
 * thread with its scope and tag, none of which is published. */
static struct {
    size_t thread, before, after;
    size_t late_thread, late_scope, late_tag;
    uint32_t before_tag, after_tag;
} play;

static size_t offset_of(struct forge *forge, void *record)
{
    return (size_t) ((unsigned char *) record - forge_image(forge));
}

static void *at(size_t offset)
{
    return turn.stage->map + offset;
}

static void set_up_tags(struct stage *stage)
{
    struct forge *forge = forge_build("empty");
    play.before_tag = forge_tag(forge, 0, "before");
    play.after_tag = forge_tag(forge, 0, "after");
    play.thread = offset_of(forge, forge_thread_at(forge, 1));
    play.before = offset_of(forge, forge_scope(forge, 1, play.before_tag, 0, 0));
    play.after = offset_of(forge, forge_scope(forge, 1, play.after_tag, 0, 0));
    uint32_t thread = forge_thread(forge, "late", CALLS, CALLS), tag = forge_tag(forge, play.after_tag, "late");
    play.late_thread = offset_of(forge, forge_thread_at(forge, thread));
    play.late_tag = offset_of(forge, forge_tag_at(forge, tag));
    play.late_scope = offset_of(forge, forge_scope(forge, thread, tag, CALLS, CALLS));
    map_file(stage, forge);
    turn.stage = stage;
}

static void prepare_the_play(void)
{
    struct pl_thread_record *thread = at(play.thread);
    thread->calls[PL_FN_MALLOC] = CALLS;
    thread->tag = play.before_tag;
    ((struct pl_scope_record *) at(play.before))->calls[PL_FN_MALLOC] = 0;
    ((struct pl_thread_record *) at(play.late_thread))->valid = 0;
    ((struct pl_scope_record *) at(play.late_scope))->valid = 0;
    ((struct pl_tag_record *) at(play.late_tag))->valid = 0;
}

/* The thread leaves its tag and books its calls, and the other thread is published. */
static void take_to_change_tags(void)
{
    ((struct pl_scope_record *) at(play.before))->calls[PL_FN_MALLOC] = CALLS;
    ((struct pl_scope_record *) at(play.after))->entered++;
    ((struct pl_thread_record *) at(play.thread))->tag = play.after_tag;
    ((struct pl_thread_record *) at(play.late_thread))->valid = 1;
    ((struct pl_tag_record *) at(play.late_tag))->valid = 1;
    ((struct pl_scope_record *) at(play.late_scope))->valid = 1;
}

static uint64_t calls_under(const struct pl_profile *profile, const char *path)
{
    uint64_t calls = 0;
    for (uint32_t i = 0; i < profile->scopes; i++)
        if (strcmp(profile->tag[profile->scope[i].tag].path, path) == 0)
            calls += profile->scope[i].calls[PL_FN_MALLOC];
    return calls;
}

static void calls_under_a_tag_stay_there_when_the_tag_is_left(void **state)
{
    (void) state;
    static struct stage stage;
    set_up_tags(&stage);
    turn.take = take_to_change_tags;
    bool interrupted = true, came_late = false;
    for (uint32_t after = 1; interrupted; after++) {
        prepare_the_play();
        turn.preads_left = after;
        struct pl_profile *profile = open_profile(&stage);
        assert_int_equal(calls_under(profile, "before"), CALLS);
        assert_int_equal(calls_under(profile, "after"), 0);
        assert_true(calls_under(profile, "after/late") == 0 || profile->threads == 2);
        came_late |= profile->threads == 2 && calls_under(profile, "after/late") == CALLS;
        assert_int_equal(profile->damage, 0);
        pl_profile_close(profile);
        interrupted = turn.preads_left == 0;
    }
    turn.preads_left = 0;
    assert_true(came_late);
    tear_down(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_read_consistently),
        cmocka_unit_test(a_free_by_another_thread_is_never_seen_without_its_allocation),
        cmocka_unit_test(the_records_that_a_row_refers_to_are_found_while_the_file_grows),
        cmocka_unit_test(a_file_truncated_while_it_is_read_does_not_crash_the_reader),
        cmocka_unit_test(a_row_that_is_always_being_written_does_not_block_the_reader),
        cmocka_unit_test(a_counted_free_is_never_seen_without_its_allocation),
        cmocka_unit_test(the_peak_of_a_running_program_is_consistent),
        cmocka_unit_test(calls_under_a_tag_stay_there_when_the_tag_is_left),
    };
    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
