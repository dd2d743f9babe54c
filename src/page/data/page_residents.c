/* SPDX-License-Identifier: MIT */
/*
 * page_residents.c - how much of what was live was resident: readings as a member of the JSON text, and their sites as
 * columns.
 *
 * A profile may have 512 readings of 71 sites each. As JSON that would be larger than all the rest of a page.
 */
#include <stddef.h>

#include "export/profile_json.h"
#include "page/data/page_work.h"

struct row {
    uint32_t reading, node;
    double live, resident, swapped, untouched;
    double live_error, resident_error, swapped_error, untouched_error;
};

static const struct pl_columns_member members[] = {
    {"resident.reading", PL_COLUMN_U32, offsetof(struct row, reading)},
    {"resident.node", PL_COLUMN_U32, offsetof(struct row, node)},
    {"resident.live", PL_COLUMN_F64, offsetof(struct row, live)},
    {"resident.resident", PL_COLUMN_F64, offsetof(struct row, resident)},
    {"resident.swapped", PL_COLUMN_F64, offsetof(struct row, swapped)},
    {"resident.untouched", PL_COLUMN_F64, offsetof(struct row, untouched)},
    {"resident.live_error", PL_COLUMN_F64, offsetof(struct row, live_error)},
    {"resident.resident_error", PL_COLUMN_F64, offsetof(struct row, resident_error)},
    {"resident.swapped_error", PL_COLUMN_F64, offsetof(struct row, swapped_error)},
    {"resident.untouched_error", PL_COLUMN_F64, offsetof(struct row, untouched_error)},
};

static struct row row_of(struct pl_page_work *work, uint32_t reading, const struct pl_resident_bytes *bytes)
{
    const struct pl_profile *profile = work->profile;
    uint32_t stack = bytes->site < profile->records ? profile->stack_of_record[bytes->site] : PL_NO_STACK;
    return (struct row){
        .reading = reading,
        .node = pl_page_tree_stack(work->tree, stack < profile->stacks ? stack : PL_NO_STACK, false).node,
        .live = (double) bytes->live,
        .resident = (double) bytes->resident,
        .swapped = (double) bytes->swapped,
        .untouched = (double) bytes->untouched,
        .live_error = (double) bytes->live_error,
        .resident_error = (double) bytes->resident_error,
        .swapped_error = (double) bytes->swapped_error,
        .untouched_error = (double) bytes->untouched_error,
    };
}

void pl_page_residents_add(struct pl_page_work *work)
{
    const struct pl_profile *profile = work->profile;
    uint32_t rows = 0;
    for (uint32_t r = 0; r < profile->residents; r++)
        rows += profile->resident[r].sites;
    struct row *row = pl_arena_alloc(work->arena, (rows + 1ull) * sizeof *row), *next = row;
    for (uint32_t r = 0; r < profile->residents; r++)
        for (uint32_t i = 0; i < profile->resident[r].sites; i++)
            *next++ = row_of(work, r, &profile->resident[r].site[i]);
    pl_columns_table(work->columns, "resident", rows);
    pl_columns_add_all(work->columns, members, sizeof members / sizeof *members, row, sizeof *row);
}

void pl_page_residents_write(struct pl_json *json, const struct pl_page_work *work)
{
    pl_json_begin(json, '[');
    for (uint32_t r = 0; r < work->profile->residents; r++) {
        pl_json_line(json);
        pl_json_begin(json, '{');
        pl_profile_json_resident(json, &work->profile->resident[r]);
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
}
