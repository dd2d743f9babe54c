/* SPDX-License-Identifier: MIT */
/* foreign.c - see foreign.h. */
#include "core/records/foreign.h"

#include "core/process.h"
#include "core/records/tallies.h"

#define RECORDS_MAX 256   /* of one thread: 64 KiB of the file */
#define LIST_MAX 128      /* of one tally: 32 KiB, and a bound for those who walk over them */
#define CROWDED_EVERY 64u /* one tally in so many without an entry takes that of another with a record */

_Static_assert(PL_FOREIGN_WALK_MOST >= PL_THREADS_MAX, "a walk would end early");

static uint32_t place_of(const struct pl_process *process, const struct pl_remote *remote)
{
    return (uint32_t) ((uint64_t) ((const uint8_t *) remote - process->file.base) / 64);
}

/* The thread's own record for the tally, which it may have forgotten. If there is none, `room` says whether there may
 * be another one. */
static struct pl_remote *known(const struct pl_process *process, const struct pl_tally *tally, uint32_t thread,
                               bool *room)
{
    struct pl_foreign_walk walk = {.number = load_acquire(&tally->remote)};
    struct pl_remote *remote;
    while ((remote = pl_foreign_next(&process->file, &walk)) && remote->thread != thread)
        ;
    *room = walk.seen <= LIST_MAX;
    return remote;
}

static struct pl_remote *write_record(struct pl_process *process, struct pl_thread *thread,
                                      const struct pl_tally *tally, struct pl_remote *first)
{
    void *at;
    uint32_t number = 0;
    if (thread->foreigns.records < RECORDS_MAX && !load_relaxed(&process->file.full))
        number = pl_file_append(&process->file, PL_KIND_REMOTE, &at);
    if (!number)
        return NULL;
    thread->foreigns.records++;
    struct pl_remote *remote = at;
    remote->era = load_relaxed(&process->era);
    remote->thread = thread->record;
    store_release(&remote->tally, tally->number); /* publish */
    uint32_t next = load_relaxed(&first->next);
    do
        remote->next = next;
    while (!__atomic_compare_exchange_n(&first->next, &next, number, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    return remote;
}

/* The entry for the tally at this place; NULL: others need them more. */
static struct pl_foreign *entry_for(struct pl_foreigns *foreigns, uint32_t place)
{
    struct pl_foreign *set = pl_foreign_set(foreigns, place), *found = NULL;
    for (unsigned i = 0; i < PL_FOREIGN_WAYS; i++) {
        if (set[i].place == place)
            return &set[i];
        if (set[i].own < PL_FOREIGN_AFTER)
            found = &set[i];
    }
    if (!found && ++foreigns->crowded % CROWDED_EVERY == 0)
        found = &set[foreigns->crowded / CROWDED_EVERY % PL_FOREIGN_WAYS];
    if (found)
        *found = (struct pl_foreign){place, 0};
    return found;
}

void pl_foreign_note(struct pl_process *process, struct pl_thread *thread, struct pl_tally *tally)
{
    if (load_relaxed(&process->special))
        return;
    struct pl_foreign *entry = entry_for(&thread->foreigns, pl_tally_place(process, tally));
    if (!entry || entry->own >= PL_FOREIGN_AFTER)
        return;
    if (entry->own < PL_FOREIGN_AFTER - 1) {
        entry->own++;
        return;
    }
    /* A signal handler may leave by longjmp: until there is a record, `own` must not look like the place of one. */
    bool room = false;
    struct pl_remote *first = pl_tally_remote(process, tally);
    struct pl_remote *own = first ? known(process, tally, thread->record, &room) : NULL;
    if (first && !own && room)
        own = write_record(process, thread, tally, first);
    store_relaxed(&entry->own, own ? place_of(process, own) : 0);
}
