/* SPDX-License-Identifier: MIT */
/* blocks.c - see blocks.h. */
#include "core/blocks/blocks.h"

#include "core/blocks/filter.h"
#include "core/memory.h"

#define PAGE PL_ARCH_PAGE_MOST
#define LIMIT_SHARE 8    /* slabs take at most 1/8 of RLIMIT_AS */
#define DENIED_FOR 1024u /* after a failure, only one call in so many asks the kernel again */
#define LOW_SLABS (1u << PL_REGION_LOW_BITS)
#define LOW_BYTES (LOW_SLABS * sizeof(uint64_t *))
#define TOPS (1u << PL_REGION_TOP_BITS)
#define ALIAS_REGIONS (1u << (PL_FILTER_ALIAS_BITS - PL_REGION_SHIFT)) /* regions that do not share filter bytes */
_Static_assert(TOPS == 64 * sizeof((struct pl_blocks *) 0)->tops / 8, "a bit for each");

/* Masks, large slots, and slots. One page of slots more than there are granules: a block in the last granule may also
 * use the slot after it. */
static uint64_t slab_bytes(const struct pl_blocks *blocks)
{
    uint64_t slots = pl_block_index(blocks, (1ull << PL_REGION_SHIFT) - 1) + 1 + PL_BLOCK_PAGE;
    return (PL_BLOCK_FRONT + slots) * sizeof(uint64_t);
}

/* ---- making ---- */

/* Maps one page, then grows it with mremap. After mlockall(MCL_FUTURE) the kernel locks every new mapping and populates
 * it at once, but not the part by which an unlocked mapping grows; nor does that part count towards RLIMIT_MEMLOCK.
 * MADV_DONTNEED fails on locked pages and only then is munlock called, because a sandbox may forbid it. */
static void *sparse_memory(uint64_t bytes)
{
    void *page = pl_memory_new(PAGE);
    if (!page)
        return NULL;
    if (pl_sys_madvise(page, PAGE, MADV_DONTNEED) != 0)
        pl_sys_munlock(page, PAGE);
    pl_memory_strike(page); /* it moves, and `noted` has the slabs */
    void *at = pl_sys_mremap(page, PAGE, bytes);
    if (!at)
        pl_sys_munmap(page, PAGE);
    return at;
}

/* If the program has limited its address space, we must leave most of it to the program. */
static bool is_modest(uint64_t bytes)
{
    struct pl_limit limit;
    return pl_sys_limit(PL_LIMIT_AS, &limit) != 0 || bytes <= limit.soft / LIMIT_SHARE;
}

/* The memory of all slabs, in memory that fork does not wipe. A child inherits them empty, and nothing else points to
 * them. */
#define NOTED_MAX 2048
static struct {
    uint64_t *slab;
    uint64_t bytes;
    uint32_t forks; /* how many forks had led to the process that mapped it */
} noted[NOTED_MAX];
static uint32_t forks;

static void note(uint64_t *slab, uint64_t bytes)
{
    for (unsigned i = 0; slab && i < NOTED_MAX; i++)
        if (!load_relaxed(&noted[i].slab) && swap_if(&noted[i].slab, NULL, slab)) {
            noted[i].bytes = bytes;
            noted[i].forks = forks;
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
    return slab ? slab + PL_BLOCK_FRONT : NULL;
}

static void give_back(uint64_t *slab, uint64_t bytes)
{
    slab -= PL_BLOCK_FRONT;
    for (unsigned i = 0; i < NOTED_MAX; i++)
        swap_if(&noted[i].slab, slab, NULL);
    pl_sys_munmap(slab, bytes);
}

/* Slabs of the parent stay, empty: a signal handler may have forked while a free was reading one, and the free goes on
 * here. Those of its ancestors go. */
void pl_block_abandon(void)
{
    forks++;
    for (unsigned i = 0; i < NOTED_MAX; i++) {
        uint64_t *slab = load_relaxed(&noted[i].slab);
        if (slab && noted[i].forks + 1 < forks && swap_if(&noted[i].slab, slab, NULL))
            pl_sys_munmap(slab, noted[i].bytes);
    }
}

bool pl_block_each_slab(const struct pl_blocks *blocks, pl_memory_visitor *visit, void *context)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < NOTED_MAX; i++) {
        const uint64_t *slab = load_acquire(&noted[i].slab);
        if (!slab || noted[i].forks != forks)
            continue;
        bytes += noted[i].bytes;
        visit(context, (uintptr_t) slab, noted[i].bytes);
    }
    return bytes >= load_relaxed(&blocks->mapped_bytes);
}

void pl_block_free_all(void)
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

/* Several threads, or a signal handler, may be here at once: one slab is installed, the others become spares. */
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

