/* SPDX-License-Identifier: MIT */
/* halves.c - see halves.h. */
#include "core/records/halves.h"

#include "core/arch.h"
#include "core/hash.h"

static int64_t whole(double bytes)
{
    return bytes < 0x1p61 ? (int64_t) bytes : INT64_MAX / 4;
}

struct pl_shares pl_halves_share(const struct pl_record *record, uint64_t seed)
{
    double q = pl_arch_root(1 - 1 / record->weight), one = q / (1 + q); /* probability of being in this half only */
    double chance = (double) (int64_t) (pl_hash(record->charge, pl_hash(record->thread, seed)) >> 11) * 0x1p-53;
    int64_t bytes = whole((double) record->size * record->weight * (1 + q));
    return (struct pl_shares){{chance < one ? 0 : bytes, chance >= one && chance < 2 * one ? 0 : bytes}};
}

/* If several threads come at once, one of the moments is kept: they differ by less than a sample. */
static void note(struct pl_half half[PL_HALVES], unsigned which, int64_t live)
{
    int64_t here = live + load_relaxed(&half[which].more);
    if (here < load_relaxed(&half[which].peak))
        return;
    store_relaxed(&half[which].peak, here);
    store_relaxed(&half[which].other, live + load_relaxed(&half[!which].more));
}

static void add(struct pl_half half[PL_HALVES], const struct pl_shares *share, int64_t bytes, int sign)
{
    for (unsigned i = 0; i < PL_HALVES; i++)
        fetch_add(&half[i].more, sign * (share->bytes[i] - bytes));
}

/* A half is highest just after one of its samples was allocated, and until one of them is freed. The last of these
 * moments counts, so that the peak of a heap that is never freed is the end. */
void pl_halves_change(struct pl_half half[PL_HALVES], const struct pl_shares *share, int64_t bytes, int64_t live,
                      int sign)
{
    if (sign > 0)
        add(half, share, bytes, sign);
    for (unsigned i = 0; i < PL_HALVES; i++) {
        if (share->bytes[i] > 0)
            note(half, i, live + bytes);
    }
    if (sign < 0)
        add(half, share, bytes, sign);
}

void pl_halves_note(struct pl_half half[PL_HALVES], int64_t live)
{
    for (unsigned i = 0; i < PL_HALVES; i++)
        note(half, i, live);
}
