/* SPDX-License-Identifier: MIT */
/*
 * describe.c - facts about a profile in words: names of metrics, functions and losses, how its process ended, and how
 * its figures were obtained.
 *
 * The tables are the lists of format.h and profile.h unrolled: a new metric, loss or function is one row there and
 * nothing here.
 *
 * "Exact" is a promise, so every exception is stated with it: allocations that were lost, frees that were not seen, and
 * calls made while Plimsoll was off or paused. Figures of a damaged file are never called exact. After a reset, the
 * words say that figures are about what was allocated since.
 */
#include "reader/describe.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "reader/site.h"

#define NAME_BYTES 64
#define FIGURE_BYTES 40
#define PART_MISSING 0.01 /* a smaller share of calls without an allocation is taken for calls that failed */

/* --- names --- */

const struct pl_metric_info pl_metric_info[PL_METRIC_COUNT] = {
#define ROW(name, key, word, unit, help) {key, word, unit, help},
    PL_METRICS(ROW)
#undef ROW
};

const char *const pl_function_name[PL_FN_COUNT] = {
#define ROW(name, text) text,
    PL_FUNCTIONS(ROW)
#undef ROW
};

const struct pl_named_counter pl_loss_info[PL_LOSS_COUNT] = {
#define ROW(name, key, help) {key, help},
    PL_LOSSES(ROW)
#undef ROW
};

const struct pl_named_counter pl_stop_info[PL_STOP_COUNT] = {
#define ROW(name, key, help) {key, help},
    PL_STOPS(ROW)
#undef ROW
};

const struct pl_named_counter pl_footprint_info[PL_PART_COUNT] = {
#define ROW(name, word, title) {word, title},
    PL_FOOTPRINT_PARTS(ROW)
#undef ROW
};

/* The metrics that have another name in merged profiles. */
static const struct pl_metric_info merged[PL_METRIC_COUNT] = {
    [PL_METRIC_PEAK_OBJECTS] = {"peak_objects", "sum of peaks, in blocks", "blocks",
                                "blocks that were live at each process's peak, added up"},
    [PL_METRIC_PEAK_SPACE] = {"peak_space", "sum of peaks", "bytes",
                              "bytes that were live at each process's peak, added up"},
};

const struct pl_metric_info *pl_describe_metric(const struct pl_profile *profile, enum pl_metric metric)
{
    return profile->merged && merged[metric].word ? &merged[metric] : &pl_metric_info[metric];
}

/* --- losses: the tables above have the plural, these the singular --- */

static const char *const one[PL_LOSS_COUNT] = {
    [PL_LOSS_NESTED] = "sample lost: a signal handler allocated while Plimsoll was recording",
    [PL_LOSS_FILE_FULL] = "record that did not fit into the file",
    [PL_LOSS_TABLE_FULL] = "sample lost: a lookup table was full",
    [PL_LOSS_LIVE_FULL] = "block that counts as freed at once: there was no memory to follow it",
    [PL_LOSS_MISSED_FREE] = "recorded block whose free was missed: the allocator reused its address",
    [PL_LOSS_THREADS] = "thread that could not be registered",
    [PL_LOSS_MEMORY] = "memory request by Plimsoll that the system refused",
    [PL_LOSS_SANDBOX] = "record lost: the file could not grow in a seccomp sandbox",
    [PL_LOSS_STALE_BUSY] = "sample abandoned by longjmp",
    [PL_LOSS_DEAD_THREAD] = "sample lost: its thread was ending",
    [PL_LOSS_TAGS] = "scope without room for its tag: charged to the enclosing tag",
    [PL_LOSS_POPS] = "pop without a matching push",
    [PL_LOSS_TAG_NAMES] = "tag name truncated to 64 KiB",
    [PL_LOSS_MAPPINGS] =
        "change of a mapping or announced heap that could not be recorded, in a signal handler or an ending thread",
};

static const char *const one_stop[PL_STOP_COUNT] = {
    [PL_STOP_DEPTH] = "deep stack truncated in the middle",
    [PL_STOP_NO_CFI] = "stack truncated at code without unwind tables and without a usable frame pointer",
    [PL_STOP_BOUNDS] = "stack truncated where the next frame would lie outside of it",
    [PL_STOP_ZERO] = "stack truncated at a return address of zero",
    [PL_STOP_BAD_CFI] = "stack truncated at unwind tables that could not be understood",
    [PL_STOP_FOREIGN] = "stack truncated at memory that is not the thread's stack and could not be probed",
    [PL_STOP_ASTRAY] = "stack truncated where wrong unwind tables led to an address that is not code",
};

