/* SPDX-License-Identifier: MIT */
/* footprint.c - see footprint.h. */
#include "footprint/footprint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reach/memory/heap.h"
#include "footprint/known.h"
#include "footprint/stacks.h"

#define FRONT 16u          /* a block begins so far behind its chunk */
#define WORD 8u            /* glibc's header of a chunk */
#define CACHE_CHUNK 0x290u /* the chunk with a thread's cache, in glibc 2.30 to 2.41 */
#define CACHE_COUNTS 128u  /* bytes of its counters; 64 lists follow */
#define KEYS_MOST 64u
#define HEADINGS_MOST (1u << 18) /* pages that may be looked at to find chunks with mappings of their own */

struct work {
    struct pl_footprint *out;
    const struct pl_footprint_options *options;
    struct pl_space space;
    struct pl_present pages;
    struct pl_words words;
    struct pl_footprint_grid *grid; /* of what is being painted; NULL: none */
    struct pl_stacks stacks;
    const struct pl_space_part *part;        /* the mapping that is being painted */
    struct pl_extent painted[PL_PART_COUNT]; /* of it */
    struct pl_extent used;                   /* sampled: blocks in use, live or not known to be free */
    struct pl_footprint_heap *heap;          /* that is being walked */
    uint32_t next;                           /* the first known block that is not before it */
    uint64_t key[KEYS_MOST];                 /* the second word of cached blocks */
    uint32_t keys;
    uint32_t headings; /* pages looked at */
    uint64_t empty_from;
};

static bool fail(struct work *work, const char *why)
{
    snprintf(work->out->problem, sizeof work->out->problem, "%s", why);
    return false;
}

/* ---- painting ---- */

static struct pl_extent paint(struct work *work, enum pl_footprint_part part, uint64_t from, uint64_t to)
{
    struct pl_extent added = {0};
    if (from < to)
        pl_present_add(&work->pages, from, to, &added);
    work->painted[part].bytes += added.bytes;
    work->painted[part].resident += added.resident;
    work->painted[part].swapped += added.swapped;
    return added;
}

/* ---- pages in which blocks lie ---- */

static void begin_grid(struct work *work, uint64_t from, uint64_t to)
{
    struct pl_footprint *out = work->out;
    work->grid = NULL;
    if (!(out->grids & (out->grids - 1))) {
        size_t room = out->grids ? 2 * (size_t) out->grids : 1;
        struct pl_footprint_grid *more = realloc(out->grid, room * sizeof *more);
        if (!more)
            return;
        out->grid = more;
    }
    from &= ~(uint64_t) (PL_PAGE - 1);
    struct pl_footprint_page *page = calloc((to - from) / PL_PAGE + 1, sizeof *page);
    if (!page)
        return;
    work->grid = &out->grid[out->grids++];
    *work->grid = (struct pl_footprint_grid){from, to, page};
}

static void note(struct work *work, uint64_t from, uint64_t to, bool free)
{
    while (work->grid && from < to && from - work->grid->from < work->grid->to - work->grid->from) {
        struct pl_footprint_page *page = &work->grid->page[(from - work->grid->from) / PL_PAGE];
        uint64_t next = (from | (PL_PAGE - 1)) + 1, end = next < to ? next : to;
        if (!free)
            page->used = (uint16_t) (page->used + (page->used < UINT16_MAX));
        else if (pl_present_state(&work->pages, from) == PL_PAGE_RESIDENT)
            page->free = (uint16_t) (page->free + (end - from));
        from = end;
    }
}

/* Live blocks that are known, and `other` between them. Blocks are not in the way of each other, unless one was freed
 * meanwhile and another took its place. */
