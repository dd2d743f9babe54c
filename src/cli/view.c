/* SPDX-License-Identifier: MIT */
/*
 * view.c - what all parts of a report share.
 */
#include "view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "leftovers.h"
#include "source.h"
#include "utf8.h"

const char *pl_view_live_word(const struct pl_profile *profile)
{
    static const char *const words[PL_ENDINGS] = {
        [PL_ENDING_RUNNING] = "live",
        [PL_ENDING_EXITED] = "never freed",
        [PL_ENDING_KILLED] = "live when it ended",
    };
    return words[pl_leftovers_ending(profile)];
}

/* Titles by how the process fares: running, exited, killed. One word for all has it thrice. */
static const struct wording {
    enum pl_metric companion;
    const char *column, *title[PL_ENDINGS];
} wordings[PL_METRIC_COUNT] = {
    [PL_METRIC_ALLOC_OBJECTS] = {PL_METRIC_ALLOC_SPACE, "calls", {"Calls", "Calls", "Calls"}},
    [PL_METRIC_ALLOC_SPACE] = {PL_METRIC_ALLOC_OBJECTS, "bytes", {"Allocated", "Allocated", "Allocated"}},
    [PL_METRIC_INUSE_OBJECTS] = {PL_METRIC_INUSE_SPACE,
                                 "blocks",
                                 {"Live blocks", "Blocks never freed", "Blocks live when it ended"}},
    [PL_METRIC_INUSE_SPACE] = {PL_METRIC_INUSE_OBJECTS, "bytes", {"Live", "Never freed", "Live when it ended"}},
    [PL_METRIC_PEAK_OBJECTS] = {PL_METRIC_PEAK_SPACE,
                                "blocks",
                                {"Blocks at the peak", "Blocks at the peak", "Blocks at the peak"}},
    [PL_METRIC_PEAK_SPACE] = {PL_METRIC_PEAK_OBJECTS, "bytes", {"At the peak", "At the peak", "At the peak"}},
    [PL_METRIC_TEMP_OBJECTS] = {PL_METRIC_ALLOC_OBJECTS, "temporary", {"Temporary", "Temporary", "Temporary"}},
};

/* Each had its peak at its own time. */
static const char *const merged_titles[PL_METRIC_COUNT] = {
    [PL_METRIC_PEAK_OBJECTS] = "Blocks at their peaks",
    [PL_METRIC_PEAK_SPACE] = "At their peaks",
};

enum pl_metric pl_view_companion(enum pl_metric metric)
{
    return wordings[metric].companion;
}

const char *pl_view_column(enum pl_metric metric)
{
    return wordings[metric].column;
}

const char *pl_view_title(const struct pl_profile *profile, enum pl_metric metric)
{
    if (profile->difference && metric == PL_METRIC_INUSE_SPACE)
        return "What grew";
    if (profile->difference && metric == PL_METRIC_INUSE_OBJECTS)
        return "Blocks added";
    if (profile->merged && merged_titles[metric])
        return merged_titles[metric];
    return wordings[metric].title[pl_leftovers_ending(profile)];
}

double pl_view_share(const struct pl_profile *profile, enum pl_metric metric, double value)
{
    double whole = profile->total[metric].value;
    return whole > 0 ? value / whole : 0;
}

enum pl_style pl_view_style(const struct pl_spot *spot)
{
    return spot->role == PL_ROLE_OWN ? PL_STYLE_BOLD : PL_STYLE_DIM;
}

void pl_view_location(const struct pl_spot *spot, char *out, size_t bytes)
{
    *out = 0;
    if (*spot->file && spot->line)
        snprintf(out, bytes, "%s:%u", spot->file, spot->line);
    else if (*spot->file)
        snprintf(out, bytes, "%s", spot->file);
}

static void put_cut(struct pl_term *term, enum pl_style style, const char *text)
{
    pl_term_cut(term, style, text, term->width > term->column ? term->width - term->column : 1);
}

