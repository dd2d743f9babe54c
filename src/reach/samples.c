/* SPDX-License-Identifier: MIT */
/* samples.c - see samples.h. */
#include "reach/samples.h"

#include <stdlib.h>

#include "core/blocks/live.h"

#define GROUPS_READ 64u

_Static_assert(PL_LIVE_LEVELS <= PL_SAMPLE_LEVELS, "there is room for all levels");

int pl_samples_find(struct pl_space *space, uint64_t live_at, struct pl_sample_level level[PL_SAMPLE_LEVELS])
{
    struct pl_live live;
    int count = 0;
    if (pl_space_read(space, live_at, &live, sizeof live) != sizeof live)
        return -1;
    for (; count < PL_LIVE_LEVELS && live.level[count]; count++) {
        uint64_t from = (uintptr_t) live.level[count];
        uint64_t bytes = (1ull << PL_LIVE_GROUPS_LOG2(count)) * sizeof(struct pl_live_group);
        level[count] = (struct pl_sample_level){from, from + bytes};
    }
    return count;
}

static bool take_group(const struct pl_live_group *group, pl_sample_met *meet, void *context)
{
    for (unsigned i = 0; i < PL_LIVE_GROUP; i++) {
        const struct pl_record *record = &group->record[i];
        if (!group->address[i] || group->address[i] & PL_LIVE_LINK_MAP || !(record->weight >= 1))
            continue;
        if (!meet(context, &(struct pl_sample){group->address[i], record->size, record->weight, record->row}))
            return false;
    }
    return true;
}

/* Pages that were never written hold no sample. */
bool pl_samples_read(struct pl_space *space, const struct pl_sample_level *level, pl_sample_met *meet, void *context)
{
    struct pl_live_group *group = malloc(GROUPS_READ * sizeof *group);
    size_t bytes = GROUPS_READ * sizeof *group;
    bool good = group;
    for (uint64_t from = level->from, begin, stop; from < level->to && good; from += bytes) {
        if (!pl_space_touched(space, from, from + bytes, &begin, &stop))
            continue;
        good = pl_space_read(space, from, group, bytes) == bytes;
        for (unsigned i = 0; i < GROUPS_READ && good; i++)
            good = take_group(&group[i], meet, context);
    }
    free(group);
    return good;
}
