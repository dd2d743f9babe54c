/* SPDX-License-Identifier: MIT */
/*
 * page.c - the first and the last lines of a report: whose profile it is, how it was made, and what is missing from it.
 */
#include "page.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "settings.h"
#include "utf8.h"

#define FEW_SAMPLES 100
#define METHOD_BYTES 256

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

static void put_identity(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    struct pl_term *term = view->term;
    char duration[PL_FIGURE_BYTES], ending[256];
    pl_figure_seconds(duration, profile->duration_s);
    pl_profile_ending(profile, ending, sizeof ending);
    char *command = join_command(profile);
    bool timed = pl_view_timed(profile);
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

/* Rough figures by site, and what would make them better. */
static void put_advice(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    if (!pl_view_estimated(profile) || profile->exact_calls > 0 || profile->samples >= FEW_SAMPLES ||
        !(profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0))
        return;
    put_line(view->term, PL_STYLE_WARN,
             pl_say_print("%s; plimsoll run --exact counts every allocation",
                          profile->samples ? "few samples: figures by site are rough" : "nothing is known by site"));
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

void pl_page_head(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    char method[METHOD_BYTES];
    pl_profile_method(profile, method, sizeof method);
    put_identity(view);
    pl_term_words(view->term, PL_STYLE_PLAIN, method, 0);
    put_cost(view);
    pl_term_end(view->term);
    put_advice(view);
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
