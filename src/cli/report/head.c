/* SPDX-License-Identifier: MIT */
/*
 * head.c - the first and the last lines of a report: which process it is about, how it was recorded, what was lost.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "analysis/metric.h"
#include "analysis/filefull.h"
#include "analysis/tags/tagfold.h"
#include "analysis/traits.h"
#include "cli/report/views.h"
#include "cli/run/summary.h"
#include "format/settings.h"
#include "reader/base/utf8.h"
#include "reader/describe.h"
#include "reader/site.h"
#include "reader/totals.h"

#define FEW_SAMPLES 100
#define METHOD_BYTES 256

/* --- which process --- */

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
    pl_describe_ending(profile, ending, sizeof ending);
    char *command = pl_traits_command(profile);
    bool timed = pl_traits_timed(profile);
    const char *machine = machine_name(profile->header.machine);
    char *facts = profile->merged ? pl_say_print("%u profiles merged · %s", profile->merged, machine)
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

/* Warns if there are few samples, and says what gives better figures. */
static void put_advice(const struct pl_view *view)
{
    const struct pl_profile *profile = view->whole;
    if (!pl_traits_estimated(profile) || profile->exact_calls > 0 || profile->samples >= FEW_SAMPLES ||
        !(profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0))
        return;
    put_line(view->term, PL_STYLE_WARN,
             pl_say_print("%s; %s run --exact counts every allocation",
                          profile->samples ? "few samples: figures by site are rough"
                                           : "no sample was taken: there are no figures by site",
                          pl_say_self()));
}

/* What no figure of the report includes. */
static void put_bypasses(const struct pl_view *view)
{
    char words[METHOD_BYTES + 128];
    for (int how = 0; how < PL_BYPASS_COUNT; how++)
        if (pl_describe_bypass(view->whole, how, words, sizeof words))
            put_line(view->term, PL_STYLE_WARN, pl_say_print("%s", words));
}

static void put_python(const struct pl_view *view)
{
    const struct pl_header *header = &view->whole->header;
    if (header->python == PL_PYTHON_OTHER)
        put_line(view->term, PL_STYLE_WARN,
                 pl_say_print("this build of Python %u.%u is not one that Plimsoll can read: stacks have native frames "
                              "only",
                              header->python_version >> 24, header->python_version >> 16 & 0xff));
}

/* Figures of live blocks are those of blocks since then. */
static void put_attached(const struct pl_view *view)
{
    char words[METHOD_BYTES];
    if (pl_describe_attached(view->whole, words, sizeof words))
        put_line(view->term, PL_STYLE_PLAIN, pl_say_print("%s", words));
}

/* Records were lost: says why, and what helps. */
static void put_room(const struct pl_view *view)
{
    const struct pl_profile *profile = view->whole;
    char cause[PL_FILEFULL_BYTES], remedy[PL_FILEFULL_BYTES];
    if (!pl_filefull_lost(&profile->header))
        return;
    pl_filefull_cause(&profile->header, cause);
    pl_filefull_remedy(&profile->header, profile->file_bytes, pl_say_self(), remedy);
    put_line(view->term, PL_STYLE_WARN, pl_say_print("%s: figures by site are incomplete; %s", cause, remedy));
}

static void put_unsampled(const struct pl_view *view)
{
    struct pl_unsampled unsampled = pl_totals_unsampled(view->whole);
    if (!unsampled.sites)
        return;
    char bytes[PL_FIGURE_BYTES], number[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, unsampled.bytes);
    pl_figure_exact(number, unsampled.sites);
    put_line(view->term, PL_STYLE_PLAIN,
             pl_say_print("%s site%s %s not been sampled since exact counting ended: together at most %s more, with "
                          "95%% confidence",
                          number, unsampled.sites == 1 ? "" : "s", unsampled.sites == 1 ? "has" : "have", bytes));
}

