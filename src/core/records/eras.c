/* SPDX-License-Identifier: MIT */
/* eras.c - see eras.h. */
#include "core/records/eras.h"

#include "core/arch.h"
#include "core/clock.h"
#include "core/records/halves.h"
#include "core/records/tallies.h"

#define BATCH_SHARE 32
#define PEAK_ERA(eras) ((uint32_t) ((eras) >> 32))

/* ---- live totals ---- */

/* How many bytes a thread may have allocated or freed without telling: few, if the heap is small. */
static int64_t batch(const struct pl_process *process)
{
    int64_t share = load_relaxed(&process->peak_bytes) / BATCH_SHARE;
    return share < PL_BATCH_LEAST ? PL_BATCH_LEAST : share > PL_BATCH_BYTES ? PL_BATCH_BYTES : share;
}

/* By how much the live total must exceed the old peak to be declared a new one. With several threads, a batch, which is
 * what each may not have told yet: otherwise, while the heap grows, they would compete to declare a peak at every free.
 * Estimates fluctuate by a sample or two in addition, and noise must not become a peak. */
#define NOISE_SAMPLES 2
static int64_t slack(const struct pl_process *process)
{
    int64_t untold = load_relaxed(&process->thread_count) > 1 ? batch(process) : 0;
    bool exact = load_relaxed(&process->counting);
    return untold + (exact ? 0 : NOISE_SAMPLES * (int64_t) load_relaxed(&process->interval_bytes));
}

static void set_headroom(struct pl_process *process, struct pl_thread *thread)
{
    int64_t peak = load_relaxed(&process->peak_bytes);
    thread->headroom = thread->headroom_told =
        peak + slack(process) - (int64_t) load_relaxed(&process->totals.live_bytes);
    thread->headroom_low = thread->headroom - batch(process);
    thread->headroom_high = thread->headroom + batch(process);
}

static void tell_calls(struct pl_process *process, struct pl_thread *thread)
{
    uint64_t calls, bytes;
    if (thread->tls != &pl_tls)
        return;
    pl_thread_totals(thread, &pl_tls, &calls, &bytes);
    fetch_add(&process->totals.calls, calls - thread->told_calls);
    fetch_add(&process->totals.bytes, bytes - thread->told_bytes);
    thread->told_calls = calls;
    thread->told_bytes = bytes;
}

void pl_era_forget(struct pl_process *process, struct pl_thread *thread)
{
    thread->objects = 0;
    tell_calls(process, thread);
    set_headroom(process, thread);
}

void pl_era_tell(struct pl_process *process, struct pl_thread *thread)
{
    fetch_add(&process->totals.live_bytes, thread->headroom_told - thread->headroom);
    fetch_add(&process->totals.live_objects, thread->objects);
    pl_era_forget(process, thread);
}

/* ---- peaks ---- */

