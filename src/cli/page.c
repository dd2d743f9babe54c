/* SPDX-License-Identifier: MIT */
/*
 * page.c - the parts of a report that are not tables of sites.
 */
#include "page.h"

#include <elf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "listing.h"
#include "settings.h"
#include "utf8.h"

#define FEW_SAMPLES 100

/* --- whose profile it is --- */

static const char *machine_name(uint32_t machine)
{
    return machine == EM_X86_64 ? "x86_64" : machine == EM_AARCH64 ? "aarch64" : "unknown machine";
}

static char *join_command(const struct pl_profile *profile)
{
    char *command = pl_say_print("%s", profile->argv[0] ? profile->argv[0] : profile->comm);
    for (const char **word = profile->argv[0] ? profile->argv + 1 : profile->argv; *word; word++) {
        char *longer = pl_say_print("%s %s", command, *word);
        free(command);
        command = longer;
        if (strlen(command) > 4096)
            break;
    }
    return command;
}

/* Of a process that was killed with nobody there, only a lower bound is known, and it may be far too low. */
static bool has_duration(const struct pl_profile *profile)
{
    return profile->running || profile->header.end_monotonic_ns;
}

static void put_identity(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    struct pl_term *term = view->term;
    char duration[PL_FIGURE_BYTES], ending[256];
    pl_figure_seconds(duration, profile->duration_s);
    pl_profile_ending(profile, ending, sizeof ending);
    char *command = join_command(profile);
    bool timed = has_duration(profile);
    char *facts = pl_say_print("pid %u · %s%s%s · %s", profile->header.pid, timed ? duration : "", timed ? " · " : "",
                               ending, machine_name(profile->header.machine));
    size_t width = pl_utf8_width(facts);
    pl_term_cut(term, PL_STYLE_BOLD, command, term->width > width + 12 ? term->width - width - 2 : term->width);
    if (term->column + 2 + width > term->width)
        pl_term_end(term);
    else
        pl_term_pad(term, term->width - width);
    pl_term_put(term, PL_STYLE_PLAIN, facts);
    pl_term_end(term);
    free(facts);
    free(command);
}

static void put_line(struct pl_term *term, enum pl_style style, char *text)
{
    pl_term_words(term, style, text, 0);
    pl_term_end(term);
    free(text);
}

static void put_advice(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    char finer[PL_FIGURE_BYTES];
    if (profile->samples >= FEW_SAMPLES || !(profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0) ||
        !pl_figure_finer(finer, profile->total[PL_METRIC_ALLOC_SPACE].value, profile->header.interval_bytes))
        return;
    put_line(view->term, PL_STYLE_WARN,
             pl_say_print("%s; plimsoll run --sample %s takes more",
                          profile->samples ? "few samples: figures by site are rough" : "nothing is known by site",
                          finer));
}

void pl_page_head(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    char interval[PL_FIGURE_BYTES], samples[PL_FIGURE_BYTES];
    pl_figure_setting(interval, profile->header.interval_bytes);
    pl_figure_exact(samples, profile->samples);
    put_identity(view);
    char *how = profile->header.interval_bytes <= 1
                    ? pl_say_print("counted every allocation (%s): no figure is estimated", samples)
                    : pl_say_print("sampled every %s on average: %s sample%s; ± is 95%%", interval, samples,
                                   profile->samples == 1 ? "" : "s");
    put_line(view->term, PL_STYLE_PLAIN, how);
    put_advice(view);
}

/* --- the summary --- */

/* Where what is behind a label begins: labels are as wide as the widest of them. */
static size_t label_end(const struct pl_view *view)
{
    const char *live = pl_view_live_word(view->profile);
    return 2 + (strlen(live) > strlen("allocated") ? strlen(live) : strlen("allocated")) + 2;
}

static void put_label(const struct pl_view *view, const char *label)
{
    pl_term_print(view->term, PL_STYLE_PLAIN, "  %s", label);
    pl_term_pad(view->term, label_end(view));
}

/* The rest of a line behind a label. */
static void put_rest(const struct pl_view *view, enum pl_style style, char *text)
{
    pl_term_words(view->term, style, text, label_end(view));
    free(text);
}

static void put_allocated(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    double bytes_total = profile->total[PL_METRIC_ALLOC_SPACE].value;
    char bytes[PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES], rate[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, bytes_total);
    pl_figure_exact(calls, (uint64_t) profile->total[PL_METRIC_ALLOC_OBJECTS].value);
    pl_figure_bytes(rate, profile->duration_s > 0 ? bytes_total / profile->duration_s : 0);
    put_label(view, "allocated");
    pl_term_put(view->term, PL_STYLE_BOLD, bytes);
    put_rest(view, PL_STYLE_PLAIN, pl_say_print(" in %s calls", calls));
    if (has_duration(profile) && profile->duration_s >= 0.001)
        put_rest(view, PL_STYLE_PLAIN, pl_say_print(" (%s/s)", rate));
    put_rest(view, PL_STYLE_DIM, pl_say_print("  exact"));
    pl_term_end(view->term);
}

