/* SPDX-License-Identifier: MIT */
/*
 * summary.c - the messages at the end of `plimsoll run`.
 *
 * They always say what to type next, and "nothing was recorded" always comes with a reason.
 */
#include "cli/run/summary.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/figure.h"
#include "cli/leaks/lost.h"
#include "cli/run/intake.h"
#include "cli/say.h"
#include "format/settings.h"

#define LISTED_MAX 5

/* Texts that depend on how the profiler was to get into the program. */
static const struct {
    const char *option;
    const char *nothing; /* a format; its argument is the program */
    const char *became;
} ways[PL_WAY_COUNT] = {
    [PL_WAY_PRELOAD] =
        {"",
         "nothing was recorded, because libplimsoll.so was not loaded into %s or could not create a file; possible "
         "causes: a cleared environment, a change of user, a container, no memory left",
         "the new program is static or setuid, its environment was cleared, or it has AddressSanitizer and refused to "
         "start (ASAN_OPTIONS=verify_asan_link_order=0 in the environment lets it start)"},
    [PL_WAY_LOADER] =
        {"--glibc ",
         "nothing was recorded, because %s did not start with the glibc with the profiler inside, or that glibc could "
         "not create a file; possible causes: a missing library, a change of user, no memory left",
         "the system's loader runs the new program (or, if that was /proc/self/exe, the loader itself was started "
         "again); use --glibc-tree, or run the new program directly"},
    [PL_WAY_TREE] =
        {"--glibc-tree ",
         "nothing was recorded, because no program that %s started used the glibc with the profiler inside, or that "
         "glibc could not create a file; possible causes: a cleared environment, a change of user, a container, no "
         "memory left",
         "the new program is static or setuid, or its environment was cleared"},
};

/* --- paths and limits as the user would type them --- */

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

/* --- what was recorded --- */

static bool recorded(const struct pl_collected *each)
{
    return each->samples || each->exact_calls;
}

static bool is_bypassed(const struct pl_collected *each)
{
    bool any = false;
    for (int how = 0; how < PL_BYPASS_COUNT; how++)
        any |= each->bypass[how][0];
    return any;
}

/* How the process was really recorded. That may differ from the options: programs switch sampling on and off. "exact",
 * "sampled every 4 KiB", "exact for the first 400,000 allocations, then sampled about every 96 KiB". The caller frees
 * it. */
static char *print_method(const struct pl_collected *main)
{
    char interval[PL_FIGURE_BYTES], unrecorded[PL_FIGURE_BYTES];
    pl_figure_setting(interval, main->interval_bytes);
    pl_figure_exact(unrecorded, main->unrecorded_calls);
    if (main->off && !recorded(main))
        return pl_say_print("switched off");
    if (main->exact && *main->room_cause)
        return pl_say_print("only totals are exact");
    if (main->exact && main->unrecorded_calls)
        return pl_say_print("exact, except for %s made while switched off or paused", unrecorded);
    if (main->exact && is_bypassed(main))
        return pl_say_print("exact for the allocations that Plimsoll saw");
    if (main->exact && *main->flaws)
        return pl_say_print("exact, but for %s", main->flaws);
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
    const char *least = main->unfollowed ? "at least " : "";
    char slack[2 * PL_FIGURE_BYTES];
    pl_figure_slack(slack, main->peak_space.value, main->peak_slack_bytes, (double) main->bytes);
    return pl_say_print("%s%s%s%s; %s%s %s (%s block%s)%s%s%s", peaked ? "; peak " : "", peaked ? least : "",
                        peaked ? peak : "", peaked ? slack : "", least, live, fate, blocks, pl_figure_plural(blocks),
                        sampled ? ", from " : "", sampled ? samples : "",
                        !sampled             ? ""
                        : main->samples == 1 ? " sample"
                                             : " samples");
}

