/* SPDX-License-Identifier: MIT */
/* scopes.c - see scopes.h. */
#include "core/records/scopes.h"

#include "core/arch.h"
#include "core/cold.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/text.h"
#include "format/settings.h"

#define KEY_SCOPE 0x73636f7065u
#define CHILDREN 128u
#define TEXTS 64u
#define FIRST_SLOTS_LOG2 6
#define BEYOND_SHIFT 32
#define SALT 0x9e3779b97f4a7c15u

struct scope {
    struct scope *parent;           /* NULL: not searched yet */
    struct pl_scope_record *record; /* NULL: an empty slot */
    uint32_t tag;
    uint32_t number; /* of the tag's record */
};

/*
 * All scopes of a thread: a hash table by tag, which grows, and two caches of recently used children and texts.
 *
 * Fork keeps it, as it keeps trackers: a signal handler may fork inside a visit, which then continues in the child,
 * although the thread's block is wiped there. So inside a visit, functions get a pointer to this struct once and do not
 * read it from the block again.
 */
struct pl_scope_state {
    struct scope *current;
    struct pl_scope_record *account; /* the record that is charged now */
    struct pl_thread_record *record; /* the thread's */
    struct scope *slot;
    uint32_t shift; /* 64 - log2 of the number of slots */
    uint32_t used;
    struct {
        const struct scope *parent;
        const struct pl_tag_name *name;
        struct scope *scope;
    } child[CHILDREN];
    struct {
        const char *text; /* its address; the bytes there may have changed since */
        const struct pl_tag_name *name;
    } text[TEXTS];
    struct scope first[1u << FIRST_SLOTS_LOG2];
};

/* ---- booking ---- */

/* If interrupted, under-book; never book twice. So counts are noted as booked before they are added, and are in the
 * thread's record before they are in the scope's: a reader that comes in between sees them as not booked yet. `charged`
 * comes last, because it says that nothing is left to book. */
static void book(const struct pl_scope_state *scopes, struct pl_thread *thread, const struct pl_tls *tls)
{
    uint64_t calls[PL_FN_COUNT], all = 0;
    uint64_t charge = pl_thread_counters(thread, tls, calls);
    struct pl_scope_record *to = scopes->account;
    struct pl_thread_record *record = scopes->record;
    for (int i = 0; i < PL_FN_COUNT; i++) {
        uint64_t more = calls[i] - thread->booked_calls[i];
        all += calls[i];
        if (!more)
            continue;
        thread->booked_calls[i] = calls[i];
        signal_fence();
        store_relaxed(&record->calls[i], thread->base_calls[i] + calls[i]);
        store_release(&to->calls[i], to->calls[i] + more);
    }
    uint64_t bytes = charge - all * PL_CALL_CHARGE, more = bytes - thread->booked_bytes;
    thread->booked_bytes = bytes;
    signal_fence();
    store_relaxed(&record->bytes, thread->base_bytes + bytes);
    store_release(&to->bytes, to->bytes + more);
    signal_fence();
    thread->charged = charge;
}

void pl_scope_book(struct pl_thread *thread, const struct pl_tls *tls)
{
    if (thread->scopes && thread->scopes->account)
        book(thread->scopes, thread, tls);
}

void pl_scope_skip(struct pl_thread *thread, const struct pl_tls *tls)
{
    uint64_t all = 0;
    thread->charged = pl_thread_counters(thread, tls, thread->booked_calls);
    for (int i = 0; i < PL_FN_COUNT; i++)
        all += thread->booked_calls[i];
    thread->booked_bytes = thread->charged - all * PL_CALL_CHARGE;
}

/* ---- finding ---- */

static uint32_t slots_of(const struct pl_scope_state *scopes)
{
    return 1u << (64 - scopes->shift);
}

static struct scope *probe(const struct pl_scope_state *scopes, uint32_t tag)
{
    uint32_t mask = slots_of(scopes) - 1, i = (uint32_t) (tag * SALT >> scopes->shift);
    while (scopes->slot[i].record && scopes->slot[i].tag != tag)
        i = (i + 1) & mask;
    return &scopes->slot[i];
}

static void forget_children(struct pl_scope_state *scopes)
{
    for (uint32_t i = 0; i < CHILDREN; i++)
        scopes->child[i].parent = NULL;
}

