/* SPDX-License-Identifier: MIT */
/*
 * summary.c - the last words of `plimsoll run`.
 *
 * Every ending says what to type next, and "nothing was recorded" is never the whole sentence.
 */
#include "summary.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "say.h"
#include "settings.h"

#define LISTED_MAX 5

/* What differs by the way in which the profiler got in, or did not. */
static const struct {
    const char *option;
    const char *nothing; /* a format, for the program */
    const char *became;
} ways[PL_WAY_COUNT] = {
    [PL_WAY_PRELOAD] =
        {"",
         "nothing was recorded, because libplimsoll.so was not loaded into %s or could not make a file there: it "
         "starts others with a cleared environment, becomes another user, enters a container, or has no memory left",
         "that one is static or setuid, or its environment was cleared"},
    [PL_WAY_LOADER] =
        {"--glibc ",
         "nothing was recorded, because %s did not come as far as to use the glibc with the profiler inside, or that "
         "could not make a file: a library is missing, it becomes another user, or there is no memory left",
         "the system's loader runs that one (or, if it was /proc/self/exe, the loader itself was started once more); "
         "use --glibc-tree, or name the program yourself"},
    [PL_WAY_TREE] =
        {"--glibc-tree ",
         "nothing was recorded, because no program that %s started used the glibc with the profiler inside, or that "
         "could not make a file: it starts others with a cleared environment, becomes another user, enters a "
         "container, or has no memory left",
         "that one is static or setuid, or its environment was cleared"},
};

/* --- how to type it --- */

static const char *below_here(const char *path)
{
    char here[PATH_MAX];
    size_t bytes = getcwd(here, sizeof here) ? strlen(here) : 0;
    if (bytes > 1 && !strncmp(path, here, bytes) && path[bytes] == '/')
        return path + bytes + 1;
    return path;
}

char *pl_summary_typed(const char *path)
{
    const char *shorter = below_here(path);
    char *dashed = pl_say_print("%s%s", *shorter == '-' ? "./" : "", shorter);
    char *typed = pl_say_quote(dashed);
    free(dashed);
    return typed;
}

char *pl_summary_bound(uint64_t file_bytes)
{
    uint64_t bound = PL_MAX_FILE_MIN;
    while (bound < 3 * file_bytes && bound < PL_FILE_BYTES_MAX / 2)
        bound *= 2;
    return bound >= 1u << 20 ? pl_say_print("%lluM", (unsigned long long) (bound >> 20))
                             : pl_say_print("%lluK", (unsigned long long) (bound >> 10));
}

/* --- what was recorded --- */

static bool recorded(const struct pl_collected *each)
{
    return each->samples || each->exact_calls;
}

/* What happened, which need not be what was asked for: programs switch sampling on and off. "exact", "sampled every 4
 * KiB", "exact for the first 400,000 allocations, then sampled about every 96 KiB". The caller frees it. */
static char *print_method(const struct pl_collected *main)
{
    char interval[PL_FIGURE_BYTES], unrecorded[PL_FIGURE_BYTES];
    pl_figure_setting(interval, main->interval_bytes);
    pl_figure_exact(unrecorded, main->unrecorded_calls);
    if (main->off && !recorded(main))
        return pl_say_print("switched off");
    if (main->exact && main->unrecorded_calls)
        return pl_say_print("exact, but for %s made while off or paused", unrecorded);
    if (main->exact)
        return pl_say_print("exact");
    if (main->exact_calls || !main->interval_bytes)
        return pl_say_print("%.*s", (int) strcspn(main->method, ":;"), main->method);
    return pl_say_print("sampled every %s", interval);
}

