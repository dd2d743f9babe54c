/* SPDX-License-Identifier: MIT */
/* heaps.c - see heaps.h. */
#include "core/records/heaps.h"

#include "core/hash.h"
#include "core/process.h"
#include "core/records/eras.h"
#include "core/records/rows.h"
#include "core/records/sums.h"
#include "core/records/tags.h"

#define KEY_HEAP 0x68656170u
#define KEY_LEDGER 0x6c6564676572u

/* ---- finding ---- */

#define NAME_MOST 255u /* bytes of a heap's name in the file */

static uint32_t write_heap(struct pl_process *process, enum pl_heap_kind kind, const struct pl_tag_name *name)
{
    void *at;
    struct pl_text text = {0, 0};
    if (name && name->bytes)
        text = pl_file_text(&process->file, name->text, name->bytes < NAME_MOST ? name->bytes : NAME_MOST);
    uint32_t number = pl_file_append(&process->file, PL_KIND_HEAP, &at);
    struct pl_heap_record *heap = at;
    if (!number)
        return 0;
    heap->reset = load_relaxed(&process->resets);
    heap->name = text;
    store_release(&heap->kind, (uint32_t) kind); /* publish */
    return number;
}

uint32_t pl_heap_find(struct pl_process *process, enum pl_heap_kind kind, const struct pl_tag_name *name)
{
    struct pl_slot *slot = pl_map_slot(&process->map, pl_hash(name ? name->hash : 0, (uint64_t) kind << 48 | KEY_HEAP));
    if (!slot)
        return 0;
    uint32_t number = load_acquire(&slot->id);
    if (!number && (number = write_heap(process, kind, name)) != 0)
        number = pl_map_settle(slot, number);
    return number;
}

static uint32_t write_ledger(struct pl_process *process, const struct pl_thread *thread, uint32_t heap, uint32_t site)
{
    void *at;
    uint32_t number = pl_file_append(&process->file, PL_KIND_LEDGER, &at);
    struct pl_ledger *ledger = at;
    if (!number)
        return 0;
    ledger->thread = thread->record;
    ledger->heap = heap;
    ledger->reset = thread->reset;
    ledger->smallest = UINT64_MAX;
    ledger->cohort_shift = load_relaxed(&process->timeline.shift);
    store_release(&ledger->site, site); /* publish */
    return number;
}

uint32_t pl_ledger_find(struct pl_process *process, struct pl_thread *thread, uint32_t heap, uint32_t stack)
{
    uint64_t key = pl_row_key(thread, stack, (uint64_t) heap << 48 | KEY_LEDGER);
    struct pl_slot *slot = pl_map_slot(&process->map, key);
    if (!slot)
        return 0;
    uint32_t number = load_acquire(&slot->id);
    if (number)
        return number;
    uint32_t site = stack ? pl_row_site(process, stack, pl_tls.tag) : PL_SITE_OVERFLOW;
    number = write_ledger(process, thread, heap, site);
    return number ? pl_map_settle(slot, number) : 0;
}

/* ---- booking ---- */

static struct pl_ledger *ledger_at(struct pl_process *process, uint32_t number)
{
    return pl_file_record(&process->file, PL_KIND_LEDGER, number);
}

static struct pl_heap_record *heap_of(struct pl_process *process, const struct pl_ledger *ledger)
{
    struct pl_heap_record *heap = pl_file_record(&process->file, PL_KIND_HEAP, ledger->heap);
    uint32_t resets = load_relaxed(&process->resets);
    if (unlikely(heap->reset != resets)) {
        heap->live_bytes = heap->peak_bytes = heap->peak_units = 0;
        heap->peaks = 0;
        store_relaxed(&heap->reset, resets);
    }
    return heap;
}

static void join_pairs(uint32_t cohort[PL_COHORTS])
{
    for (unsigned i = 0; i < PL_COHORTS; i++)
        cohort[i] = i < PL_COHORTS / 2 ? cohort[2 * i] + cohort[2 * i + 1] : 0;
}

static OUT_OF_LINE void save_samples(struct pl_ledger *ledger)
{
    const struct pl_sums *all = &ledger->sampled, *freed = &ledger->sampled_freed;
    ledger->sampled_peak = (struct pl_sums){
        .objects = all->objects - freed->objects,
        .space = all->space - freed->space,
        .objects_variance = all->objects_variance - freed->objects_variance,
        .space_variance = all->space_variance - freed->space_variance,
        .samples = all->samples - freed->samples,
    };
}

/* Odd from here on. It is odd already if a kill, or a longjmp in a sandbox, has interrupted the last change. */
static void begin(struct pl_process *process, const struct pl_heap_record *heap, struct pl_ledger *ledger)
{
    uint32_t shift = load_relaxed(&process->timeline.shift);
    store_relaxed(&ledger->sequence, ledger->sequence | 1);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (pl_era_before(ledger->era, heap->era)) {
        ledger->peak_calls = ledger->calls - ledger->freed_calls;
        ledger->peak_bytes = ledger->bytes - ledger->freed_bytes;
        if (ledger->sampled.samples)
            save_samples(ledger);
        ledger->era = heap->era;
    }
    for (; ledger->cohort_shift < shift; ledger->cohort_shift++) {
        join_pairs(ledger->made);
        join_pairs(ledger->gone);
    }
}