static COLD bool grow(struct pl_scope_state *scopes)
{
    uint32_t count = slots_of(scopes), tag = scopes->current ? scopes->current->tag : 0;
    struct scope *old = scopes->slot, *new = pl_memory_kept(2 * (size_t) count * sizeof *new);
    if (!new)
        return false;
    scopes->current = NULL; /* if left by longjmp from here on, scopes are missing here: find() will get them again */
    forget_children(scopes);
    signal_fence();
    scopes->slot = new;
    signal_fence(); /* the larger table first, then its size */
    scopes->shift--;
    for (uint32_t i = 0; i < count; i++)
        if (old[i].record)
            *probe(scopes, old[i].tag) = (struct scope){NULL, old[i].record, old[i].tag, old[i].number};
    scopes->current = probe(scopes, tag);
    if (old != scopes->first)
        pl_memory_free(old, (size_t) count * sizeof *old);
    return true;
}

static struct pl_scope_record *write_record(struct pl_process *process, const struct pl_thread *thread, uint32_t tag,
                                            uint32_t *number)
{
    void *at;
    *number = pl_file_append(&process->file, PL_KIND_SCOPE, &at);
    if (!*number)
        return NULL;
    struct pl_scope_record *record = at;
    record->thread = thread->record;
    record->tag = tag;
    record->reset = thread->reset;
    store_release(&record->valid, 1); /* publish */
    return record;
}

uint64_t pl_scope_key(uint32_t thread, uint32_t reset, uint32_t tag)
{
    return pl_hash((uint64_t) thread << 32 | tag, KEY_SCOPE + ((uint64_t) reset << 40));
}

/* The scope record for the tag whose record has the number `tag`. A thread that has taken over the block of an ended
 * thread continues with its scope records. */
static struct pl_scope_record *find_record(struct pl_process *process, struct pl_thread *thread, uint32_t tag)
{
    struct pl_slot *slot = pl_map_slot(&process->map, pl_scope_key(thread->record, thread->reset, tag));
    if (!slot)
        return NULL;
    uint32_t number = load_acquire(&slot->id);
    if (number)
        return pl_file_record(&process->file, PL_KIND_SCOPE, number);
    struct pl_scope_record *record = write_record(process, thread, tag, &number);
    if (record)
        pl_map_settle(slot, number);
    return record;
}

/* NULL if there is no room for another scope. */
static struct scope *find(struct pl_process *process, struct pl_thread *thread, struct pl_scope_state *scopes,
                          uint32_t tag)
{
    struct scope *scope = probe(scopes, tag);
    if (scope->record)
        return scope;
    uint32_t number = pl_tag_record(process, tag);
    struct pl_scope_record *record = tag && !number ? NULL : find_record(process, thread, number);
    if (!record || (scopes->used >= slots_of(scopes) / 2 && !grow(scopes)))
        return NULL;
    scope = probe(scopes, tag);
    *scope = (struct scope){NULL, NULL, tag, number};
    signal_fence();
    scope->record = record;
    scopes->used++;
    return scope;
}

/* ---- changing ---- */

/* From now on the thread is charged to this scope. */
INLINE void charge(struct pl_scope_state *scopes, const struct scope *scope)
{
    scopes->account = scope->record;
    store_relaxed(&scopes->record->tag, scope->number);
}

/* Stacks under different tags are different. */
INLINE void set_salt(struct pl_thread *thread, const struct pl_tls *tls)
{
    thread->salt = tls->tag * SALT;
}

/* Sets the current scope. This does not change what the thread is charged to. */
INLINE void make_current(struct pl_scope_state *scopes, struct pl_thread *thread, struct pl_tls *tls, struct scope *to)
{
    scopes->current = to;
    tls->tag = to->tag;
    set_salt(thread, tls);
}

static void change(struct pl_scope_state *scopes, struct pl_thread *thread, struct pl_tls *tls, struct scope *to)
{
    make_current(scopes, thread, tls, to);
    if (unlikely(thread->muted))
        return;
    book(scopes, thread, tls);
    charge(scopes, to);
}

/* After a longjmp out of change() these may disagree. Then tls->tag is right, and ready() repairs the rest. */
INLINE bool is_current(const struct pl_scope_state *scopes, const struct pl_thread *thread, const struct pl_tls *tls)
{
    const struct scope *current = scopes->current;
    return current && current->tag == tls->tag && (scopes->account == current->record || thread->muted);
}

