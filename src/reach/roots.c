/* SPDX-License-Identifier: MIT */
/* roots.c - see roots.h. */
#include "reach/roots.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "reach/memory/ranges.h"

#define PAGE 4096u
#define REGISTERS_BYTES 16384u      /* all sets of one thread */
#define ARENA_BYTES (64ull << 20)   /* glibc's heaps of other arenas begin at multiples of it */
#define DESCRIPTOR_ROOM (64u << 10) /* a thread's descriptor is so near the end of its stack's mapping */
#define DESCRIPTOR_ALIGN 64u        /* and begins at a multiple of this */
#define DESCRIPTOR_BYTES 4096u      /* no descriptor is larger */

/* ---- threads ---- */

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

/* A thread that is borrowed has other registers now than those that it was stopped with: both count. Sets that a
 * processor does not have are left out. */
static bool read_registers(const struct pl_tracee_thread *thread, struct pl_roots_thread *out)
{
    const unsigned sets[] = {NT_PRSTATUS, NT_PRFPREG, NT_X86_XSTATE};
    size_t bytes = sizeof thread->registers & ~(size_t) 7;
    out->word = calloc(1, REGISTERS_BYTES);
    if (out->word)
        memcpy(out->word, &thread->registers, bytes);
    for (size_t i = 0; out->word && i < sizeof sets / sizeof *sets; i++) {
        struct iovec area = {(uint8_t *) out->word + bytes, REGISTERS_BYTES - bytes};
        if (ptrace(PTRACE_GETREGSET, thread->tid, (void *) (uintptr_t) sets[i], &area) == 0)
            bytes += area.iov_len & ~(size_t) 7;
    }
    out->words = bytes / 8;
    return out->word;
}

bool pl_roots_note_threads(struct pl_roots *roots, const struct pl_tracee *tracee)
{
    *roots = (struct pl_roots){.thread = calloc(tracee->count + 1, sizeof *roots->thread)};
    for (size_t i = 0; roots->thread && i < tracee->count; i++) {
        const struct pl_tracee_thread *thread = &tracee->thread[i];
        struct pl_roots_thread *out = &roots->thread[roots->threads];
        if (thread->gone)
            continue;
        out->tid = thread->tid;
        out->sp = pl_machine_sp(&thread->registers);
        out->descriptor = pl_machine_thread_pointer(&thread->registers);
        if (!read_registers(thread, out))
            return false;
        roots->threads++;
    }
    return roots->thread;
}

void pl_roots_free(struct pl_roots *roots)
{
    for (size_t i = 0; i < roots->threads; i++)
        free(roots->thread[i].word);
    free(roots->thread);
    free(roots->ended);
    free(roots->piece);
    free(roots->heap);
    *roots = (struct pl_roots){0};
}

static const struct pl_roots_thread *thread_on(const struct pl_roots *roots, const struct pl_space_part *part)
{
    for (size_t i = 0; i < roots->threads; i++)
        if (roots->thread[i].sp >= part->from && roots->thread[i].sp < part->to)
            return &roots->thread[i];
    return NULL;
}

static const struct pl_roots_thread *thread_described_in(const struct pl_roots *roots, const struct pl_space_part *part)
{
    for (size_t i = 0; i < roots->threads; i++)
        if (roots->thread[i].descriptor >= part->from && roots->thread[i].descriptor < part->to)
            return &roots->thread[i];
    return NULL;
}

/* ---- pieces ---- */

static bool append(struct pl_roots_piece **list, size_t *count, size_t *room, struct pl_roots_piece piece)
{
    if (piece.from >= piece.to)
        return true;
    if (*count == *room) {
        size_t more = *room ? 2 * *room : 64;
        struct pl_roots_piece *bigger = realloc(*list, more * sizeof *bigger);
        if (!bigger)
            return false;
        *list = bigger;
        *room = more;
    }
    (*list)[(*count)++] = piece;
    return true;
}

static int by_address(const void *left, const void *right)
{
    const struct pl_roots_piece *a = left, *b = right;
    return a->from < b->from ? -1 : a->from > b->from;
}

const struct pl_roots_piece *pl_roots_heap(const struct pl_roots *roots, uint64_t address)
{
    return pl_ranges_find(roots->heap, roots->heaps, sizeof *roots->heap, address);
}

/* ---- glibc's memory ---- */

struct search {
    struct pl_roots *roots;
    struct pl_space *space;
    struct pl_space_window window;
    const struct pl_census *census;
    bool complete;
    uint64_t inode;
};

