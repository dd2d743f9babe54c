/* SPDX-License-Identifier: MIT */
/* blocks.c - see blocks.h. */
#include "blocks.h"

#include "filter.h"
#include "memory.h"

#define PAGE 4096u
#define LIMIT_SHARE 8    /* of a bounded address space slabs take at most this part */
#define DENIED_FOR 1024u /* once there was no room, so many calls do not ask the kernel again */
#define LOW_SLABS (1u << PL_REGION_LOW_BITS)
#define LOW_BYTES (LOW_SLABS * sizeof(uint64_t *))
#define TOPS (1u << PL_REGION_TOP_BITS)
#define ALIAS_REGIONS (1u << (PL_FILTER_ALIAS_BITS - PL_REGION_SHIFT)) /* the filter tells so many regions apart */
_Static_assert(TOPS == 64 * sizeof((struct pl_blocks *) 0)->tops / 8, "a bit for each");

/* In pages, and with the slot behind the last: it is the last block's, should that be a large one. */
static uint64_t slab_bytes(const struct pl_blocks *blocks)
{
    return (pl_block_index(blocks, (1ull << PL_REGION_SHIFT) - 1) + 1 + PL_BLOCK_PAGE) * sizeof(uint64_t);
}

/* ---- making ---- */

/* A page that is made larger afterwards, because after mlockall(MCL_FUTURE) every new mapping is locked and filled with
 * pages at once, but what grows out of an unlocked one is neither; nor does it count towards RLIMIT_MEMLOCK. Only
 * locked pages refuse MADV_DONTNEED, so munlock, which a sandbox may not like, is called where it is due. */
static void *sparse_memory(uint64_t bytes)
{
    void *page = pl_memory_new(PAGE);
    if (!page)
        return NULL;
    if (pl_sys_madvise(page, PAGE, MADV_DONTNEED) != 0)
        pl_sys_munlock(page, PAGE);
    void *at = pl_sys_mremap(page, PAGE, bytes);
    if (!at)
        pl_sys_munmap(page, PAGE);
    return at;
}

/* Where the program has bounded its own address space, it is not for us to fill. */
static bool is_modest(uint64_t bytes)
{
    struct pl_limit limit;
    return pl_sys_limit(PL_LIMIT_AS, &limit) != 0 || bytes <= limit.soft / LIMIT_SHARE;
}

/* What a child inherits, kept where fork does not wipe it: empty slabs that nothing leads to any more. */
#define NOTED_MAX 512
static struct {
    uint64_t *slab;
    uint64_t bytes;
} noted[NOTED_MAX];

static void note(uint64_t *slab, uint64_t bytes)
{
    for (unsigned i = 0; slab && i < NOTED_MAX; i++)
        if (!load_relaxed(&noted[i].slab) && swap_if(&noted[i].slab, NULL, slab)) {
            noted[i].bytes = bytes;
            return;
        }
}

static uint64_t *map_slab(struct pl_blocks *blocks)
{
    uint64_t bytes = slab_bytes(blocks), *slab = NULL;
    if (load_relaxed(&pl_memory_frozen))
        return NULL;
    if (is_modest(fetch_add(&blocks->mapped_bytes, bytes) + bytes))
        slab = sparse_memory(bytes);
    if (!slab)
        fetch_add(&blocks->mapped_bytes, -bytes);
    note(slab, bytes);
    return slab;
}

static void give_back(uint64_t *slab, uint64_t bytes)
{
    for (unsigned i = 0; i < NOTED_MAX; i++)
        swap_if(&noted[i].slab, slab, NULL);
    pl_sys_munmap(slab, bytes);
}

void pl_block_abandon(void)
{
    for (unsigned i = 0; i < NOTED_MAX; i++) {
        uint64_t *slab = exchange(&noted[i].slab, NULL);
        if (slab)
            pl_sys_munmap(slab, noted[i].bytes);
    }
}

static uint64_t *take_spare(struct pl_blocks *blocks)
{
    for (unsigned i = 0; i < PL_BLOCK_SPARES; i++) {
        uint64_t *spare = load_relaxed(&blocks->spare[i]) ? exchange(&blocks->spare[i], NULL) : NULL;
        if (spare)
            return spare;
    }
    return NULL;
}

static void keep_spare(struct pl_blocks *blocks, uint64_t *slab)
{
    for (unsigned i = 0; i < PL_BLOCK_SPARES; i++)
        if (!load_relaxed(&blocks->spare[i]) && swap_if(&blocks->spare[i], NULL, slab))
            return;
    give_back(slab, slab_bytes(blocks));
    fetch_add(&blocks->mapped_bytes, -slab_bytes(blocks));
}