static struct pl_scope_state *make(struct pl_process *process, struct pl_thread *thread)
{
    struct pl_scope_state *scopes = pl_memory_kept(pl_memory_pages(sizeof *scopes));
    if (!scopes) {
        pl_file_lost(&process->file, PL_LOSS_MEMORY);
        return NULL;
    }
    scopes->slot = scopes->first;
    scopes->shift = 64 - FIRST_SLOTS_LOG2;
    return thread->scopes = scopes;
}

/* Earlier owners of the block had no scopes, so what they have counted belongs to the root. */
static void book_inheritance(const struct pl_thread *thread, struct pl_scope_record *root)
{
    const struct pl_thread_record *record = thread->record_at;
    for (int i = 0; i < PL_FN_COUNT; i++)
        if (thread->base_calls[i] > record->reset_calls[i])
            root->calls[i] += thread->base_calls[i] - record->reset_calls[i];
    if (thread->base_bytes > record->reset_bytes)
        root->bytes += thread->base_bytes - record->reset_bytes;
}

/* The thread's scopes, with `current` and `account` set. Makes them if necessary; NULL if there is no file, no memory
 * or no room. */
static struct pl_scope_state *ready(struct pl_process *process, struct pl_thread *thread, const struct pl_tls *tls)
{
    struct pl_scope_state *scopes = thread->scopes;
    if (likely(scopes && is_current(scopes, thread, tls)))
        return scopes;
    if (!pl_process_open(process))
        return NULL;
    pl_thread_attach(process, thread);
    bool first = !scopes;
    if (!thread->record || (first && !(scopes = make(process, thread))))
        return NULL;
    scopes->record = thread->record_at;
    struct scope *root = first ? find(process, thread, scopes, PL_TAG_AT_ROOT) : NULL;
    if (root)
        book_inheritance(thread, root->record);
    struct scope *current = find(process, thread, scopes, tls->tag);
    if (!current)
        return NULL;
    struct scope *charged = thread->muted ? find(process, thread, scopes, thread->muted) : current;
    scopes->current = probe(scopes, tls->tag); /* the table may have grown */
    set_salt(thread, tls);
    charge(scopes, charged ? charged : scopes->current);
    return scopes;
}

void pl_scope_settle(struct pl_process *process, struct pl_thread *thread, const struct pl_tls *tls)
{
    if (thread->scopes || tls->tag)
        ready(process, thread, tls);
    pl_scope_book(thread, tls);
}

void pl_scope_mute(struct pl_process *process, struct pl_thread *thread, uint32_t reserved)
{
    if (likely(thread->muted == reserved))
        return;
    if (!process->file.base) { /* no file yet: pl_thread_attach() will put the reserved tag into the thread's record */
        thread->muted = reserved;
        return;
    }
    struct pl_scope_state *scopes = ready(process, thread, &pl_tls);
    struct scope *to = !scopes ? NULL : reserved ? find(process, thread, scopes, reserved) : scopes->current;
    if (!to)
        return;
    book(scopes, thread, &pl_tls);
    thread->muted = reserved;
    charge(scopes, to);
}

static void clear(struct pl_scope_state *scopes)
{
    scopes->account = NULL;
    scopes->current = NULL;
    scopes->used = 0;
    forget_children(scopes);
    for (uint32_t i = 0; i < slots_of(scopes); i++)
        scopes->slot[i].record = NULL;
}

/* Scopes are found again when they are next needed. Until then, the tag in the thread's record is charged. */
void pl_scope_forget(struct pl_process *process, struct pl_thread *thread, const struct pl_tls *tls)
{
    uint32_t tag = thread->muted ? thread->muted : tls->tag;
    set_salt(thread, tls);
    if (thread->scopes)
        clear(thread->scopes);
    if (thread->record)
        store_relaxed(&thread->record_at->tag, pl_tag_record(process, tag));
}

/* ---- entering and leaving ---- */

/* A scope could not be entered. It and all scopes inside of it are only counted, so that their pops are matched. */
static void go_beyond(struct pl_process *process, struct pl_tls *tls)
{
    tls->beyond++;
    pl_file_lost(&process->file, PL_LOSS_TAGS);
}

static uint32_t child_slot(const struct scope *parent, const struct pl_tag_name *name)
{
    return (uint32_t) (((uintptr_t) parent >> 4 ^ (uintptr_t) name >> 3) * SALT >> 57); /* log2 of CHILDREN is 7 */
}

