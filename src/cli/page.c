/* SPDX-License-Identifier: MIT */
/*
 * page.c - the first and the last lines of a report: whose profile it is, how it was made, and what is missing from it.
 */
#include "page.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "invocation.h"
#include "losses.h"
#include "settings.h"
#include "summary.h"
#include "tagfold.h"
#include "utf8.h"

#define FEW_SAMPLES 100
#define METHOD_BYTES 256

/* --- whose profile it is --- */

static const char *machine_name(uint32_t machine)
{
    return machine == EM_X86_64 ? "x86_64" : machine == EM_AARCH64 ? "aarch64" : "unknown machine";
}

static void put_identity(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    struct pl_term *term = view->term;
    char duration[PL_FIGURE_BYTES], ending[256];
    pl_figure_seconds(duration, profile->duration_s);
    pl_profile_ending(profile, ending, sizeof ending);
    char *command = pl_invocation_print(profile);
    bool timed = pl_view_timed(profile);
    const char *machine = machine_name(profile->header.machine);
    char *facts = profile->merged ? pl_say_print("%u profiles as one · %s", profile->merged, machine)
                                  : pl_say_print("pid %u · %s%s%s · %s", profile->header.pid, timed ? duration : "",
                                                 timed ? " · " : "", ending, machine);
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

/* Rough figures by site, and what would make them better. */
static void put_advice(const struct pl_view *view)
{
    const struct pl_profile *profile = view->whole;
    if (!pl_view_estimated(profile) || profile->exact_calls > 0 || profile->samples >= FEW_SAMPLES ||
        !(profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0))
        return;
    put_line(view->term, PL_STYLE_WARN,
             pl_say_print("%s; %s run --exact counts every allocation",
                          profile->samples ? "few samples: figures by site are rough" : "nothing is known by site",
                          pl_say_self()));
}

/* "runtime cost 61 ms (0.5%)", at the right end of the line if it fits there. */
static void put_cost(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    struct pl_term *term = view->term;
    char cost[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES] = "";
    if (!(profile->cost_s > 0))
        return;
    pl_figure_span(cost, profile->cost_s);
    pl_figure_percent(share, profile->cpu_s > 0 ? profile->cost_s / profile->cpu_s : 0);
    char *text = pl_say_print("runtime cost %s%s%s%s", cost, profile->cpu_s > 0 ? " (" : "",
                              profile->cpu_s > 0 ? share : "", profile->cpu_s > 0 ? ")" : "");
    size_t width = pl_utf8_width(text);
    if (term->column + 2 + width > term->width)
        pl_term_end(term);
    else
        pl_term_pad(term, term->width - width);
    pl_term_put(term, PL_STYLE_PLAIN, text);
    free(text);
}

/* --- what the figures are about --- */

static void put_reset(const struct pl_view *view)
{
    char when[PL_FIGURE_BYTES];
    if (!(view->whole->reset_s > 0))
        return;
    pl_figure_seconds(when, view->whole->reset_s);
    put_line(view->term, PL_STYLE_PLAIN,
             pl_say_print("since the reset at %s; what was allocated before is left out", when));
}

/* What was allocated under a tag of this kind is counted, and nothing else is known of it. */
static void put_unrecorded(const struct pl_view *view, enum pl_tag_kind kind, const char *words, const char *name)
{
    const struct pl_profile *profile = view->whole;
    uint64_t calls = 0, bytes = 0;
    for (uint32_t i = 0; i < profile->scopes; i++) {
        if (profile->tag[profile->scope[i].tag].kind != kind)
            continue;
        bytes += profile->scope[i].bytes;
        for (int f = 0; f < PL_FN_COUNT; f++)
            calls += profile->scope[i].calls[f];
    }
    char number[PL_FIGURE_BYTES], amount[PL_FIGURE_BYTES];
    pl_figure_exact(number, calls);
    pl_figure_bytes(amount, (double) bytes);
    if (calls)
        put_line(
            view->term, PL_STYLE_PLAIN,
            pl_say_print("%s: %s call%s (%s) only counted, as %s", words, number, calls == 1 ? "" : "s", amount, name));
}

static char *describe_sizes(const struct pl_header *header)
{
    char from[PL_FIGURE_BYTES], to[PL_FIGURE_BYTES];
    pl_figure_setting(from, header->size_from);
    pl_figure_setting(to, header->size_to);
    if (!header->size_to || header->size_to == UINT64_MAX)
        return pl_say_print("%s and more", from);
    if (!header->size_from)
        return pl_say_print("up to %s", to);
    return pl_say_print("%s to %s", from, to);
}

/* The bounds may have changed on the way: what was left out is what counts. */
static void put_other_sizes(const struct pl_view *view)
{
    const struct pl_profile *profile = view->whole;
    struct pl_figures sum = {0};
    struct pl_estimate metric[PL_METRIC_COUNT];
    bool any = false;
    for (uint32_t i = 0; i < profile->sites; i++) {
        if (profile->site[i].other_sizes)
            pl_figures_add(&sum, &profile->site[i].figures);
        any |= profile->site[i].other_sizes;
    }
    if (!any)
        return;
    char calls[2 * PL_FIGURE_BYTES], bytes[2 * PL_FIGURE_BYTES], *sizes = describe_sizes(&profile->header);
    pl_figures_estimate(&sum, metric);
    pl_figure_estimate(calls, PL_METRIC_ALLOC_OBJECTS, &metric[PL_METRIC_ALLOC_OBJECTS]);
    pl_figure_estimate(bytes, PL_METRIC_ALLOC_SPACE, &metric[PL_METRIC_ALLOC_SPACE]);
    put_line(view->term, PL_STYLE_PLAIN,
             pl_say_print("stacks only of sizes that were asked for (%s): %s others (%s) are counted together, as "
                          "(other sizes)",
                          sizes, calls, bytes));
    free(sizes);
}

static void put_selection(const struct pl_view *view)
{
    char bytes[PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES];
    const struct pl_estimate *part = view->profile->total;
    if (!view->selection)
        return;
    pl_figure_percent(bytes, pl_view_share(view->whole, PL_METRIC_ALLOC_SPACE, part[PL_METRIC_ALLOC_SPACE].value));
    pl_figure_percent(calls, pl_view_share(view->whole, PL_METRIC_ALLOC_OBJECTS, part[PL_METRIC_ALLOC_OBJECTS].value));
    put_line(view->term, PL_STYLE_BOLD,
             pl_say_print("selected: %s: %s of all bytes, %s of all calls; figures are of that", view->selection, bytes,
                          calls));
}

void pl_page_head(const struct pl_view *view)
{
    char method[METHOD_BYTES];
    pl_profile_method(view->whole, method, sizeof method);
    put_identity(view);
    pl_term_words(view->term, PL_STYLE_PLAIN, method, 0);
    put_cost(view);
    pl_term_end(view->term);
    put_advice(view);
    put_reset(view);
    put_unrecorded(view, PL_TAG_OFF, "off for a while", "(off)");
    put_unrecorded(view, PL_TAG_PAUSED, "paused by some of its threads", "(paused)");
    put_other_sizes(view);
    put_selection(view);
}

/* --- losses --- */

#define LOSS_WIDTH 14

static void put_loss(const struct pl_view *view, bool *titled, uint64_t count, const char *one, const char *many)
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
    pl_term_words(view->term, PL_STYLE_PLAIN, count == 1 && one ? one : many, LOSS_WIDTH + 2);
    pl_term_end(view->term);
}

