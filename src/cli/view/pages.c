/* SPDX-License-Identifier: MIT */
/*
 * pages.c - makes page data from one profile, or from the difference of two.
 */
#include "cli/view/pages.h"

#include <stdlib.h>

#include "analysis/instant.h"
#include "analysis/diff/diff.h"
#include "analysis/metric.h"
#include "analysis/traits.h"
#include "page/data/page_data.h"
#include "reader/join/join.h"

static enum pl_exit check(const struct pl_pages_options *options, int argc, char **argv)
{
    if (argc > 2)
        return pl_say_usage("%s takes one FILE or PID, or two to compare; got %d", options->command, argc);
    if (argc == 2 && pl_select_in_time(&options->select))
        return pl_say_usage("--since and --until need a single profile; drop %s", argv[1]);
    if (argc == 2 && options->select.snapshot)
        return pl_say_usage("--snapshot needs a single profile; drop %s, or give the snapshot's file", argv[1]);
    return argc == 2 ? PL_EXIT_OK : pl_subject_check(options->command, argc, argv);
}

enum pl_exit pl_pages_begin(struct pl_pages_options *options, int argc, char **argv)
{
    uint32_t asked_for;
    enum pl_exit status = check(options, argc, argv);
    if (status != PL_EXIT_OK)
        return status;
    options->suppressions = pl_leaks_suppressions(&options->leaks, &asked_for);
    return options->suppressions ? PL_EXIT_OK : PL_EXIT_FAILURE;
}

void pl_pages_end(struct pl_pages_options *options)
{
    pl_suppressions_free(options->suppressions);
}

/* --- sides --- */

/* The page contains the whole run. It starts with the time range that --since and --until give. */
static enum pl_exit find_times(const struct pl_select *select, const struct pl_profile *profile, struct pl_side *side)
{
    int first = PL_INSTANT_START, last = PL_INSTANT_END;
    enum pl_exit status = pl_select_in_time(select) ? pl_select_moments(select, profile, &first, &last) : PL_EXIT_OK;
    if (status != PL_EXIT_OK)
        return status;
    side->since_s = first == PL_INSTANT_START ? 0 : pl_instant_seconds(profile, first);
    side->until_s = last == PL_INSTANT_END ? 0 : pl_instant_seconds(profile, last);
    return status;
}

static enum pl_exit take_side(const struct pl_pages_options *options, struct pl_profile *profile, const char *typed,
                              struct pl_side *out)
{
    struct pl_side side = {0};
    struct pl_select always = options->select;
    always.since = always.until = PL_SELECT_NO_TIME;
    enum pl_exit status = find_times(&options->select, profile, &side);
    if (status != PL_EXIT_OK) {
        pl_profile_close(profile);
        return status;
    }
    status = pl_select_take(&always, profile, typed, &side.selection);
    if (status == PL_EXIT_OK)
        *out = side;
    return status;
}

struct pl_subject_options pl_pages_reading(const struct pl_pages_options *options)
{
    return (struct pl_subject_options){.command = options->command,
                                       .force = options->force,
                                       .sysroot = options->sysroot,
                                       .languages = pl_subject_languages(options->python, options->native),
                                       .names = {.file = options->names}};
}

static enum pl_exit open_side(const struct pl_pages_options *options, const char *typed, struct pl_side *out)
{
    struct pl_subject_options how = pl_pages_reading(options);
    struct pl_profile *profile;
    char *path = pl_subject_snapshot(typed, options->select.snapshot);
    if (!path)
        return PL_EXIT_USAGE;
    enum pl_exit status = pl_subject_open(&how, 1, &path, &profile);
    if (status == PL_EXIT_OK)
        status = take_side(options, profile, path, out);
    free(path);
    return status;
}

/* --- one profile or two --- */

static void complete(struct pl_pages *pages)
{
    pages->title = pl_traits_command(pages->side[pages->sides - 1].selection.whole);
    if (pages->sides == 2) {
        const struct pl_profile *part[] = {pages->side[0].selection.profile, pages->side[1].selection.profile};
        pages->joined = pl_join(part, 2, PL_JOIN_DIFFERENCE);
    }
}

/* The selection may be empty on one side, but not on both. */
enum pl_exit pl_pages_open(struct pl_pages_options *options, int argc, char **argv, struct pl_pages *out)
{
    struct pl_pages pages = {.options = options};
    enum pl_exit status = PL_EXIT_OK;
    for (int i = 0; i < argc && status == PL_EXIT_OK; i++) {
        options->select.may_be_empty = argc == 2 && (i == 0 || pages.side[0].selection.profile->sites > 0);
        status = open_side(options, argv[i], &pages.side[i]);
        pages.sides += status == PL_EXIT_OK;
    }
    if (status != PL_EXIT_OK) {
        pl_pages_close(&pages);
        return status;
    }
    complete(&pages);
    *out = pages;
    return status;
}

enum pl_exit pl_pages_take(const struct pl_pages_options *options, struct pl_profile *profile, const char *typed,
                           struct pl_pages *out)
{
    struct pl_pages pages = {.options = options, .sides = 1};
    enum pl_exit status = take_side(options, profile, typed, &pages.side[0]);
    if (status != PL_EXIT_OK)
        return status;
    complete(&pages);
    *out = pages;
    return status;
}

void pl_pages_close(struct pl_pages *pages)
{
    for (int i = 0; i < pages->sides; i++)
        pl_select_free(&pages->side[i].selection);
    pl_profile_close(pages->joined);
    free(pages->title);
}

/* --- page data --- */

static struct pl_page_about describe(const struct pl_pages *pages, const struct pl_profile *profile)
{
    const struct pl_side *last = &pages->side[pages->sides - 1];
    bool live = profile->difference || pl_metric_live_matters(profile), two = pages->sides == 2;
    enum pl_metric first = two ? pl_diff_leading(pages->side[0].selection.profile, pages->side[1].selection.profile)
                               : pl_metric_first(profile, live);
    struct pl_page_about about = {
        .selection = last->selection.words,
        .metric = pl_select_metric(&pages->options->select, first),
        .subject = last->selection.subject,
        .title = pages->title,
        .title_live = pl_metric_title(last->selection.profile, PL_METRIC_INUSE_SPACE),
        .live = pages->live,
        .since_s = last->since_s,
        .until_s = last->until_s,
        .no_sources = pages->options->no_source,
        .suppressions = pages->options->suppressions,
    };
    if (two) {
        about.before = pages->side[0].selection.profile;
        about.before_subject = pages->side[0].selection.subject;
        about.after = pages->side[1].selection.profile;
    }
    return about;
}

void pl_pages_write(void *context, FILE *out)
{
    const struct pl_pages *pages = context;
    const struct pl_side *last = &pages->side[pages->sides - 1];
    const struct pl_profile *profile = pages->joined ? pages->joined : last->selection.profile;
    struct pl_page_about about = describe(pages, profile);
    pl_page_data_write(profile, &about, out);
}