/* Several threads may be here at once, and a signal handler: one slab is installed, the others are kept for later. */
static uint64_t *install_slab(struct pl_blocks *blocks, uint64_t **place)
{
    uint64_t *mine = take_spare(blocks);
    if (!mine)
        mine = map_slab(blocks);
    if (mine && !swap_if(place, NULL, mine))
        keep_spare(blocks, mine);
    return load_acquire(place);
}

static uint64_t **low_table(struct pl_blocks *blocks, uintptr_t top)
{
    uint64_t **low = load_acquire(&blocks->top[top]);
    if (!low)
        low = pl_memory_install((void **) &blocks->top[top], LOW_BYTES);
    if (low)
        __atomic_fetch_or(&blocks->tops[top / 64], 1ull << top % 64, __ATOMIC_RELEASE);
    return low;
}

/* True on all but one in DENIED_FOR calls after one that failed; in a sandbox nobody is asked anyway. Counted roughly:
 * threads may overwrite each other. */
static bool was_denied(struct pl_blocks *blocks)
{
    uint32_t denied = load_relaxed(&blocks->denied);
    if (!denied || load_relaxed(&pl_memory_frozen))
        return false;
    store_relaxed(&blocks->denied, denied - 1);
    return true;
}

uint64_t *pl_block_make(struct pl_blocks *blocks, uintptr_t address)
{
    uint64_t *slot = pl_block_find(blocks, address);
    uintptr_t region = address >> PL_REGION_SHIFT;
    if (likely(slot))
        return slot;
    if (region >= (uintptr_t) TOPS * LOW_SLABS || was_denied(blocks))
        return NULL;
    uint64_t **low = low_table(blocks, region >> PL_REGION_LOW_BITS);
    if (!low || !install_slab(blocks, &low[region % LOW_SLABS]))
        store_relaxed(&blocks->denied, DENIED_FOR - 1);
    return pl_block_find(blocks, address);
}

void pl_block_reserve(struct pl_blocks *blocks)
{
    for (unsigned i = 0; i < PL_BLOCK_SPARES; i++) {
        uint64_t *slab = load_relaxed(&blocks->spare[i]) ? NULL : map_slab(blocks);
        if (slab)
            keep_spare(blocks, slab);
    }
}

/* ---- forgetting ---- */

static bool any_in(const uint64_t *slot, const uint64_t *last)
{
    for (; slot <= last; slot++)
        if (load_relaxed(slot))
            return true;
    return false;
}

/* In all slabs below one entry of the top table that the filter takes for the address's own. */
static bool any_below(const struct pl_blocks *blocks, uint64_t **low, uintptr_t first, uintptr_t last)
{
    uintptr_t region = first >> PL_REGION_SHIFT;
    const unsigned odd_last = blocks->granule_shift == 5 ? 0 : 8; /* a part for the odd ones, or not */
    for (uintptr_t i = region % ALIAS_REGIONS; i < LOW_SLABS; i += ALIAS_REGIONS) {
        const uint64_t *slab = load_acquire(&low[i]);
        for (unsigned odd = 0; slab && odd <= odd_last; odd += 8) {
            const uint64_t *slot = &slab[pl_block_index(blocks, first + odd)];
            if (any_in(slot, &slab[pl_block_index(blocks, last - 8 + odd)]))
                return true;
        }
    }
    return false;
}

bool pl_block_any_near(const struct pl_blocks *blocks, uintptr_t address, unsigned log2_bytes)
{
    uintptr_t first = address & -(1ull << log2_bytes), last = first + (1ull << log2_bytes) - 1;
    for (unsigned i = 0; i < TOPS / 64; i++)
        for (uint64_t tops = load_acquire(&blocks->tops[i]); tops; tops &= tops - 1) {
            uint64_t **low = load_acquire(&blocks->top[i * 64 + (unsigned) __builtin_ctzll(tops)]);
            if (any_below(blocks, low, first, last))
                return true;
        }
    return false;
}

void pl_block_forget_near(const struct pl_blocks *blocks, uintptr_t address)
{
    const void *at = (const void *) address;
    if (pl_block_any_near(blocks, address, PL_FILTER_SHIFT))
        return;
    pl_filter_unmark_exact(at);
    if (pl_block_any_near(blocks, address, PL_FILTER_SHIFT)) /* exact mode was entered again under our hands */
        pl_filter_mark_exact(at);
}