const char *pl_describe_loss(int loss, uint64_t count)
{
    return count == 1 && one[loss] ? one[loss] : pl_loss_info[loss].help;
}

const char *pl_describe_stop(int stop, uint64_t count)
{
    return count == 1 && one_stop[stop] ? one_stop[stop] : pl_stop_info[stop].help;
}

/* --- how it ended --- */

static void say_signal(int number, bool core, char *out, size_t bytes)
{
    const char *name = sigabbrev_np(number);
    const char *dumped = core ? ", core dumped" : "";
    if (name)
        snprintf(out, bytes, "killed by SIG%s%s", name, dumped);
    else
        snprintf(out, bytes, "killed by signal %d%s", number, dumped);
}

static void say_wait_status(int status, bool out_of_memory, char *out, size_t bytes)
{
    if (out_of_memory)
        snprintf(out, bytes, "killed, probably out of memory");
    else if (WIFEXITED(status))
        snprintf(out, bytes, "exited %d", WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        say_signal(WTERMSIG(status), WCOREDUMP(status), out, bytes);
    else
        snprintf(out, bytes, "ended with wait status %#x", (unsigned) status);
}

/* The name comes from the program: it is cut between characters, and control characters become '?'. */
static void print_name(const char *name, char out[NAME_BYTES])
{
    size_t bytes = strnlen(name, NAME_BYTES);
    if (bytes == NAME_BYTES)
        for (bytes--; bytes > 0 && ((unsigned char) name[bytes] & 0xc0) == 0x80;)
            bytes--;
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char) name[i] < ' ' || name[i] == 0x7f ? '?' : name[i];
    out[bytes] = 0;
}

static void say_snapshot(const struct pl_profile *profile, char *out, size_t bytes)
{
    char name[NAME_BYTES];
    print_name(profile->snapshot_name, name);
    if (*name)
        snprintf(out, bytes, "snapshot `%s` after %.1f s", name, profile->snapshot_s);
    else
        snprintf(out, bytes, "snapshot after %.1f s", profile->snapshot_s);
}

/*
 * The parent's wait status counts for more than what the process recorded: a process may record an exit and be killed
 * before it ends. Not so after exec: the wait status is then that of the next program.
 */
void pl_describe_ending(const struct pl_profile *profile, char *out, size_t bytes)
{
    const struct pl_header *header = &profile->header;
    if (profile->snapshot_name)
        say_snapshot(profile, out, bytes);
    else if (header->end == PL_END_EXEC)
        snprintf(out, bytes, "became another program (exec)");
    else if (header->end == PL_END_DETACHED)
        snprintf(out, bytes, "detached");
    else if (header->flags & PL_FLAG_WAITED)
        say_wait_status((int) header->wait_status, header->flags & PL_FLAG_OUT_OF_MEMORY, out, bytes);
    else if (profile->running)
        snprintf(out, bytes, "running");
    else if (header->end == PL_END_EXIT || header->end == PL_END_QUICK)
        snprintf(out, bytes, "exited %u", header->exit_status & 0xff);
    else
        snprintf(out, bytes, "ended, exit status unknown");
}

/* --- how figures were obtained --- */

/* 1,234,567 */
static void print_count(char out[FIGURE_BYTES], double count)
{
    char digits[24];
    uint64_t whole = count >= 0 && count < 1e18 ? (uint64_t) llround(count) : UINT64_MAX;
    int length = snprintf(digits, sizeof digits, "%" PRIu64, whole), at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
}

/* Two digits are enough for a mean: 96 KiB, 1.5 MiB. Whole numbers, as settings mostly are, have no decimals. */
static void print_bytes(char out[FIGURE_BYTES], double bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned i = 0;
    for (; i < 4 && bytes >= 1023.5; i++)
        bytes /= 1024;
    snprintf(out, FIGURE_BYTES, bytes >= 9.95 || bytes == floor(bytes) ? "%.0f %s" : "%.1f %s", bytes, unit[i]);
}

/* ---- attached ---- */