static void paint_known(struct work *work, uint64_t from, uint64_t to, enum pl_footprint_part other)
{
    uint64_t at = from;
    bool blocks = other == PL_PART_REST && work->options->exact;
    if (blocks)
        begin_grid(work, from, to);
    for (uint32_t i = pl_known_from(&work->out->known, from); i < work->out->known.count; i++) {
        const struct pl_known_block *block = &work->out->known.block[i];
        uint64_t begin = block->address < at ? at : block->address, end = block->address + block->size;
        end = end > to ? to : end;
        if (block->address >= to)
            break;
        if (block->sampled || end <= begin)
            continue;
        paint(work, other, at, begin);
        paint(work, PL_PART_LIVE, begin, end);
        if (blocks) {
            note(work, at, begin, true);
            note(work, begin, end, false);
        }
        work->out->live_bytes += (double) (end - begin);
        at = end;
    }
    paint(work, other, at, to);
    if (blocks)
        note(work, at, to, true);
    work->grid = NULL;
}

static bool has_known(const struct work *work, uint64_t from, uint64_t to)
{
    uint32_t first = pl_known_from(&work->out->known, from);
    return first < work->out->known.count && work->out->known.block[first].address < to;
}

/* ---- chunks of glibc's heaps ---- */

static bool is_key(const struct work *work, uint64_t word)
{
    for (uint32_t i = 0; i < work->keys && word; i++)
        if (work->key[i] == word)
            return true;
    return false;
}

static void add_key(struct work *work, uint64_t word)
{
    if (word && !is_key(work, word) && work->keys < KEYS_MOST)
        work->key[work->keys++] = word;
}

/* A thread's cache: each list begins with a block whose second word is the key. Until glibc 2.33 that is the address of
 * the cache, later a random number. */
static void learn_key(struct work *work, uint64_t cache)
{
    uint64_t list[(CACHE_CHUNK - FRONT - CACHE_COUNTS) / 8], word;
    if (pl_space_read(&work->space, cache + CACHE_COUNTS, list, sizeof list) != sizeof list)
        return;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const struct pl_space_part *part = list[i] && list[i] % 16 == 0 ? pl_space_at(&work->space, list[i]) : NULL;
        if (!part || !part->writable || !part->anonymous ||
            pl_space_read(&work->space, list[i] + 8, &word, sizeof word) != sizeof word)
            continue;
        add_key(work, word);
        return;
    }
}

/* The known block that begins where the chunk's block does; NULL: there is none. */
static struct pl_known_block *known_at(struct work *work, uint64_t address)
{
    struct pl_known *known = &work->out->known;
    while (work->next < known->count &&
           (known->block[work->next].address < (address & ~31ull) || known->block[work->next].sampled))
        work->next += 1;
    for (uint32_t i = work->next; i < known->count && known->block[i].address <= address; i++) {
        struct pl_known_block *block = &known->block[i];
        if (!block->sampled && (block->address == address || (block->vague && block->address + 16 == address)))
            return block;
    }
    return NULL;
}

/* The words of a chunk that are its own: from its size to that of the next one. */
static void paint_used(struct work *work, const struct pl_chunk *chunk)
{
    uint64_t from = chunk->block, to = chunk->block + chunk->bytes - WORD;
    struct pl_known_block *block = known_at(work, chunk->block);
    bool cached = !block && chunk->bytes <= PL_CHUNK_CACHED_MOST && is_key(work, chunk->word);
    note(work, from, to, cached);
    if (block && block->size <= to - from) {
        block->address = chunk->block;
        block->vague = false;
        paint(work, PL_PART_LIVE, from, from + block->size);
        paint(work, PL_PART_SLACK, from + block->size, to);
        work->out->live_bytes += (double) block->size;
    } else if (cached) {
        paint(work, PL_PART_CACHED, from, to);
    } else if (work->options->exact) {
        paint(work, PL_PART_OTHER, from, to);
    } else {
        pl_present_add(&work->pages, from, to, &work->used);
    }
}

/* Whole pages that are resident and that no block is in: malloc could give them back. */
static void count_empty(struct work *work, uint64_t from, uint64_t to)
{
    struct pl_extent sum = {0};
    from = (from + PL_PAGE - 1) & ~(uint64_t) (PL_PAGE - 1);
    to &= ~(uint64_t) (PL_PAGE - 1);
    if (from < to)
        pl_present_add(&work->pages, from, to, &sum);
    work->heap->empty += (double) sum.resident;
}