static void put_live(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_estimate *space = &profile->total[PL_METRIC_INUSE_SPACE];
    char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(bytes, PL_METRIC_INUSE_SPACE, space);
    pl_figure_estimate(blocks, PL_METRIC_INUSE_OBJECTS, &profile->total[PL_METRIC_INUSE_OBJECTS]);
    put_label(view, pl_view_live_word(profile));
    if (!profile->samples && profile->header.interval_bytes > 1) {
        put_rest(view, PL_STYLE_PLAIN, pl_say_print("not known: no allocation was sampled"));
        pl_term_end(view->term);
        return;
    }
    pl_term_put(view->term, PL_STYLE_BOLD, bytes);
    put_rest(view, PL_STYLE_PLAIN, pl_say_print(" in %s blocks", blocks));
    put_rest(view, PL_STYLE_DIM, pl_say_print(space->error > 0 ? "  estimated" : "  exact"));
    pl_term_end(view->term);
}

static void put_functions(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    for (int i = 0; i < PL_FN_COUNT; i++) {
        char calls[PL_FIGURE_BYTES];
        uint64_t sum = 0;
        for (uint32_t t = 0; t < profile->threads; t++)
            sum += profile->thread[t].calls[i];
        if (!sum)
            continue;
        pl_figure_exact(calls, sum);
        char *text = pl_say_print("· %s %s", pl_function_name[i], calls);
        pl_term_room(view->term, 1, pl_utf8_width(text), label_end(view));
        pl_term_put(view->term, PL_STYLE_PLAIN, text);
        free(text);
    }
}

void pl_page_summary(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    uint64_t threads = 0;
    char count[PL_FIGURE_BYTES], stacks[PL_FIGURE_BYTES];
    for (uint32_t t = 0; t < profile->threads; t++)
        threads += profile->thread[t].threads ? profile->thread[t].threads : 1;
    pl_figure_exact(count, threads);
    pl_figure_exact(stacks, profile->stacks);
    pl_term_end(view->term);
    put_allocated(view);
    put_live(view);
    put_label(view, "threads");
    pl_term_print(view->term, PL_STYLE_PLAIN, "%s · stacks %s", count, stacks);
    put_functions(view);
    pl_term_end(view->term);
}

/* --- what stands out --- */

/* A metric stands out at a site that has this much of it or more, and enough samples to say so. */
#define HIGHLIGHT_SAMPLES 5
static const struct highlight {
    enum pl_metric metric;
    double share;
    const char *verb, *unit, *each;
    enum pl_metric bytes, objects; /* whose ratio is the mean size */
} highlights[] = {
    {PL_METRIC_INUSE_SPACE, 0.10, "holds", "", "a block", PL_METRIC_INUSE_SPACE, PL_METRIC_INUSE_OBJECTS},
    {PL_METRIC_ALLOC_SPACE, 0.25, "allocates", "", "a call", PL_METRIC_ALLOC_SPACE, PL_METRIC_ALLOC_OBJECTS},
    {PL_METRIC_ALLOC_OBJECTS, 0.25, "makes", " calls", "each", PL_METRIC_ALLOC_SPACE, PL_METRIC_ALLOC_OBJECTS},
};
#define HIGHLIGHT_NAME_WIDTH 60
#define HIGHLIGHT_INDENT 4

static char *describe_whole(const struct pl_view *view, enum pl_metric metric)
{
    if (metric == PL_METRIC_ALLOC_OBJECTS)
        return pl_say_print("all calls");
    if (metric == PL_METRIC_ALLOC_SPACE)
        return pl_say_print("all bytes");
    return pl_say_print("what %s %s", view->profile->running ? "is" : "was", pl_view_live_word(view->profile));
}

static void put_site_name(struct pl_term *term, const struct pl_spot *spot)
{
    char location[512];
    size_t room = term->width - HIGHLIGHT_INDENT, most = room < HIGHLIGHT_NAME_WIDTH ? room : HIGHLIGHT_NAME_WIDTH;
    pl_view_location(spot, location, sizeof location);
    pl_term_cut(term, PL_STYLE_BOLD, spot->name, most);
    if (!*location)
        return;
    size_t width = pl_utf8_width(location) + 2; /* the parentheses */
    width = width < most ? width : most;
    pl_term_room(term, 1, width, HIGHLIGHT_INDENT);
    pl_term_put(term, PL_STYLE_PLAIN, "(");
    pl_term_cut(term, PL_STYLE_PLAIN, location, width - 2);
    pl_term_put(term, PL_STYLE_PLAIN, ")");
}