/* What auto mode allows, if the share is larger than promised: "; limit for counting 100 ms + 2%". */
static char *print_limit(const struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    char credit[PL_FIGURE_BYTES];
    if (header->mode != PL_MODE_AUTO || !header->automatic.overhead_ppm || profile->merged ||
        profile->cost_s <= profile->cpu_s * header->automatic.overhead_ppm / 1e6)
        return pl_say_print("%s", "");
    pl_figure_seconds(credit, (header->credit_ms ? header->credit_ms : PL_CREDIT_PRELOAD_MS) / 1e3);
    return pl_say_print("; limit for counting %s + %g%%", credit, header->automatic.overhead_ppm / 1e4);
}

/* "runtime cost 61 ms (0.5%) + cache misses", at the right end of the line if it fits there. */
static void put_cost(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    struct pl_term *term = view->term;
    char cost[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES] = "";
    if (!(profile->cost_s > 0))
        return;
    char *limit = print_limit(profile);
    pl_figure_span(cost, profile->cost_s);
    pl_figure_percent(share, profile->cpu_s > 0 ? profile->cost_s / profile->cpu_s : 0);
    char *text = profile->cpu_s > 0 ? pl_say_print("runtime cost %s (%s%s) + cache misses", cost, share, limit)
                                    : pl_say_print("runtime cost %s + cache misses", cost);
    size_t width = pl_utf8_width(text);
    if (term->column + 2 + width > term->width)
        pl_term_end(term);
    else
        pl_term_pad(term, term->width - width);
    pl_term_words(term, PL_STYLE_PLAIN, text, 0);
    free(text);
    free(limit);
}

/* --- what the figures are about --- */

static void put_reset(const struct pl_view *view)
{
    char when[PL_FIGURE_BYTES];
    if (!(view->whole->reset_s > 0))
        return;
    pl_figure_seconds(when, view->whole->reset_s);
    put_line(view->term, PL_STYLE_PLAIN,
             pl_say_print("since the reset at %s; earlier allocations are not included", when));
}

/* "off at 3.2 s". */
static char *print_request(const struct pl_obeyed *obeyed)
{
    static const char *const words[PL_ASKED_COUNT] = {
#define WORD(name, text) [PL_ASKED_##name] = text,
        PL_ASKED(WORD)
#undef WORD
    };
    char value[PL_FIGURE_BYTES + 1] = "", when[PL_FIGURE_BYTES];
    value[0] = ' ';
    if (obeyed->what == PL_ASKED_SAMPLE)
        pl_figure_setting(value + 1, obeyed->value);
    else if (obeyed->what == PL_ASKED_OVERHEAD)
        snprintf(value, sizeof value, " %g%%", (double) obeyed->value / 1e4);
    else
        value[0] = 0;
    pl_figure_seconds(when, (double) obeyed->time_ns / 1e9);
    const char *word = words[obeyed->what < PL_ASKED_COUNT ? obeyed->what : PL_ASKED_NOTHING];
    return obeyed->time_ns ? pl_say_print("%s%s at %s", word, value, when) : pl_say_print("%s%s", word, value);
}

static void put_steering(const struct pl_view *view)
{
    const struct pl_header *header = &view->whole->header;
    uint64_t first = header->requests > PL_OBEYED_MAX ? header->requests - PL_OBEYED_MAX : 0;
    char *list = first ? pl_say_print("%llu earlier requests", (unsigned long long) first) : pl_say_print("%s", "");
    for (uint64_t i = first; i < header->requests; i++) {
        char *word = print_request(&header->obeyed[i % PL_OBEYED_MAX]);
        pl_say_append(&list, ", ", word);
        free(word);
    }
    if (header->requests)
        put_line(view->term, PL_STYLE_PLAIN, pl_say_print("steered from outside: %s", list));
    free(list);
}