/* Stores era and peak_era together, so that a thread that catches up sees both. */
static uint32_t begin_era(struct pl_process *process)
{
    uint64_t old = load_relaxed(&process->eras), new;
    uint32_t era;
    do {
        era = (uint32_t) old + 1;
        new = (uint64_t) era << 32 | era;
    } while (!__atomic_compare_exchange_n(&process->eras, &old, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return era;
}

/* `live` bytes are live now: declares a peak if that exceeds the old one by more than slack(). */
static void declare(struct pl_process *process, int64_t live)
{
    struct pl_header *header = pl_file_header(&process->file);
    int64_t peak = load_relaxed(&process->peak_bytes);
    do {
        if (live <= peak + slack(process))
            return;
    } while (!__atomic_compare_exchange_n(&process->peak_bytes, &peak, live, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    uint32_t era = begin_era(process);
    if (load_relaxed(&process->peak_bytes) != live) /* another thread has found a higher peak, and will write it */
        return;
    store_relaxed(&header->peak.bytes, (uint64_t) live);
    store_relaxed(&header->peak.units, (pl_clock() - process->start_ticks) >> PL_UNIT_SHIFT);
    store_relaxed(&header->batch_bytes, (uint32_t) batch(process));
    pl_halves_note(header->half, live);
    fetch_add(&header->peak.peaks, 1);
    store_release(&header->peak.era, era);
}

void pl_era_peak(struct pl_process *process, struct pl_thread *thread)
{
    pl_era_tell(process, thread);
    if (!process->file.base)
        return;
    declare(process, load_relaxed(&process->totals.live_bytes));
    set_headroom(process, thread);
}

void pl_era_shrank(struct pl_process *process, int64_t bytes, int64_t objects)
{
    if (process->file.base)
        declare(process, load_relaxed(&process->totals.live_bytes));
    fetch_add(&process->totals.live_bytes, -bytes);
    fetch_add(&process->totals.live_objects, -objects);
}

/* ---- cohorts ---- */

static void join_pairs(uint32_t *cohort)
{
    for (unsigned i = 0; i < PL_COHORTS; i++)
        cohort[i] = i < PL_COHORTS / 2 ? cohort[2 * i] + cohort[2 * i + 1] : 0;
}

/* Remote records count other threads' frees in cohorts of the old length: moves them to the tally. */
static void take_over(const struct pl_process *process, struct pl_tally *tally)
{
    struct pl_foreign_walk walk = {.number = load_acquire(&tally->remote)};
    struct pl_remote *remote;
    while ((remote = pl_foreign_next(&process->file, &walk)))
        for (unsigned i = 0; i < PL_COHORTS; i++)
            tally->gone[i] += exchange(&remote->gone[i], 0u);
}

/* Adds the counts since the last catch_up() to the tally's cohort, then switches to the current cohort. */
static void catch_up(const struct pl_process *process, struct pl_tally *tally)
{
    uint32_t shift = load_relaxed(&process->timeline.shift), cohort = load_relaxed(&process->timeline.cohort);
    unsigned at = tally->cohort % PL_COHORTS;
    if (tally->cohort == cohort && tally->cohort_shift == shift)
        return;
    tally->made[at] += (uint32_t) (tally->calls - tally->made_calls);
    tally->made_calls = tally->calls;
    tally->gone[at] += (uint32_t) (tally->freed_calls - tally->gone_calls);
    tally->gone_calls = tally->freed_calls;
    if (tally->cohort_shift != shift && tally->remote)
        take_over(process, tally);
    for (; tally->cohort_shift < shift; tally->cohort_shift++) {
        join_pairs(tally->made);
        join_pairs(tally->gone);
    }
    pl_tally_begin_cohort(tally, cohort);
}

/* ---- catching up ---- */

void pl_era_allocated(struct pl_process *process, struct pl_tally *tally)
{
    uint64_t eras = load_acquire(&process->eras);
    if (pl_era_before(tally->era, PEAK_ERA(eras))) {
        tally->peak_calls = tally->calls;
        tally->peak_bytes = tally->bytes;
    }
    catch_up(process, tally);
    store_release(&tally->era, (uint32_t) eras);
}

void pl_era_freed(struct pl_process *process, struct pl_tally *tally)
{
    uint64_t eras = load_acquire(&process->eras);
    if (pl_era_before(tally->freed_era, PEAK_ERA(eras))) {
        tally->peak_freed_calls = tally->freed_calls;
        tally->peak_freed_bytes = tally->freed_bytes;
    }
    catch_up(process, tally);
    store_release(&tally->freed_era, (uint32_t) eras);
}

/* If several threads come at once, one of them saves. What the others add meanwhile is within the error that figures
 * have with several threads anyway (batch_bytes). */
void pl_era_remote(struct pl_process *process, struct pl_remote *remote)
{
    uint64_t eras = load_acquire(&process->eras);
    uint32_t era = (uint32_t) eras, old = load_relaxed(&remote->era);
    uint64_t calls = load_relaxed(&remote->calls), bytes = load_relaxed(&remote->bytes);
    if (old == era || !swap_if(&remote->era, old, era) || !pl_era_before(old, PEAK_ERA(eras)))
        return;
    store_relaxed(&remote->peak_calls, calls);
    store_relaxed(&remote->peak_bytes, bytes);
}

static struct pl_sums less(const struct pl_sums *from, const struct pl_sums *what)
{
    return (struct pl_sums){
        .objects = from->objects - what->objects,
        .space = from->space - what->space,
        .objects_variance = from->objects_variance - what->objects_variance,
        .space_variance = from->space_variance - what->space_variance,
        .samples = from->samples - what->samples,
    };
}

static void join_weights(float *cohort)
{
    for (unsigned i = 0; i < PL_COHORTS; i++)
        cohort[i] = i < PL_COHORTS / 2 ? cohort[2 * i] + cohort[2 * i + 1] : 0;
}

void pl_era_row(struct pl_process *process, struct pl_row *row)
{
    uint64_t eras = load_acquire(&process->eras);
    uint32_t shift = load_relaxed(&process->timeline.shift);
    if (pl_era_before(row->era, PEAK_ERA(eras)))
        row->peak = less(&row->allocated, &row->freed);
    for (; row->cohort_shift < shift; row->cohort_shift++) {
        join_weights(row->made);
        join_weights(row->gone);
    }
    store_release(&row->era, (uint32_t) eras);
}

void pl_era_row_remote(struct pl_process *process, struct pl_row *row)
{
    uint64_t eras = load_acquire(&process->eras);
    uint32_t era = (uint32_t) eras, old = load_relaxed(&row->remote_era);
    struct pl_sums before = row->remote;
    if (old == era || !swap_if(&row->remote_era, old, era) || !pl_era_before(old, PEAK_ERA(eras)))
        return;
    row->peak_remote = before;
}
