/* SPDX-License-Identifier: MIT */
/*
 * fold.c - turns records into a profile.
 *
 * The writer is lock-free: two threads that meet a new module, frame or site at the same moment may both publish it.
 * Joining the copies is the reader's work. What cannot be believed is dropped and counted as damage, but figures are
 * kept where only their stack is lost, so that the sites still add up to the total.
 *
 * Invariant: for every site, 0 <= freed <= allocated, in each of its sums; every index is in range. pl_profile_valid()
 * checks it.
 */
#include <stdlib.h>
#include <string.h>

#include "fold.h"
#include "stored.h"
#include "text.h"
#include "trie.h"

#define SUM_MAX 1e100 /* far beyond any heap; a million of them, squared, is still a number */
#define VARIANCE_MIN 1e-20
#define SAMPLES_MAX (1ull << 48)
#define ROUNDING 1e-6 /* sums of the same weights in another order differ by this little, and far less */
#define NO_THREAD UINT32_MAX
#define NO_FRAME 0u
#define NO_ROW UINT32_MAX

struct fold {
    struct pl_snapshot *snapshot;
    struct pl_profile *profile;
    struct pl_arena *scratch;
    struct pl_texts texts;
    struct pl_trie trie;
    uint32_t *module_of; /* record -> index, or PL_NO_MODULE */
    uint32_t *thread_of; /* record -> index, or NO_THREAD */
    uint32_t *innermost; /* row -> frame record of its stack, NO_FRAME, or NO_ROW if the row does not count */
};

/* ---- modules ---- */

static void view_module(struct fold *fold, const struct pl_module *record, struct pl_module_view *view)
{
    *view = (struct pl_module_view){
        .path = pl_texts_get(&fold->texts, record->path),
        .bias = record->bias,
        .start = record->start,
        .end = record->end,
        .fingerprint = record->fingerprint,
    };
    if (record->build_id_bytes > PL_BUILD_ID_MAX) {
        fold->snapshot->damage++;
        return;
    }
    for (uint32_t i = 0; i < record->build_id_bytes; i++) {
        view->build_id[2 * i] = "0123456789abcdef"[record->build_id[i] >> 4];
        view->build_id[2 * i + 1] = "0123456789abcdef"[record->build_id[i] & 15];
    }
}

/* The same object, wherever it was loaded. */
static int compare_modules(const struct pl_module_view *a, const struct pl_module_view *b)
{
    int order = a->path == b->path ? 0 : strcmp(a->path, b->path);
    if (order == 0)
        order = strcmp(a->build_id, b->build_id);
    return order != 0 ? order : (a->fingerprint > b->fingerprint) - (a->fingerprint < b->fingerprint);
}

static int compare_records(const void *left, const void *right, void *context)
{
    const struct pl_module_view *view = context;
    uint32_t a = *(const uint32_t *) left, b = *(const uint32_t *) right;
    int order = compare_modules(&view[a], &view[b]);
    return order != 0 ? order : (a > b) - (a < b);
}

/* Views of all valid records, and their numbers. The record of addresses without a module stays out of the sorting: it
 * is not the same as a nameless one. */
static uint32_t view_modules(struct fold *fold, struct pl_module_view *view, uint32_t *valid)
{
    const struct pl_module *record = pl_snapshot_modules(fold->snapshot);
    uint32_t count = 0;
    for (uint32_t i = 1; i < pl_snapshot_count(fold->snapshot, PL_KIND_MODULE); i++) {
        if (record[i].valid == 0)
            continue;
        view_module(fold, &record[i], &view[i]);
        if (i == PL_MODULE_UNKNOWN)
            view[i].path = "";
        else
            valid[count++] = i;
    }
    return count;
}

/* first[record] becomes the lowest record that is the same module. */
static void join_modules(const struct pl_module_view *view, const uint32_t *sorted, uint32_t count, uint32_t *first)
{
    for (uint32_t i = 0; i < count; i++) {
        bool again = i > 0 && compare_modules(&view[sorted[i - 1]], &view[sorted[i]]) == 0;
        first[sorted[i]] = again ? first[sorted[i - 1]] : sorted[i];
    }
}