static void put_highlight(const struct pl_view *view, const struct highlight *highlight, const struct pl_path *path,
                          unsigned number)
{
    const struct pl_estimate *estimate = &path->metric[highlight->metric];
    char value[2 * PL_FIGURE_BYTES], share[PL_FIGURE_BYTES], size[PL_FIGURE_BYTES];
    char *whole = describe_whole(view, highlight->metric);
    pl_figure_estimate(value, highlight->metric, estimate);
    pl_figure_percent(share, pl_view_share(view->profile, highlight->metric, estimate->value));
    pl_figure_bytes(size, path->metric[highlight->bytes].value / fmax(path->metric[highlight->objects].value, 1));
    char *text = pl_say_print(" %s %s%s: %s of %s, %s %s on average", highlight->verb, value, highlight->unit, share,
                              whole, size, highlight->each);
    pl_term_print(view->term, PL_STYLE_PLAIN, " %u. ", number);
    put_site_name(view->term, &view->spots->spot[path->spot[0]]);
    pl_term_words(view->term, PL_STYLE_PLAIN, text, HIGHLIGHT_INDENT);
    pl_term_end(view->term);
    free(text);
    free(whole);
}

static bool stands_out(const struct pl_view *view, const struct highlight *highlight, const struct pl_path *path)
{
    bool live = highlight->metric == PL_METRIC_INUSE_SPACE;
    uint64_t freed = live ? path->freed.samples : 0;
    return path->allocated.samples >= freed + HIGHLIGHT_SAMPLES &&
           pl_view_share(view->profile, highlight->metric, path->metric[highlight->metric].value) >= highlight->share;
}

void pl_page_highlights(const struct pl_view *view)
{
    unsigned number = 0;
    struct pl_paths functions = pl_paths_new(view->profile, view->spots, PL_SHAPE_OWN, 0);
    const struct pl_path *before = NULL;
    for (size_t i = 0; i < sizeof highlights / sizeof *highlights; i++) {
        const struct pl_path *first = pl_listing_first(&functions, highlights[i].metric);
        if (!first || first == before || !stands_out(view, &highlights[i], first))
            continue;
        if (!number++) {
            pl_term_end(view->term);
            pl_term_put(view->term, PL_STYLE_HEAD, "What stands out");
            pl_term_end(view->term);
        }
        put_highlight(view, &highlights[i], first, number);
        before = first;
    }
}

/* --- losses --- */

#define LOSS_WIDTH 14

static void put_loss(const struct pl_view *view, bool *titled, uint64_t count, const char *help)
{
    char text[PL_FIGURE_BYTES];
    if (!count)
        return;
    if (!*titled) {
        pl_term_end(view->term);
        pl_term_put(view->term, PL_STYLE_HEAD, "Losses");
        pl_term_end(view->term);
    }
    *titled = true;
    pl_figure_exact(text, count);
    pl_term_right(view->term, PL_STYLE_WARN, text, LOSS_WIDTH);
    pl_term_pad(view->term, LOSS_WIDTH + 2);
    pl_term_words(view->term, PL_STYLE_PLAIN, help, LOSS_WIDTH + 2);
    pl_term_end(view->term);
}

static void put_bad_settings(const struct pl_view *view)
{
    static const char *const variables[] = {
#define ROW(name, variable, option, takes, fallback, help) variable,
        PL_SETTINGS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < PL_SETTING_COUNT; i++) {
        if (!(view->profile->header.bad_settings >> i & 1))
            continue;
        put_line(view->term, PL_STYLE_WARN,
                 pl_say_print("%s was not understood by the profiled process, and ignored", variables[i]));
    }
}

void pl_page_losses(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    bool titled = false;
    for (int i = 0; i < PL_LOSS_COUNT; i++)
        put_loss(view, &titled, profile->header.losses[i], pl_loss_info[i].help);
    for (int i = PL_STOP_END + 1; i < PL_STOP_COUNT; i++) {
        char *help = pl_say_print("stacks cut short: %s", pl_stop_info[i].help);
        put_loss(view, &titled, profile->header.stops[i], help);
        free(help);
    }
    put_loss(view, &titled, profile->damage, "damaged records, left out");
    put_loss(view, &titled, profile->in_flight, "figures caught in the middle of an update");
    put_bad_settings(view);
}