void pl_view_spot(struct pl_term *term, const char *before, const struct pl_spot *spot, size_t indent, bool module)
{
    char location[PL_VIEW_LOCATION_BYTES], library[256] = "";
    pl_view_location(spot, location, sizeof location);
    if (module && *spot->module)
        snprintf(library, sizeof library, "[%s]", spot->module);
    size_t location_width = pl_utf8_width(location), library_width = pl_utf8_width(library);
    size_t width = pl_utf8_width(before) + pl_utf8_width(spot->name);
    width += (*location ? 2 + location_width : 0) + (*library ? 2 + library_width : 0);
    pl_term_room(term, *before ? 1 : 0, width, indent);
    pl_term_put(term, PL_STYLE_DIM, before);
    put_cut(term, pl_view_style(spot), spot->name);
    if (*location) {
        pl_term_room(term, 2, location_width, indent);
        put_cut(term, PL_STYLE_PLAIN, location);
    }
    if (*library) {
        pl_term_room(term, 2, library_width, indent);
        put_cut(term, PL_STYLE_DIM, library);
    }
}

/* That it is the program's own code goes without saying where there is no room for it. */
static bool goes_without_saying(const struct pl_view *view, const struct pl_spot *spot)
{
    const char *program = strrchr(view->whole->executable, '/');
    char location[PL_VIEW_LOCATION_BYTES];
    pl_view_location(spot, location, sizeof location);
    size_t width = pl_utf8_width(spot->name) + 2 + pl_utf8_width(location) + 4 + pl_utf8_width(spot->module);
    return program && !strcmp(program + 1, spot->module) && view->term->column + width > view->term->width;
}

void pl_view_site(const struct pl_view *view, const struct pl_path *path, size_t indent)
{
    const struct pl_spot *spots = view->spots->spot, *spot = &spots[path->spot[0]];
    pl_view_spot(view->term, "", spot, indent, !goes_without_saying(view, spot));
    if (path->via == PL_PATH_NO_SPOT)
        return;
    struct pl_spot called = {.name = spots[path->via].name, .file = "", .module = "", .role = PL_ROLE_LIBRARY};
    pl_view_spot(view->term, "→ ", &called, indent, false);
}

struct pl_paths pl_view_paths(const struct pl_view *view, enum pl_shape shape)
{
    pl_term_busy("plimsoll: sorting stacks");
    struct pl_paths paths = pl_paths_new(view->profile, view->spots, shape, view->depth);
    pl_term_busy(NULL);
    return paths;
}

/* --- callers --- */

#define CUT "← …"
#define CUT_WIDTH 4 /* with the blank in front */

static bool is_elsewhere(const struct pl_view *view, const struct pl_path *path, uint32_t i)
{
    const struct pl_spot *spots = view->spots->spot;
    return strcmp(spots[path->spot[i]].module, spots[path->spot[i - 1]].module) != 0;
}

/* Whether all callers fit on this line with their places. */
static bool fits_with_places(const struct pl_view *view, const struct pl_path *path, size_t indent)
{
    size_t width = indent + (path->more ? CUT_WIDTH : 0);
    for (uint32_t i = 1; i < path->count; i++) {
        const struct pl_spot *spot = &view->spots->spot[path->spot[i]];
        char location[PL_VIEW_LOCATION_BYTES];
        pl_view_location(spot, location, sizeof location);
        width += (i > 1) + 2 + pl_utf8_width(spot->name) + (*location ? 2 + pl_utf8_width(location) : 0);
        width += is_elsewhere(view, path, i) && *spot->module ? 4 + pl_utf8_width(spot->module) : 0;
    }
    return width <= view->term->width;
}