/* "; peak 31.4 MiB; 2.1 MiB never freed (1,204 blocks)". The caller frees it. */
static char *print_figures(const struct pl_collected *main, const char *fate)
{
    char live[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES], peak[2 * PL_FIGURE_BYTES], samples[PL_FIGURE_BYTES];
    pl_figure_estimate(live, PL_METRIC_INUSE_SPACE, &main->inuse_space);
    pl_figure_estimate(blocks, PL_METRIC_INUSE_OBJECTS, &main->inuse_objects);
    pl_figure_estimate(peak, PL_METRIC_PEAK_SPACE, &main->peak_space);
    pl_figure_exact(samples, main->samples);
    bool peaked = main->peak_space.value > 0, sampled = main->samples > 0;
    char slack[2 * PL_FIGURE_BYTES];
    pl_figure_slack(slack, main->peak_space.value, main->peak_slack_bytes);
    return pl_say_print("%s%s%s; %s %s (%s block%s)%s%s%s", peaked ? "; peak " : "", peaked ? peak : "",
                        peaked ? slack : "", live, fate, blocks, pl_figure_plural(blocks), sampled ? ", from " : "",
                        sampled ? samples : "",
                        !sampled             ? ""
                        : main->samples == 1 ? " sample"
                                             : " samples");
}

/* `who` is "" when there is only one process to speak of; `fate` is what became of what was not freed. */
static void say_totals(const struct pl_collected *main, const char *who, const char *fate)
{
    char calls[PL_FIGURE_BYTES], bytes[PL_FIGURE_BYTES];
    char *method = print_method(main), *figures = print_figures(main, fate);
    pl_figure_exact(calls, main->calls);
    pl_figure_bytes(bytes, (double) main->bytes);
    if (!main->calls && main->end == PL_END_NONE && main->interval_bytes)
        pl_say(
            "%s%s: no allocation had been recorded yet when it ended: it did not say goodbye, and its threads had not "
            "come to their first sample",
            who, method);
    else if (!main->calls)
        pl_say("%s%s: no allocation was made", who, method);
    else if (!recorded(main))
        pl_say("%s%s: %s allocation%s, %s in all; no sample, so what was %s is not known", who, method, calls,
               pl_figure_plural(calls), bytes, fate);
    else
        pl_say("%s%s: %s allocation%s, %s in all%s", who, method, calls, pl_figure_plural(calls), bytes, figures);
    free(figures);
    free(method);
}

/* Appends "81 threads", ", 3 scopes"; frees `so_far`. */
static char *add_lost(char *so_far, uint64_t count, const char *what)
{
    char number[PL_FIGURE_BYTES];
    if (!count)
        return so_far;
    pl_figure_exact(number, count);
    char *longer = pl_say_print("%s%s%s %s%s", so_far, *so_far ? ", " : "", number, what, count == 1 ? "" : "s");
    free(so_far);
    return longer;
}

/* Figures that look whole and are not must not pass for it. */
static void say_losses(const struct pl_collected *main, const char *who)
{
    char *lost = add_lost(pl_say_print("%s", ""), main->lost_threads, "thread");
    lost = add_lost(lost, main->lost_scopes, "scope");
    lost = add_lost(lost, main->lost_records, "record");
    char *bound = pl_summary_bound(main->file_bytes);
    const char *figures = main->lost_threads ? "figures" : "figures by stack and tag";
    const char *more = main->lost_records                         ? "--max-file"
                       : main->lost_scopes && !main->lost_threads ? "--max-tags"
                                                                  : NULL;
    if (*lost && more)
        pl_say("%s%s are not complete: %s found no room; %s run %s%s%s gives more", who, figures, lost, pl_say_self(),
               more, main->lost_records ? " " : "", main->lost_records ? bound : "");
    else if (*lost)
        pl_say("%s%s are not complete: %s found no room", who, figures, lost);
    free(bound);
    free(lost);
}

static void say_too_few(const struct pl_summary *summary, const struct pl_collected *main)
{
    char interval[PL_FIGURE_BYTES];
    pl_figure_setting(interval, main->interval_bytes);
    if (main->calls && !recorded(main) && !main->off)
        pl_say("too few bytes for a sample every %s; to count every allocation: %s run %s--exact -- ...", interval,
               pl_say_self(), ways[summary->target->way].option);
}