/* 340 ms, 12.3 s, 12 m, 3.5 h, 12 d */
static void print_time(char out[FIGURE_BYTES], double s)
{
    if (s < 1)
        snprintf(out, FIGURE_BYTES, "%.0f ms", s * 1e3);
    else if (s < 60)
        snprintf(out, FIGURE_BYTES, "%.1f s", s);
    else if (s < 5400)
        snprintf(out, FIGURE_BYTES, "%.0f m", s / 60);
    else if (s < 172800)
        snprintf(out, FIGURE_BYTES, "%.1f h", s / 3600);
    else
        snprintf(out, FIGURE_BYTES, "%.0f d", s / 86400);
}

bool pl_describe_attached(const struct pl_profile *profile, char *out, size_t bytes)
{
    const struct pl_header *header = &profile->header;
    char after[FIGURE_BYTES], heap[FIGURE_BYTES], before[160] = "";
    if (!(header->flags & PL_FLAG_ATTACHED) || profile->merged)
        return false;
    print_time(after, (double) header->attached_ns / 1e9);
    print_bytes(heap, (double) header->before_bytes);
    if (header->before_how == PL_BEFORE_MALLOC)
        snprintf(before, sizeof before, " (the heap had %s in use by then)", heap);
    else if (header->before_how == PL_BEFORE_RESIDENT)
        snprintf(before, sizeof before, " (%s of memory that is no file's was resident by then)", heap);
    snprintf(out, bytes, "attached %s after the start; blocks older than that are not in it%s", after, before);
    return true;
}

/* ---- exceptions ---- */

struct flaw {
    uint64_t count;
    const char *one, *many;
};

static uint64_t lost_allocations(const uint64_t *losses)
{
    return losses[PL_LOSS_NESTED] + losses[PL_LOSS_TABLE_FULL] + losses[PL_LOSS_STALE_BUSY] +
           losses[PL_LOSS_DEAD_THREAD];
}

bool pl_describe_flaws(const struct pl_profile *profile, char *out, size_t bytes)
{
    const uint64_t *losses = profile->header.losses;
    const struct flaw flaws[] = {
        {lost_allocations(losses), "lost allocation", "lost allocations"},
        {losses[PL_LOSS_LIVE_FULL], "block that counts as freed at once (no memory to follow it)",
         "blocks that count as freed at once (no memory to follow them)"},
        {losses[PL_LOSS_MISSED_FREE], "block whose free was not seen", "blocks whose free was not seen"},
        {losses[PL_LOSS_FILE_FULL] + losses[PL_LOSS_SANDBOX], "record that did not fit into the file",
         "records that did not fit into the file"},
        {losses[PL_LOSS_THREADS], "thread that could not be registered", "threads that could not be registered"},
    };
    size_t used = 0;
    *out = 0;
    for (size_t i = 0; i < sizeof flaws / sizeof *flaws && used < bytes; i++) {
        char count[FIGURE_BYTES];
        print_count(count, (double) flaws[i].count);
        if (flaws[i].count > 0)
            used += (size_t) snprintf(out + used, bytes - used, "%s%s %s", used > 0 ? " and " : "", count,
                                      flaws[i].count == 1 ? flaws[i].one : flaws[i].many);
    }
    return used > 0;
}

/* ---- allocations that were not seen ---- */

bool pl_describe_bypass(const struct pl_profile *profile, enum pl_bypass how, char *out, size_t bytes)
{
    static const char *const words[PL_BYPASS_COUNT] = {
        [PL_BYPASS_MALLOC] = "the program's malloc is that of %.200s, which does not call Plimsoll's: its allocations "
                             "were not seen",
        [PL_BYPASS_SCOPE] = "%.200s was loaded with RTLD_DEEPBIND or by dlmopen, so it does not use the program's "
                            "malloc: its allocations were not seen",
        [PL_BYPASS_LINKED] = "%.200s has an allocator linked in: allocations that go directly to it were not seen",
    };
    const char *module = profile->bypass[how];
    const char *some = "%.200s has an allocator linked in, not all of whose functions could be hooked: some "
                       "allocations were not seen";
    if (!module || !*module)
        return false;
    if (!strcmp(module, "/proc/self/exe")) /* a browser starts its helpers by this name */
        module = profile->executable;
    bool in_part = how == PL_BYPASS_LINKED && profile->header.flags & PL_FLAG_LINKED;
    snprintf(out, bytes, in_part ? some : words[how], module); /* NOLINT: the words are above */
    return true;
}

static bool is_bypassed_by(const struct pl_profile *profile, enum pl_bypass how)
{
    return profile->bypass[how] && *profile->bypass[how];
}

