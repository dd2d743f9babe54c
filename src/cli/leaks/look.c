/* SPDX-License-Identifier: MIT */
/* look.c - see look.h. */
#include "cli/leaks/look.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/proc.h"
#include "cli/say.h"

__attribute__((format(printf, 2, 3))) static bool fail(struct pl_look_taken *taken, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(taken->problem, sizeof taken->problem, format, list);
    va_end(list);
    return false;
}

/* Everything that may have left a live block without an entry in the table of blocks. */
static bool is_complete(const struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    bool lost = false, bypassed = false;
    for (int i = 0; i < PL_LOSS_TAGS; i++)
        lost |= header->losses[i] != 0;
    for (int i = 0; i < PL_BYPASS_COUNT; i++)
        bypassed |= *profile->bypass[i] != 0;
    bool unrecorded = profile->total[PL_METRIC_ALLOC_OBJECTS].value > profile->recorded_calls;
    return !lost && !bypassed && !unrecorded && !(header->flags & (PL_FLAG_ATTACHED | PL_FLAG_FORKED | PL_FLAG_LATE));
}

/* Can the process be asked at all, before it is stopped? */
bool pl_look_prepare(struct pl_look_taken *taken, pid_t pid, const char *live, struct pl_reach_options *out)
{
    struct pl_profile *profile;
    struct stat status;
    char why[PL_WHY_BYTES];
    if (pl_profile_open(live, &profile, why) != 0)
        return fail(taken, "cannot read %.300s: %.400s", live, why);
    const struct pl_header header = profile->header;
    *out = (struct pl_reach_options){.pid = pid, .blocks_at = header.blocks_at, .complete = is_complete(profile)};
    out->inode = stat(live, &status) == 0 ? status.st_ino : 0;
    bool exact = profile->exact;
    pl_profile_close(profile);
    if (!exact)
        return fail(taken,
                    "process %d is sampled, and only in exact mode are all of its blocks known: %s run --exact -- "
                    "PROGRAM, or %s attach %d --exact",
                    pid, pl_say_self(), pl_say_self(), pid);
    if (!header.blocks_at || header.blocks_layout != PL_REACH_LAYOUT)
        return fail(taken,
                    "process %d is profiled by another version of Plimsoll, which keeps its blocks in another way; use "
                    "the plimsoll that started it",
                    pid);
    return true;
}

static uint64_t since_start(const char *live)
{
    struct pl_header header;
    uint64_t now_ns = pl_proc_now_ns();
    return pl_proc_header(live, &header) && now_ns > header.start_monotonic_ns ? now_ns - header.start_monotonic_ns : 0;
}

static bool make_records(struct pl_look_taken *taken, const char *live)
{
    int profile = open(live, O_RDONLY | O_CLOEXEC);
    bool made = profile >= 0 && pl_records_make(&taken->records, &taken->reach.census, profile);
    if (profile >= 0)
        close(profile);
    return made || fail(taken, "cannot read %.300s: %m", live);
}

bool pl_look_take(struct pl_look_taken *taken, pid_t pid, const char *live, enum pl_looked looked)
{
    struct pl_reach_options how;
    *taken = (struct pl_look_taken){.look = {.looked = looked, .ns = since_start(live)}};
    if (!pl_look_prepare(taken, pid, live, &how))
        return false;
    how.ending = looked != PL_LOOKED_RUNNING;
    bool good = pl_reach_read(&taken->reach, &how)
                    ? make_records(taken, live)
                    : fail(taken, "cannot look for leaks in process %d: %s", pid, taken->reach.problem);
    pl_reach_free(&taken->reach);
    taken->look.partly = !taken->reach.complete;
    taken->look.record = taken->records.record;
    taken->look.count = taken->records.count;
    return good;
}

void pl_look_free(struct pl_look_taken *taken)
{
    pl_records_free(&taken->records);
}