static void meet_chunk(void *context, const struct pl_chunk *chunk)
{
    struct work *work = context;
    struct pl_footprint_heap *heap = work->heap;
    uint64_t end = chunk->block + chunk->bytes - WORD;
    if (end > heap->from + heap->bytes)
        end = heap->from + heap->bytes;
    paint(work, PL_PART_TABLES, chunk->block - WORD, chunk->block);
    if (chunk->state == PL_CHUNK_TOP) {
        heap->top = (double) paint(work, PL_PART_TOP, chunk->block, end).resident;
    } else if (chunk->state == PL_CHUNK_FREE) {
        heap->free += (double) paint(work, PL_PART_FREE, chunk->block, end).resident;
        count_empty(work, chunk->block + FRONT, end - WORD);
        note(work, chunk->block, end, true);
    } else {
        if (chunk->bytes == CACHE_CHUNK) {
            add_key(work, chunk->block);
            learn_key(work, chunk->block);
        }
        paint_used(work, chunk);
    }
}

static bool add_heap(struct work *work, const struct pl_heap *heap)
{
    struct pl_footprint *out = work->out;
    if (!(out->heaps & (out->heaps - 1))) {
        size_t room = out->heaps ? 2 * out->heaps : 1;
        struct pl_footprint_heap *more = realloc(out->heap, room * sizeof *more);
        if (!more)
            return false;
        out->heap = more;
    }
    work->heap = &out->heap[out->heaps++];
    *work->heap = (struct pl_footprint_heap){.from = heap->from, .bytes = heap->to - heap->from};
    return true;
}

static struct pl_extent painted_so_far(const struct work *work)
{
    struct pl_extent sum = work->used;
    for (int i = 0; i < PL_PART_COUNT; i++) {
        sum.resident += work->painted[i].resident;
        sum.bytes += work->painted[i].bytes;
    }
    return sum;
}

/* What cannot be followed is painted by the blocks that are known. */
static void paint_heap(struct work *work, const struct pl_heap *heap)
{
    if (!add_heap(work, heap)) {
        paint(work, PL_PART_UNEXPLAINED, heap->from, heap->to);
        return;
    }
    uint64_t before = painted_so_far(work).resident;
    work->next = pl_known_from(&work->out->known, heap->from);
    begin_grid(work, heap->from, heap->to);
    paint(work, PL_PART_TABLES, heap->from, heap->first + WORD);
    uint64_t end = pl_heap_walk(&work->words, heap, meet_chunk, work);
    work->grid = NULL;
    if (end < heap->to)
        paint_known(work, end + WORD, heap->to, PL_PART_UNEXPLAINED);
    work->out->walked = true;
    work->heap->resident = (double) (painted_so_far(work).resident - before);
    work->heap->used = work->heap->resident - work->heap->free - work->heap->top;
}

/* ---- mappings without a name ---- */

/* A chunk with a mapping of its own. */
static void paint_mapped_chunk(struct work *work, uint64_t at, uint64_t bytes)
{
    uint64_t from = at + FRONT, to = at + bytes;
    work->next = pl_known_from(&work->out->known, from);
    const struct pl_known_block *block = known_at(work, from);
    paint(work, PL_PART_TABLES, at, from);
    if (block && block->size <= to - from) {
        paint(work, PL_PART_LIVE, from, from + block->size);
        paint(work, PL_PART_SLACK, from + block->size, to);
        work->out->live_bytes += (double) block->size;
    } else if (work->options->exact) {
        paint(work, PL_PART_OTHER, from, to);
    } else {
        pl_present_add(&work->pages, from, to, &work->used);
    }
}

/* Pages that were never touched have no chunk. */
static uint64_t next_touched(struct work *work, uint64_t at, uint64_t to)
{
    while (at < to && pl_present_state(&work->pages, at) == PL_PAGE_UNTOUCHED)
        at += PL_PAGE;
    return at < to ? at : to;
}