static bool add_heap(struct search *search, uint64_t from, uint64_t to)
{
    struct pl_roots *roots = search->roots;
    return append(&roots->heap, &roots->heaps, &roots->heap_room,
                  (struct pl_roots_piece){.from = from, .to = to, .allocator = true});
}

/* Before the first chunk lies what the loader took from brk() for the first thread: its thread-local storage. */
static bool add_main_heap(struct search *search, const struct pl_space_part *part)
{
    uint64_t from = part->from;
    const struct pl_roots_thread *thread = thread_described_in(search->roots, part);
    if (thread && thread->descriptor + DESCRIPTOR_BYTES < part->to)
        from = thread->descriptor + DESCRIPTOR_BYTES;
    return add_heap(search, from, part->to);
}

/* It begins with the address of its arena, which lies in it or in another such heap, the heap before it, and its size.
 */
static bool is_arena_heap(struct search *search, const struct pl_space_part *part, uint64_t at, uint64_t *size)
{
    struct pl_space_window *window = &search->window;
    uint64_t arena = pl_space_word(window, at);
    *size = pl_space_word(window, at + 16);
    return arena % ARENA_BYTES < PAGE && arena % 16 == 0 && arena > ARENA_BYTES && *size >= PAGE &&
           *size <= ARENA_BYTES && *size % PAGE == 0 && at + *size <= part->to && pl_space_at(search->space, arena);
}

/* Programs reserve terabytes that they do not use: those are passed over. */
static bool add_arena_heaps(struct search *search, const struct pl_space_part *part)
{
    uint64_t at = (part->from + ARENA_BYTES - 1) & -ARENA_BYTES, touched, end, size;
    bool good = true;
    while (good && pl_space_touched(search->space, at, part->to, &touched, &end)) {
        if (touched == at && is_arena_heap(search, part, at, &size))
            good = add_heap(search, at, at + size);
        at = touched == at ? at + ARENA_BYTES : (touched + ARENA_BYTES - 1) & -ARENA_BYTES;
    }
    return good;
}

/* A block that glibc has mapped by itself: its chunk is the whole mapping, which the kernel may have joined with
 * others. Those in heaps that are known, which are nearly all, need not be read for that. */
static bool add_mapped_blocks(struct search *search)
{
    const struct pl_roots *roots = search->roots;
    const size_t known = roots->heaps;
    bool good = true;
    for (uint32_t i = 0; good && i < search->census->count; i++) {
        const struct pl_census_block *block = &search->census->block[i];
        if (block->size < PAGE || pl_ranges_find(roots->heap, known, sizeof *roots->heap, block->address))
            continue;
        uint64_t chunk = pl_space_word(&search->window, block->address - 8);
        uint64_t before = pl_space_word(&search->window, block->address - PL_CHUNK_FRONT);
        uint64_t start = block->address - PL_CHUNK_FRONT, bytes = chunk & ~(uint64_t) PL_CHUNK_FLAGS;
        if (chunk & PL_CHUNK_MAPPED && before < start && (start - before) % PAGE == 0 && bytes >= block->size)
            good = add_heap(search, start - before, start + bytes);
    }
    return good;
}

static bool add_walked_heaps(struct search *search)
{
    const struct pl_census *census = search->census;
    bool good = true;
    for (uint32_t i = 0; i < census->heaps && good; i++)
        good = add_heap(search, census->heap[i].from, census->heap[i].to);
    return good;
}

static void sort_heaps(struct pl_roots *roots)
{
    if (roots->heaps)
        qsort(roots->heap, roots->heaps, sizeof *roots->heap, by_address);
}

static bool find_heaps(struct search *search)
{
    if (!add_walked_heaps(search))
        return false;
    for (size_t i = 0; search->census->glibc && !search->census->walked && i < search->space->count; i++) {
        const struct pl_space_part *part = &search->space->part[i];
        bool fit = part->anonymous && part->writable && part->readable && !part->ours;
        if (fit && !strcmp(part->name, "[heap]")) {
            if (!add_main_heap(search, part))
                return false;
        } else if (fit && !*part->name && !add_arena_heaps(search, part)) {
            return false;
        }
    }
    sort_heaps(search->roots);
    if (search->census->glibc && !add_mapped_blocks(search))
        return false;
    sort_heaps(search->roots);
    return true;
}

/* ---- stacks ---- */

