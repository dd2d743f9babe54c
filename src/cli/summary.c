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
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "say.h"
#include "settings.h"

#define LISTED_MAX 5

/* --- how to type it --- */

static const char *below_here(const char *path)
{
    char here[PATH_MAX];
    size_t bytes = getcwd(here, sizeof here) ? strlen(here) : 0;
    if (bytes > 1 && !strncmp(path, here, bytes) && path[bytes] == '/')
        return path + bytes + 1;
    return path;
}

static char *quote(const char *text)
{
    static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:,@%";
    if (text[strspn(text, harmless)] == 0)
        return pl_say_print("%s", text);
    char *quoted = pl_say_memory(malloc(4 * strlen(text) + 3)), *to = quoted;
    *to++ = '\'';
    for (; *text; text++)
        to = *text == '\'' ? stpcpy(to, "'\\''") : (*to = *text, to + 1);
    strcpy(to, "'");
    return quoted;
}

char *pl_summary_typed(const char *path)
{
    const char *shorter = below_here(path);
    char *dashed = pl_say_print("%s%s", *shorter == '-' ? "./" : "", shorter);
    char *typed = quote(dashed);
    free(dashed);
    return typed;
}

/* --- what was recorded --- */

/* `who` is "" when there is only one process to speak of; `fate` is what became of what was not freed. */
static void say_totals(const struct pl_collected *main, const char *who, const char *fate)
{
    char calls[PL_FIGURE_BYTES], bytes[PL_FIGURE_BYTES], interval[PL_FIGURE_BYTES], samples[PL_FIGURE_BYTES];
    char live[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
    pl_figure_exact(calls, main->calls);
    pl_figure_bytes(bytes, (double) main->bytes);
    pl_figure_setting(interval, main->interval_bytes);
    pl_figure_exact(samples, main->samples);
    pl_figure_estimate(live, PL_METRIC_INUSE_SPACE, &main->inuse_space);
    pl_figure_estimate(blocks, PL_METRIC_INUSE_OBJECTS, &main->inuse_objects);
    if (!main->calls)
        pl_say("%ssampled every %s: no allocation was made", who, interval);
    else if (!main->samples && main->interval_bytes > 1)
        pl_say("%ssampled every %s: %s allocations, %s in all; no sample, so what was %s is not known", who, interval,
               calls, bytes, fate);
    else if (main->interval_bytes <= 1)
        pl_say("%scounted all %s allocations, %s in all; %s %s (%s blocks)", who, calls, bytes, live, fate, blocks);
    else
        pl_say("%ssampled every %s: %s allocations, %s in all; %s %s (%s blocks), from %s sample%s", who, interval,
               calls, bytes, live, fate, blocks, samples, main->samples == 1 ? "" : "s");
}

static void say_too_few(const struct pl_collected *main)
{
    char interval[PL_FIGURE_BYTES], finer[PL_FIGURE_BYTES];
    if (main->samples || main->off || !main->calls ||
        !pl_figure_finer(finer, (double) main->bytes, main->interval_bytes))
        return;
    pl_figure_setting(interval, main->interval_bytes);
    pl_say("too few bytes for a sample every %s; for more: plimsoll run --sample %s -- ...", interval, finer);
}

static void say_listed(const struct pl_collection *collection)
{
    size_t listed = collection->count < LISTED_MAX ? collection->count : LISTED_MAX;
    for (size_t i = 0; i < listed; i++) {
        const struct pl_collected *each = &collection->profile[i];
        char bytes[PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES], *path = pl_summary_typed(each->path);
        pl_figure_bytes(bytes, (double) each->bytes);
        pl_figure_count(calls, (double) each->calls);
        pl_say("  %s %u: %s in %s calls: %s", each->comm, each->pid, bytes, calls, path);
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
        pl_say("and %zu short process%s without samples; --keep-all keeps %s", collection->dropped,
               collection->dropped == 1 ? "" : "es", collection->dropped == 1 ? "it" : "them");
}

/* The main process, unless that only started the ones that did the work. */
static const struct pl_collected *most_interesting(const struct pl_collection *collection)
{
    const struct pl_collected *best = &collection->profile[0];
    for (size_t i = 1; i < collection->count; i++) {
        const struct pl_collected *each = &collection->profile[i];
        if (each->samples && each->end != PL_END_EXEC && (!best->samples || each->bytes / 10 > best->bytes))
            best = each;
    }
    return best;
}

static void say_next(const struct pl_collection *collection)
{
    char *path = pl_summary_typed(most_interesting(collection)->path);
    pl_say("next: plimsoll report %s", path);
    free(path);
}

/* --- or why nothing was --- */

static void say_only(const struct pl_summary *summary)
{
    const char *name = strrchr(summary->program, '/');
    pl_say("nothing was recorded, because no process was called %s (--only); the program itself is called %.15s",
           summary->only, name ? name + 1 : summary->program);
}

static void say_nothing(const struct pl_summary *summary)
{
    char *why = pl_target_why(summary->target);
    if (why)
        pl_say("nothing was recorded, because %s; %s", why, pl_target_advice(summary->target));
    else if (summary->collection->running)
        pl_say("%s itself recorded nothing; it may have cleared its environment before it started others",
               summary->program);
    else if (summary->only)
        say_only(summary);
    else if (!summary->collection->failed)
        pl_say(
            "nothing was recorded, because libplimsoll.so was not loaded into %s or could not make a file there: it "
            "starts others with a cleared environment, enters a container, or has no memory left; see `plimsoll help "
            "nothing`",
            summary->program);
    free(why);
}

/* A profile without a single call: the library was there and nobody called it. */
static void say_unused(const struct pl_summary *summary, const struct pl_collected *main)
{
    char *why = pl_target_why(summary->target);
    if (main->end == PL_END_EXEC)
        pl_say("%s became another program (exec) in which nothing was recorded: that one is static or setuid, or its "
               "environment was cleared",
               summary->program);
    else if (why)
        pl_say("little was recorded, because %s; %s", why, pl_target_advice(summary->target));
    free(why);
}

static void say_running(const struct pl_collection *collection)
{
    size_t n = collection->running;
    pl_say("%zu process%s still running: %s profile%s will follow when %s; `plimsoll ls` shows %s", n,
           n == 1 ? " is" : "es are", n == 1 ? "its" : "their", n == 1 ? "" : "s", n == 1 ? "it ends" : "they end",
           n == 1 ? "it" : "them");
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
    if (!main)
        say_nothing(summary);
    if (main && (main->end == PL_END_EXEC || !main->calls || summary->target->obstacle))
        say_unused(summary, main);
    if (main && !summary->quiet) {
        char *who = collection->count > 1 ? pl_say_print("%s %u: ", main->comm, main->pid) : pl_say_print("%s", "");
        say_totals(main, who, WIFSIGNALED(summary->wait_status) ? "live when it ended" : "never freed");
        free(who);
        say_too_few(main);
        say_files(collection);
        say_next(collection);
    }
    if (collection->running && !summary->quiet)
        say_running(collection);
}