/* The next chunk with a mapping of its own, from `at` on; `to`: there is none. */
static uint64_t find_mapped_chunk(struct work *work, uint64_t at, uint64_t to, uint64_t *bytes)
{
    while (work->options->glibc && !work->out->unread && (at = next_touched(work, at, to)) < to &&
           work->headings++ < HEADINGS_MOST) {
        if (pl_heap_find_mapped(&work->words, at, to, bytes))
            return at;
        at += PL_PAGE;
    }
    return to;
}

/* What is in no heap: chunks with mappings of their own, and mappings of the program. If blocks lie here that are
 * neither, the allocator is another one, or has had to look for memory elsewhere. */
static void paint_rest(struct work *work, uint64_t from, uint64_t to, enum pl_footprint_part other)
{
    uint64_t bytes;
    while (from < to) {
        uint64_t chunk = find_mapped_chunk(work, from, to, &bytes);
        paint_known(work, from, chunk, has_known(work, from, chunk) ? PL_PART_REST : other);
        if (chunk < to)
            paint_mapped_chunk(work, chunk, bytes);
        from = chunk < to ? chunk + bytes : to;
    }
}

/* Heaps of arenas begin at multiples of 64 MiB; what is between them is not theirs. */
static void paint_anonymous(struct work *work, uint64_t from, uint64_t to, enum pl_footprint_part other)
{
    struct pl_heap heap;
    uint64_t at = from;
    uint64_t next = (from + PL_HEAP_SPAN - 1) / PL_HEAP_SPAN * PL_HEAP_SPAN;
    for (; next < to && work->options->glibc && !work->out->unread; next += PL_HEAP_SPAN) {
        if (pl_present_state(&work->pages, next) == PL_PAGE_UNTOUCHED || !pl_heap_find(&work->words, next, to, &heap))
            continue;
        paint_rest(work, at, next, other);
        paint_heap(work, &heap);
        at = heap.to;
    }
    paint_rest(work, at, to, other);
}

/* ---- mappings ---- */

static bool is_library(const struct pl_space_part *part)
{
    return strstr(part->name, "libplimsoll") != NULL;
}

static bool is_anonymous(const struct pl_space_part *part)
{
    return part->anonymous && (!*part->name || !strncmp(part->name, "[anon", 5) || !strcmp(part->name, "[heap]"));
}

static bool is_module(const struct pl_space *space, const struct pl_space_part *part)
{
    for (size_t i = 0; i < space->count; i++)
        if (space->part[i].executable && space->part[i].inode == part->inode && !space->part[i].anonymous)
            return true;
    return false;
}

static bool is_shared_memory(const struct pl_space_part *part)
{
    return part->shared && (!strncmp(part->name, "/dev/shm/", 9) || !strncmp(part->name, "/dev/zero", 9) ||
                            !strncmp(part->name, "/memfd:", 7) || !strncmp(part->name, "/SYSV", 5) ||
                            !strncmp(part->name, "[anon_shmem", 11));
}

/* Variables that are zero at first follow those of the file. */
static const struct pl_space_part *module_before(const struct pl_space *space, size_t number)
{
    const struct pl_space_part *part = &space->part[number], *before = part - 1;
    bool follows = number && is_anonymous(part) && !*part->name && !part->shared && before->to == part->from &&
                   !before->anonymous && before->writable && !before->shared;
    return follows && is_module(space, before) ? before : NULL;
}

static void add_figure(struct pl_footprint_figure *to, double virtual, double resident, double pss, double swap)
{
    to->virtual += virtual;
    to->resident += resident;
    to->pss += pss;
    to->swap += swap;
}

static void add_mapping(struct work *work, enum pl_footprint_part part)
{
    const struct pl_space_part *from = work->part;
    add_figure(&work->out->part[part], (double) (from->to - from->from), (double) from->rss, (double) from->pss,
               (double) from->swap);
}

