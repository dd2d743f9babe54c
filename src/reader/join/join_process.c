/* SPDX-License-Identifier: MIT */
/*
 * join_process.c - the header, names and clock of a sum of profiles, which is not about one process.
 *
 * What all parts have in common is kept. Other values are added up if a sum makes sense (losses, CPU time, peaks), or
 * are those that are safe for all parts: the longest run, the worst ending, the coarsest sampling.
 *
 * The coarsest, because most can go unseen there: amounts H_i behind gaps of T_i bytes go unseen with probability
 * exp(-sum H_i/T_i), and three samples stand for most where the gap is widest. A part without any sample hides
 * something from the totals even if others have samples; its gap is `interval_max`.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "reader/join/join_work.h"
#include "reader/totals.h"

#define COMMAND_BYTES 32
#define TIME_MAX_S 9e9 /* fits in 64 bits as nanoseconds; a longer run is damage */

static uint64_t nanoseconds(double seconds)
{
    return (uint64_t) llround(fmin(seconds, TIME_MAX_S) * 1e9);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t add_capped(uint64_t to, uint64_t more)
{
    return to <= UINT64_MAX - more ? to + more : UINT64_MAX;
}

static void add_all(uint64_t *to, const uint64_t *more, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        to[i] = add_capped(to[i], more[i]);
}

/* ---- names ---- */

static bool same_words(const char **a, const char **b)
{
    for (; *a && *b && strcmp(*a, *b) == 0; a++, b++)
        ;
    return !*a && !*b;
}

/* The text that all parts share, or "". */
static const char *common_text(const struct pl_join_work *work, size_t field)
{
    const char *first = *(const char *const *) ((const char *) work->part[0] + field);
    for (uint32_t p = 1; p < work->parts; p++)
        if (strcmp(first, *(const char *const *) ((const char *) work->part[p] + field)) != 0)
            return "";
    return first;
}

static const char **common_words(const struct pl_join_work *work)
{
    bool same = true;
    for (uint32_t p = 1; p < work->parts && same; p++)
        same = same_words(work->part[0]->argv, work->part[p]->argv);
    if (same)
        return work->part[0]->argv;
    char text[COMMAND_BYTES];
    int bytes = snprintf(text, sizeof text, "%u profiles", work->out->merged);
    const char **argv = pl_arena_alloc(work->out->arena, 2 * sizeof *argv);
    argv[0] = pl_arena_text(work->out->arena, text, (size_t) bytes);
    return argv;
}

static void join_names(struct pl_join_work *work)
{
    struct pl_profile *out = work->out;
    out->path = "";
    out->comm = common_text(work, offsetof(struct pl_profile, comm));
    out->executable = common_text(work, offsetof(struct pl_profile, executable));
    out->directory = common_text(work, offsetof(struct pl_profile, directory));
    out->destination = "";
    out->argv = common_words(work);
    for (int how = 0; how < PL_BYPASS_COUNT; how++) {
        out->bypass[how] = "";
        for (uint32_t p = 0; p < work->parts && !*out->bypass[how]; p++)
            out->bypass[how] = work->part[p]->bypass[how];
    }
    memcpy(out->header.comm, out->comm, strnlen(out->comm, sizeof out->header.comm));
}

/* ---- how it ended ---- */

enum badness { EXITED_WELL, BECAME_ANOTHER, EXITED_BADLY, WENT_ON, KILLED };

static enum badness badness_of(const struct pl_profile *part)
{
    const struct pl_header *header = &part->header;
    bool exited = header->end == PL_END_EXIT || header->end == PL_END_QUICK;
    bool well = header->exit_status == 0;
    if (part->running || part->snapshot_name)
        return WENT_ON;
    if (header->end == PL_END_EXEC)
        return BECAME_ANOTHER;
    if (header->flags & PL_FLAG_WAITED) {
        exited = WIFEXITED((int) header->wait_status);
        well = WEXITSTATUS((int) header->wait_status) == 0;
    }
    return !exited ? KILLED : well ? EXITED_WELL : EXITED_BADLY;
}

/* If the worst part is one that still ran, the sum has no ending. */
static void join_endings(struct pl_join_work *work)
{
    const struct pl_profile *worst = work->part[0];
    for (uint32_t p = 1; p < work->parts; p++)
        if (badness_of(work->part[p]) > badness_of(worst))
            worst = work->part[p];
    if (badness_of(worst) == WENT_ON)
        return;
    struct pl_header *header = &work->out->header;
    header->end = worst->header.end;
    header->exit_status = worst->header.exit_status;
    header->wait_status = worst->header.wait_status;
    header->flags |= worst->header.flags & (PL_FLAG_WAITED | PL_FLAG_OUT_OF_MEMORY);
}

/* ---- how it was recorded ---- */

static uint64_t whole_gap(const struct pl_profile *part)
{
    double gap = pl_totals_gap(part);
    return part->exact ? 0 : (uint64_t) fmax(ceil(gap), 1);
}

/* The gap of a part without samples; otherwise 0. */
static uint64_t blind_gap(const struct pl_profile *part)
{
    if (part->merged > 0)
        return part->header.automatic.interval_max;
    return part->samples == 0 ? whole_gap(part) : 0;
}

static void add_automatic(struct pl_auto *to, const struct pl_profile *part)
{
    const struct pl_auto *more = &part->header.automatic;
    to->overhead_ppm = (uint32_t) larger(to->overhead_ppm, more->overhead_ppm);
    to->interval_bytes = larger(to->interval_bytes, whole_gap(part));
    to->interval_max = larger(to->interval_max, blind_gap(part));
    to->spent_ns = add_capped(to->spent_ns, more->spent_ns);
    to->cpu_ns = add_capped(to->cpu_ns, more->cpu_ns);
    to->left += part->exact ? 0 : larger(more->left, 1);
    to->returned += more->returned;
}

static void join_mode(struct pl_header *header, const struct pl_header *more)
{
    if (header->mode != more->mode || header->interval_bytes != more->interval_bytes)
        header->mode = PL_MODE_AUTO;
    header->interval_bytes = larger(header->interval_bytes, more->interval_bytes);
    if (more->call_charge > 0 && (header->call_charge == 0 || more->call_charge < header->call_charge))
        header->call_charge = more->call_charge;
}

#define KEEP_COMMON(to, more, field) ((to)->field = (to)->field == (more)->field ? (to)->field : 0)

static void add_header(struct pl_header *to, const struct pl_profile *part)
{
    const struct pl_header *more = &part->header;
    const uint32_t flags = PL_FLAG_CUT_COMMAND | PL_FLAG_SANDBOXED | PL_FLAG_NO_NEXT | PL_FLAG_LINKED | PL_FLAG_LATE;
    join_mode(to, more);
    KEEP_COMMON(to, more, machine);
    KEEP_COMMON(to, more, uid);
    KEEP_COMMON(to, more, size_from);
    KEEP_COMMON(to, more, size_to);
    to->flags |= more->flags & flags;
    to->bad_settings |= more->bad_settings;
    if (more->start_realtime_ns < to->start_realtime_ns)
        to->start_realtime_ns = more->start_realtime_ns;
    add_all(to->losses, more->losses, PL_LOSS_MAX);
    add_all(to->stops, more->stops, PL_STOP_MAX);
    to->visits = add_capped(to->visits, more->visits);
    to->frames_walked = add_capped(to->frames_walked, more->frames_walked);
    to->unloads = add_capped(to->unloads, more->unloads);
    to->end_monotonic_ns = larger(to->end_monotonic_ns, nanoseconds(part->duration_s));
    to->exit_ns = larger(to->exit_ns, nanoseconds(part->exit_s));
    to->peak.bytes = add_capped(to->peak.bytes, (uint64_t) fmin(part->total[PL_METRIC_PEAK_SPACE].value, 1e18));
    to->batch_bytes = (uint32_t) fmin((double) to->batch_bytes + part->peak_slack_bytes, UINT32_MAX);
    add_automatic(&to->automatic, part);
    to->merged += part->merged > 0 ? part->merged : 1;
}

static void start_header(struct pl_header *header, const struct pl_header *first)
{
    memcpy(header->magic, PL_MAGIC, sizeof header->magic);
    header->version = PL_VERSION;
    header->byte_order = PL_BYTE_ORDER;
    header->chunk_bytes = PL_CHUNK_BYTES;
    header->flags = PL_FLAG_MERGED;
    header->machine = first->machine;
    header->uid = first->uid;
    header->mode = first->mode;
    header->interval_bytes = first->interval_bytes;
    header->size_from = first->size_from;
    header->size_to = first->size_to;
    header->start_realtime_ns = first->start_realtime_ns;
    header->peak.peaks = 1;
}

/* The part's clock, moved so that it starts at 0. */
static void take_clock(struct pl_profile *out, const struct pl_profile *part)
{
    const struct pl_header *header = &part->header;
    out->unit_s = part->unit_s;
    out->header.clock.last_ticks = header->clock.last_ticks - header->clock.start_ticks;
    out->header.clock.last_ns = header->clock.last_ns - header->start_monotonic_ns;
}

/* What is lost is added up, too. It is not all that is lost if nobody has looked at one of the processes. */
static void join_looks(struct pl_profile *out, const struct pl_profile *part)
{
    out->looked_partly |= part->looked == PL_LOOKED_NOT || part->looked_partly;
    out->looked = part->looked > out->looked ? part->looked : out->looked;
    out->looked_s = fmax(out->looked_s, part->looked_s);
}

void pl_join_process(struct pl_join_work *work)
{
    struct pl_profile *out = work->out;
    start_header(&out->header, &work->part[0]->header);
    for (uint32_t p = 0; p < work->parts; p++) {
        const struct pl_profile *part = work->part[p];
        add_header(&out->header, part);
        out->damage += part->damage;
        out->in_flight += part->in_flight;
        out->file_bytes += part->file_bytes;
        out->by_stack |= part->by_stack;
        join_looks(out, part);
        if (out->unit_s == 0 && part->unit_s > 0)
            take_clock(out, part);
    }
    out->merged = out->header.merged;
    join_names(work);
    join_endings(work);
}
