/* SPDX-License-Identifier: MIT */
/*
 * fold.c - turns records into a profile.
 *
 * The writer is lock-free: two threads that meet a new module, frame or site at the same moment may both publish it.
 * The reader joins such duplicates: modules and threads here, tags in fold_tags.c, stacks in trie.c, figures in
 * sites.c and fold_scopes.c. Invalid records are dropped and counted as damage.
 *
 * Invariant: for every site, 0 <= freed <= allocated, in each of its sums; every index is in range. pl_profile_valid()
 * checks it.
 */
#include <stdlib.h>
#include <string.h>

#include "reader/account.h"
#include "reader/fold/fold.h"
#include "reader/fold/sites.h"
#include "reader/fold/texts.h"
#include "reader/fold/trie.h"
#include "reader/totals.h"

struct fold {
    struct pl_image *image;
    struct pl_profile *profile;
    struct pl_arena *scratch;
    struct pl_texts texts;
    struct pl_functions functions;
    struct pl_trie trie;
    struct pl_fold_tags tags;
    uint32_t *module_of; /* record -> index, or PL_NO_MODULE */
    uint32_t *thread_of; /* record -> index, or PL_NO_THREAD */
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
        fold->image->damage++;
        return;
    }
    for (uint32_t i = 0; i < record->build_id_bytes; i++) {
        view->build_id[2 * i] = "0123456789abcdef"[record->build_id[i] >> 4];
        view->build_id[2 * i + 1] = "0123456789abcdef"[record->build_id[i] & 15];
    }
}

/* 0 for the same object, wherever it was loaded. */
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

/* Fills in views of all valid records, and lists their numbers. The record of addresses without a module is not sorted:
 * it must not be joined with a module that has no name. */
static uint32_t view_modules(struct fold *fold, struct pl_module_view *view, uint32_t *valid)
{
    const struct pl_module *record = pl_image_modules(fold->image);
    uint32_t count = 0;
    for (uint32_t i = 1; i < pl_image_count(fold->image, PL_KIND_MODULE); i++) {
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
    const struct pl_module *record = pl_image_modules(fold->image);
    struct pl_profile *profile = fold->profile;
    uint32_t records = pl_image_count(fold->image, PL_KIND_MODULE);
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
    uint32_t allocator = fold->image->header.allocator;
    bool known = allocator > PL_MODULE_UNKNOWN && allocator < records;
    profile->allocator = known ? fold->module_of[allocator] : PL_NO_MODULE;
}

/* ---- threads ---- */

/* What was counted since the last reset. A thread that has not noticed the reset has not allocated since. */
static uint64_t since(struct fold *fold, bool noticed, uint64_t now, uint64_t then)
{
    if (!noticed)
        return 0;
    fold->image->damage += now < then;
    return now > then ? now - then : 0;
}

/* No thread lives to count so much: a record with more is ignored. */
#define CALLS_MAX (1ull << 53)
#define BYTES_MAX (1ull << 62)
static bool is_made_up(const struct pl_thread_record *record)
{
    bool made_up = record->bytes > BYTES_MAX;
    for (int f = 0; f < PL_FN_MAX; f++)
        made_up |= record->calls[f] > CALLS_MAX;
    return made_up;
}

static void fold_counters(struct fold *fold, const struct pl_thread_record *record, struct pl_thread_view *view)
{
    if (is_made_up(record)) {
        fold->image->damage++;
        view->threads = 0;
        return;
    }
    bool noticed = pl_account_since_reset(record->reset, &fold->profile->header);
    view->bytes = since(fold, noticed, record->bytes, record->reset_bytes);
    for (int f = 0; f < PL_FN_MAX; f++)
        view->calls[f] = since(fold, noticed, record->calls[f], record->reset_calls[f]);
}

static void fold_threads(struct fold *fold)
{
    const struct pl_thread_record *record = pl_image_threads(fold->image);
    struct pl_profile *profile = fold->profile;
    uint32_t records = pl_image_count(fold->image, PL_KIND_THREAD);
    profile->thread = pl_arena_alloc(profile->arena, records * sizeof *profile->thread);
    fold->thread_of = pl_arena_alloc(fold->scratch, records * sizeof *fold->thread_of);
    for (uint32_t i = 0; i < records; i++) {
        fold->thread_of[i] = PL_NO_THREAD;
        if (i == 0 || record[i].valid == 0)
            continue;
        struct pl_thread_view *view = &profile->thread[profile->threads];
        view->tid = record[i].tid;
        view->threads = record[i].threads;
        view->alive = record[i].alive != 0;
        view->start_ns = pl_fold_since_start(&profile->header, record[i].start_ns);
        view->end_ns = view->alive ? 0 : pl_fold_since_start(&profile->header, record[i].end_ns);
        memcpy(view->name, record[i].name, sizeof record[i].name);
        fold_counters(fold, &record[i], view);
        fold->thread_of[i] = profile->threads++;
    }
}

/* ---- the process ---- */

/* Each word ends with a NUL; the last one may lack it. */
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
    for (int how = 0; how < PL_BYPASS_COUNT; how++)
        profile->bypass[how] = pl_texts_get(&fold->texts, header->bypass[how]);
    if (header->looked > PL_LOOKED_NOT && header->looked < PL_LOOKED_COUNT) {
        profile->looked = (enum pl_looked) header->looked;
        profile->looked_partly = header->looked_partly != 0;
        profile->looked_s = (double) header->looked_ns / 1e9;
    }
    if (header->flags & PL_FLAG_SNAPSHOT)
        profile->snapshot_name = pl_texts_get(&fold->texts, header->snapshot_name);
    if (header->flags & PL_FLAG_MERGED)
        profile->merged = header->merged > 0 ? header->merged : 1;
    const char *command = pl_texts_get(&fold->texts, header->command);
    profile->argv = split_words(profile->arena, command, *command ? header->command.bytes : 0);
}