/* A private mapping of a file: some of its pages may be copies of our own. */
static void add_file(struct work *work, enum pl_footprint_part file, enum pl_footprint_part copies)
{
    const struct pl_space_part *from = work->part;
    double changed = (double) (from->changed < from->rss ? from->changed : from->rss),
           clean = (double) from->rss - changed;
    double share = from->rss ? (double) from->pss / (double) from->rss : 0, bytes = (double) (from->to - from->from);
    bool copied = from->writable || changed > 0;
    add_figure(&work->out->part[file], copied ? bytes - changed : bytes, clean, clean * share, 0);
    add_figure(&work->out->part[copies], copied ? changed : 0, changed, changed * share, (double) from->swap);
}

static void scale(struct work *work, enum pl_footprint_part part, const struct pl_extent *extent, double factor)
{
    const struct pl_space_part *from = work->part;
    double share = from->rss ? (double) from->pss / (double) from->rss : 0;
    double resident = (double) extent->resident * factor;
    add_figure(&work->out->part[part], (double) extent->bytes, resident, resident * share, (double) extent->swapped);
}

/* The kernel's figure and the pages were not read at the same moment. What is more or less counts for what was painted,
 * in proportion, up to a tenth; more than that is not explained. */
static void end_painting(struct work *work, struct pl_extent *used)
{
    double painted = (double) painted_so_far(work).resident, rss = (double) work->part->rss;
    double factor = painted > 0 ? rss / painted : 1;
    factor = factor > 1.1 ? 1.1 : factor;
    for (int i = 0; i < PL_PART_COUNT; i++)
        scale(work, (enum pl_footprint_part) i, &work->painted[i], factor);
    used->bytes += work->used.bytes;
    used->swapped += work->used.swapped;
    used->resident += (uint64_t) ((double) work->used.resident * factor);
    double left = rss - painted * factor;
    if (left >= 1)
        add_figure(&work->out->part[PL_PART_UNEXPLAINED], 0, left, left, 0);
}

static void note_stack(struct work *work, uint64_t bytes, const struct pl_extent *extent, bool running, bool main)
{
    struct pl_footprint_stacks *stacks = &work->out->stacks;
    stacks->mappings++;
    stacks->kept += !running;
    if (!main) {
        stacks->largest = bytes > stacks->largest ? bytes : stacks->largest;
        stacks->least = !stacks->least || bytes < stacks->least ? bytes : stacks->least;
    }
    if ((double) extent->resident > stacks->touched_most)
        stacks->touched_most = (double) extent->resident;
}

/* Where nothing can be read, arenas are known by where they begin. */
static bool is_arena_unread(const struct work *work)
{
    const struct pl_space_part *part = work->part;
    return work->out->unread && work->options->glibc && part->from % PL_HEAP_SPAN == 0 &&
           part->to - part->from <= PL_HEAP_SPAN;
}

static void paint_mapping(struct work *work, size_t number, struct pl_extent *used)
{
    const struct pl_space_part *part = work->part;
    struct pl_heap heap;
    bool running;
    memset(work->painted, 0, sizeof work->painted);
    work->used = (struct pl_extent){0};
    pl_present_begin_mapping(&work->pages, part);
    uint64_t stack = pl_stacks_at(&work->stacks, &work->space, number, &running);
    if (stack) {
        struct pl_extent extent = paint(work, PL_PART_STACKS, part->from, part->from + stack);
        note_stack(work, stack, &extent, running, *part->name);
    }
    bool main = !strcmp(part->name, "[heap]");
    if (main && work->options->glibc && !work->out->unread && pl_heap_find_main(&work->words, part, &heap))
        paint_heap(work, &heap);
    else
        paint_anonymous(work, part->from + stack, part->to,
                        is_arena_unread(work) || main ? PL_PART_REST : PL_PART_MAPPED);
    if (painted_so_far(work).resident > work->painted[PL_PART_MAPPED].resident + work->painted[PL_PART_STACKS].resident)
        work->out->heap_huge += (double) part->huge;
    end_painting(work, used);
}

