/* SPDX-License-Identifier: MIT */
/* heaps.c - see heaps.h. */
#include "core/records/heaps.h"

#include "core/hash.h"
#include "core/process.h"
#include "core/records/eras.h"
#include "core/records/rows.h"
#include "core/records/sums.h"

#define KEY_HEAP 0x68656170u
#define KEY_LEDGER 0x6c6564676572u

/* ---- finding ---- */

static uint32_t write_heap(struct pl_process *process, enum pl_heap_kind kind)
{
    void *at;
    uint32_t number = pl_file_append(&process->file, PL_KIND_HEAP, &at);
    struct pl_heap_record *heap = at;
    if (!number)
        return 0;
    heap->reset = load_relaxed(&process->resets);
    store_release(&heap->kind, (uint32_t) kind); /* publish */
    return number;
}

static uint32_t find_heap(struct pl_process *process, enum pl_heap_kind kind)
{
    struct pl_slot *slot = pl_map_slot(&process->map, pl_hash(kind, KEY_HEAP));
    if (!slot)
        return 0;
    uint32_t number = load_acquire(&slot->id);
    if (!number && (number = write_heap(process, kind)) != 0)
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

uint32_t pl_ledger_find(struct pl_process *process, struct pl_thread *thread, enum pl_heap_kind kind, uint32_t stack)
{
    uint32_t heap = find_heap(process, kind);
    uint64_t key = pl_row_key(thread, stack, (uint64_t) kind << 48 | KEY_LEDGER);
    struct pl_slot *slot = heap ? pl_map_slot(&process->map, key) : NULL;
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

/* Odd from here on. It is odd already if a kill, or a longjmp in a sandbox, has interrupted the last change. */
static void begin(struct pl_process *process, const struct pl_heap_record *heap, struct pl_ledger *ledger)
{
    uint32_t shift = load_relaxed(&process->timeline.shift);
    store_relaxed(&ledger->sequence, ledger->sequence | 1);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (pl_era_before(ledger->era, heap->era)) {
        ledger->peak_calls = ledger->calls - ledger->freed_calls;
        ledger->peak_bytes = ledger->bytes - ledger->freed_bytes;
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

void pl_ledger_allocated(struct pl_process *process, uint32_t number, uint64_t bytes, uint64_t now)
{
    struct pl_ledger *ledger = ledger_at(process, number);
    struct pl_heap_record *heap = heap_of(process, ledger);
    begin(process, heap, ledger);
    ledger->calls++;
    ledger->bytes += bytes;
    ledger->smallest = bytes < ledger->smallest ? bytes : ledger->smallest;
    ledger->largest = bytes > ledger->largest ? bytes : ledger->largest;
    ledger->sizes[pl_sums_size_bucket(bytes)]++;
    ledger->made[pl_timeline_cohort(now, ledger->cohort_shift)]++;
    end(ledger);
    if (ledger->reset == heap->reset)
        store_relaxed(&heap->live_bytes, heap->live_bytes + bytes);
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

void pl_ledger_freed(struct pl_process *process, uint32_t number, uint64_t bytes, uint64_t units, bool last,
                     uint64_t now)
{
    struct pl_ledger *ledger = ledger_at(process, number);
    struct pl_heap_record *heap = heap_of(process, ledger);
    bool exiting = load_relaxed(&process->exiting);
    declare_peak(heap, now);
    begin(process, heap, ledger);
    ledger->freed_bytes += bytes;
    ledger->freed_calls += last;
    ledger->exit_bytes += exiting ? bytes : 0;
    ledger->exit_calls += exiting && last;
    if (last) {
        ledger->lives[pl_sums_life_bucket(now - units)]++;
        ledger->gone[pl_timeline_cohort(units, ledger->cohort_shift)]++;
    }
    end(ledger);
    if (ledger->reset == heap->reset)
        store_relaxed(&heap->live_bytes, heap->live_bytes - bytes);
}

void pl_ledger_moved(struct pl_process *process, uint32_t number, uint64_t bytes, bool moved)
{
    struct pl_ledger *ledger = ledger_at(process, number);
    ledger->realloc_calls++;
    if (moved)
        ledger->realloc_moved += bytes;
    else
        ledger->realloc_in_place++;
}