void pl_fold(struct pl_image *image, struct pl_arena *scratch, struct pl_profile *profile)
{
    uint32_t texts_max = 8 + PL_BYPASS_COUNT + pl_image_count(image, PL_KIND_MODULE) +
                         pl_image_count(image, PL_KIND_TAG) + pl_image_count(image, PL_KIND_HEAP) +
                         3 * pl_image_count(image, PL_KIND_SYMBOL) + 2 * pl_image_count(image, PL_KIND_FUNCTION);
    struct fold fold = {
        .image = image,
        .profile = profile,
        .scratch = scratch,
        .texts = pl_texts_new(image, profile->arena, scratch, texts_max),
    };
    profile->header = image->header;
    profile->file_bytes = image->file_bytes;
    fold_process(&fold);
    fold_modules(&fold);
    fold_threads(&fold);
    fold.tags = pl_fold_tags(profile, &fold.texts, scratch);
    pl_fold_scopes(profile, image, scratch, &fold.tags, fold.thread_of);
    fold.functions = pl_functions_fold(image, &fold.texts, scratch);
    fold.trie = pl_trie_new(profile, image, scratch, fold.module_of, &fold.functions);
    struct pl_sites sites = {
        .image = image,
        .profile = profile,
        .scratch = scratch,
        .trie = &fold.trie,
        .tags = &fold.tags,
        .texts = &fold.texts,
        .thread_of = fold.thread_of,
    };
    pl_sites_mark(&sites);
    pl_trie_join(&fold.trie);
    pl_trie_date(&fold.trie);
    pl_sites_fold(&sites);
    pl_heaps_fold(&sites);
    pl_fold_history(&sites);
    pl_fold_times(profile);
    pl_heaps_fold_times(profile);
    pl_totals_fold(profile);
    pl_fold_places(&fold.trie, &fold.texts, scratch);
    pl_functions_place(&fold.trie);
    profile->damage = image->damage + profile->header.damage;
    profile->in_flight = image->in_flight;
}