static void add_part(struct work *work, size_t number, struct pl_extent *used)
{
    const struct pl_space_part *part = work->part, *before = module_before(&work->space, number);
    if (part->ours || is_library(part) || (before && is_library(before)) ||
        (part->inode && part->inode == work->options->inode))
        add_mapping(work, PL_PART_PROFILER);
    else if (before)
        add_mapping(work, PL_PART_DATA);
    else if (is_shared_memory(part) || (part->shared && part->anonymous))
        add_mapping(work, PL_PART_SHARED);
    else if (pl_space_is_device(part))
        add_mapping(work, PL_PART_DEVICES);
    else if (!part->anonymous)
        is_module(&work->space, part) ? add_file(work, PL_PART_CODE, PL_PART_DATA)
                                      : add_file(work, PL_PART_FILES, PL_PART_COPIES);
    else if (is_anonymous(part) && !part->writable && !part->rss && !part->swap)
        add_mapping(work, PL_PART_RESERVED);
    else if (is_anonymous(part) || !strcmp(part->name, "[stack]"))
        paint_mapping(work, number, used);
    else
        add_mapping(work, PL_PART_CODE); /* [vdso] and its like */
}

/* ---- all of it ---- */

static void add_whole(struct work *work)
{
    for (size_t i = 0; i < work->space.count; i++) {
        const struct pl_space_part *part = &work->space.part[i];
        add_figure(&work->out->whole, (double) (part->to - part->from), (double) part->rss, (double) part->pss,
                   (double) part->swap);
        work->out->huge += (double) part->huge;
        work->out->hugetlb += (double) part->hugetlb;
    }
}

static double sampled_residency(struct work *work, double *swapped)
{
    double bytes = 0, resident = 0, out = 0;
    for (uint32_t i = 0; i < work->out->known.count; i++) {
        const struct pl_known_block *block = &work->out->known.block[i];
        struct pl_extent extent = {0};
        if (!block->size)
            continue;
        pl_present_add(&work->pages, block->address, block->address + block->size, &extent);
        bytes += block->weight * (double) extent.bytes;
        resident += block->weight * (double) extent.resident;
        out += block->weight * (double) extent.swapped;
    }
    *swapped = bytes > 0 ? out / bytes : 0;
    return bytes > 0 ? resident / bytes : 1;
}

/* Takes so much of what is in use, or in mappings of the allocator, for live blocks as the profile estimates. */
static void split(struct work *work, struct pl_footprint_figure *from, enum pl_footprint_part rest)
{
    struct pl_footprint *out = work->out;
    double swapped, residency = sampled_residency(work, &swapped);
    double live = work->options->live_bytes - out->live_bytes;
    double virtual = live > from->virtual ? from->virtual : live > 0 ? live : 0;
    double resident = virtual * residency < from->resident ? virtual * residency : from->resident;
    double swap = virtual * swapped < from->swap ? virtual * swapped : from->swap;
    struct pl_footprint_figure whole = *from;
    *from = (struct pl_footprint_figure){0};
    add_figure(&out->part[PL_PART_LIVE], virtual, resident, resident, swap);
    add_figure(&out->part[rest], whole.virtual - virtual, whole.resident - resident, whole.pss - resident,
               whole.swap - swap);
    out->live_bytes = work->options->live_bytes;
    out->live_error = work->options->live_error;
}

static void estimate(struct work *work, const struct pl_extent *used)
{
    if (work->options->exact)
        return;
    struct pl_footprint_figure all = {(double) used->bytes, (double) used->resident, (double) used->resident,
                                      (double) used->swapped};
    work->pages.zeros = false;
    if (work->out->walked)
        split(work, &all, PL_PART_SLACK);
    else
        split(work, &work->out->part[PL_PART_REST], PL_PART_REST);
}

static void count_dropped(struct work *work)
{
    for (uint32_t i = 0; i < work->out->known.count && work->options->glibc; i++)
        work->out->dropped += work->out->known.block[i].vague;
}