static void put_bad_settings(const struct pl_view *view)
{
    static const char *const variables[] = {
#define ROW(name, variable, option, takes, fallback, help) variable,
        PL_SETTINGS(ROW) PL_GLIBC_SETTINGS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        if (!(view->profile->header.bad_settings >> i & 1))
            continue;
        put_line(view->term, PL_STYLE_WARN,
                 pl_say_print("%s was not understood by the profiled process, and ignored", variables[i]));
    }
}

/* Recursion looks the same, so this is no accusation. */
static void put_nested(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    struct pl_arena *scratch = pl_arena_new();
    struct pl_tag_fold fold = pl_tagfold_make(profile, scratch);
    uint32_t deepest = 0, others = 0;
    for (uint32_t i = 1; i < profile->tags; i++) {
        others += fold.nested[i] > 0;
        deepest = fold.nested[i] > fold.nested[deepest] ? i : deepest;
    }
    if (deepest) {
        char depth[PL_FIGURE_BYTES];
        pl_figure_exact(depth, fold.nested[deepest]);
        char *more = others > 1 ? pl_say_print(", and so %s %u more", others == 2 ? "was" : "were", others - 1) : NULL;
        pl_term_end(view->term);
        put_line(view->term, PL_STYLE_WARN,
                 pl_say_print("The tag `%.200s` was entered inside of itself, %s deep%s: that is recursion, or a "
                              "plimsoll_pop() is missing",
                              profile->tag[deepest].name, depth, more ? more : ""));
        free(more);
    }
    pl_arena_free(scratch);
}

/* What makes room for more. */
static void put_room(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    if (!profile->header.losses[PL_LOSS_FILE_FULL])
        return;
    char *bound = pl_summary_bound(profile->file_bytes);
    put_line(view->term, PL_STYLE_PLAIN,
             pl_say_print("%s run --max-file %s lets the file have more", pl_say_self(), bound));
    free(bound);
}

void pl_page_losses(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    bool titled = false;
    for (int i = 0; i < PL_LOSS_COUNT; i++)
        put_loss(view, &titled, profile->header.losses[i], pl_losses_text(i, 1), pl_losses_text(i, 2));
    for (int i = PL_STOP_END + 1; i < PL_STOP_COUNT; i++) {
        char *one = pl_say_print("stack cut short: %s", pl_stop_info[i].help);
        char *many = pl_say_print("stacks cut short: %s", pl_stop_info[i].help);
        put_loss(view, &titled, profile->header.stops[i], one, many);
        free(many);
        free(one);
    }
    put_loss(view, &titled, profile->damage, "damaged record, left out", "damaged records, left out");
    put_loss(view, &titled, profile->in_flight, "figure caught in the middle of an update",
             "figures caught in the middle of an update");
    put_room(view);
    put_nested(view);
    put_bad_settings(view);
}
