/* SPDX-License-Identifier: MIT */
/*
 * generated.c - tells apart code that was made at run time, one after the other at the same address.
 *
 * No loader says when such code is replaced. So a walk looks at the instructions before each return address that is in
 * no module. If they differ from those that were there the last time, the address has a new version. The instructions
 * may also change because the compiler patches its own code: then one frame becomes several, with equal names. The
 * number of versions is limited, so such code cannot fill the file.
 *
 *   63                  36 35                   4 3       0
 *  ┌──────────────────────┬──────────────────────┬─────────┐
 *  │ rest of the address  │ hash of instructions │ version │    0: empty
 *  └──────────────────────┴──────────────────────┴─────────┘
 *
 * Invariant: a word belongs to one address for as long as the process lives. (Two addresses share one with a
 * probability of 2^-28, and then have versions too many.) Because an entry is one word, threads and signal handlers
 * need no lock. Addresses that find their line full have no versions.
 */
#include "core/hash.h"
#include "core/unwind/walk.h"

#define LINES_LOG2 11
#define LINE_WORDS 8u
#define LOOK_BYTES 32u /* of instructions before the return address */
#define PAGE_BYTES 4096ul
#define KEY_BITS (PL_ARCH_ADDRESS_BITS - PL_ARCH_CODE_SHIFT)
#define TAG_BITS 28

static uint64_t words[LINE_WORDS << LINES_LOG2] __attribute__((aligned(64)));

/* A hash of the instructions before `pc`, as far as they are on one page, so that one page has to be probed. */
static bool look(struct pl_walk *walk, uintptr_t pc, uint32_t *hash)
{
    uintptr_t last = (pc - 1) & ~7ul, from = last - LOOK_BYTES + 8, page = last & ~(PAGE_BYTES - 1);
    uint64_t word, sum = PL_FNV_START;
    if (!pl_bounds_read(walk, last, &word))
        return false;
    if (pc % 8)
        word &= (1ull << (pc % 8) * 8) - 1; /* what follows the return address is not a part of it */
    for (uintptr_t at = from < page ? page : from; at < last; at += 8)
        sum = pl_hash(sum, pl_walk_load(at));
    *hash = (uint32_t) (pl_hash(sum, word) >> 32);
    return true;
}

/* The version of the code with this hash at the address of `word`, which has the entry `was`. */
static uint64_t version_now(uint64_t *word, uint64_t was, uint32_t hash)
{
    uint64_t version = was % PL_FRAME_VERSIONS;
    while ((uint32_t) (was >> 4) != hash && version < PL_FRAME_VERSIONS - 1) {
        uint64_t tag = was >> (64 - TAG_BITS) << (64 - TAG_BITS);
        if (swap_if(word, was, tag | (uint64_t) hash << 4 | (version + 1)))
            return version + 1;
        was = load_relaxed(word);
        version = was % PL_FRAME_VERSIONS;
    }
    return version;
}

bool pl_generated_version(struct pl_walk *walk, uintptr_t pc, uint64_t *version)
{
    uint32_t hash;
    *version = 0;
    if (!pl_bounds_may_ask(walk))
        return true;
    if (!look(walk, pc, &hash))
        return false;
    uint64_t mixed = ((pc >> PL_ARCH_CODE_SHIFT) * 0x9e3779b97f4a7c15ull) << (64 - KEY_BITS);
    uint64_t *line = &words[(mixed >> (64 - LINES_LOG2)) * LINE_WORDS];
    uint64_t tag = (mixed << LINES_LOG2) >> (64 - TAG_BITS) << (64 - TAG_BITS);
    for (unsigned i = 0; i < LINE_WORDS; i++) {
        uint64_t fresh = tag | (uint64_t) hash << 4, was = load_relaxed(&line[i]);
        if (was == 0 && swap_if(&line[i], 0, fresh))
            return true;
        was = load_relaxed(&line[i]);
        if (was >> (64 - TAG_BITS) == tag >> (64 - TAG_BITS)) {
            *version = version_now(&line[i], was, hash);
            return true;
        }
    }
    return true;
}
