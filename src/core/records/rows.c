/* SPDX-License-Identifier: MIT */
/* rows.c - see rows.h. */
#include "core/records/rows.h"

#include "core/exact.h"
#include "core/hash.h"
#include "core/process.h"
#include "core/python/python.h"
#include "core/records/eras.h"
#include "core/records/halves.h"
#include "core/records/stacks.h"
#include "core/records/sums.h"
#include "core/records/tallies.h"
#include "core/records/tags.h"

#define KEY_SITE 0x73697465u
#define KEY_ROW 0x726f77u

/* ---- finding ---- */

static uint32_t write_site(struct pl_process *process, uint32_t stack, uint32_t tag)
{
    void *at;
    uint32_t tag_record = pl_tag_record(process, tag);
    uint32_t id = pl_file_append(&process->file, PL_KIND_SITE, &at);
    if (!id)
        return PL_SITE_OVERFLOW;
    struct pl_site *site = at;
    site->stack = stack == PL_STACK_OTHER ? 0 : stack;
    site->tag = tag_record;
    site->kind = stack == PL_STACK_OTHER ? PL_SITE_OTHER_SIZES : PL_SITE_STACK;
    store_release(&site->valid, 1); /* publish */
    return id;
}

static uint32_t write_row(struct pl_process *process, const struct pl_thread *thread, uint32_t site)
{
    void *at;
    uint32_t id = pl_file_append(&process->file, PL_KIND_ROW, &at);
    if (!id)
        return 0;
    struct pl_row *row = at;
    row->thread = thread->record;
    row->reset = thread->reset;
    row->smallest = UINT32_MAX;
    row->era = row->remote_era = load_relaxed(&process->era);
    row->cohort_shift = load_relaxed(&process->timeline.shift);
    store_release(&row->site, site); /* publish */
    return id;
}

uint32_t pl_row_site(struct pl_process *process, uint32_t stack, uint32_t tag)
{
    struct pl_slot *slot = pl_map_slot(&process->map, pl_hash((uint64_t) tag << 32 | stack, KEY_SITE));
    if (!slot)
        return PL_SITE_OVERFLOW;
    uint32_t id = load_acquire(&slot->id);
    return id ? id : pl_map_settle(slot, write_site(process, stack, tag));
}

uint64_t pl_row_key(const struct pl_thread *thread, uint32_t stack, uint64_t kind)
{
    uint64_t who = (uint64_t) thread->record << 32 | stack;
    uint64_t where = (uint64_t) thread->volume << 32 | pl_tls.tag;
    return pl_hash(pl_hash(who, kind), where);
}

uint32_t pl_row_overflow(struct pl_process *process, struct pl_thread *thread)
{
    if (!thread->overflow_row)
        thread->overflow_row = write_row(process, thread, PL_SITE_OVERFLOW);
    return thread->overflow_row;
}

static uint32_t find_row(struct pl_process *process, struct pl_thread *thread, uint32_t stack)
{
    struct pl_slot *slot = NULL;
    if (stack)
        slot = pl_map_slot(&process->map, pl_row_key(thread, stack, KEY_ROW));
    if (!slot)
        return pl_row_overflow(process, thread);
    uint32_t id = load_acquire(&slot->id);
    if (id)
        return id;
    id = write_row(process, thread, pl_row_site(process, stack, pl_tls.tag));
    return id ? pl_map_settle(slot, id) : pl_row_overflow(process, thread);
}

uint32_t pl_row_other(struct pl_process *process, struct pl_thread *thread)
{
    return find_row(process, thread, PL_STACK_OTHER);
}

/* A sum of mixed frames, so that no multiplication has to wait for the one before it. The factor depends on the frame's
 * position, and both halves of the product are used: otherwise stacks with the same frames in another order would get
 * the same hash. */
uint64_t pl_row_hash(const struct pl_walk *walk, uint64_t generation)
{
    uint64_t hash = generation, factor = 0xd6e8feb86659fd93u;
    for (uint32_t i = 0; i < walk->frames; i++, factor += 0x3c6ef372fe94f82au) {
        __uint128_t product = (__uint128_t) (walk->frame[i] ^ 0x9e3779b97f4a7c15u) * factor;
        hash += (uint64_t) product ^ (uint64_t) (product >> 64);
    }
    hash ^= hash >> 29;
    return hash ? hash : 1;
}