static void fold_modules(struct fold *fold)
{
    const struct pl_module *record = pl_snapshot_modules(fold->snapshot);
    struct pl_profile *profile = fold->profile;
    uint32_t records = pl_snapshot_count(fold->snapshot, PL_KIND_MODULE);
    struct pl_module_view *view = pl_arena_alloc(fold->scratch, records * sizeof *view);
    uint32_t *sorted = pl_arena_alloc(fold->scratch, records * sizeof *sorted);
    uint32_t *first = pl_arena_alloc(fold->scratch, records * sizeof *first);
    uint32_t count = view_modules(fold, view, sorted);
    qsort_r(sorted, count, sizeof *sorted, compare_records, view);
    join_modules(view, sorted, count, first);

    profile->module = pl_arena_alloc(profile->arena, records * sizeof *profile->module);
    fold->module_of = pl_arena_alloc(fold->scratch, records * sizeof *fold->module_of);
    for (uint32_t i = 0; i < records; i++) {
        bool unknown = i == PL_MODULE_UNKNOWN && record[i].valid != 0;
        fold->module_of[i] = PL_NO_MODULE;
        if (unknown || (i > 0 && first[i] == i)) {
            fold->module_of[i] = profile->modules;
            profile->module[profile->modules++] = view[i];
        } else if (i > 0 && first[i] != 0) {
            fold->module_of[i] = fold->module_of[first[i]];
        }
    }
}

/* ---- threads ---- */

static uint64_t since_start(const struct pl_profile *profile, uint64_t time_ns)
{
    uint64_t start_ns = profile->header.start_monotonic_ns;
    return time_ns > start_ns ? time_ns - start_ns : 0;
}

static void fold_threads(struct fold *fold)
{
    const struct pl_thread_record *record = pl_snapshot_threads(fold->snapshot);
    struct pl_profile *profile = fold->profile;
    uint32_t records = pl_snapshot_count(fold->snapshot, PL_KIND_THREAD);
    profile->thread = pl_arena_alloc(profile->arena, records * sizeof *profile->thread);
    fold->thread_of = pl_arena_alloc(fold->scratch, records * sizeof *fold->thread_of);
    for (uint32_t i = 0; i < records; i++) {
        fold->thread_of[i] = NO_THREAD;
        if (i == 0 || record[i].valid == 0)
            continue;
        struct pl_thread_view *view = &profile->thread[profile->threads];
        view->tid = record[i].tid;
        view->threads = record[i].threads;
        view->alive = record[i].alive != 0;
        view->start_ns = since_start(profile, record[i].start_ns);
        view->end_ns = view->alive ? 0 : since_start(profile, record[i].end_ns);
        view->bytes = record[i].bytes;
        memcpy(view->name, record[i].name, sizeof record[i].name);
        memcpy(view->calls, record[i].calls, sizeof record[i].calls);
        fold->thread_of[i] = profile->threads++;
    }
}

/* ---- rows ---- */

/* Not so for NaN. */
static bool is_sum(double value, double least)
{
    return value == 0 || (value >= least && value <= SUM_MAX);
}

/* A weight is at least 1 and a size a whole number; the variance of a weight just above 1 is small, but
 * not that small. */
static bool are_sums(const struct pl_sums *sums)
{
    return is_sum(sums->objects, 1) && is_sum(sums->space, 1) && is_sum(sums->objects_variance, VARIANCE_MIN) &&
           is_sum(sums->space_variance, VARIANCE_MIN) && sums->samples <= SAMPLES_MAX;
}

/* True if more than rounding had to be cut. */
static bool clamp(double *freed, double allocated)
{
    double over = *freed - allocated;
    if (over > 0)
        *freed = allocated;
    return over > ROUNDING * allocated;
}

/*
 * Brings all frees together, and makes them at most the allocations. When every sample has been freed the two are the
 * same sums in another order: then nothing is live, not 1e-10 bytes of it.
 */