static void read_all(struct work *work)
{
    struct pl_extent used = {0};
    add_whole(work);
    for (size_t i = 0; i < work->space.count; i++) {
        work->part = &work->space.part[i];
        add_part(work, i, &used);
    }
    work->out->exact = work->options->exact && !work->out->unread;
    work->out->stacks.threads = work->stacks.threads;
    estimate(work, &used);
    count_dropped(work);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec + (double) time.tv_nsec / 1e9;
}

bool pl_footprint_read(struct pl_footprint *footprint, const struct pl_footprint_options *options)
{
    struct work *work = calloc(1, sizeof *work);
    double start = now();
    *footprint = (struct pl_footprint){0};
    if (!work)
        return false;
    work->out = footprint;
    work->options = options;
    work->pages.file = -1;
    bool opened = pl_space_open(&work->space, options->pid);
    bool good = opened || fail(work, errno ? strerror(errno) : "it has ended");
    if (good) {
        pl_present_open(&work->pages, options->pid);
        pl_stacks_read(&work->stacks, options->pid);
        footprint->unread = !pl_known_read(&work->out->known, &work->space, options->blocks_at, options->live_at);
        good = pl_words_open(&work->words, &work->space, &work->pages) || fail(work, strerror(ENOMEM));
    }
    if (good)
        read_all(work);
    pl_words_close(&work->words);
    pl_stacks_free(&work->stacks);
    pl_present_close(&work->pages);
    pl_space_close(&work->space);
    free(work);
    footprint->seconds = now() - start;
    return good;
}

void pl_footprint_free(struct pl_footprint *footprint)
{
    for (uint32_t i = 0; i < footprint->grids; i++)
        free(footprint->grid[i].page);
    free(footprint->grid);
    free(footprint->heap);
    pl_known_free(&footprint->known);
    *footprint = (struct pl_footprint){0};
}

/* ---- pages that are mostly free ---- */

