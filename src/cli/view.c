/* SPDX-License-Identifier: MIT */
/*
 * view.c - what all parts of a report share.
 */
#include "view.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "utf8.h"

static bool has_exited(const struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    if (header->flags & PL_FLAG_WAITED)
        return WIFEXITED((int) header->wait_status);
    return header->end == PL_END_EXIT || header->end == PL_END_QUICK;
}

const char *pl_view_live_word(const struct pl_profile *profile)
{
    return profile->running ? "live" : has_exited(profile) ? "never freed" : "live when it ended";
}

enum pl_metric pl_view_companion(enum pl_metric metric)
{
    static const enum pl_metric companions[PL_METRIC_COUNT] = {
        [PL_METRIC_ALLOC_OBJECTS] = PL_METRIC_ALLOC_SPACE,
        [PL_METRIC_ALLOC_SPACE] = PL_METRIC_ALLOC_OBJECTS,
        [PL_METRIC_INUSE_OBJECTS] = PL_METRIC_INUSE_SPACE,
        [PL_METRIC_INUSE_SPACE] = PL_METRIC_INUSE_OBJECTS,
    };
    return companions[metric];
}

const char *pl_view_title(const struct pl_profile *profile, enum pl_metric metric)
{
    if (metric == PL_METRIC_ALLOC_OBJECTS)
        return "Calls";
    if (metric == PL_METRIC_ALLOC_SPACE)
        return "Allocated";
    bool blocks = metric == PL_METRIC_INUSE_OBJECTS;
    if (profile->running)
        return blocks ? "Live blocks" : "Live";
    if (has_exited(profile))
        return blocks ? "Blocks never freed" : "Never freed";
    return blocks ? "Blocks live when it ended" : "Live when it ended";
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
    char location[512], library[256] = "";
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
