/* SPDX-License-Identifier: MIT */
/*
 * advise.c - `report --advice`:
 *
 *    1. rows_grow (src/table.c:41) reallocates 14 times to 8.0 MiB and copies 8.0 MiB
 *       Evidence: ...
 *       What to do: reserve the final size
 *       Gain: about 8.0 MiB
 *       ← table_read  src/table.c:90 ← main  src/main.c:31
 *
 * analysis/advice.h finds the advice; this file prints it.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/advice/advice.h"
#include "analysis/figure.h"
#include "cli/report/memory.h"
#include "cli/report/print.h"
#include "cli/report/resident.h"
#include "cli/subject.h"

#define INDENT 4

static void put_part(const struct pl_view *view, const char *title, const char *text)
{
    pl_term_pad(view->term, INDENT);
    pl_term_put(view->term, PL_STYLE_DIM, title);
    pl_term_words(view->term, PL_STYLE_PLAIN, text, INDENT);
    pl_term_end(view->term);
}

static void put_gain(const struct pl_view *view, const struct pl_advice *advice)
{
    char bytes[PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES];
    bool space = advice->gain_bytes >= 1, count = advice->gain_calls >= 1;
    pl_figure_bytes(bytes, advice->gain_bytes);
    pl_figure_count(calls, round(advice->gain_calls));
    if (!space && !count)
        return;
    char *text = pl_say_print(" about %s%s%s%s%s", space ? bytes : "", space && count ? " and " : "",
                              count ? calls : "", count ? " call" : "", count ? pl_figure_plural(calls) : "");
    put_part(view, "Gain:", text);
    free(text);
}

static void put_advice(const struct pl_view *view, const struct pl_paths *sites, const struct pl_advice *advice,
                       unsigned number)
{
    const struct pl_path *path = advice->path == PL_ADVICE_NO_PATH ? NULL : &sites->path[advice->path];
    const struct pl_location *locations = view->locations->location;
    char *evidence = pl_say_print(" %s", advice->evidence), *action = pl_say_print(" %s", advice->action);
    char *headline = pl_say_print("%s%s", path ? " " : "", advice->headline);
    pl_term_end(view->term);
    pl_term_print(view->term, PL_STYLE_PLAIN, "%2u. ", number);
    if (path)
        pl_print_function(view, &locations[path->location[0]],
                          path->via == PL_PATH_NO_LOCATION ? NULL : &locations[path->via]);
    pl_term_words(view->term, PL_STYLE_PLAIN, headline, INDENT);
    pl_term_print(view->term, PL_STYLE_DIM, "  [%s]", pl_advice_info[advice->kind].word);
    pl_term_end(view->term);
    put_part(view, "Evidence:", evidence);
    put_part(view, "What to do:", action);
    put_gain(view, advice);
    if (path && path->count > 1) {
        pl_term_pad(view->term, INDENT);
        pl_print_callers(view, path, INDENT);
        pl_term_end(view->term);
    }
    if (path)
        pl_print_below(view, sites, advice->path, INDENT);
    free(headline);
    free(action);
    free(evidence);
}

static void put_none(const struct pl_view *view)
{
    if (view->profile->difference)
        pl_print_paragraph(view, "There is no advice for a part of the run; drop --since and --until.");
    else
        pl_print_nothing(view, "No advice: these figures show nothing worth changing.");
}

/* All kinds from `first` on. */
static void put_all(const struct pl_view *view, const struct pl_paths *sites, const struct pl_advices *advices,
                    enum pl_advice_kind first, const char *title)
{
    uint32_t shown = 0, more = 0;
    for (uint32_t i = 0; i < advices->count; i++) {
        if (advices->advice[i].kind < first)
            continue;
        if (shown == view->top || advices->advice[i].weight < view->threshold) {
            more++;
            continue;
        }
        if (!shown && title)
            pl_print_heading(view, title);
        put_advice(view, sites, &advices->advice[i], ++shown);
    }
    if (more)
        pl_print_paragraph(view, "(%u more)", more);
    if (shown)
        pl_print_paragraph(view, "The rules behind each kind of advice, and when to ignore it: %s help advice",
                           pl_say_self());
}

static void find(const struct pl_view *view, const struct pl_paths *sites, const struct pl_advice_touch *touch,
                 struct pl_advices *out)
{
    char *leaks = pl_print_leaks_command(view), *mappings = pl_print_mappings_command(view);
    pl_term_busy("plimsoll: looking for what stands out");
    pl_advice_find(view->profile, view->locations, sites, &(struct pl_advice_commands){leaks, mappings}, touch, out);
    pl_term_busy(NULL);
    free(mappings);
    free(leaks);
}

void pl_advise_memory(const struct pl_view *view, const struct pl_advice_touch *touch)
{
    struct pl_advices advices = {0};
    struct pl_paths sites = pl_print_paths(view, PL_SHAPE_SITE);
    find(view, &sites, touch, &advices);
    put_all(view, &sites, &advices, PL_ADVICE_OF_MEMORY, "What would help");
    pl_advice_free(&advices);
}

static void print_advice(const struct pl_view *view, const struct pl_advice_touch *touch)
{
    struct pl_advices advices = {0};
    struct pl_paths sites = pl_print_paths(view, PL_SHAPE_SITE);
    find(view, &sites, touch, &advices);
    put_all(view, &sites, &advices, 0, NULL);
    if (!advices.count)
        put_none(view);
    pl_advice_free(&advices);
}

/* Of a running process, what RSS consists of is asked first. If that is not possible, there is other advice. */
void pl_advise_print(const struct pl_view *view)
{
    pid_t pid = pl_subject_pid(view->subject);
    struct pl_footprint footprint;
    char *live;
    if (pid < 0 || !view->whole->running || pl_subject_live(pid, &live) != PL_EXIT_OK) {
        print_advice(view, NULL);
        return;
    }
    struct pl_footprint_options options = pl_memory_options(view->whole, pid, live);
    if (pl_footprint_read(&footprint, &options)) {
        struct pl_memory_view *with = pl_say_memory(malloc(sizeof *with));
        struct pl_paths sites = pl_print_paths(view, PL_SHAPE_SITE);
        struct pl_advice_touch *touch = pl_resident_touch(view, &sites, live);
        pl_memory_with(with, view, &footprint);
        print_advice(&with->view, touch);
        free(touch);
        free(with);
    } else {
        print_advice(view, NULL);
    }
    pl_footprint_free(&footprint);
    free(live);
}