/* Whether a program uses an allocator that is linked in is not known. */
static bool is_bypassed_for_sure(const struct pl_profile *profile)
{
    return is_bypassed_by(profile, PL_BYPASS_MALLOC) || is_bypassed_by(profile, PL_BYPASS_SCOPE);
}

static bool is_bypassed(const struct pl_profile *profile)
{
    return is_bypassed_for_sure(profile) || is_bypassed_by(profile, PL_BYPASS_LINKED);
}

/* ---- the words ---- */

static const char *since(const struct pl_profile *profile)
{
    return profile->header.resets > 0             ? " since the reset"
           : profile->header.flags & PL_FLAG_LATE ? " after libraries were initialized"
                                                  : "";
}

/* Calls made while Plimsoll was off or paused. */
static double count_unrecorded(const struct pl_profile *profile)
{
    return profile->total[PL_METRIC_ALLOC_OBJECTS].value - profile->recorded_calls;
}

static void say_nothing_recorded(const struct pl_profile *profile, char *out, size_t bytes)
{
    char calls[FIGURE_BYTES];
    const char *reason = "they failed, or were made while Plimsoll was off";
    print_count(calls, profile->total[PL_METRIC_ALLOC_OBJECTS].value);
    if (profile->header.control.off)
        reason = "Plimsoll was off";
    else if (profile->recorded_calls == 0)
        reason = "Plimsoll was off, or paused";
    snprintf(out, bytes, "none of %s allocations%s was recorded: %s", calls, since(profile), reason);
}

static void say_all(const struct pl_profile *profile, char *out, size_t bytes)
{
    char counted[FIGURE_BYTES], others[FIGURE_BYTES];
    print_count(counted, profile->exact_calls);
    print_count(others, count_unrecorded(profile));
    if (is_bypassed(profile))
        snprintf(out, bytes, "exact for %s allocations%s; others %s", counted, since(profile),
                 is_bypassed_for_sure(profile) ? "were not seen" : "may not have been seen");
    else if (count_unrecorded(profile) > 0)
        snprintf(out, bytes, "exact: all %s allocations%s, but for %s more made while Plimsoll was off or paused",
                 counted, since(profile), others);
    else if (profile->exact_calls == 1)
        snprintf(out, bytes, "exact: the only allocation%s", since(profile));
    else
        snprintf(out, bytes, "exact: all %s allocations%s", counted, since(profile));
}

/* Allocations that were counted without their stacks, or not at all, because the file was full. */
static double count_unplaced(const struct pl_profile *profile)
{
    const uint64_t *losses = profile->header.losses;
    double unplaced = 0;
    if (!losses[PL_LOSS_FILE_FULL] && !losses[PL_LOSS_SANDBOX])
        return 0;
    for (uint32_t i = 0; i < profile->sites; i++)
        if (profile->site[i].stack == PL_NO_STACK && !profile->site[i].other_sizes)
            unplaced += pl_site_figures(&profile->site[i]).allocated.exact_objects;
    if (profile->exact_calls < profile->recorded_calls * (1 - PART_MISSING))
        unplaced += profile->recorded_calls - profile->exact_calls;
    return unplaced;
}

static void say_exact(const struct pl_profile *profile, char *out, size_t bytes)
{
    char counted[FIGURE_BYTES], calls[FIGURE_BYTES], flaws[256];
    double unplaced = count_unplaced(profile);
    print_count(counted, unplaced > 0 ? unplaced : profile->exact_calls);
    print_count(calls, profile->recorded_calls);
    if (profile->total[PL_METRIC_ALLOC_OBJECTS].value == 0)
        snprintf(out, bytes, is_bypassed(profile) ? "no allocation was seen%s" : "exact: nothing was allocated%s",
                 since(profile));
    else if (profile->exact_calls == 0)
        say_nothing_recorded(profile, out, bytes);
    else if (unplaced > 0)
        snprintf(out, bytes, "only totals are exact%s: the stacks of %s of %s allocations are not known",
                 since(profile), counted, calls);
    else if (pl_describe_flaws(profile, flaws, sizeof flaws))
        snprintf(out, bytes, "exact%s, but for %s", since(profile), flaws);
    else if (profile->exact_calls < profile->recorded_calls * (1 - PART_MISSING))
        snprintf(out, bytes, "exact for %s of %s allocations%s; the rest failed, or were made while Plimsoll was off",
                 counted, calls, since(profile));
    else
        say_all(profile, out, bytes);
}