/* After a failure, true for all but one in DENIED_FOR calls. False in a sandbox, where map_slab() does not ask the
 * kernel. The count is approximate: threads may overwrite each other's stores. */
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
    uintptr_t region = pl_arch_untagged(address) >> PL_REGION_SHIFT;
    if (likely(slot))
        return slot;
    if (region >= (uintptr_t) TOPS * LOW_SLABS || was_denied(blocks))
        return NULL;
    uint64_t **low = low_table(blocks, region >> PL_REGION_LOW_BITS);
    if (!low || !install_slab(blocks, &low[region % LOW_SLABS]))
        store_relaxed(&blocks->denied, DENIED_FOR - 1);
    return pl_block_find(blocks, address);
}

/* A table spans 32 GiB; what lies near an address may lie in the next one. */
#define NEAR (1ul << 30)

void pl_block_reserve_near(struct pl_blocks *blocks, uintptr_t address)
{
    for (uintptr_t at = address > NEAR ? address - NEAR : 0; at <= address + NEAR; at += 2 * NEAR)
        if (at >> PL_REGION_SHIFT >> PL_REGION_LOW_BITS < TOPS)
            low_table(blocks, at >> PL_REGION_SHIFT >> PL_REGION_LOW_BITS);
}

/* Blocks will lie near the end of the data segment, near other mappings, such as the slabs, or near libraries, such as
 * ours: musl's malloc begins with the unused ends of their pages. */
void pl_block_reserve(struct pl_blocks *blocks)
{
    pl_block_reserve_near(blocks, (uintptr_t) pl_sys3(__NR_brk, 0, 0, 0));
    pl_block_reserve_near(blocks, (uintptr_t) pl_block_reserve);
    for (unsigned i = 0; i < PL_BLOCK_SPARES; i++) {
        uint64_t *slab = load_relaxed(&blocks->spare[i]) ? NULL : map_slab(blocks);
        pl_block_reserve_near(blocks, (uintptr_t) slab);
        if (slab)
            keep_spare(blocks, slab);
    }
}

/* ---- what is left of exact mode ---- */

/* Bits for those of 64 equal parts of a granule that hold a block, from the slots of the granule. A slot without a
 * tally holds the size of the block before it. */
static uint64_t bits_of(const uint64_t *slot, unsigned slots_per_bit)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < 64 * slots_per_bit; i++)
        bits |= (uint64_t) (load_relaxed(&slot[i]) >> PL_BLOCK_TALLY_SHIFT != 0) << i / slots_per_bit;
    return bits;
}

/* The address of the block that a large slot holds; 0 if it holds none. `at` is an address in its 128 bytes. */
static uintptr_t large_block(uint64_t *slab, uintptr_t at)
{
    uint64_t word = load_relaxed(pl_block_large(slab, at));
    uintptr_t start = at & -(1ull << PL_BLOCK_LARGE_SHIFT);
    return word >> PL_BLOCK_TALLY_SHIFT ? start + (word & PL_BLOCK_SIZE_NEXT) * 8 : 0;
}

static uint64_t large_bits_of(uint64_t *slab, uintptr_t granule)
{
    uint64_t bits = 0;
    for (uintptr_t at = granule; at < granule + (1u << PL_FILTER_SHIFT); at += 1u << PL_BLOCK_LARGE_SHIFT) {
        uintptr_t block = large_block(slab, at);
        bits |= block ? pl_block_bit(block) : 0;
    }
    return bits;
}

static uint64_t blocks_in(const struct pl_blocks *blocks, uint64_t *slab, uintptr_t granule)
{
    const uint64_t *slot = &slab[pl_block_index(blocks, granule)];
    uint64_t large = large_bits_of(slab, granule);
    if (blocks->granule_shift == 5)
        return large | bits_of(slot, 1);
    return large | bits_of(slot, 2) | bits_of(&slab[pl_block_index(blocks, granule + 8)], 2);
}

/* If another thread has changed the mask since we read it, ours may be out of date, and is not written. */
static uint64_t write_mask(const struct pl_blocks *blocks, uint64_t *slab, uintptr_t granule)
{
    uint64_t *mask = pl_block_mask(slab, granule), old = load_acquire(mask), bits = blocks_in(blocks, slab, granule);
    if (old != bits)
        swap_if(mask, old, bits);
    return bits;
}

static uint64_t not_in_mask(const struct pl_blocks *blocks, uint64_t *slab, uintptr_t granule)
{
    return blocks_in(blocks, slab, granule) & ~load_acquire(pl_block_mask(slab, granule));
}

/* Joins what `look` finds in all slabs with addresses that share the filter byte of this granule. Inline, so that no
 * call goes through the pointer. */
