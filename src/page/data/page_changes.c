/* SPDX-License-Identifier: MIT */
/*
 * page_changes.c - the "diff" member of page data: a summary of both profiles, and the changes that `plimsoll diff`
 * finds between them.
 */
#include "analysis/diff/diff.h"
#include "export/profile_json.h"
#include "page/data/page_work.h"
#include "reader/site.h"

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

/* For each path, its site with most calls, preferably in the second profile. PL_PAGE_NONE: the path has no site. */
static uint32_t *find_sites(const struct pl_profile *profile, const struct pl_paths *paths, struct pl_arena *arena)
{
    uint32_t *site_of = pl_arena_alloc(arena, (paths->count + 1ull) * sizeof *site_of);
    for (uint32_t i = 0; i < paths->count; i++)
        site_of[i] = PL_PAGE_NONE;
    for (uint32_t i = profile->sites; i-- > 0;) {
        uint32_t *best = &site_of[paths->of_site[i]];
        bool base = i < profile->base_sites, best_is_base = *best < profile->base_sites;
        if (*best == PL_PAGE_NONE ||
            (base == best_is_base && pl_site_value(&profile->site[i], PL_METRIC_ALLOC_OBJECTS) >
                                         pl_site_value(&profile->site[*best], PL_METRIC_ALLOC_OBJECTS)))
            *best = i;
    }
    return site_of;
}

static void write_change(struct pl_json *json, const struct pl_page_work *work, const struct pl_change *change,
                         const uint32_t *site_of)
{
    uint32_t path = change->what == PL_DIFF_DISAPPEARED ? change->was : change->who;
    pl_json_line(json);
    pl_json_begin(json, '{');
    pl_json_add_whole(json, "node", pl_page_work_stack(work, site_of[path]).node);
    pl_json_add_text(json, "what", whats[change->what]);
    pl_json_add_estimate(json, "before", &change->before);
    pl_json_add_estimate(json, "after", &change->after);
    pl_json_add_estimate(json, "change", &change->change);
    pl_json_add_real(json, "q", change->q);
    pl_json_add_bool(json, "significant", change->significant);
    pl_json_add_bool(json, "moved", change->moved);
    pl_json_end(json, '}');
}

static void write_changes(struct pl_json *json, const struct pl_page_work *work, enum pl_metric metric)
{
    static const struct pl_location_options names = {0};
    struct pl_diff_options how = {
        .by = PL_DIFF_BY_STACK,
        .metric = metric,
        .rate = RATE,
        .depth = PL_ADVICE_DEPTH,
        .names = &names,
        .before = work->about->before,
        .after = work->about->after,
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
        write_change(json, work, &diff.change[i], site_of);
    pl_json_end(json, ']');
    pl_json_end(json, '}');
    pl_diff_free(&diff);
}

/* A difference between two times of one run has no `before` and `after` profiles: null. */
void pl_page_changes_write(struct pl_json *json, const struct pl_page_work *work)
{
    const struct pl_page_about *about = work->about;
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
