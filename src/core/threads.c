/* SPDX-License-Identifier: MIT */
/* threads.c - see threads.h. */
#include "core/threads.h"

#include "core/hash.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/records/eras.h"
#include "core/records/rows.h"
#include "core/records/scopes.h"
#include "core/records/tallies.h"
#include "core/text.h"
#include "format/settings.h"

#define ASK_AGAIN 4096 /* after a thread got no block, only one in so many attempts searches again */
#define PEEKS 4
#define GOODBYES_MAX 4 /* as many rounds of destructors as pthreads run */
#define BLOCKS_AT_ONCE 3
#define BLOCK_BYTES ((sizeof(struct pl_thread) + 63) & ~(size_t) 63)

__thread struct pl_tls pl_tls INITIAL_EXEC PL_ARCH_PAIRS;

/* ---- blocks ---- */

static void prepend(struct pl_process *process, struct pl_thread *thread)
{
    struct pl_thread *first = load_relaxed(&process->threads);
    do
        thread->next = first;
    while (!__atomic_compare_exchange_n(&process->threads, &first, thread, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static struct pl_thread *take_spare(struct pl_process *process)
{
    for (struct pl_thread *t = load_acquire(&process->threads); t; t = t->next)
        if (load_relaxed(&t->state) == PL_THREAD_NEW && swap_if(&t->state, PL_THREAD_NEW, PL_THREAD_ALIVE))
            return t;
    return NULL;
}

/* Maps blocks, and prepends them to the list of all. The first is the caller's: it is in state `first`. */
static struct pl_thread *map_blocks(struct pl_process *process, unsigned blocks, enum pl_thread_state first)
{
    uint8_t *at = pl_memory_table(pl_memory_pages(blocks * BLOCK_BYTES));
    if (!at) {
        pl_file_lost(&process->file, PL_LOSS_MEMORY);
        return NULL;
    }
    ((struct pl_thread *) (void *) at)->state = first;
    for (unsigned i = 0; i < blocks; i++)
        prepend(process, (struct pl_thread *) (void *) (at + i * BLOCK_BYTES));
    return (struct pl_thread *) (void *) at;
}

void pl_thread_spare(struct pl_process *process, unsigned blocks)
{
    map_blocks(process, blocks, PL_THREAD_NEW);
}

/* A mapping has room for a few blocks; those not needed now stay in the list, in state NEW, for any thread. */
static struct pl_thread *new_block(struct pl_process *process)
{
    struct pl_thread *thread = NULL;
    if (fetch_add(&process->thread_count, 1) < PL_THREADS_MAX && !(thread = take_spare(process)))
        thread = map_blocks(process, BLOCKS_AT_ONCE, PL_THREAD_ALIVE);
    if (!thread)
        fetch_add(&process->thread_count, -1);
    return thread;
}

static struct pl_thread *adopt(struct pl_process *process, const char *name)
{
    for (struct pl_thread *t = load_acquire(&process->threads); t; t = t->next) {
        if (load_acquire(&t->state) != PL_THREAD_DEAD || (name && !pl_text_same(t->name, name)))
            continue;
        if (swap_if(&t->state, PL_THREAD_DEAD, PL_THREAD_ALIVE))
            return t;
    }
    return NULL;
}

static struct pl_thread *find_block(struct pl_process *process, const char *name)
{
    struct pl_thread *thread = NULL;
    if (load_relaxed(&process->thread_count) >= pl_config.max_threads)
        thread = adopt(process, name);
    if (!thread)
        thread = new_block(process);
    return thread ? thread : adopt(process, NULL);
}

/* ---- registration ---- */

/* Every call changes the charge: if the charge is the same before and after, no call was counted in between. */
uint64_t pl_thread_counters(const struct pl_thread *thread, const struct pl_tls *tls, uint64_t calls[PL_FN_COUNT])
{
    uint64_t charge;
    do {
        charge = pl_thread_charge(thread, tls);
        for (int i = 0; i < PL_FN_COUNT; i++)
            calls[i] = load_relaxed(&tls->calls[i]);
    } while (unlikely(pl_thread_charge(thread, tls) != charge));
    return charge;
}

static uint64_t requested(uint64_t charge, uint64_t calls)
{
    uint64_t bytes = charge - calls * PL_CALL_CHARGE;
    return (int64_t) bytes > 0 ? bytes : 0;
}

void pl_thread_totals(const struct pl_thread *thread, const struct pl_tls *tls, uint64_t *calls, uint64_t *bytes)
{
    uint64_t charge, all;
    do {
        charge = pl_thread_charge(thread, tls);
        all = 0;
        for (int i = 0; i < PL_FN_COUNT; i++)
            all += load_relaxed(&tls->calls[i]);
    } while (unlikely(pl_thread_charge(thread, tls) != charge));
    *calls = all;
    *bytes = requested(charge, all);
}

/* Adds the owner's counts to those of earlier owners. `calls` and `bytes` may be thread->base_calls and base_bytes. */
static void add_up(const struct pl_thread *thread, const uint64_t counted[PL_FN_COUNT], uint64_t charge,
                   uint64_t calls[PL_FN_COUNT], uint64_t *bytes)
{
    uint64_t all = 0;
    for (int i = 0; i < PL_FN_COUNT; i++) {
        all += counted[i];
        calls[i] = thread->base_calls[i] + counted[i];
    }
    *bytes = thread->base_bytes + requested(charge, all);
}

/* Out of line, to save stack: inlined, its frame would add to that of appending the record. */
static OUT_OF_LINE void write_totals(struct pl_thread_record *record, const struct pl_thread *thread,
                                     const struct pl_tls *tls)
{
    uint64_t charge;
    do { /* until no signal handler has counted, and written to the record, in between */
        uint64_t all = 0;
        charge = pl_thread_charge(thread, tls);
        for (int i = 0; i < PL_FN_COUNT; i++) {
            uint64_t counted = load_relaxed(&tls->calls[i]);
            all += counted;
            store_relaxed(&record->calls[i], thread->base_calls[i] + counted);
        }
        store_relaxed(&record->bytes, thread->base_bytes + requested(charge, all));
    } while (pl_thread_charge(thread, tls) != charge);
}

/* The same for another thread, from a copy of its counters and the charge that belongs to them. Only raises figures:
 * the thread may have written more to its record since then, and the copy may be from between the counting of a call
 * and the subtraction of its charge. */
static void write_seen(struct pl_thread_record *record, const struct pl_thread *thread, const struct pl_tls *copy,
                       uint64_t charge)
{
    uint64_t calls[PL_FN_COUNT], bytes;
    add_up(thread, copy->calls, charge, calls, &bytes);
    for (int i = 0; i < PL_FN_COUNT; i++)
        if (calls[i] > record->calls[i])
            store_relaxed(&record->calls[i], calls[i]);
    if (bytes > record->bytes)
        store_relaxed(&record->bytes, bytes);
}

void pl_thread_book(struct pl_process *process, struct pl_thread *thread, const struct pl_tls *tls)
{
    pl_thread_attach(process, thread);
    struct pl_thread_record *record = load_relaxed(&thread->record_at); /* a handler may fork, which wipes it */
    if (thread->record && record)
        write_totals(record, thread, tls);
}

static void book_seen(struct pl_process *process, struct pl_thread *thread, const struct pl_tls *copy, uint64_t charge)
{
    pl_thread_attach(process, thread);
    if (thread->record)
        write_seen(pl_file_record(&process->file, PL_KIND_THREAD, thread->record), thread, copy, charge);
}

static void publish(struct pl_process *process, struct pl_thread *thread, uint32_t number)
{
    struct pl_thread_record *record = pl_file_record(&process->file, PL_KIND_THREAD, number);
    pl_memory_copy(record->name, thread->name, sizeof record->name);
    record->tid = thread->tid;
    record->threads = thread->threads;
    record->alive = 1;
    record->end_ns = 0;
    record->reset = thread->reset;
    if (!record->start_ns)
        record->start_ns = thread->start_ns;
    store_release(&record->valid, 1);
}

void pl_thread_attach(struct pl_process *process, struct pl_thread *thread)
{
    void *at;
    if (likely(thread->record) || !load_acquire(&process->file.base))
        return;
    uint32_t number = pl_file_append(&process->file, PL_KIND_THREAD, &at);
    if (!number)
        return;
    publish(process, thread, number);
    thread->record_at = at;
    if (thread == pl_tls.thread)
        ((struct pl_thread_record *) at)->tag = pl_tag_record(process, thread->muted ? thread->muted : pl_tls.tag);
    signal_fence(); /* if left by longjmp before this, the next visit tries again; after it, the record is complete */
    thread->record = number;
    pl_row_overflow(process, thread); /* now, while the file has room */
}

static void name_now(const struct pl_process *process, char name[16])
{
    pl_memory_copy(name, process->comm, 16);
    if (!process->sandboxed)
        pl_process_thread_name(name);
}

static void take_sizes(const struct pl_process *process, struct pl_thread *thread)
{
    thread->size_from = load_relaxed(&process->size_from);
    thread->size_span = load_relaxed(&process->size_to) - thread->size_from;
}

/* A thread that allocates again between rounds of destructors gets its own block back, unless another has taken it. */
static struct pl_thread *reclaim(const struct pl_tls *tls)
{
    return tls->left && swap_if(&tls->left->state, PL_THREAD_DEAD, PL_THREAD_ALIVE) ? tls->left : NULL;
}

/* Whether the thread may register; if not, it is not asked about often. */
static bool may_register(struct pl_process *process, struct pl_tls *tls)
{
    if (tls->refused && ++tls->refused % ASK_AGAIN) /* a search takes long */
        return false;
    if (tls->goodbyes < GOODBYES_MAX)
        return true;
    pl_file_lost(&process->file, PL_LOSS_DEAD_THREAD);
    return false;
}

/* A block for the calling thread, with everything that does not need the file. NULL: there is none. A function of its
 * own, because the stack is small. */
static COLD struct pl_thread *prepare(struct pl_process *process, struct pl_tls *tls)
{
    char name[16];
    name_now(process, name);
    struct pl_thread *thread = reclaim(tls);
    if (!thread)
        thread = find_block(process, name);
    if (!thread) {
        tls->refused |= 1;
        pl_file_lost(&process->file, PL_LOSS_THREADS);
        return NULL;
    }
    tls->refused = 0;
    pl_memory_copy(thread->name, name, sizeof thread->name);
    thread->busy = pl_arch_stack_pointer(); /* until it is ready, visits of signal handlers are nested */
    thread->slept = 0;
    thread->threads += tls->goodbyes == 0; /* not a new thread if it allocates again between its destructors */
    if (!thread->threads)
        thread->threads = 1;
    thread->tid = process->sandboxed ? 0 : pl_sys_gettid();
    thread->start_ns = process->sandboxed ? 0 : pl_sys_clock_ns(CLOCK_MONOTONIC);
    thread->countdown = 0;
    thread->charge_spent = 0;
    thread->walk.may_probe = !process->sandboxed;
    thread->last_block = NULL;
    thread->ticket = PL_TICKET_NEW;
    thread->muted = PL_TAG_AT_ROOT;
    thread->charged = thread->booked_bytes = 0;
    for (int i = 0; i < PL_FN_COUNT; i++)
        thread->booked_calls[i] = 0;
    if (!thread->record)
        thread->reset = load_relaxed(&process->resets);
    pl_bounds_find(&thread->walk.own, pl_arch_stack_pointer());
    pl_tally_forget(thread);
    uint64_t stream = fetch_add(&process->streams, 1);
    pl_sampler_seed(&thread->sampler, process->seed, stream);
    pl_sampler_seed(&thread->probing, process->seed, ~stream);
    pl_sampler_seed(&thread->pools, ~process->seed, stream);
    tls->pool_left = 0;
    thread->untimed = (int32_t) (pl_hash(process->seed, stream) % PL_BUDGET_EVERY); /* or short threads seem free */
    return thread;
}

struct pl_thread *pl_thread_register(struct pl_process *process, struct pl_tls *tls)
{
    if (pl_thread_mine(tls))
        return tls->thread;
    if (tls->thread) /* forked without a call of our fork handler: the counters are still the parent's */
        pl_process_forked(process, tls);
    if (!may_register(process, tls))
        return NULL;
    struct pl_thread *before = load_relaxed(&tls->thread);
    uint64_t began = pl_meter_begin(process);
    struct pl_thread *thread = prepare(process, tls);
    if (!thread)
        return NULL;
    signal_fence();
    thread->tls = tls;
    if (!swap_if(&tls->thread, before, thread)) { /* a signal handler came in between, and has registered this thread */
        thread->tls = NULL;
        thread->threads--;
        thread->busy = 0;
        store_release(&thread->state, PL_THREAD_DEAD);
        return pl_thread_mine(tls);
    }
    if (thread->record)
        publish(process, thread, thread->record); /* a block that was taken over */
    pl_thread_attach(process, thread);
    pl_scope_forget(process, thread, tls);
    take_sizes(process, thread);
    thread->changes = 0; /* the coming visit applies the rest (pl_thread_catch_up) */
    signal_fence();
    pl_thread_leave(thread, tls);
    if (pl_front.thread_started)
        pl_front.thread_started();
    pl_meter_aside(process, began);
    return thread;
}

/* ---- changes ---- */

/* After a reset: writes the thread's totals as the new baseline, then gives it new rows, tallies and scopes. The old
 * ones stay in the file and only change when one of their blocks is freed. */
static COLD void begin_reset(struct pl_process *process, struct pl_thread *thread, uint32_t reset)
{
    pl_thread_book(process, thread, &pl_tls);
    pl_scope_skip(thread, &pl_tls);
    thread->reset = reset;
    if (thread->record) {
        struct pl_thread_record *record = thread->record_at;
        for (int i = 0; i < PL_FN_COUNT; i++)
            record->reset_calls[i] = record->calls[i];
        record->reset_bytes = record->bytes;
        store_release(&record->reset, reset);
    }
    for (unsigned i = 0; i < PL_ROW_CACHE; i++)
        thread->rows[i].row = 0;
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++)
        thread->made[i] = thread->gone[i] = (struct pl_bucket){0, 0};
    thread->overflow_row = 0;
    pl_tally_next_volume(thread);
    pl_scope_forget(process, thread, &pl_tls);
    pl_era_forget(process, thread);
}

void pl_thread_catch_up(struct pl_process *process, struct pl_thread *thread)
{
    uint32_t changes = load_acquire(&process->changes), reset = load_relaxed(&process->resets);
    if (likely(thread->changes == changes))
        return;
    thread->changes = changes;
    take_sizes(process, thread);
    if (thread->reset != reset)
        begin_reset(process, thread, reset);
}

void pl_thread_rename(struct pl_process *process, struct pl_thread *thread, const char *name)
{
    for (unsigned i = 0; i < sizeof thread->name - 1; i++) {
        thread->name[i] = *name;
        name += *name != 0;
    }
    if (thread->record) {
        struct pl_thread_record *record = pl_file_record(&process->file, PL_KIND_THREAD, thread->record);
        pl_memory_copy(record->name, thread->name, sizeof record->name);
    }
}

void pl_thread_renamed(struct pl_process *process, uintptr_t distance, const char *name)
{
    uintptr_t tls = (uintptr_t) &pl_tls + distance;
    struct pl_thread *thread = process->state == PL_PROCESS_ON ? load_acquire(&process->threads) : NULL;
    while (thread && (uintptr_t) load_relaxed(&thread->tls) != tls)
        thread = thread->next;
    if (thread)
        pl_thread_rename(process, thread, name);
}

/* ---- ends ---- */

void pl_thread_goodbye(struct pl_process *process, struct pl_tls *tls)
{
    struct pl_thread *thread = pl_thread_mine(tls);
    if (!thread)
        return;
    uint64_t began = pl_meter_begin(process);
    pl_thread_enter(thread, tls, pl_arch_stack_pointer());
    pl_scope_settle(process, thread, tls);
    if (!process->sandboxed)
        pl_process_thread_name(thread->name);
    pl_thread_book(process, thread, tls);
    if (process->file.base)
        pl_era_tell(process, thread);
    thread->told_calls = thread->told_bytes = 0;
    uint64_t counted[PL_FN_COUNT], charge = pl_thread_counters(thread, tls, counted);
    add_up(thread, counted, charge, thread->base_calls, &thread->base_bytes);
    if (thread->record) {
        struct pl_thread_record *record = pl_file_record(&process->file, PL_KIND_THREAD, thread->record);
        pl_memory_copy(record->name, thread->name, sizeof record->name);
        record->end_ns = process->sandboxed ? 0 : pl_sys_clock_ns(CLOCK_MONOTONIC);
        record->alive = 0;
    }
    /* Like a new thread: if it allocates again, it registers again. */
    uint32_t goodbyes = tls->goodbyes + 1;
    *tls = (struct pl_tls){
        .goodbyes = goodbyes,
        .left = thread,
        .tag = tls->tag,
        .beyond = tls->beyond,
        .paused = tls->paused,
        .front = tls->front,
    };
    thread->tls = NULL;
    thread->busy = 0;
    store_release(&thread->state, PL_THREAD_DEAD);
    pl_meter_aside(process, began);
}

/*
 * Copies another thread's counters. That thread may be ending and its thread-local storage be unmapped, so a system
 * call copies it, which fails instead of faulting. The countdown in the thread's block belongs to those counters, so
 * neither may change during the copy: they only change in visits. The charge is computed here too, because the block
 * may change right afterwards. At the end of the process, a visit that does not end was abandoned, and is ignored.
 */
static bool peek(const struct pl_process *process, const struct pl_thread *thread, const struct pl_tls *tls,
                 struct pl_tls *copy, uint64_t *charge)
{
    bool patient = load_relaxed(&process->state) != PL_PROCESS_ENDING;
    for (int i = 0; i < PEEKS; i++) {
        uint64_t countdown = load_acquire(&thread->countdown), spent = load_acquire(&thread->charge_spent);
        bool visiting = load_acquire(&thread->busy);
        if (pl_sys_peek(process->pid, copy, tls, sizeof *copy) != (long) sizeof *copy || copy->thread != thread)
            return false;
        visiting = visiting || load_acquire(&thread->busy);
        *charge = copy->charge_aside + spent + (countdown - copy->charge_left);
        if (countdown == load_acquire(&thread->countdown) && spent == load_acquire(&thread->charge_spent) &&
            (!visiting || (!patient && i == PEEKS - 1)))
            return true;
    }
    return false;
}

void pl_thread_book_all(struct pl_process *process)
{
    for (struct pl_thread *t = load_acquire(&process->threads); t; t = t->next) {
        struct pl_tls copy;
        uint64_t charge;
        struct pl_tls *tls = load_acquire(&t->tls);
        if (load_acquire(&t->state) != PL_THREAD_ALIVE || !tls)
            continue;
        if (tls == &pl_tls)
            pl_thread_book(process, t, tls);
        else if (peek(process, t, tls, &copy, &charge))
            book_seen(process, t, &copy, charge);
    }
}

bool pl_thread_none_counts(const struct pl_process *process)
{
    for (const struct pl_thread *thread = load_acquire(&process->threads); thread; thread = thread->next) {
        uint32_t ticket = load_acquire(&thread->ticket);
        if (load_relaxed(&thread->state) == PL_THREAD_ALIVE && ticket != PL_TICKET_NONE && ticket != PL_TICKET_NEW)
            return false;
    }
    return true;
}