static COLD struct scope *find_child(struct pl_scope_state *scopes, struct pl_thread *thread,
                                     const struct pl_tag_name *name)
{
    uint32_t tag = pl_tag_below(scopes->current->tag, name);
    struct scope *scope = tag ? find(pl_process, thread, scopes, tag) : NULL;
    if (!scope)
        return NULL;
    uint32_t i = child_slot(scopes->current, name);
    scope->parent = scopes->current;
    scopes->child[i].parent = NULL; /* if left by longjmp from here on, the entry is not valid */
    signal_fence();
    scopes->child[i].name = name;
    scopes->child[i].scope = scope;
    signal_fence();
    scopes->child[i].parent = scopes->current;
    return scope;
}

/*
 * Begins a visit, if it only has to change the tag. NULL: there is more to do, and no visit has begun. What was looked
 * up before the visit began must not be used in it: a signal handler may have changed it.
 */
INLINE struct pl_scope_state *begin_simply(struct pl_thread *thread, struct pl_tls *tls)
{
    if (unlikely(!thread || thread->busy))
        return NULL;
    pl_thread_enter(thread, tls, pl_arch_stack_pointer());
    struct pl_scope_state *scopes = thread->scopes;
    if (likely(scopes && is_current(scopes, thread, tls) && !tls->beyond &&
               thread->changes == load_relaxed(&pl_process->changes)))
        return scopes;
    pl_cold_end(pl_process, thread, tls);
    return NULL;
}

/* True if nothing was allocated since the last change: every call would have changed the charge. */
INLINE bool is_booked(const struct pl_thread *thread, const struct pl_tls *tls)
{
    return pl_thread_charge(thread, tls) == thread->charged && likely(!thread->muted);
}

/* Changes to a known scope and ends the visit. `times` is 1 if the scope is entered, 0 if the thread returns to it. */
static OUT_OF_LINE void change_and_book(struct pl_scope_state *scopes, struct pl_thread *thread, struct scope *to,
                                        uint64_t times)
{
    struct pl_tls *tls = &pl_tls;
    change(scopes, thread, tls, to);
    pl_arch_add(&to->record->entered, times);
    pl_cold_end(pl_process, thread, tls);
}

INLINE void change_quickly(struct pl_scope_state *scopes, struct pl_thread *thread, struct pl_tls *tls,
                           struct scope *to, uint64_t times)
{
    if (!is_booked(thread, tls)) {
        change_and_book(scopes, thread, to, times);
        return;
    }
    make_current(scopes, thread, tls, to);
    charge(scopes, to);
    pl_arch_add(&to->record->entered, times);
    pl_cold_end(pl_process, thread, tls);
}

/* The scope of this name below the current one, if it is in the cache. */
INLINE struct scope *known_child(const struct pl_scope_state *scopes, const struct pl_tag_name *name)
{
    uint32_t i = child_slot(scopes->current, name);
    return likely(scopes->child[i].parent == scopes->current && scopes->child[i].name == name) ? scopes->child[i].scope
                                                                                               : NULL;
}

/* Begins a visit for a change of tags. First applies changes in the process: there may have been a reset. */
static struct pl_thread *begin_slowly(struct pl_process *process, struct pl_tls *tls)
{
    struct pl_thread *thread = pl_cold_begin(process, tls);
    if (thread)
        pl_thread_catch_up(process, thread);
    return thread;
}

static uint32_t text_slot(const char *text)
{
    return (uint32_t) ((uintptr_t) text * SALT >> 58); /* log2 of TEXTS is 6 */
}

static void learn_text(struct pl_scope_state *scopes, const char *text, const struct pl_tag_name *name)
{
    uint32_t i = text_slot(text);
    scopes->text[i].text = NULL; /* as in find_child() */
    signal_fence();
    scopes->text[i].name = name;
    signal_fence();
    scopes->text[i].text = text;
}

/* For the first time that a tag is entered, inside of a visit, or if there is no room. `name` NULL: looked up by
 * `text`. */
static COLD void enter_slowly(const struct pl_tag_name *name, const char *text)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = tls->beyond ? NULL : begin_slowly(process, tls);
    if (!thread) {
        go_beyond(process, tls);
        return;
    }
    if (!name && text)
        name = pl_tag_name_of(process, text);
    struct pl_scope_state *scopes = name ? ready(process, thread, tls) : NULL;
    if (scopes && text)
        learn_text(scopes, text, name);
    struct scope *to = scopes ? find_child(scopes, thread, name) : NULL;
    if (to) {
        change(scopes, thread, tls, to);
        pl_arch_add(&to->record->entered, 1);
    } else {
        go_beyond(process, tls);
    }
    pl_cold_end(process, thread, tls);
}