static void say_listed(const struct pl_collection *collection)
{
    size_t listed = collection->count < LISTED_MAX ? collection->count : LISTED_MAX;
    for (size_t i = 0; i < listed; i++) {
        const struct pl_collected *each = &collection->profile[i];
        char bytes[PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES], *path = pl_summary_typed(each->path);
        pl_figure_bytes(bytes, (double) each->bytes);
        pl_figure_count(calls, (double) each->calls);
        pl_say("  %s %u: %s in %s call%s: %s", each->comm, each->pid, bytes, calls, pl_figure_plural(calls), path);
        free(path);
    }
    if (collection->count > listed)
        pl_say("  and %zu more, of processes that allocated less", collection->count - listed);
}

static void say_files(const struct pl_collection *collection)
{
    char size[PL_FIGURE_BYTES], *path = pl_summary_typed(collection->profile[0].path);
    pl_figure_bytes(size, (double) collection->profile[0].file_bytes);
    if (collection->count == 1)
        pl_say("wrote %s (%s)", path, size);
    else
        pl_say("wrote %zu profiles of %zu process%s:", collection->count, collection->processes,
               collection->processes == 1 ? "" : "es");
    free(path);
    if (collection->count > 1)
        say_listed(collection);
    if (collection->dropped)
        pl_say("and %zu short process%s with little to show; --keep-all keeps %s", collection->dropped,
               collection->dropped == 1 ? "" : "es", collection->dropped == 1 ? "it" : "them");
}

/* The main process, unless that only started the ones that did the work. */
static const struct pl_collected *most_interesting(const struct pl_collection *collection)
{
    const struct pl_collected *best = &collection->profile[0];
    for (size_t i = 1; i < collection->count; i++) {
        const struct pl_collected *each = &collection->profile[i];
        if (recorded(each) && each->end != PL_END_EXEC && (!recorded(best) || each->bytes / 10 > best->bytes))
            best = each;
    }
    return best;
}

static void say_next(const struct pl_collection *collection)
{
    char *path = pl_summary_typed(most_interesting(collection)->path);
    pl_say("next: %s report %s", pl_say_self(), path);
    pl_say("or, in a browser: %s view %s", pl_say_self(), path);
    free(path);
}

/* --- or why nothing was --- */

static void say_only(const struct pl_summary *summary)
{
    const char *called = summary->target->program.called;
    pl_say("nothing was recorded, because no process was called %s (--only); the program itself is called %.15s",
           summary->only, basename(called ? called : summary->program));
}

/* What can be seen from here, and would keep any process from making its file. */

static char *find_no_directory(const struct pl_summary *summary)
{
    char here[PATH_MAX];
    if (*summary->pattern == '/' || getcwd(here, sizeof here))
        return NULL;
    return pl_say_print("the working directory is gone, and with it the place of the profile; give --output a path "
                        "that begins with a slash");
}

static char *find_limit(const struct pl_summary *summary)
{
    struct rlimit limit;
    char bytes[PL_FIGURE_BYTES];
    (void) summary;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= PL_MAX_FILE_MIN)
        return NULL;
    pl_figure_bytes(bytes, (double) limit.rlim_cur);
    return pl_say_print("no file may have more than %s here, which is too little; see ulimit -f", bytes);
}

static char *find_full(const struct pl_summary *summary)
{
    struct statvfs space;
    char *why = NULL,
         *around = pl_say_print("%.*s", (int) (strrchr(summary->live, '/') - summary->live), summary->live);
    if (!statvfs(around, &space) && space.f_blocks && (uint64_t) space.f_bavail * space.f_frsize < PL_MAX_FILE_MIN)
        why = pl_say_print("%s is full; make room there, or name another directory with --live-dir", around);
    free(around);
    return why;
}