/* The mean interval according to the samples; without samples, the last one in use. */
static double mean_interval(const struct pl_profile *profile)
{
    struct pl_sums sampled = {0};
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_figures figures = pl_site_figures(&profile->site[i]);
        sampled.space += figures.allocated.sampled.space;
        sampled.objects += figures.allocated.sampled.objects;
    }
    if (profile->samples > 0)
        return (sampled.space + profile->header.call_charge * sampled.objects) / (double) profile->samples;
    return fmax((double) profile->header.automatic.interval_bytes, (double) profile->header.steered_max);
}

static void say_mixed(const struct pl_profile *profile, char *out, size_t bytes)
{
    const struct pl_auto *automatic = &profile->header.automatic;
    char counted[FIGURE_BYTES], calls[FIGURE_BYTES], interval[FIGURE_BYTES];
    print_count(counted, profile->exact_calls);
    print_count(calls, profile->recorded_calls);
    print_bytes(interval, mean_interval(profile));
    if (automatic->left <= 1 && automatic->returned == 0 && profile->merged == 0 && profile->header.requests == 0)
        snprintf(out, bytes, "exact for the first %s%s%s, then sampled about every %s; ± = 95%% confidence",
                 profile->exact_calls == 1 ? "" : counted, profile->exact_calls == 1 ? "allocation" : " allocations",
                 since(profile), interval);
    else
        snprintf(out, bytes, "exact for %s of %s allocations%s, the rest sampled about every %s; ± = 95%% confidence",
                 counted, calls, since(profile), interval);
}

static uint64_t interval_now(const struct pl_header *header)
{
    return header->control.interval_bytes    ? header->control.interval_bytes
           : header->mode == PL_MODE_SAMPLED ? header->interval_bytes
                                             : header->automatic.interval_bytes;
}

void pl_describe_now(const struct pl_header *header, char *out, size_t bytes)
{
    char interval[FIGURE_BYTES];
    bool counts = header->mode == PL_MODE_EXACT || (header->mode == PL_MODE_AUTO && header->automatic.exact);
    print_bytes(interval, (double) interval_now(header));
    if (header->control.off)
        snprintf(out, bytes, "off");
    else if (counts && !header->control.interval_bytes)
        snprintf(out, bytes, "exact");
    else
        snprintf(out, bytes, "sampled every %s", interval);
}

static void say_sampled(const struct pl_profile *profile, char *out, size_t bytes)
{
    char interval[FIGURE_BYTES], samples[FIGURE_BYTES];
    bool set = profile->header.mode == PL_MODE_SAMPLED && profile->header.steered_max == 0;
    print_count(samples, (double) profile->samples);
    print_bytes(interval, set ? (double) profile->header.interval_bytes : mean_interval(profile));
    if (set && profile->header.interval_bytes <= 1)
        snprintf(out, bytes, "counted every allocation%s (%s): no figure is estimated", since(profile), samples);
    else
        snprintf(out, bytes, "sampled every %s on average: %s sample%s%s; ± = 95%% confidence", interval, samples,
                 profile->samples == 1 ? "" : "s", since(profile));
}

static bool is_cut_short(const struct pl_profile *profile)
{
    uint64_t chunks = profile->header.chunks < PL_CHUNKS_MAX ? profile->header.chunks : PL_CHUNKS_MAX;
    return profile->file_bytes < pl_chunk_offset((uint32_t) chunks);
}

static void say_damaged(const struct pl_profile *profile, char *out, size_t bytes)
{
    char counted[FIGURE_BYTES], samples[FIGURE_BYTES];
    const char *file = is_cut_short(profile) ? "the file is truncated" : "from a damaged file";
    print_count(counted, profile->exact_calls);
    print_count(samples, (double) profile->samples);
    if (profile->samples > 0)
        snprintf(out, bytes, "%s: %s counted allocations and %s samples could be read; ± = 95%% confidence", file,
                 counted, samples);
    else
        snprintf(out, bytes, "%s: %s counted allocations could be read, and more may be missing", file, counted);
}

void pl_describe_method(const struct pl_profile *profile, char *out, size_t bytes)
{
    if (profile->method)
        snprintf(out, bytes, "%s", profile->method);
    else if (profile->damage > 0)
        say_damaged(profile, out, bytes);
    else if (profile->exact)
        say_exact(profile, out, bytes);
    else if (profile->exact_calls > 0)
        say_mixed(profile, out, bytes);
    else
        say_sampled(profile, out, bytes);
}