/* `who` is "" if there is only one process; `fate` is "never freed" or "live when it ended". */
static void say_totals(const struct pl_collected *main, const char *who, const char *fate)
{
    char calls[PL_FIGURE_BYTES], bytes[PL_FIGURE_BYTES];
    char *method = print_method(main), *figures = print_figures(main, fate);
    const char *least = main->behind ? "at least " : "", *since = main->reset ? " since the reset" : "";
    pl_figure_exact(calls, main->calls);
    pl_figure_bytes(bytes, (double) main->bytes);
    if (!main->calls && main->end == PL_END_NONE && main->interval_bytes)
        pl_say(
            "%s%s: no allocation was recorded before it ended: it ended abruptly, and no thread had reached its first "
            "sample",
            who, method);
    else if (!main->calls && is_bypassed(main))
        pl_say("%sno allocation was seen", who);
    else if (!main->calls)
        pl_say("%s%s: no allocation was made%s", who, method, since);
    else if (!recorded(main) && main->exact)
        pl_say("%s%s: %s allocation%s%s, %s in all; it ended before the first was recorded", who, method, calls,
               pl_figure_plural(calls), since, bytes);
    else if (!recorded(main))
        pl_say("%s%s: %s%s allocation%s%s, %s in all; no sample was taken, so it is unknown what was %s", who, method,
               least, calls, pl_figure_plural(calls), since, bytes, fate);
    else
        pl_say("%s%s: %s%s allocation%s%s, %s in all%s", who, method, least, calls, pl_figure_plural(calls), since,
               bytes, figures);
    free(figures);
    free(method);
}

/* Another process may be the one that matters: a browser behind its script. The first one of which nothing was seen. */
static const struct pl_collected *find_unseen(const struct pl_collection *collection)
{
    for (size_t i = 1; i < collection->count; i++)
        if (collection->profile[i].bypass[PL_BYPASS_MALLOC][0] && !recorded(&collection->profile[i]))
            return &collection->profile[i];
    return NULL;
}

/* say_unused() has said that the program has an allocator linked in. */
static bool is_told(const struct pl_target *target, enum pl_bypass how)
{
    return how == PL_BYPASS_LINKED &&
           (target->obstacle == PL_OBSTACLE_PREFIXED || target->obstacle == PL_OBSTACLE_HIDDEN_MALLOC);
}

static void say_bypasses(const struct pl_summary *summary, const char *who)
{
    const struct pl_collection *collection = summary->collection;
    const struct pl_collected *main = &collection->profile[0], *unseen = find_unseen(collection);
    for (int how = 0; how < PL_BYPASS_COUNT; how++)
        if (main->bypass[how][0] && !is_told(summary->target, how))
            pl_say("%s%s", who, main->bypass[how]);
    if (unseen)
        pl_say("%s %u: %s", unseen->comm, unseen->pid, unseen->bypass[PL_BYPASS_MALLOC]);
    if (main->bypass[PL_BYPASS_MALLOC][0] || unseen)
        pl_say("to see them, link the allocator as a shared library or preload it, behind libplimsoll.so: see `%s help "
               "nothing`",
               pl_say_self());
}