void pl_scope_enter(const struct pl_tag_name *name)
{
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = pl_thread_mine(tls);
    struct pl_scope_state *scopes = begin_simply(thread, tls);
    struct scope *to = likely(scopes != NULL) ? known_child(scopes, name) : NULL;
    if (likely(to != NULL)) {
        change_quickly(scopes, thread, tls, to, 1);
        return;
    }
    if (scopes)
        pl_cold_end(pl_process, thread, tls);
    enter_slowly(name, NULL);
}

/* The name of a text that the thread has pushed from the same address recently, if the bytes are still the same. */
INLINE const struct pl_tag_name *known_text(const struct pl_scope_state *scopes, const char *text)
{
    uint32_t i = text_slot(text);
    const struct pl_tag_name *name = scopes->text[i].name;
    return likely(scopes->text[i].text == text && pl_text_same(name->text, text)) ? name : NULL;
}

void pl_scope_push(const char *text)
{
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = pl_thread_mine(tls);
    struct pl_scope_state *scopes = begin_simply(thread, tls);
    const struct pl_tag_name *name = likely(scopes != NULL) ? known_text(scopes, text) : NULL;
    struct scope *to = likely(name != NULL) ? known_child(scopes, name) : NULL;
    if (likely(to != NULL)) {
        change_quickly(scopes, thread, tls, to, 1);
        return;
    }
    if (scopes)
        pl_cold_end(pl_process, thread, tls);
    enter_slowly(name, text);
}

/* Finds the parent of the current scope, if the thread did not enter the current scope from its parent. */
static COLD struct scope *find_parent(struct pl_scope_state *scopes, struct pl_thread *thread)
{
    struct scope *parent = find(pl_process, thread, scopes, pl_tag_parent(scopes->current->tag));
    if (!parent)
        pl_file_lost(&pl_process->file, PL_LOSS_TAGS);
    else
        scopes->current->parent = parent;
    return parent;
}

static void leave(struct pl_scope_state *scopes, struct pl_thread *thread, struct pl_tls *tls)
{
    struct scope *to = scopes->current->parent;
    if (!scopes->current->tag) {
        pl_file_lost(&pl_process->file, PL_LOSS_POPS);
        return;
    }
    if (!to)
        to = find_parent(scopes, thread);
    if (to)
        change(scopes, thread, tls, to);
}

static COLD void leave_slowly(void)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    if (tls->beyond) {
        tls->beyond--;
        return;
    }
    struct pl_thread *thread = begin_slowly(process, tls);
    if (!thread) {
        pl_file_lost(&process->file, PL_LOSS_POPS);
        return;
    }
    struct pl_scope_state *scopes = ready(process, thread, tls);
    if (scopes)
        leave(scopes, thread, tls);
    pl_cold_end(process, thread, tls);
}

void pl_scope_leave(void)
{
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = pl_thread_mine(tls);
    struct pl_scope_state *scopes = begin_simply(thread, tls);
    struct scope *to = likely(scopes != NULL) ? scopes->current->parent : NULL; /* the root has none */
    if (likely(to != NULL)) {
        change_quickly(scopes, thread, tls, to, 0);
        return;
    }
    if (scopes)
        pl_cold_end(pl_process, thread, tls);
    leave_slowly();
}

/* ---- carrying ---- */

uint64_t pl_scope_now(void)
{
    return (uint64_t) pl_tls.beyond << BEYOND_SHIFT | pl_tls.tag;
}

static void go(struct pl_process *process, struct pl_thread *thread, struct pl_tls *tls, uint32_t tag)
{
    if (tag == tls->tag && !thread->scopes)
        return;
    struct pl_scope_state *scopes = ready(process, thread, tls);
    struct scope *to = scopes ? find(process, thread, scopes, tag) : NULL;
    if (to)
        change(scopes, thread, tls, to);
    else
        pl_file_lost(&process->file, PL_LOSS_TAGS);
}

uint64_t pl_scope_go(uint64_t context)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    uint64_t before = pl_scope_now();
    struct pl_thread *thread = pl_tag_exists((uint32_t) context) ? begin_slowly(process, tls) : NULL;
    if (!thread)
        return before;
    tls->beyond = (uint32_t) (context >> BEYOND_SHIFT);
    go(process, thread, tls, (uint32_t) context);
    pl_cold_end(process, thread, tls);
    return before;
}