/* Names alone, as many as there is room for. False: there are more. */
static bool put_names(const struct pl_view *view, const struct pl_path *path, size_t indent)
{
    struct pl_term *term = view->term;
    for (uint32_t i = 1; i < path->count; i++) {
        const struct pl_spot *spot = &view->spots->spot[path->spot[i]];
        size_t room = term->width > term->column + CUT_WIDTH ? term->width - term->column - CUT_WIDTH : 1;
        size_t gap = term->column > indent, width = gap + 2 + pl_utf8_width(spot->name);
        if (width > room && gap)
            return false;
        pl_term_print(term, PL_STYLE_DIM, "%s← ", gap ? " " : "");
        pl_term_cut(term, pl_view_style(spot), spot->name, room > 2 ? room - 2 : 1);
    }
    return true;
}

void pl_view_callers(const struct pl_view *view, const struct pl_path *path, size_t indent)
{
    struct pl_term *term = view->term;
    bool names = view->brief && !fits_with_places(view, path, indent), all = true;
    if (names)
        all = put_names(view, path, indent);
    for (uint32_t i = 1; i < path->count && !names; i++)
        pl_view_spot(term, "← ", &view->spots->spot[path->spot[i]], indent, is_elsewhere(view, path, i));
    if (all && !path->more)
        return;
    pl_term_room(term, 1, CUT_WIDTH - 1, indent);
    pl_term_put(term, PL_STYLE_DIM, CUT);
}

/* --- below a site --- */

static void put_sizes(const struct pl_view *view, const struct pl_paths *paths, uint32_t path, size_t indent)
{
    struct pl_spread spread = pl_paths_spread(view->profile, paths, path);
    char *text = pl_histogram_describe(&spread);
    pl_term_pad(view->term, indent);
    pl_term_words(view->term, PL_STYLE_PLAIN, text, indent);
    pl_term_end(view->term);
    free(text);
}

void pl_view_below(const struct pl_view *view, const struct pl_paths *paths, uint32_t path, size_t indent)
{
    if (view->histogram)
        put_sizes(view, paths, path, indent);
    if (view->source)
        pl_source_put(view->source, view->term, &view->spots->spot[paths->path[path].spot[0]], indent);
}

/* --- text --- */

void pl_view_paragraph(const struct pl_view *view, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = pl_say_vprint(format, arguments);
    va_end(arguments);
    pl_term_end(view->term);
    pl_term_words(view->term, PL_STYLE_PLAIN, text, 0);
    pl_term_end(view->term);
    free(text);
}

void pl_view_heading(const struct pl_view *view, const char *title)
{
    pl_term_end(view->term);
    pl_term_put(view->term, PL_STYLE_HEAD, title);
}

void pl_view_nothing(const struct pl_view *view, const char *what)
{
    const struct pl_profile *profile = view->profile;
    bool better = pl_view_estimated(profile) && profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0;
    if (better)
        pl_view_paragraph(view, "%s To see every allocation: %s run --exact -- PROGRAM", what, pl_say_self());
    else
        pl_view_paragraph(view, "%s", what);
}

bool pl_view_estimated(const struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    return !profile->exact && !(header->mode == PL_MODE_SAMPLED && header->interval_bytes <= 1);
}

bool pl_view_behind(const struct pl_profile *profile)
{
    return pl_view_estimated(profile) && (profile->header.end == PL_END_NONE || profile->snapshot_name);
}

bool pl_view_lossy(const struct pl_profile *profile)
{
    const uint64_t *losses = profile->header.losses;
    return losses[PL_LOSS_THREADS] || losses[PL_LOSS_TAGS] || losses[PL_LOSS_FILE_FULL] || profile->damage;
}

bool pl_view_recorded(const struct pl_profile *profile)
{
    bool nothing = profile->exact && !(profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0);
    return profile->samples > 0 || profile->exact_calls > 0 || nothing;
}

bool pl_view_tagged(const struct pl_profile *profile)
{
    for (uint32_t i = 1; i < profile->tags; i++)
        if (profile->tag[i].kind == PL_TAG_NAMED)
            return true;
    return false;
}

bool pl_view_timed(const struct pl_profile *profile)
{
    return pl_leftovers_ending(profile) == PL_ENDING_RUNNING || profile->header.end_monotonic_ns;
}
