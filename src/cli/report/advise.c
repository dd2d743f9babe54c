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
#include "cli/report/print.h"

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

void pl_advise_print(const struct pl_view *view)
{
    struct pl_advices advices = {0};
    struct pl_paths sites = pl_print_paths(view, PL_SHAPE_SITE);
    pl_term_busy("plimsoll: looking for what stands out");
    char *leaks_command = pl_print_leaks_command(view);
    pl_advice_find(view->profile, view->locations, &sites, leaks_command, &advices);
    free(leaks_command);
    pl_term_busy(NULL);
    uint32_t shown = 0;
    while (shown < advices.count && shown < view->top && advices.advice[shown].weight >= view->threshold) {
        put_advice(view, &sites, &advices.advice[shown], shown + 1);
        shown++;
    }
    if (!advices.count)
        put_none(view);
    if (shown < advices.count)
        pl_print_paragraph(view, "(%u more)", advices.count - shown);
    if (shown)
        pl_print_paragraph(view, "The rules behind each kind of advice, and when to ignore it: %s help advice",
                           pl_say_self());
    pl_advice_free(&advices);
}