static void settle_frees(struct fold *fold, struct pl_row *row)
{
    pl_estimate_add(&row->freed, &row->remote);
    bool cut = row->freed.samples > row->allocated.samples;
    cut |= clamp(&row->freed.objects, row->allocated.objects);
    cut |= clamp(&row->freed.space, row->allocated.space);
    cut |= clamp(&row->freed.objects_variance, row->allocated.objects_variance);
    cut |= clamp(&row->freed.space_variance, row->allocated.space_variance);
    if (row->freed.samples >= row->allocated.samples)
        row->freed = row->allocated;
    fold->snapshot->in_flight += cut;
}

static bool is_nothing(const struct pl_sums *sums)
{
    return sums->samples == 0 && sums->objects == 0 && sums->space == 0;
}

/* Decides whether a row counts. */
static bool settle_row(struct fold *fold, struct pl_row *row)
{
    if (row->site == 0)
        return false;
    bool has_thread =
        row->thread < pl_snapshot_count(fold->snapshot, PL_KIND_THREAD) && fold->thread_of[row->thread] != NO_THREAD;
    if (!has_thread || !are_sums(&row->allocated) || !are_sums(&row->freed) || !are_sums(&row->remote)) {
        fold->snapshot->damage++;
        return false;
    }
    if (row->allocated.objects < (double) row->allocated.samples)
        row->allocated.objects = (double) row->allocated.samples; /* a sample stands for at least itself */
    settle_frees(fold, row);
    return !is_nothing(&row->allocated);
}

/* The frame record at which the site's stack begins, or NO_FRAME. */
static uint32_t find_innermost(struct fold *fold, uint32_t site)
{
    const struct pl_site *record = pl_snapshot_sites(fold->snapshot);
    if (site >= pl_snapshot_count(fold->snapshot, PL_KIND_SITE) || record[site].valid == 0) {
        fold->snapshot->damage++;
        return NO_FRAME;
    }
    if (site == PL_SITE_OVERFLOW || record[site].stack == 0)
        return NO_FRAME;
    if (!pl_trie_mark(&fold->trie, record[site].stack)) {
        fold->snapshot->damage++;
        return NO_FRAME;
    }
    return record[site].stack;
}

static void settle_rows(struct fold *fold)
{
    struct pl_row *row = fold->snapshot->table[PL_KIND_ROW].record;
    uint32_t rows = pl_snapshot_count(fold->snapshot, PL_KIND_ROW);
    fold->innermost = pl_arena_alloc(fold->scratch, rows * sizeof *fold->innermost);
    for (uint32_t i = 1; i < rows; i++)
        fold->innermost[i] = settle_row(fold, &row[i]) ? find_innermost(fold, row[i].site) : NO_ROW;
}

/* ---- sites ---- */

struct question {
    const struct pl_site_view *site;
    uint32_t stack, thread;
};

static bool same_site(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_site_view *site = &question->site[entry];
    return site->stack == question->stack && site->thread == question->thread;
}

static struct pl_site_view *find_site(struct pl_profile *profile, const struct pl_index *index, uint32_t stack,
                                      uint32_t thread)
{
    struct question question = {profile->site, stack, thread};
    uint32_t *slot = pl_index_find(index, stack, thread, same_site, &question);
    if (*slot == 0) {
        profile->site[profile->sites] = (struct pl_site_view){.stack = stack, .thread = thread};
        *slot = ++profile->sites;
    }
    return &profile->site[*slot - 1];
}

static void fold_sites(struct fold *fold)
{
    const struct pl_row *row = pl_snapshot_rows(fold->snapshot);
    struct pl_profile *profile = fold->profile;
    uint32_t rows = pl_snapshot_count(fold->snapshot, PL_KIND_ROW);
    struct pl_index index = pl_index_new(fold->scratch, rows);
    profile->site = pl_arena_alloc(profile->arena, rows * sizeof *profile->site);
    for (uint32_t i = 1; i < rows; i++) {
        uint32_t node = fold->innermost[i];
        if (node == NO_ROW)
            continue;
        uint32_t stack = node == NO_FRAME ? PL_NO_STACK : pl_trie_stack(&fold->trie, node);
        struct pl_site_view *site = find_site(profile, &index, stack, fold->thread_of[row[i].thread]);
        pl_estimate_add(&site->allocated, &row[i].allocated);
        pl_estimate_add(&site->freed, &row[i].freed);
    }
}