/* The descriptor of a thread lies above its stack, in the same mapping. It has its own address in it, twice. */
static uint64_t find_descriptor(struct search *search, const struct pl_space_part *part)
{
    uint64_t from = part->to - part->from > DESCRIPTOR_ROOM ? part->to - DESCRIPTOR_ROOM : part->from;
    pl_space_word(&search->window, from); /* reads all of it at once */
    for (uint64_t at = part->to - DESCRIPTOR_ALIGN; at >= from && at < part->to; at -= DESCRIPTOR_ALIGN)
        if (pl_space_word(&search->window, at) == at && pl_space_word(&search->window, at + 16) == at)
            return at;
    return 0;
}

static bool is_guarded(const struct search *search, const struct pl_space_part *part)
{
    const struct pl_space_part *before = part - 1;
    return part > search->space->part && before->to == part->from && !before->readable && !before->writable;
}

/* With its descriptor it keeps the vector of its thread-local storage, which is a block. Without memory to note that,
 * the block is called lost. */
static void note_ended(struct pl_roots *roots, uint64_t descriptor)
{
    uint64_t *more = realloc(roots->ended, (roots->ended_count + 1) * sizeof *more);
    if (!more)
        return;
    roots->ended = more;
    roots->ended[roots->ended_count++] = descriptor;
}

/* Where scanning begins in a mapping: at the stack pointer, if it is a stack that is in use; not at all, if its thread
 * has ended. glibc keeps such stacks for new threads. */
static uint64_t start_of(struct search *search, const struct pl_space_part *part)
{
    const struct pl_roots_thread *on = thread_on(search->roots, part);
    bool first = !strcmp(part->name, "[stack]");
    if (!first && !(part->anonymous && is_guarded(search, part)))
        return part->from;
    const struct pl_roots_thread *described = thread_described_in(search->roots, part);
    uint64_t descriptor = first ? 0 : described ? described->descriptor : find_descriptor(search, part);
    if (!first && !descriptor)
        return part->from;
    if (!first && !described) {
        note_ended(search->roots, descriptor);
        return part->to;
    }
    uint64_t red = on ? (on->sp - PL_ARCH_RED_ZONE) & ~7ull : part->from;
    return red > part->from && (first || on->sp < descriptor) ? red : part->from;
}

/* ---- all of it ---- */

static bool may_have_pointers(const struct search *search, const struct pl_space_part *part)
{
    if (!part->readable || part->ours || pl_space_is_device(part) || part->inode == search->inode)
        return false;
    if (!strncmp(part->name, "[v", 2)) /* the kernel's own */
        return false;
    return part->writable || (part->anonymous && !part->executable);
}

/* Without the allocator's memory, if every block in it is known: then no pointer in the rest of it counts. */
static bool add_part(struct search *search, const struct pl_space_part *part)
{
    struct pl_roots *roots = search->roots;
    uint64_t from = start_of(search, part);
    bool good = true;
    size_t first = pl_ranges_from(roots->heap, roots->heaps, sizeof *roots->heap, from);
    for (size_t i = first; good && i < roots->heaps && roots->heap[i].from < part->to; i++) {
        const struct pl_roots_piece *heap = &roots->heap[i];
        if (heap->to <= from)
            continue;
        uint64_t end = heap->to < part->to ? heap->to : part->to;
        good = append(&roots->piece, &roots->pieces, &roots->room,
                      (struct pl_roots_piece){from, heap->from, part->shared, false});
        if (good && !search->complete)
            good = append(&roots->piece, &roots->pieces, &roots->room,
                          (struct pl_roots_piece){heap->from > from ? heap->from : from, end, false, true});
        from = end;
    }
    return good && append(&roots->piece, &roots->pieces, &roots->room,
                          (struct pl_roots_piece){from, part->to, part->shared, !search->census->glibc});
}

bool pl_roots_find(struct pl_roots *roots, struct pl_space *space, const struct pl_census *census, bool complete,
                   uint64_t inode)
{
    struct search search = {.roots = roots, .space = space, .census = census, .complete = complete, .inode = inode};
    search.window = (struct pl_space_window){.space = space, .word = malloc(PL_SPACE_WORDS)};
    bool good = search.window.word && find_heaps(&search);
    for (size_t i = 0; good && i < space->count; i++)
        if (may_have_pointers(&search, &space->part[i]))
            good = add_part(&search, &space->part[i]);
    free(search.window.word);
    return good;
}