/* What hash_of_stack() has found. */
struct hashed {
    uint64_t hash;
    bool walked; /* and so thread->walk has the stack */
};

/* A thread that has a tracker mostly recognizes the stack: that takes a tenth of a walk. */
static struct hashed hash_of_stack(struct pl_process *process, struct pl_thread *thread, const struct pl_start *start)
{
    const struct pl_tracker *tracker = thread->tracker;
    uint32_t generation = load_relaxed(&process->generation);
    uint64_t hash = tracker ? pl_trace_stack(tracker->trace, &thread->walk, start, generation) : 0;
    if (hash)
        return (struct hashed){pl_python_with(thread, hash), false};
    pl_stack_walk(process, thread, start);
    return (struct hashed){pl_row_hash(&thread->walk, generation), true};
}

#define WAYS 4 /* places that an entry may have: with one, two stacks that share it are walked at every sample */

/* The entry with this hash, or else the one to replace. */
static struct pl_row_entry *entry_for(struct pl_thread *thread, uint64_t hash)
{
    struct pl_row_entry *set = &thread->rows[hash % (PL_ROW_CACHE / WAYS) * WAYS];
    for (unsigned i = 0; i < WAYS; i++)
        if (set[i].hash == hash && set[i].row)
            return &set[i];
    for (unsigned i = 0; i < WAYS; i++)
        if (!set[i].row)
            return &set[i];
    return &set[hash >> 32 & (WAYS - 1)];
}

uint32_t pl_row_number(struct pl_process *process, struct pl_thread *thread, const struct pl_start *start)
{
    struct hashed stack = hash_of_stack(process, thread, start);
    uint64_t hash = stack.hash + thread->salt;
    struct pl_row_entry *entry = entry_for(thread, hash);
    if (likely(entry->hash == hash && entry->row)) {
        fetch_add(&pl_file_header(&process->file)->visits, !stack.walked);
        return (uint32_t) entry->row;
    }
    if (!stack.walked)
        pl_stack_walk(process, thread, start);
    uint32_t row = find_row(process, thread, pl_stack_number(process, thread));
    if (row == thread->overflow_row)
        return row;
    entry->row = 0; /* if left by longjmp from here on, the entry is not valid */
    signal_fence();
    entry->hash = hash;
    signal_fence();
    entry->row = row;
    return row;
}

/* ---- adding ---- */

static struct pl_row *row_at(struct pl_process *process, uint32_t number)
{
    return pl_file_record(&process->file, PL_KIND_ROW, number);
}

/* The sequence word is odd while the owner changes the row. A reader that finds it odd, or different before and after,
 * reads again. */