INLINE uint64_t in_all(const struct pl_blocks *blocks, uintptr_t granule,
                       uint64_t (*look)(const struct pl_blocks *blocks, uint64_t *slab, uintptr_t granule))
{
    uint64_t found = 0;
    for (unsigned i = 0; i < TOPS / 64; i++)
        for (uint64_t tops = load_acquire(&blocks->tops[i]); tops; tops &= tops - 1) {
            uint64_t **low = load_acquire(&blocks->top[i * 64 + (unsigned) __builtin_ctzll(tops)]);
            for (uintptr_t k = (granule >> PL_REGION_SHIFT) % ALIAS_REGIONS; k < LOW_SLABS; k += ALIAS_REGIONS) {
                uint64_t *slab = load_acquire(&low[k]);
                found |= slab ? look(blocks, slab, granule) : 0;
            }
        }
    return found;
}

void pl_block_sift(const struct pl_blocks *blocks, uintptr_t address)
{
    const void *at = (const void *) address;
    uintptr_t granule = address & -(1ull << PL_FILTER_SHIFT);
    if (in_all(blocks, granule, write_mask))
        pl_filter_use_mask(at);
    else
        pl_filter_unmark_exact(at);
    if (in_all(blocks, granule, not_in_mask)) /* exact mode has returned meanwhile */
        pl_filter_mark_exact(at);
}

/* Where slots are smaller than the part of a bit, another block may need the bit: then it stays. */
static bool is_alone(const struct pl_blocks *blocks, uint64_t *slab, uintptr_t address)
{
    uintptr_t part = address & -(1ull << PL_BLOCK_MASK_SHIFT);
    if (large_block(slab, address) >> PL_BLOCK_MASK_SHIFT == part >> PL_BLOCK_MASK_SHIFT)
        return false;
    for (uintptr_t at = part; blocks->granule_shift != 5 && at < part + (1u << PL_BLOCK_MASK_SHIFT); at += 8)
        if (load_relaxed(&slab[pl_block_index(blocks, at)]))
            return false;
    return true;
}

void pl_block_unmask(const struct pl_blocks *blocks, uintptr_t address)
{
    uint64_t *slab = pl_block_slab(blocks, address);
    if (!slab || !is_alone(blocks, slab, address))
        return;
    uint64_t left = __atomic_and_fetch(pl_block_mask(slab, address), ~pl_block_bit(address), __ATOMIC_ACQ_REL);
    if (!is_alone(blocks, slab, address)) /* exact mode has returned meanwhile */
        fetch_or(pl_block_mask(slab, address), pl_block_bit(address));
    else if (!left)
        pl_block_sift(blocks, address);
}

/* ---- giving back ---- */

#define GIVE_PAGES ((256u << 10) / PAGE) /* at each call: the slots of 1 MiB of heap, with glibc */

static bool is_empty(const uint64_t *page)
{
    for (unsigned i = 0; i < PAGE / sizeof *page; i++)
        if (load_relaxed(&page[i]))
            return false;
    return true;
}

/* Reading a page that takes no memory only maps the kernel's page of zeros. mincore() could tell, but malloc does not
 * call it, so a filter that the process was started with may kill the process for it. */
static void give_back_part(uint8_t *part, unsigned pages)
{
    for (unsigned i = 0, empty; i < pages; i += empty + 1) {
        for (empty = 0; i + empty < pages && is_empty((const uint64_t *) (const void *) (part + (i + empty) * PAGE));)
            empty++;
        if (empty)
            pl_sys_madvise(part + i * PAGE, (size_t) empty * PAGE, MADV_DONTNEED);
    }
}

/* Masks stay: frees write to them without asking anybody. */
void pl_block_give_back(struct pl_blocks *blocks)
{
    const uint64_t masks = PL_BLOCK_MASKS * sizeof(uint64_t);
    unsigned i = blocks->given_slab % NOTED_MAX;
    for (unsigned n = 0; n < NOTED_MAX && !load_relaxed(&noted[i].slab); n++, blocks->given_bytes = 0)
        i = (i + 1) % NOTED_MAX;
    uint64_t *slab = load_acquire(&noted[i].slab), bytes = noted[i].bytes, at = masks + blocks->given_bytes;
    uint64_t rest = slab && bytes > at ? (bytes - at) / PAGE : 0;
    if (rest)
        give_back_part((uint8_t *) slab + at, rest < GIVE_PAGES ? (unsigned) rest : GIVE_PAGES);
    bool last = rest <= GIVE_PAGES;
    blocks->given_slab = last ? i + 1 : i;
    blocks->given_bytes = last ? 0 : blocks->given_bytes + (uint64_t) GIVE_PAGES * PAGE;
}