static const struct pl_footprint_grid *grid_at(const struct pl_footprint *footprint, uint64_t address)
{
    uint32_t low = 0, high = footprint->grids;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (footprint->grid[middle].to <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < footprint->grids && footprint->grid[low].from <= address ? &footprint->grid[low] : NULL;
}

double pl_footprint_pinned(const struct pl_footprint *footprint, const struct pl_known_block *block, double *alone)
{
    const struct pl_footprint_grid *grid = grid_at(footprint, block->address);
    double pinned = 0;
    *alone = 0;
    if (!grid)
        return 0;
    uint64_t end = block->address + (block->size ? block->size : 1);
    end = end < grid->to ? end : grid->to;
    for (uint64_t at = block->address & ~(uint64_t) (PL_PAGE - 1); at < end; at += PL_PAGE) {
        const struct pl_footprint_page *page = &grid->page[(at - grid->from) / PL_PAGE];
        if (page->free < PL_FOOTPRINT_MOSTLY_FREE || !page->used)
            continue;
        pinned += (double) page->free / page->used;
        *alone += page->used == 1 ? page->free : 0;
    }
    return pinned;
}

double pl_footprint_pinned_in_all(const struct pl_footprint *footprint)
{
    double pinned = 0;
    for (uint32_t i = 0; i < footprint->grids; i++) {
        const struct pl_footprint_grid *grid = &footprint->grid[i];
        for (uint64_t page = 0; page < (grid->to - grid->from) / PL_PAGE; page++)
            if (grid->page[page].used && grid->page[page].free >= PL_FOOTPRINT_MOSTLY_FREE)
                pinned += grid->page[page].free;
    }
    return pinned;
}

/* ---- for the file ---- */

static uint64_t whole(double bytes)
{
    return bytes > 0 ? (uint64_t) (bytes + 0.5) : 0;
}

static bool is_main(const struct pl_footprint_heap *heap)
{
    return heap->from % PL_HEAP_SPAN != 0;
}

/* malloc_trim() returns whole pages between blocks of all heaps, and the end of the main one. */
static void record_heaps(const struct pl_footprint *footprint, uint64_t fact[PL_FACT_MAX])
{
    double arena_free = 0, trimmable = 0;
    for (uint32_t i = 0; i < footprint->heaps; i++) {
        const struct pl_footprint_heap *heap = &footprint->heap[i];
        bool main = is_main(heap);
        fact[PL_FACT_ARENA_HEAPS] += !main;
        arena_free += main ? 0 : heap->free + heap->top;
        trimmable += heap->empty + (main ? heap->top : 0);
    }
    fact[PL_FACT_HEAPS] = footprint->heaps;
    fact[PL_FACT_ARENA_FREE] = whole(arena_free);
    fact[PL_FACT_TRIMMABLE] = whole(trimmable);
}

void pl_footprint_record(const struct pl_footprint *footprint, uint64_t time_ns, struct pl_footprint_record *out)
{
    const struct pl_footprint_stacks *stacks = &footprint->stacks;
    *out = (struct pl_footprint_record){
        .time_ns = time_ns ? time_ns : 1,
        .flags = (footprint->exact ? PL_FOOTPRINT_EXACT : 0u) | (footprint->unread ? PL_FOOTPRINT_UNREAD : 0u),
        .fact =
            {
                [PL_FACT_LIVE_REQUESTED] = whole(footprint->live_bytes),
                [PL_FACT_LIVE_ERROR] = footprint->exact ? 0 : whole(footprint->live_error),
                [PL_FACT_PINNED] = whole(pl_footprint_pinned_in_all(footprint)),
                [PL_FACT_THREADS] = stacks->threads,
                [PL_FACT_STACKS] = stacks->mappings,
                [PL_FACT_STACKS_KEPT] = stacks->kept,
                [PL_FACT_STACK_LARGEST] = stacks->largest,
                [PL_FACT_STACK_LEAST] = stacks->least,
                [PL_FACT_STACK_TOUCHED] = whole(stacks->touched_most),
                [PL_FACT_HUGE] = whole(footprint->huge),
                [PL_FACT_HEAP_HUGE] = whole(footprint->heap_huge),
                [PL_FACT_HUGETLB] = whole(footprint->hugetlb),
                [PL_FACT_READING_NS] = whole(footprint->seconds * 1e9),
            },
    };
    for (int i = 0; i < PL_PART_COUNT; i++) {
        const struct pl_footprint_figure *part = &footprint->part[i];
        out->part[i] = (struct pl_footprint_bytes){whole(part->virtual), whole(part->resident), whole(part->pss),
                                                   whole(part->swap)};
    }
    record_heaps(footprint, out->fact);
}

/* ---- residency of blocks ---- */

static void measure_blocks(struct pl_known *known, struct pl_space *space, struct pl_present *pages,
                           pl_residency_taken *take, void *context)
{
    const struct pl_space_part *part = NULL;
    for (uint32_t i = 0; i < known->count; i++) {
        const struct pl_known_block *block = &known->block[i];
        struct pl_extent extent = {0};
        if (!part || block->address >= part->to) {
            part = pl_space_at(space, block->address);
            if (part)
                pl_present_begin_mapping(pages, part);
        }
        if (part)
            pl_present_add(pages, block->address, block->address + block->size, &extent);
        take(context, block, &extent);
    }
}

bool pl_residency_read(const struct pl_footprint_options *options, pl_residency_taken *take, void *context,
                       char *problem)
{
    struct pl_space space = PL_SPACE_NONE;
    struct pl_known known = {0};
    struct pl_present *pages = malloc(sizeof *pages);
    const char *why = pages ? NULL : strerror(ENOMEM);
    if (!why && !pl_space_open(&space, options->pid))
        why = "its mappings cannot be read";
    if (!why && !pl_known_read(&known, &space, options->blocks_at, options->live_at))
        why = "the profiler's tables cannot be read; root may, and the user who runs it unless ptrace_scope forbids it";
    if (!why) {
        pl_present_open(pages, options->pid);
        pages->written = options->written;
        measure_blocks(&known, &space, pages, take, context);
        pl_present_close(pages);
    }
    pl_known_free(&known);
    pl_space_close(&space);
    free(pages);
    snprintf(problem, 256, "%s", why ? why : "");
    return !why;
}