static void end(struct pl_ledger *ledger)
{
    store_release(&ledger->sequence, ledger->sequence + 1);
}

/* What a sample stands for, in whole blocks and bytes. Its free subtracts exactly the same. */
static uint32_t blocks_of(const struct pl_ledger_entry *entry)
{
    return entry->weight > 0 ? (uint32_t) (entry->weight + 0.5f) : 1;
}

static uint64_t bytes_of(const struct pl_ledger_entry *entry)
{
    return entry->weight > 0 ? (uint64_t) ((double) entry->weight * (double) entry->bytes) : entry->bytes;
}

static OUT_OF_LINE void add_sample(struct pl_ledger *ledger, const struct pl_ledger_entry *entry)
{
    pl_sums_add(&ledger->sampled, (double) entry->bytes, (double) entry->weight);
    pl_sums_add_skew(&ledger->skew, (double) entry->bytes, (double) entry->weight);
}

static OUT_OF_LINE void add_freed_sample(struct pl_ledger *ledger, const struct pl_ledger_entry *entry)
{
    pl_sums_add(&ledger->sampled_freed, (double) entry->bytes, (double) entry->weight);
}

void pl_ledger_allocated(struct pl_process *process, const struct pl_ledger_entry *entry)
{
    struct pl_ledger *ledger = ledger_at(process, entry->ledger);
    struct pl_heap_record *heap = heap_of(process, ledger);
    uint32_t blocks = blocks_of(entry);
    uint64_t bytes = entry->bytes;
    begin(process, heap, ledger);
    if (entry->weight > 0) {
        add_sample(ledger, entry);
    } else {
        ledger->calls++;
        ledger->bytes += bytes;
    }
    ledger->smallest = bytes < ledger->smallest ? bytes : ledger->smallest;
    ledger->largest = bytes > ledger->largest ? bytes : ledger->largest;
    ledger->sizes[pl_sums_size_bucket(bytes)] += blocks;
    ledger->made[pl_timeline_cohort(entry->units, ledger->cohort_shift)] += blocks;
    end(ledger);
    if (ledger->reset == heap->reset)
        store_relaxed(&heap->live_bytes, heap->live_bytes + bytes_of(entry));
}

/* Before the heap shrinks: is it larger than it ever was? */
static void declare_peak(struct pl_heap_record *heap, uint64_t now)
{
    if (heap->live_bytes <= heap->peak_bytes)
        return;
    store_relaxed(&heap->peak_bytes, heap->live_bytes);
    store_relaxed(&heap->peak_units, now);
    store_relaxed(&heap->peaks, heap->peaks + 1);
    store_release(&heap->era, heap->era + 1);
}

void pl_ledger_freed(struct pl_process *process, const struct pl_ledger_entry *entry, uint64_t now)
{
    struct pl_ledger *ledger = ledger_at(process, entry->ledger);
    struct pl_heap_record *heap = heap_of(process, ledger);
    bool exiting = load_relaxed(&process->exiting);
    uint32_t blocks = entry->last ? blocks_of(entry) : 0;
    uint64_t bytes = bytes_of(entry);
    declare_peak(heap, now);
    begin(process, heap, ledger);
    if (entry->weight > 0) {
        add_freed_sample(ledger, entry);
    } else {
        ledger->freed_calls += blocks;
        ledger->freed_bytes += bytes;
    }
    ledger->exit_bytes += exiting ? bytes : 0;
    ledger->exit_calls += exiting ? blocks : 0;
    ledger->lives[pl_sums_life_bucket(now - entry->units)] += blocks;
    ledger->gone[pl_timeline_cohort(entry->units, ledger->cohort_shift)] += blocks;
    end(ledger);
    if (ledger->reset == heap->reset)
        store_relaxed(&heap->live_bytes, heap->live_bytes - bytes);
}

void pl_ledger_moved(struct pl_process *process, uint32_t number, float weight, uint64_t bytes, bool moved)
{
    struct pl_ledger *ledger = ledger_at(process, number);
    const struct pl_ledger_entry entry = {.weight = weight, .bytes = bytes};
    ledger->realloc_calls += blocks_of(&entry);
    if (moved)
        ledger->realloc_moved += bytes_of(&entry);
    else
        ledger->realloc_in_place += blocks_of(&entry);
}

void pl_heap_holds(struct pl_process *process, uint32_t number, int64_t bytes)
{
    struct pl_heap_record *heap = pl_file_record(&process->file, PL_KIND_HEAP, number);
    store_relaxed(&heap->held_bytes, heap->held_bytes + (uint64_t) bytes);
}
