/* SPDX-License-Identifier: MIT */
/*
 * page_changes.c - of a difference of two profiles, for the page: what each was, and what `plimsoll diff` says has
 * changed between them.
 */
#include "diff.h"
#include "page_work.h"
#include "profile_json.h"

#define ITEMS_MOST 500
#define RATE 0.05 /* of false discoveries */

static const enum pl_metric metrics[] = {PL_METRIC_ALLOC_OBJECTS, PL_METRIC_ALLOC_SPACE, PL_METRIC_INUSE_SPACE,
                                         PL_METRIC_PEAK_SPACE};

static const char *const whats[] = {
    [PL_DIFF_SAME] = "same",    [PL_DIFF_GREW] = "grew",        [PL_DIFF_SHRANK] = "shrank",
    [PL_DIFF_APPEARED] = "new", [PL_DIFF_DISAPPEARED] = "gone",
};

static void write_side(struct pl_json *json, const struct pl_profile *profile, const char *subject)
{
    static const char *const members[] = {"process", "sampling", "auto", "totals", "timeline", "peak", NULL};
    pl_json_begin(json, '{');
    pl_json_add_text(json, "subject", subject ? subject : "");
    pl_profile_json_some(json, profile, members);
    pl_json_end(json, '}');
}

/* A site for each path: with most calls, and of what is compared if there is one. PL_PAGE_NONE: none of these. */
static uint32_t *find_sites(const struct pl_profile *profile, const struct pl_paths *paths, struct pl_arena *arena)
{
    uint32_t *site_of = pl_arena_alloc(arena, (paths->count + 1ull) * sizeof *site_of);
    for (uint32_t i = 0; i < paths->count; i++)
        site_of[i] = PL_PAGE_NONE;
    for (uint32_t i = profile->sites; i-- > 0;) {
        uint32_t *best = &site_of[paths->of_site[i]];
        bool base = i < profile->base_sites, best_is_base = *best < profile->base_sites;
        const struct pl_site_view *a = &profile->site[i], *b = &profile->site[*best == PL_PAGE_NONE ? i : *best];
        if (*best == PL_PAGE_NONE || (base == best_is_base && a->metric[PL_METRIC_ALLOC_OBJECTS].value >
                                                                  b->metric[PL_METRIC_ALLOC_OBJECTS].value))
            *best = i;
    }
    return site_of;
}

static void write_change(struct pl_json *json, const struct pl_page_work *work, const struct pl_change *change,
                         enum pl_metric metric, const uint32_t *site_of)
{
    uint32_t path = change->what == PL_DIFF_DISAPPEARED ? change->was : change->who;
    pl_json_line(json);
    pl_json_begin(json, '{');
    pl_json_add_whole(json, "node", pl_page_site_stack(work, site_of[path]).node);
    pl_json_add_text(json, "what", whats[change->what]);
    pl_json_add_estimate(json, "before", &change->before[metric]);
    pl_json_add_estimate(json, "after", &change->after[metric]);
    pl_json_add_estimate(json, "change", &change->change[metric]);
    pl_json_add_real(json, "q", change->q);
    pl_json_add_bool(json, "significant", change->significant);
    pl_json_add_bool(json, "moved", change->moved);
    pl_json_end(json, '}');
}

static void write_changes(struct pl_json *json, const struct pl_page_work *work, enum pl_metric metric)
{
    static const struct pl_spot_options names = {0};
    struct pl_diff_options how = {
        .by = PL_DIFF_BY_STACK,
        .metric = metric,
        .rate = RATE,
        .depth = PL_ADVICE_DEPTH,
        .names = &names,
        .before = work->options->page.before,
        .after = work->options->page.after,
    };
    struct pl_diff diff;
    pl_diff_make(work->profile, &how, &diff);
    const uint32_t *site_of = find_sites(work->profile, &diff.paths, work->arena);
    pl_json_begin(json, '{');
    pl_json_add_whole(json, "significant", diff.significant);
    pl_json_add_whole(json, "compared", diff.changes);
    pl_json_key(json, "items");
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < diff.changes && i < ITEMS_MOST; i++)
        write_change(json, work, &diff.change[i], metric, site_of);
    pl_json_end(json, ']');
    pl_json_end(json, '}');
    pl_diff_free(&diff);
}

/* Between two moments of one run there is nothing but figures. */
void pl_page_write_changes(struct pl_json *json, const struct pl_page_work *work)
{
    const struct pl_page_about *about = &work->options->page;
    if (!work->profile->difference || !about->before || !about->after) {
        fputs("null", json->out);
        return;
    }
    pl_json_begin(json, '{');
    pl_json_key(json, "before");
    write_side(json, about->before, about->before_subject);
    pl_json_line(json);
    pl_json_key(json, "after");
    write_side(json, about->after, about->subject);
    pl_json_line(json);
    pl_json_key(json, "changes");
    pl_json_begin(json, '{');
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        pl_json_key(json, pl_metric_info[metrics[i]].key);
        write_changes(json, work, metrics[i]);
    }
    pl_json_end(json, '}');
    pl_json_end(json, '}');
}