/* Figures that are exact are of no use if most of the memory is elsewhere. */
static void say_elsewhere(const struct pl_collected *main, const char *who)
{
    if (main->elsewhere[0])
        pl_say("%s%s", who, main->elsewhere);
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

/* Warns if records were lost: nobody must mistake incomplete figures for complete ones. */
static void say_losses(const struct pl_collected *main, const char *who)
{
    char *lost = add_lost(pl_say_print("%s", ""), main->lost_threads, "thread");
    lost = add_lost(lost, main->lost_scopes, "scope");
    lost = add_lost(lost, main->lost_records, "record");
    const char *figures = main->lost_threads ? "figures" : "figures by stack and tag";
    if (*main->room_cause)
        pl_say("%s%s: %s are incomplete, no room for %s; %s", who, main->room_cause, figures, lost, main->room_remedy);
    else if (*lost && main->lost_scopes && !main->lost_threads)
        pl_say("%s%s are incomplete: no room for %s; %s run --max-tags allows more", who, figures, lost, pl_say_self());
    else if (*lost)
        pl_say("%s%s are incomplete: no room for %s", who, figures, lost);
    free(lost);
}

/* --- what is lost --- */

static void say_lost_of(const struct pl_collected *each, const char *who)
{
    char *path = pl_summary_typed(each->path), *amount = pl_lost_amount(&each->lost_space, &each->lost_objects);
    pl_say("%slost: %s that nothing leads to any more; they are listed by: %s leaks %s", who, amount, pl_say_self(),
           path);
    free(amount);
    free(path);
}

static void say_lost(const struct pl_summary *summary, const struct pl_collected *main, const char *who)
{
    const struct pl_collection *collection = summary->collection;
    if (!summary->leaks)
        return;
    if (!main->looked)
        pl_say("%sit is not known what is lost, because %s", who,
               *main->unlooked                     ? main->unlooked
               : main->end == PL_END_EXEC          ? "it executed another program"
               : WIFSIGNALED(summary->wait_status) ? "a signal ended it at once"
                                                   : "it did not end by way of exit");
    else if (main->lost_objects.value > 0)
        say_lost_of(main, who);
    else
        pl_say("%slost: nothing; something points to every block that was not freed%s", who,
               main->looked_partly || !main->exact ? ", as far as blocks are recorded" : "");
    for (size_t i = 1, said = 0; i < collection->count && said < LISTED_MAX; i++) {
        const struct pl_collected *each = &collection->profile[i];
        char *name = pl_say_print("%s %u: ", each->comm, each->pid);
        if (each->lost_objects.value > 0)
            say_lost_of(each, name);
        said += each->lost_objects.value > 0;
        free(name);
    }
}

static void say_too_few(const struct pl_summary *summary, const struct pl_collected *main)
{
    char interval[PL_FIGURE_BYTES];
    pl_figure_setting(interval, main->interval_bytes);
    if (main->calls && !recorded(main) && !main->off && !main->exact)
        pl_say("the program allocated too little for a sample every %s; to count every allocation: %s run %s--exact -- "
               "...",
               interval, pl_say_self(), ways[summary->target->way].option);
}

static void say_memory(const struct pl_summary *summary)
{
    const struct pl_collection *collection = summary->collection;
    if (!summary->memory)
        return;
    for (size_t i = 0, said = 0; i < collection->count && said < LISTED_MAX; i++) {
        const struct pl_collected *each = &collection->profile[i];
        char *path = pl_summary_typed(each->path);
        if (each->footprints)
            pl_say("what RSS consisted of was read %u time%s: %s report --memory %s", each->footprints,
                   each->footprints == 1 ? "" : "s", pl_say_self(), path);
        said += each->footprints > 0;
        free(path);
    }
}

/* --- a tree of processes --- */

static int heaviest_first(const void *left, const void *right)
{
    const struct pl_collected *a = *(const struct pl_collected *const *) left;
    const struct pl_collected *b = *(const struct pl_collected *const *) right;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* The profiles by bytes allocated: the shell that came first is rarely what the user wants to see. The caller frees it.
 */
static const struct pl_collected **sort_profiles(const struct pl_collection *collection)
{
    const struct pl_collected **sorted = pl_say_memory(calloc(collection->count, sizeof(struct pl_collected *)));
    for (size_t i = 0; i < collection->count; i++)
        sorted[i] = &collection->profile[i];
    qsort(sorted, collection->count, sizeof *sorted, heaviest_first);
    return sorted;
}

static size_t count_programs(const struct pl_collection *collection)
{
    size_t programs = 0;
    for (size_t i = 0; i < collection->count; i++) {
        bool known = false;
        for (size_t k = 0; k < i; k++)
            known |= !strcmp(collection->profile[i].executable, collection->profile[k].executable);
        programs += !known;
    }
    return programs;
}

/* How the figures of all processes were obtained. What one of them lacks, the sum lacks. */
static const char *tree_method(const struct pl_collection *collection)
{
    bool exact = !collection->failed, sampled = false;
    for (size_t i = 0; i < collection->count; i++) {
        const struct pl_collected *each = &collection->profile[i];
        exact &= each->exact && !*each->flaws && !*each->room_cause && !each->unrecorded_calls && !is_bypassed(each);
        sampled |= each->samples > 0;
    }
    return exact ? "exact: " : sampled ? "partly sampled: " : "";
}

/* "399 processes of 12 programs: exact: 41,203,118 allocations, 5.1 GiB in all". */
static void say_tree(const struct pl_collection *collection)
{
    uint64_t all_calls = 0, all_bytes = 0;
    char calls[PL_FIGURE_BYTES], bytes[PL_FIGURE_BYTES];
    size_t programs = count_programs(collection);
    bool behind = collection->failed;
    for (size_t i = 0; i < collection->count; i++) {
        behind |= collection->profile[i].behind;
        all_calls += collection->profile[i].calls;
        all_bytes += collection->profile[i].bytes;
    }
    pl_figure_exact(calls, all_calls);
    pl_figure_bytes(bytes, (double) all_bytes);
    pl_say("%zu process%s, %zu program%s: %s%s%s allocation%s, %s in all", collection->processes,
           collection->processes == 1 ? "" : "es", programs, programs == 1 ? "" : "s", tree_method(collection),
           behind ? "at least " : "", calls, pl_figure_plural(calls), bytes);
}

/* "cc1plus, 92 processes" or "ls 4712". The caller frees it. */
static char *print_who(const struct pl_collected *each)
{
    if (each->pid && *each->title)
        return pl_say_print("%s %u (%s)", each->comm, each->pid, each->title);
    if (each->pid)
        return pl_say_print("%s %u", each->comm, each->pid);
    if (!each->processes)
        return pl_say_print("%s before exec", each->comm);
    return pl_say_print("%s, %zu process%s", each->comm, each->processes, each->processes == 1 ? "" : "es");
}

static void say_one(const struct pl_collected *each)
{
    char bytes[PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES], peak[2 * PL_FIGURE_BYTES];
    char *path = pl_summary_typed(each->path), *who = print_who(each);
    pl_figure_bytes(bytes, (double) each->bytes);
    pl_figure_count(calls, (double) each->calls);
    bool sum = each->peak_largest > 0, peaked = sum || each->peak_space.value > 0;
    if (sum)
        pl_figure_bytes(peak, each->peak_largest);
    else
        pl_figure_estimate(peak, PL_METRIC_PEAK_SPACE, &each->peak_space);
    if (!each->calls && each->bypass[PL_BYPASS_MALLOC][0])
        pl_say("  %s: allocations not seen: %s", who, path);
    else
        pl_say("  %s: %s in %s call%s%s%s: %s", who, bytes, calls, pl_figure_plural(calls),
               !peaked ? "" : sum ? "; largest peak " : "; peak ", peaked ? peak : "", path);
    free(who);
    free(path);
}

static void say_listed(const struct pl_collection *collection)
{
    const struct pl_collected **sorted = sort_profiles(collection);
    size_t listed = collection->count < LISTED_MAX ? collection->count : LISTED_MAX;
    for (size_t i = 0; i < listed; i++)
        say_one(sorted[i]);
    if (collection->count > listed)
        pl_say("  and %zu more from %s that allocated less", collection->count - listed,
               collection->tree ? "programs" : "processes");
    free(sorted);
}

static void say_written(const struct pl_collection *collection)
{
    const char *first = collection->count ? collection->profile[0].path : "";
    char size[PL_FIGURE_BYTES], *path = pl_summary_typed(first);
    pl_figure_bytes(size, (double) collection->profile[0].file_bytes);
    if (collection->count == 1 && !collection->tree)
        pl_say("wrote %s (%s)", path, size);
    else if (collection->tree) {
        char *tree = pl_summary_typed(collection->tree);
        pl_say("wrote %s, and one profile for each program to %s; --keep-all keeps one for each process", path, tree);
        free(tree);
    } else {
        pl_say("wrote %zu profiles of %zu process%s:", collection->count, collection->processes,
               collection->processes == 1 ? "" : "es");
    }
    free(path);
}

static void say_files(const struct pl_collection *collection)
{
    if (!collection->tree)
        say_written(collection);
    if (collection->count > 1 || collection->tree)
        say_listed(collection);
    if (collection->tree)
        say_written(collection);
    if (collection->dropped)
        pl_say("discarded the profiles of %zu short process%s with little to show; --keep-all keeps %s",
               collection->dropped, collection->dropped == 1 ? "" : "es", collection->dropped == 1 ? "it" : "them");
}

/* The main process, or a process that allocated ten times as much. */
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

/* A few profiles have the names that the user gave, so they are not in a directory of their own. */
static void say_merge(const struct pl_collection *collection)
{
    char *names = pl_say_print("%s", "");
    for (size_t i = 0; i < collection->count; i++) {
        char *path = pl_summary_typed(collection->profile[i].path), *longer = pl_say_print("%s %s", names, path);
        free(path);
        free(names);
        names = longer;
    }
    pl_say("or, all as one: %s merge -o tree" PL_SUFFIX "%s", pl_say_self(), names);
    free(names);
}

static void say_next(const struct pl_collection *collection)
{
    char *path = pl_summary_typed(collection->tree ? collection->tree : most_interesting(collection)->path);
    pl_say("next%s: %s report %s", collection->tree ? ", all as one" : "", pl_say_self(), path);
    pl_say("or, in a browser: %s view %s", pl_say_self(), path);
    if (!collection->tree && collection->count > 1 && collection->count <= PL_INTAKE_FEW + 1)
        say_merge(collection);
    free(path);
}

/* --- why nothing was recorded --- */

static void say_only(const struct pl_summary *summary)
{
    const char *called = summary->target->program.called;
    pl_say("nothing was recorded, because no process was called %s (--only); the program itself is called %.15s",
           summary->only, basename(called ? called : summary->program));
}

/* Reasons that `run` can check itself, and that would keep every process from creating its file. */

static char *find_no_directory(const struct pl_summary *summary)
{
    char here[PATH_MAX];
    if (*summary->pattern == '/' || getcwd(here, sizeof here))
        return NULL;
    return pl_say_print("the working directory no longer exists, so there is no place for the profile; give --output "
                        "an absolute path");
}

static char *find_limit(const struct pl_summary *summary)
{
    struct rlimit limit;
    char bytes[PL_FIGURE_BYTES];
    (void) summary;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= PL_MAX_FILE_MIN)
        return NULL;
    pl_figure_bytes(bytes, (double) limit.rlim_cur);
    return pl_say_print("the file size limit here is %s, which is too small; see ulimit -f", bytes);
}

static char *find_full(const struct pl_summary *summary)
{
    struct statvfs space;
    char *why = NULL,
         *around = pl_say_print("%.*s", (int) (strrchr(summary->live, '/') - summary->live), summary->live);
    if (!statvfs(around, &space) && space.f_blocks && (uint64_t) space.f_bavail * space.f_frsize < PL_MAX_FILE_MIN)
        why = pl_say_print("%s is full; free space there, or give another directory with --live-dir", around);
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
        pl_say("nothing was recorded; see the message at the start");
    else if (why)
        pl_say("nothing was recorded, because %s; %s", why, advice);
    else if (summary->collection->running)
        pl_say("%s itself recorded nothing; it may have cleared its environment before it started other processes",
               summary->program);
    else if (summary->only)
        say_only(summary);
    else if (!summary->collection->failed)
        say_guess(summary);
    free(advice);
    free(why);
}

/* There is a profile, but the program called exec, allocated nothing, or met an obstacle to recording. */
static void say_unused(const struct pl_summary *summary, const struct pl_collected *main)
{
    char *why = pl_target_why(summary->target), *advice = pl_target_advice(summary->target);
    if (main->end == PL_END_EXEC)
        pl_say("%s became another program (exec) in which nothing was recorded: %s", summary->program,
               ways[summary->target->way].became);
    else if (why &&
             summary->target->obstacle == PL_OBSTACLE_PREFIXED) /* perhaps there are none: CPython has mimalloc */
        pl_say("%s; %s", why, advice);
    else if (why && !pl_target_blocked(summary->target) &&
             summary->target->obstacle != PL_OBSTACLE_OWN_MALLOC) /* say_bypasses() does */
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
        pl_say("%s %u left no profile, as it requested", collection->unwanted_comm, collection->unwanted_pid);
    else if (collection->unwanted > 1)
        pl_say("%zu processes left no profile, as they requested", collection->unwanted);
}

static void say_signal(const struct pl_summary *summary)
{
    if (!WIFSIGNALED(summary->wait_status))
        return;
    const char *name = sigabbrev_np(WTERMSIG(summary->wait_status));
    if (summary->out_of_memory)
        pl_say("%s was killed, %s", summary->program, summary->out_of_memory);
    else if (name)
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
        bool tree = collection->count > 1;
        char *name = print_who(main), *who = tree ? pl_say_print("%s: ", name) : pl_say_print("%s", "");
        if (tree) {
            say_tree(collection);
            say_files(collection);
        }
        say_totals(main, who,
                   main->end == PL_END_DETACHED        ? "live at the end"
                   : WIFSIGNALED(summary->wait_status) ? "live when it ended"
                                                       : "never freed");
        say_bypasses(summary, who);
        say_elsewhere(main, who);
        say_losses(main, who);
        say_lost(summary, main, who);
        say_memory(summary);
        free(who);
        free(name);
        say_too_few(summary, main);
        if (!tree)
            say_files(collection);
        say_next(collection);
    }
    if (!summary->quiet)
        say_unwanted(collection);
    if (collection->running && !summary->quiet)
        say_running(collection);
}