/* ---- totals ---- */

static struct pl_estimate exactly(double value)
{
    return (struct pl_estimate){.value = value, .low = value, .high = value};
}

/* No more can be in use than was allocated, and that is known exactly. */
static void cap(struct pl_estimate *in_use, double allocated)
{
    if (in_use->high <= allocated || in_use->high <= in_use->value)
        return;
    in_use->high = allocated > in_use->value ? allocated : in_use->value;
    in_use->error = in_use->value > 0 ? (in_use->high - in_use->low) / 2 : in_use->high;
}

static void fold_totals(struct pl_profile *profile)
{
    struct pl_sums allocated = {0}, freed = {0};
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_site_view *site = &profile->site[i];
        pl_estimate_sums(&site->allocated, &site->freed, site->metric);
        pl_estimate_add(&allocated, &site->allocated);
        pl_estimate_add(&freed, &site->freed);
    }
    if (allocated.samples)
        pl_estimate_sums(&allocated, &freed, profile->total);
    else
        pl_estimate_unsampled(profile->header.interval_bytes, profile->header.call_charge, profile->total);
    profile->samples = allocated.samples;
    profile->samples_live = allocated.samples - freed.samples;

    double calls = 0, bytes = 0;
    for (uint32_t i = 0; i < profile->threads; i++) {
        for (int f = 0; f < PL_FN_COUNT; f++)
            calls += (double) profile->thread[i].calls[f];
        bytes += (double) profile->thread[i].bytes;
    }
    profile->total[PL_METRIC_ALLOC_OBJECTS] = exactly(calls);
    profile->total[PL_METRIC_ALLOC_SPACE] = exactly(bytes);
    cap(&profile->total[PL_METRIC_INUSE_OBJECTS], calls);
    cap(&profile->total[PL_METRIC_INUSE_SPACE], bytes);
}

/* ---- the process ---- */

/* Words end with a NUL each, but for the last, which may. */
static const char **split_words(struct pl_arena *arena, const char *text, size_t bytes)
{
    size_t words = 0;
    for (size_t i = 0; i < bytes; i++)
        words += text[i] == '\0' || i + 1 == bytes;
    const char **argv = pl_arena_alloc(arena, (words + 1) * sizeof *argv);
    for (size_t i = 0, at = 0; i < words; i++, at += strlen(text + at) + 1)
        argv[i] = text + at;
    return argv;
}

static void fold_process(struct fold *fold)
{
    struct pl_profile *profile = fold->profile;
    const struct pl_header *header = &profile->header;
    profile->comm = pl_arena_text(profile->arena, header->comm, strnlen(header->comm, sizeof header->comm));
    profile->executable = pl_texts_get(&fold->texts, header->executable);
    profile->directory = pl_texts_get(&fold->texts, header->directory);
    profile->destination = pl_texts_get(&fold->texts, header->destination);
    const char *command = pl_texts_get(&fold->texts, header->command);
    profile->argv = split_words(profile->arena, command, *command ? header->command.bytes : 0);
}

void pl_fold(struct pl_snapshot *snapshot, struct pl_arena *scratch, struct pl_profile *profile)
{
    uint32_t texts_max =
        8 + pl_snapshot_count(snapshot, PL_KIND_MODULE) + 3 * pl_snapshot_count(snapshot, PL_KIND_SYMBOL);
    struct fold fold = {
        .snapshot = snapshot,
        .profile = profile,
        .scratch = scratch,
        .texts = pl_texts_new(snapshot, profile->arena, scratch, texts_max),
    };
    profile->header = snapshot->header;
    profile->file_bytes = snapshot->file_bytes;
    fold_process(&fold);
    fold_modules(&fold);
    fold_threads(&fold);
    fold.trie = pl_trie_new(profile, snapshot, scratch, fold.module_of);
    settle_rows(&fold);
    pl_trie_join(&fold.trie, scratch);
    fold_sites(&fold);
    fold_totals(profile);
    pl_stored_places(&fold.trie, &fold.texts, scratch);
    profile->damage = snapshot->damage;
    profile->in_flight = snapshot->in_flight;
}