/* Calls under a tag of this kind are only counted: they have no stacks. */
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
        put_line(view->term, PL_STYLE_PLAIN,
                 pl_say_print("%s: %s call%s (%s) counted as %s, without stacks", words, number, calls == 1 ? "" : "s",
                              amount, name));
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

/* The limits may have changed during the run, so this looks for sites that they excluded, not at the limits. */
static void put_other_sizes(const struct pl_view *view)
{
    const struct pl_profile *profile = view->whole;
    struct pl_figures sum = {0};
    struct pl_estimate metric[PL_METRIC_COUNT];
    bool any = false;
    for (uint32_t i = 0; i < profile->sites; i++) {
        if (profile->site[i].other_sizes)
            pl_site_add_figures(&sum, &profile->site[i]);
        any |= profile->site[i].other_sizes;
    }
    if (!any)
        return;
    char calls[2 * PL_FIGURE_BYTES], bytes[2 * PL_FIGURE_BYTES], *sizes = describe_sizes(&profile->header);
    pl_estimate_figures(&sum, metric);
    pl_figure_estimate(calls, PL_METRIC_ALLOC_OBJECTS, &metric[PL_METRIC_ALLOC_OBJECTS]);
    pl_figure_estimate(bytes, PL_METRIC_ALLOC_SPACE, &metric[PL_METRIC_ALLOC_SPACE]);
    put_line(view->term, PL_STYLE_PLAIN,
             pl_say_print("stacks recorded only for blocks of %s: %s other calls (%s) are counted together as (other "
                          "sizes)",
                          sizes, calls, bytes));
    free(sizes);
}

/* What a heap that has taken its chunks from another one has not given to anybody: if that is estimated, the least that
 * it may be. NULL: the heap has not said so, or nothing is known. */
