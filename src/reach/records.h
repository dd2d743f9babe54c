/* SPDX-License-Identifier: MIT */
/*
 * records.h - verdicts on blocks, added up by the thread and the site that allocated them, as records of the profile.
 */
#ifndef PL_RECORDS_H
#define PL_RECORDS_H

#include "format/format.h"
#include "reach/verdict.h"

struct pl_records {
    struct pl_verdict_record *record; /* record 0 is not used */
    uint32_t count;                   /* record 0 included */
};

/* The live profile of the process, which has the record that each block was counted in. */
struct pl_records_source {
    int profile;              /* open for reading */
    const struct pl_row *row; /* its rows, by number: for samples */
    uint32_t rows;
};

/* False: no memory. */
bool pl_records_make(struct pl_records *records, const struct pl_census *census,
                     const struct pl_records_source *source);
/* The number of the site's record in the profile, from a block's place; 0: it cannot be read. */
uint32_t pl_records_site(int profile, uint32_t place);
void pl_records_free(struct pl_records *records);

#endif
