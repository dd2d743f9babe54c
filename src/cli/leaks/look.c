/* SPDX-License-Identifier: MIT */
/* look.c - see look.h. */
#include "cli/leaks/look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/advice/sizing.h"
#include "cli/proc.h"
#include "cli/say.h"
#include "cli/term.h"
#include "core/blocks/live.h"
#include "reader/base/arena.h"
#include "reader/image.h"
#include "reader/write/copy.h"

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
    *out = (struct pl_reach_options){.pid = pid,
                                     .blocks_at = header.blocks_at,
                                     .live_at = profile->exact ? 0 : header.live_at,
                                     .complete = is_complete(profile),
                                     .glibc = !strcmp(pl_sizing_of(profile)->name, "glibc"),
                                     .progress = pl_term_progress,
                                     .what = (void *) (uintptr_t) "plimsoll: following pointers"};
    out->inode = stat(live, &status) == 0 ? status.st_ino : 0;
    bool exact = profile->exact;
    pl_profile_close(profile);
    if (!header.blocks_at || header.blocks_layout != PL_REACH_LAYOUT ||
        (!exact && (!header.live_at || header.live_layout != PL_LIVE_LAYOUT)))
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
    struct pl_arena *arena = pl_arena_new();
    struct pl_records_source from = {.profile = open(live, O_RDONLY | O_CLOEXEC)};
    struct pl_image_source source = {.name = live, .fd = from.profile};
    struct pl_image image;
    char why[PL_WHY_BYTES];
    bool made = false;
    if (from.profile < 0) {
        fail(taken, "cannot read %.300s: %m", live);
    } else if (pl_image_take(&source, arena, &image, why) != 0) {
        fail(taken, "cannot read %.300s: %.400s", live, why);
    } else {
        from.row = pl_image_rows(&image);
        from.rows = pl_image_count(&image, PL_KIND_ROW);
        made = pl_records_make(&taken->records, &taken->reach.census, &from) ||
               fail(taken, "cannot look for leaks: %s", strerror(ENOMEM));
    }
    if (from.profile >= 0)
        close(from.profile);
    pl_arena_free(arena);
    return made;
}

bool pl_look_began_to_sample(const struct pl_reach_options *how, const char *live)
{
    struct pl_profile *profile;
    char why[PL_WHY_BYTES];
    if (how->live_at || pl_profile_open(live, &profile, why) != 0)
        return false;
    bool exact = profile->exact;
    pl_profile_close(profile);
    return !exact;
}

static bool read_once(struct pl_look_taken *taken, const struct pl_reach_options *how)
{
    return pl_reach_read(&taken->reach, how) ||
           fail(taken, "cannot look for leaks in process %d: %s", how->pid, taken->reach.problem);
}

static bool read_process(struct pl_look_taken *taken, pid_t pid, const char *live, enum pl_looked looked)
{
    struct pl_reach_options how;
    if (!pl_look_prepare(taken, pid, live, &how))
        return false;
    how.ending = looked != PL_LOOKED_RUNNING;
    how.progress = how.ending ? NULL : how.progress;
    if (!read_once(taken, &how))
        return false;
    if (!pl_look_began_to_sample(&how, live))
        return true;
    pl_reach_free(&taken->reach);
    if (!pl_look_prepare(taken, pid, live, &how))
        return false;
    how.ending = looked != PL_LOOKED_RUNNING;
    how.progress = how.ending ? NULL : how.progress;
    return read_once(taken, &how);
}

bool pl_look_take(struct pl_look_taken *taken, pid_t pid, const char *live, enum pl_looked looked)
{
    *taken = (struct pl_look_taken){.look = {.looked = looked, .ns = since_start(live)}};
    bool good = read_process(taken, pid, live, looked) && make_records(taken, live);
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

int pl_look_make_file(const char *output)
{
    return open(output, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
}

enum pl_exit pl_look_refuse_file(const char *output)
{
    if (errno == EEXIST)
        return pl_say_failure("%s already exists, and a snapshot never replaces a file", output);
    return pl_say_failure("cannot write %s: %m", output);
}

int pl_look_copy_profile(const char *live, int fd, const char *path, char why[PL_WHY_BYTES])
{
    struct pl_copy *copy;
    int result = pl_copy_take(live, &copy, why);
    if (result != 0)
        return result;
    result = pl_copy_write(copy, "", fd);
    if (result != 0)
        snprintf(why, PL_WHY_BYTES, "cannot write %.300s: %s", path, strerror(-result));
    pl_copy_free(copy);
    return result;
}