static void begin(struct pl_row *row)
{
    store_relaxed(&row->sequence, row->sequence | 1); /* it is odd already if the last change was left by longjmp */
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end(struct pl_row *row)
{
    store_release(&row->sequence, row->sequence + 1);
}

static void add_atomically(double *to, double value)
{
    uint64_t *word = (uint64_t *) (void *) to;
    union {
        uint64_t bits;
        double value;
    } now, next;
    now.bits = load_relaxed(word);
    do
        next.value = now.value + value;
    while (!__atomic_compare_exchange_n(word, &now.bits, next.bits, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* Atomic: any thread may add to a histogram. */
static void add_weight(float *to, double weight)
{
    uint32_t *word = (uint32_t *) (void *) to;
    union {
        uint32_t bits;
        float value;
    } now, next;
    now.bits = load_relaxed(word);
    do
        next.value = now.value + (float) weight;
    while (!__atomic_compare_exchange_n(word, &now.bits, next.bits, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* What a sample adds to the live totals, in whole bytes and blocks. Its free subtracts exactly the same. */
static int64_t bytes_of(const struct pl_record *record)
{
    double bytes = (double) record->size * record->weight;
    return bytes < 0x1p62 ? (int64_t) bytes : INT64_MAX / 2;
}

static int64_t objects_of(const struct pl_record *record)
{
    return (int64_t) (record->weight + 0.5);
}

/* Adds a sample's estimate to its size bucket. Atomic, because all threads share the buckets of the process. */
static void count_size(struct pl_bucket *buckets, const struct pl_record *record)
{
    struct pl_bucket *bucket = &buckets[pl_sums_size_bucket(record->size)];
    fetch_add(&bucket->blocks, (uint64_t) objects_of(record));
    fetch_add(&bucket->bytes, (uint64_t) bytes_of(record));
}

/* `live` bytes are live without this sample. */
static void change_halves(struct pl_process *process, const struct pl_record *record, int64_t live, int sign)
{
    struct pl_header *header = pl_file_header(&process->file);
    struct pl_shares share = pl_halves_share(record, header->seed);
    pl_halves_change(header->half, &share, bytes_of(record), live, sign);
}

void pl_row_allocated(struct pl_process *process, struct pl_thread *thread, const struct pl_record *record)
{
    struct pl_row *row = row_at(process, record->row);
    uint32_t size = record->size < UINT32_MAX ? (uint32_t) record->size : UINT32_MAX;
    begin(row);
    if (row->era != load_relaxed(&process->era))
        pl_era_row(process, row);
    pl_sums_add(&row->allocated, (double) record->size, record->weight);
    pl_sums_add_skew(&row->skew, (double) record->size, record->weight);
    if (size < row->smallest)
        row->smallest = size;
    if (size > row->largest)
        row->largest = size;
    end(row);
    add_weight(&row->sizes[pl_sums_size_bucket(record->size)], record->weight);
    add_weight(&row->made[pl_timeline_cohort(record->units, row->cohort_shift)], record->weight);
    change_halves(process, record, pl_era_live(process, thread), 1);
    pl_era_grows(process, thread, bytes_of(record), objects_of(record));
    count_size(thread->made, record);
}

static void add_remotely(struct pl_process *process, struct pl_row *row, const struct pl_record *record)
{
    struct pl_sums *sums = &row->remote;
    struct pl_sums one = {0, 0, 0, 0, 0};
    pl_sums_add(&one, (double) record->size, record->weight);
    pl_era_row_remote(process, row);
    add_atomically(&sums->objects, one.objects);
    add_atomically(&sums->space, one.space);
    add_atomically(&sums->objects_variance, one.objects_variance);
    add_atomically(&sums->space_variance, one.space_variance);
    fetch_add(&sums->samples, 1);
}

static void add_own(struct pl_process *process, struct pl_row *row, const struct pl_record *record, bool moved)
{
    bool temporary = pl_thread_charge(pl_tls.thread, &pl_tls) == record->charge; /* no allocation in between */
    begin(row);
    if (row->era != load_relaxed(&process->era))
        pl_era_row(process, row);
    pl_sums_add(&row->freed, (double) record->size, record->weight);
    if (temporary && !moved)
        row->temporaries += record->weight;
    end(row);
}

static void shrink(struct pl_process *process, struct pl_thread *thread, const struct pl_record *record)
{
    int64_t live = thread ? pl_era_live(process, thread) : (int64_t) load_relaxed(&process->totals.live_bytes);
    change_halves(process, record, live - bytes_of(record), -1);
    if (thread)
        pl_era_shrinks(process, thread, bytes_of(record), objects_of(record));
    else
        pl_era_shrank(process, bytes_of(record), objects_of(record));
    count_size(thread ? thread->gone : process->gone, record);
}

void pl_row_freed(struct pl_process *process, struct pl_thread *thread, const struct pl_record *record, bool moved)
{
    struct pl_row *row = row_at(process, record->row);
    uint64_t now = pl_timeline_now(process);
    if (row->reset == load_relaxed(&process->resets))
        shrink(process, thread, record);
    if (thread && thread->record == record->thread)
        add_own(process, row, record, moved);
    else
        add_remotely(process, row, record);
    add_weight(&row->lives[pl_sums_life_bucket(now - record->units)], record->weight);
    add_weight(&row->gone[pl_timeline_cohort(record->units, row->cohort_shift)], record->weight);
    if (unlikely(load_relaxed(&process->exiting))) {
        add_atomically(&row->exit_objects, record->weight);
        add_atomically(&row->exit_space, record->weight * (double) record->size);
    }
}

void pl_row_realloc(struct pl_process *process, const struct pl_record *record, uint64_t old_bytes, bool moved)
{
    struct pl_row *row = row_at(process, record->row);
    uint64_t copied = old_bytes < record->size ? old_bytes : record->size;
    add_atomically(&row->realloc_calls, record->weight);
    if (moved)
        add_atomically(&row->realloc_moved, record->weight * (double) copied);
    else
        add_atomically(&row->realloc_in_place, record->weight);
}
