/* SPDX-License-Identifier: MIT */
/* rows.c - see rows.h. */
#include "rows.h"

#include "hash.h"
#include "process.h"
#include "stacks.h"
#include "sums.h"

#define KEY_SITE 0x73697465u
#define KEY_ROW 0x726f77u

/* ---- finding ---- */

static uint32_t write_site(struct pl_file *file, uint32_t stack)
{
    void *at;
    uint32_t id = pl_file_append(file, PL_KIND_SITE, &at);
    if (!id)
        return PL_SITE_OVERFLOW;
    struct pl_site *site = at;
    site->stack = stack;
    store_release(&site->valid, 1); /* publish */
    return id;
}

static uint32_t write_row(struct pl_file *file, uint32_t site, uint32_t thread)
{
    void *at;
    uint32_t id = pl_file_append(file, PL_KIND_ROW, &at);
    if (!id)
        return 0;
    struct pl_row *row = at;
    row->thread = thread;
    store_release(&row->site, site); /* publish */
    return id;
}

static uint32_t site_number(struct pl_process *process, uint32_t stack)
{
    struct pl_slot *slot = pl_map_slot(&process->map, pl_hash(stack, KEY_SITE));
    if (!slot)
        return PL_SITE_OVERFLOW;
    uint32_t id = load_acquire(&slot->id);
    return id ? id : pl_slot_settle(slot, write_site(&process->file, stack));
}

uint32_t pl_row_overflow(struct pl_process *process, struct pl_thread *thread)
{
    if (!thread->overflow_row)
        thread->overflow_row = write_row(&process->file, PL_SITE_OVERFLOW, thread->record);
    return thread->overflow_row;
}

static uint32_t find_row(struct pl_process *process, struct pl_thread *thread)
{
    struct pl_slot *slot = NULL;
    uint32_t stack = pl_stack_number(process, thread);
    if (stack)
        slot = pl_map_slot(&process->map, pl_hash((uint64_t) thread->record << 32 | stack, KEY_ROW));
    if (!slot)
        return pl_row_overflow(process, thread);
    uint32_t id = load_acquire(&slot->id);
    if (id)
        return id;
    id = write_row(&process->file, site_number(process, stack), thread->record);
    return id ? pl_slot_settle(slot, id) : pl_row_overflow(process, thread);
}

/* A sum of mixed frames: no frame waits for the one before it. The factor is the position's, and both halves of the
 * product count: with less, stacks that have the same frames in another order come out alike. */
static uint64_t hash_walk(const struct pl_walk *walk, uint64_t generation)
{
    uint64_t hash = generation, factor = 0xd6e8feb86659fd93u;
    for (uint32_t i = 0; i < walk->frames; i++, factor += 0x3c6ef372fe94f82au) {
        __uint128_t product = (__uint128_t) (walk->frame[i] ^ 0x9e3779b97f4a7c15u) * factor;
        hash += (uint64_t) product ^ (uint64_t) (product >> 64);
    }
    return hash ^ hash >> 29;
}

uint32_t pl_row_number(struct pl_process *process, struct pl_thread *thread)
{
    uint64_t hash = hash_walk(&thread->walk, load_relaxed(&process->generation));
    struct pl_row_entry *entry = &thread->rows[hash % PL_ROW_CACHE];
    if (likely(entry->hash == hash && entry->row))
        return (uint32_t) entry->row;
    uint32_t row = find_row(process, thread);
    if (row == thread->overflow_row)
        return row;
    entry->row = 0; /* whoever is thrown out of here leaves an entry that nobody believes */
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

/* The owner's changes stand between two steps of the sequence word: a reader that sees an odd one, or two different
 * ones before and after, reads again. */
static void begin(struct pl_row *row)
{
    store_relaxed(&row->sequence, row->sequence | 1); /* odd already: the last change was cut short by a longjmp */
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end(struct pl_row *row)
{
    store_release(&row->sequence, row->sequence + 1);
}

void pl_row_allocated(struct pl_process *process, const struct pl_record *record)
{
    struct pl_row *row = row_at(process, record->row);
    begin(row);
    pl_sums_add(&row->allocated, (double) record->size, record->weight);
    end(row);
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

static void add_remotely(struct pl_sums *sums, const struct pl_record *record)
{
    struct pl_sums one = {0, 0, 0, 0, 0};
    pl_sums_add(&one, (double) record->size, record->weight);
    add_atomically(&sums->objects, one.objects);
    add_atomically(&sums->space, one.space);
    add_atomically(&sums->objects_variance, one.objects_variance);
    add_atomically(&sums->space_variance, one.space_variance);
    fetch_add(&sums->samples, 1);
}

void pl_row_freed(struct pl_process *process, const struct pl_thread *thread, const struct pl_record *record)
{
    struct pl_row *row = row_at(process, record->row);
    if (!thread || thread->record != record->thread) {
        add_remotely(&row->remote, record);
        return;
    }
    begin(row);
    pl_sums_add(&row->freed, (double) record->size, record->weight);
    end(row);
}
