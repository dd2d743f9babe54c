/* SPDX-License-Identifier: MIT */
/*
 * account.h - what one row or one tally says, in figures that can be added up.
 *
 * A tally counts and a row samples, but both tell the same story: allocated, freed by the owner, freed by others, held
 * at the peak; sizes, lifetimes, ages. Here they become the same thing, and here their numbers are checked: whatever a
 * file says, figures come out with 0 <= freed, peak, temporary <= allocated, and nothing in them is NaN or infinite.
 */
#ifndef PL_ACCOUNT_H
#define PL_ACCOUNT_H

#include "profile.h"

struct pl_account {
    struct pl_figures figures;
    struct pl_spread spread;
    bool cut;     /* frees beyond allocations, by more than rounding: caught in the middle of an update */
    bool damaged; /* a number that nobody would have written was left out */
};

/* Does it count at all? False for a record whose main figures cannot be believed. */
bool pl_row_makes_sense(const struct pl_row *row);
bool pl_tally_makes_sense(const struct pl_tally *tally);

/* The header tells of the peak and of the length of cohorts. */
void pl_row_read(const struct pl_row *row, const struct pl_header *header, struct pl_account *out);

/* The temporary samples of a site, from the sum of their weights and what else is known of it. */
void pl_row_temporaries(struct pl_figures *figures, double objects);

/* `remote` are the records of the frees by other threads: a chain of numbers by `next`, from `first` on; 0 ends it. */
void pl_tally_read(const struct pl_tally *tally, const struct pl_remote *remote, const uint32_t *next, uint32_t first,
                   const struct pl_header *header, struct pl_account *out);

/* Cohorts of a record whose cohorts are shorter than those of the header, joined in pairs as often as it takes. */
static inline unsigned pl_cohort_now(unsigned cohort, uint32_t shift, uint32_t shift_now)
{
    return shift_now <= shift ? cohort : shift_now - shift > 3 ? 0 : cohort >> (shift_now - shift);
}

/* Was something that was last saved in this era saved at the peak or later? Numbers of eras may go round. */
static inline bool pl_saved_at_peak(uint32_t era, const struct pl_header *header)
{
    return header->peak.peaks > 0 && (int32_t) (era - header->peak.era) >= 0;
}

/* Does a record that was made after so many resets still count? Not if it is older than the last one. It may be a
 * little newer than the header, whose word comes from another thread. A tally tells only the lower 16 bits. */
#define PL_RESETS_AHEAD 16u
static inline bool pl_since_reset(uint32_t reset, const struct pl_header *header)
{
    return reset - header->resets < PL_RESETS_AHEAD;
}

static inline bool pl_tally_since_reset(const struct pl_tally *tally, const struct pl_header *header)
{
    return (uint16_t) (tally->reset - header->resets) < PL_RESETS_AHEAD;
}

#endif
