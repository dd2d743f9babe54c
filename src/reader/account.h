/* SPDX-License-Identifier: MIT */
/*
 * account.h - converts one row, one tally or one small record to figures that can be added up.
 *
 * A tally counts and a row samples, but both record the same things: blocks allocated, freed by the owner, freed by
 * other threads and live at the peak; sizes, lifetimes and ages. These functions bring both into one form and check the
 * numbers: whatever a file says, 0 <= freed, peak, temporary <= allocated, and no figure is NaN or infinite.
 */
#ifndef PL_ACCOUNT_H
#define PL_ACCOUNT_H

#include "reader/profile.h"

struct pl_account {
    struct pl_figures figures;
    struct pl_spread spread;
    bool cut;     /* a part exceeded its whole (frees > allocations) by more than rounding: copied during an update */
    bool damaged; /* an impossible number was ignored */
};

/* False: the main figures are impossible, so the whole record is ignored. */
bool pl_account_row_makes_sense(const struct pl_row *row);
bool pl_account_tally_makes_sense(const struct pl_tally *tally);

/* The header has the era of the peak and the length of cohorts. */
void pl_account_row(const struct pl_row *row, const struct pl_header *header, struct pl_account *out);

/* Sets a site's temporary samples from the sum of their weights; the rest is derived from its other figures. */
void pl_account_temporaries(struct pl_figures *figures, double objects);

/* `remote` has the frees by other threads: a linked list of record numbers through `next` that starts at `first`; 0
 * ends it. */
void pl_account_tally(const struct pl_tally *tally, const struct pl_remote *remote, const uint32_t *next,
                      uint32_t first, const struct pl_header *header, struct pl_account *out);

/* The same for a small record that counts. */
void pl_account_small(const struct pl_small *small, const struct pl_remote *remote, const uint32_t *next,
                      uint32_t first, const struct pl_header *header, struct pl_account *out);

bool pl_account_ledger_makes_sense(const struct pl_ledger *ledger);
void pl_account_ledger(const struct pl_ledger *ledger, const struct pl_heap_record *heap,
                       const struct pl_header *header, struct pl_account *out);

/* Maps a record's cohort to the header's, which may be longer: each further shift joins two cohorts into one. */
static inline unsigned pl_account_cohort(unsigned cohort, uint32_t shift, uint32_t shift_now)
{
    return shift_now <= shift ? cohort : shift_now - shift > 3 ? 0 : cohort >> (shift_now - shift);
}

/* True: figures that were last saved in this era were saved at the peak or later. Era numbers may wrap around. */
static inline bool pl_account_saved_at_peak(uint32_t era, const struct pl_header *header)
{
    return header->peak.peaks > 0 && (int32_t) (era - header->peak.era) >= 0;
}

/* True: a record made after `reset` resets is not older than the last one. It may be a little newer than the header,
 * whose count comes from another thread. A tally or small record has only the lower 16 bits. */
#define PL_RESETS_AHEAD 16u
static inline bool pl_account_since_reset(uint32_t reset, const struct pl_header *header)
{
    return reset - header->resets < PL_RESETS_AHEAD;
}

static inline bool pl_account_tally_since_reset(uint16_t reset, const struct pl_header *header)
{
    return (uint16_t) (reset - header->resets) < PL_RESETS_AHEAD;
}

#endif