static char *(*const finders[])(const struct pl_summary *summary) = {find_no_directory, find_limit, find_full};

static void say_guess(const struct pl_summary *summary)
{
    char *why = NULL;
    for (size_t i = 0; i < sizeof finders / sizeof *finders && !why; i++)
        why = finders[i](summary);
    if (why) {
        pl_say("nothing was recorded, because %s", why);
    } else {
        why = pl_say_print(ways[summary->target->way].nothing, summary->program);
        pl_say("%s; see `%s help nothing`", why, pl_say_self());
    }
    free(why);
}

static void say_nothing(const struct pl_summary *summary)
{
    char *why = pl_target_why(summary->target), *advice = pl_target_advice(summary->target);
    if (pl_target_blocked(summary->target))
        pl_say("nothing was recorded, as was said at the start");
    else if (why)
        pl_say("nothing was recorded, because %s; %s", why, advice);
    else if (summary->collection->running)
        pl_say("%s itself recorded nothing; it may have cleared its environment before it started others",
               summary->program);
    else if (summary->only)
        say_only(summary);
    else if (!summary->collection->failed)
        say_guess(summary);
    free(advice);
    free(why);
}

/* A profile without a single call: the library was there and nobody called it. */
static void say_unused(const struct pl_summary *summary, const struct pl_collected *main)
{
    char *why = pl_target_why(summary->target), *advice = pl_target_advice(summary->target);
    if (main->end == PL_END_EXEC)
        pl_say("%s became another program (exec) in which nothing was recorded: %s", summary->program,
               ways[summary->target->way].became);
    else if (why && !pl_target_blocked(summary->target))
        pl_say("little was recorded, because %s; %s", why, advice);
    free(advice);
    free(why);
}

static void say_running(const struct pl_collection *collection)
{
    size_t n = collection->running;
    pl_say("%zu process%s still running: %s profile%s will follow when %s; `%s ls` shows %s", n,
           n == 1 ? " is" : "es are", n == 1 ? "its" : "their", n == 1 ? "" : "s", n == 1 ? "it ends" : "they end",
           pl_say_self(), n == 1 ? "it" : "them");
}

static void say_unwanted(const struct pl_collection *collection)
{
    if (collection->unwanted == 1)
        pl_say("%s %u left no profile, as it wished", collection->unwanted_comm, collection->unwanted_pid);
    else if (collection->unwanted > 1)
        pl_say("%zu processes left no profile, as they wished", collection->unwanted);
}

static void say_signal(const struct pl_summary *summary)
{
    if (!WIFSIGNALED(summary->wait_status))
        return;
    const char *name = sigabbrev_np(WTERMSIG(summary->wait_status));
    if (name)
        pl_say("%s was killed by SIG%s%s", summary->program, name,
               WCOREDUMP(summary->wait_status) ? " (core dumped)" : "");
    else
        pl_say("%s was killed by signal %d", summary->program, WTERMSIG(summary->wait_status));
}

void pl_summary_say(const struct pl_summary *summary)
{
    const struct pl_collection *collection = summary->collection;
    const struct pl_collected *main = collection->count ? &collection->profile[0] : NULL;
    if (!summary->quiet)
        say_signal(summary);
    if (!main && !collection->unwanted)
        say_nothing(summary);
    if (main && (main->end == PL_END_EXEC || !main->calls || summary->target->obstacle))
        say_unused(summary, main);
    if (main && !summary->quiet) {
        char *who = collection->count > 1 ? pl_say_print("%s %u: ", main->comm, main->pid) : pl_say_print("%s", "");
        say_totals(main, who, WIFSIGNALED(summary->wait_status) ? "live when it ended" : "never freed");
        say_losses(main, who);
        free(who);
        say_too_few(summary, main);
        say_files(collection);
        say_next(collection);
    }
    if (!summary->quiet)
        say_unwanted(collection);
    if (collection->running && !summary->quiet)
        say_running(collection);
}