static char *describe_slack(const struct pl_heap_view *heap, const struct pl_estimate *live)
{
    char held[PL_FIGURE_BYTES], slack[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    if (heap->held_bytes <= 0 || live->high >= heap->held_bytes)
        return NULL;
    pl_figure_bytes(held, heap->held_bytes);
    pl_figure_bytes(slack, heap->held_bytes - live->high);
    pl_figure_percent(share, (heap->held_bytes - live->high) / heap->held_bytes);
    return pl_say_print("; in chunks of %s, %s%s of it (%s) not in use", held,
                        live->high > live->value ? "at least " : "", slack, share);
}

/* Mappings are addresses, not memory in use, and most programs return them: the most at one time says how far they may
 * explain RSS. */
static void put_mapped(const struct pl_view *view, const char *name, char figure[PL_METRIC_COUNT][2 * PL_FIGURE_BYTES])
{
    const char *when = view->whole->running ? "now" : view->whole->snapshot_name ? "then" : "at the end";
    put_line(view->term, PL_STYLE_PLAIN,
             pl_say_print("heap %s, not included: at most %s mapped at a time, %s %s, resident or not (--heap %s)",
                          name, figure[PL_METRIC_PEAK_SPACE], figure[PL_METRIC_INUSE_SPACE], when, name));
}

/* The other heaps: none of their figures is part of what follows. */
static void put_heaps(const struct pl_view *view)
{
    const struct pl_profile *profile = view->whole;
    for (uint32_t i = 0; i < profile->heaps; i++) {
        const struct pl_heap_view *heap = &profile->heap[i];
        struct pl_estimate metric[PL_METRIC_COUNT];
        char figure[PL_METRIC_COUNT][2 * PL_FIGURE_BYTES];
        pl_estimate_figures(&heap->all, metric);
        for (int m = 0; m < PL_METRIC_COUNT; m++)
            pl_figure_estimate(figure[m], (enum pl_metric) m, &metric[m]);
        if (heap->kind != PL_HEAP_NAMED) {
            put_mapped(view, heap->name, figure);
            continue;
        }
        char *slack = describe_slack(heap, &metric[PL_METRIC_INUSE_SPACE]);
        put_line(view->term, PL_STYLE_PLAIN,
                 pl_say_print("heap %.80s, not included: %s live in %s block%s, of %s in %s call%s%s (--heap %.80s)",
                              heap->name, figure[PL_METRIC_INUSE_SPACE], figure[PL_METRIC_INUSE_OBJECTS],
                              metric[PL_METRIC_INUSE_OBJECTS].value == 1 ? "" : "s", figure[PL_METRIC_ALLOC_SPACE],
                              figure[PL_METRIC_ALLOC_OBJECTS], metric[PL_METRIC_ALLOC_OBJECTS].value == 1 ? "" : "s",
                              slack ? slack : "", heap->name));
        free(slack);
    }
}

static void put_selection(const struct pl_view *view)
{
    char bytes[PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES];
    const struct pl_estimate *part = view->profile->total;
    if (!view->selection)
        return;
    pl_figure_percent(bytes, pl_metric_share(view->whole, PL_METRIC_ALLOC_SPACE, part[PL_METRIC_ALLOC_SPACE].value));
    pl_figure_percent(calls,
                      pl_metric_share(view->whole, PL_METRIC_ALLOC_OBJECTS, part[PL_METRIC_ALLOC_OBJECTS].value));
    put_line(view->term, PL_STYLE_BOLD,
             pl_say_print("selected: %s: %s of all bytes, %s of all calls; all figures are of this part",
                          view->selection, bytes, calls));
}

void pl_head_print(const struct pl_view *view)
{
    char method[METHOD_BYTES];
    pl_describe_method(view->whole, method, sizeof method);
    put_identity(view);
    pl_term_words(view->term, PL_STYLE_PLAIN, method, 0);
    put_cost(view);
    pl_term_end(view->term);
    put_attached(view);
    put_bypasses(view);
    put_python(view);
    put_advice(view);
    put_room(view);
    put_unsampled(view);
    put_reset(view);
    put_steering(view);
    put_unrecorded(view, PL_TAG_OFF, "switched off for a while", "(off)");
    put_unrecorded(view, PL_TAG_PAUSED, "paused by some threads", "(paused)");
    put_other_sizes(view);
    put_heaps(view);
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
#define ROW(name, variable, ...) [PL_SETTING_##name] = variable,
        PL_SETTINGS(ROW)
#undef ROW
#define ROW(name, variable, ...) [PL_GLIBC_##name] = variable,
            PL_GLIBC_SETTINGS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        if (!variables[i] || !(view->profile->header.bad_settings >> i & 1))
            continue;
        put_line(view->term, PL_STYLE_WARN,
                 pl_say_print("the value of %s was not understood and was ignored", variables[i]));
    }
}

/* Recursion looks like a missing pop, so the text names both. */
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
        char *more = others > 1 ? pl_say_print(", as %s %u more", others == 2 ? "was" : "were", others - 1) : NULL;
        pl_term_end(view->term);
        put_line(view->term, PL_STYLE_WARN,
                 pl_say_print("The tag `%.200s` was pushed inside itself, %s deep%s: recursion, or a missing "
                              "plimsoll_pop()",
                              profile->tag[deepest].name, depth, more ? more : ""));
        free(more);
    }
    pl_arena_free(scratch);
}

void pl_head_losses(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    bool titled = false;
    for (int i = 0; i < PL_LOSS_COUNT; i++)
        put_loss(view, &titled, profile->header.losses[i], pl_describe_loss(i, 1), pl_describe_loss(i, 2));
    for (int i = PL_STOP_END + 1; i < PL_STOP_COUNT; i++)
        put_loss(view, &titled, profile->header.stops[i], pl_describe_stop(i, 1), pl_describe_stop(i, 2));
    put_loss(view, &titled, profile->damage, "damaged record, ignored", "damaged records, ignored");
    put_loss(view, &titled, profile->in_flight, "figure read in the middle of an update",
             "figures read in the middle of an update");
    put_nested(view);
    put_bad_settings(view);
}
