/* SPDX-License-Identifier: MIT */
/*
 * diff.c - the diff command: what has changed from one profile to another, for a person.
 *
 *   Never freed      2.1 MiB → 9.8 MiB   +7.7 MiB (+366%)
 *
 *     +7.6 MiB              new                cache_put  src/cache.c:51  [indexer]
 *     -0.4 MiB ± 0.1 MiB    1.9 → 1.5 MiB      index_add_term  src/index.c:212  [indexer]
 *   214 other changes are within noise
 *
 * What is noise is decided over all that was compared, before anything is left out of what is shown.
 */
#include "diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "invocation.h"
#include "join.h"
#include "names.h"
#include "option.h"
#include "select.h"
#include "subject.h"
#include "summary.h"
#include "term.h"
#include "utf8.h"
#include "view.h"

#define DEPTH 6
#define TOP 20
#define RATE 5.0 /* percent */
#define INDENT 2
#define GAP 2
#define METHOD_BYTES 256
#define CELL_BYTES (4 * PL_FIGURE_BYTES)

static const char *const by_words[] = {
    [PL_DIFF_BY_STACK] = "stack", [PL_DIFF_BY_TAG] = "tag", [PL_DIFF_BY_THREAD] = "thread", NULL};
static const char *const units[] = {
    [PL_DIFF_BY_STACK] = "site", [PL_DIFF_BY_TAG] = "tag", [PL_DIFF_BY_THREAD] = "thread"};

static struct {
    int by;
    struct pl_select select;
    uint64_t top, depth;
    double threshold, rate;
    bool all, lines, force, full_names;
    const char *names;
    int colour;
} given = {.select = PL_SELECT_NOTHING, .top = TOP, .depth = DEPTH, .rate = RATE};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "by", .takes = "WHAT", .fallback = "stack", .help = "what to compare: stack, tag (without those below it) "
     "or thread (all of one name)", .type = &pl_type_choice, .into = &given.by, .choices = by_words},
    PL_SELECT_METRIC(given.select, "live, or allocated if nothing is"),
    PL_SELECT_TAG(given.select),
    PL_SELECT_THREAD(given.select),
    PL_SELECT_STACKS(given.select),
    PL_SELECT_TIMES(given.select),
    {.name = "all", .letter = 'a', .help = "show what is within noise, too", .type = &pl_type_flag, .into = &given.all},
    {.name = "rate", .takes = "PCT", .fallback = "5%", .help = "how many of the changes that are shown may be noise",
     .type = &pl_type_percent, .into = &given.rate},
    {.name = "lines", .help = "do not compare by functions alone where lines have moved", .type = &pl_type_flag,
     .into = &given.lines},
    {.name = "top", .letter = 'n', .takes = "N", .fallback = "20", .help = "how many changes to show",
     .type = &pl_type_count, .into = &given.top, .min = 1, .max = UINT32_MAX},
    {.name = "depth", .letter = 'd', .takes = "N", .fallback = "6", .help = "how many frames of a stack to compare and "
     "to show (stacks that agree in those are one)", .type = &pl_type_count, .into = &given.depth, .min = 1,
     .max = UINT32_MAX},
    {.name = "threshold", .letter = 't', .takes = "PCT", .fallback = "0", .help = "leave out changes that are less of "
     "the larger total", .type = &pl_type_percent, .into = &given.threshold},
    PL_NAMES_OPTION(given.names),
    PL_FULL_NAMES_OPTION(given.full_names),
    PL_FORCE_OPTION(given.force),
    PL_COLOUR_OPTION(given.colour),
    {0},
};
/* clang-format on */

struct side {
    struct pl_profile *whole;
    struct pl_selection selection;
    char *subject;
};

/* What is shown. */
struct page {
    const struct pl_diff *diff;
    const struct side *before, *after;
    enum pl_metric metric;
    struct pl_view view;
};

/* --- figures --- */

static void print_signed(char out[CELL_BYTES], enum pl_metric metric, double value)
{
    char figure[PL_FIGURE_BYTES];
    pl_figure_metric(figure, metric, fabs(value));
    snprintf(out, CELL_BYTES, "%s%s", value > 0 ? "+" : value < 0 ? "-" : "", figure);
}

/* In the scale of the change, unless it is the larger of the two. */
static void print_error(char out[PL_FIGURE_BYTES], enum pl_metric metric, const struct pl_estimate *change)
{
    struct pl_estimate size = *change;
    size.value = fabs(size.value) > size.error ? fabs(size.value) : 0;
    pl_figure_error(out, metric, &size);
}

static void print_sides(char out[CELL_BYTES], enum pl_metric metric, const struct pl_change *change)
{
    char before[PL_FIGURE_BYTES], after[PL_FIGURE_BYTES];
    pl_figure_metric(before, metric, change->before[metric].value);
    pl_figure_metric(after, metric, change->after[metric].value);
    if (change->what == PL_DIFF_APPEARED)
        snprintf(out, CELL_BYTES, "new");
    else if (change->what == PL_DIFF_DISAPPEARED)
        snprintf(out, CELL_BYTES, "gone");
    else
        snprintf(out, CELL_BYTES, "%s → %s", before, after);
}

/* --- the first lines --- */

/* Two moments of one run are not two runs. */
static bool in_time(void)
{
    return given.select.since != PL_SELECT_NO_TIME || given.select.until != PL_SELECT_NO_TIME;
}

/* At a moment in between nothing is "never freed", and the peak is a sum of peaks if one of them is. */
static const char *title_of(const struct page *page, enum pl_metric metric)
{
    static const char *const in_between[PL_METRIC_COUNT] = {
        [PL_METRIC_INUSE_SPACE] = "Live", [PL_METRIC_INUSE_OBJECTS] = "Live blocks"};
    bool peak = metric == PL_METRIC_PEAK_SPACE || metric == PL_METRIC_PEAK_OBJECTS;
    const struct side *whose = peak && page->before->whole->merged ? page->before : page->after;
    return in_time() && in_between[metric] ? in_between[metric] : pl_view_title(whose->selection.profile, metric);
}

static void put_side(struct pl_term *term, const char *word, const struct side *side)
{
    char method[METHOD_BYTES];
    pl_profile_method(side->selection.profile, method, sizeof method);
    pl_term_put(term, PL_STYLE_DIM, word);
    pl_term_put(term, PL_STYLE_BOLD, side->subject);
    pl_term_put(term, PL_STYLE_PLAIN, "  ");
    pl_term_words(term, PL_STYLE_PLAIN, method, strlen(word));
    pl_term_end(term);
}

/* "(+366%)", "(-0.8%)"; nothing of nothing. */
static void put_percent(struct pl_term *term, double change, double before)
{
    double percent = 100 * change / before;
    if (change != 0 && isfinite(percent))
        pl_term_print(term, PL_STYLE_PLAIN, " (%+.*f%%)", fabs(percent) < 9.95 ? 1 : 0, percent);
}

static void put_total(const struct page *page, enum pl_metric metric)
{
    const struct pl_change *total = &page->diff->total;
    const struct pl_estimate *change = &total->change[metric];
    struct pl_term *term = page->view.term;
    char before[PL_FIGURE_BYTES], after[PL_FIGURE_BYTES], sum[CELL_BYTES], error[PL_FIGURE_BYTES];
    pl_figure_metric(before, metric, total->before[metric].value);
    pl_figure_metric(after, metric, total->after[metric].value);
    print_signed(sum, metric, change->value);
    print_error(error, metric, change);
    pl_term_put(term, PL_STYLE_PLAIN, title_of(page, metric));
    pl_term_pad(term, 22);
    pl_term_print(term, PL_STYLE_PLAIN, "%s → %s", before, after);
    pl_term_pad(term, 46);
    pl_term_put(term, change->value == 0 ? PL_STYLE_DIM : PL_STYLE_BOLD, change->value == 0 ? "the same" : sum);
    put_percent(term, change->value, total->before[metric].value);
    if (*error && change->value != 0 && change->low <= 0 && change->high >= 0)
        pl_term_print(term, PL_STYLE_DIM, "  within noise (%s)", error);
    else if (*error) /* also of what is the same, as far as anybody knows */
        pl_term_print(term, PL_STYLE_PLAIN, "  %s", error);
    pl_term_end(term);
}

static void put_command(struct pl_term *term, size_t column, const struct side *side)
{
    char *command = pl_invocation_print(side->whole);
    pl_term_pad(term, column);
    pl_term_cut(term, PL_STYLE_PLAIN, command, term->width > column ? term->width - column : 1);
    pl_term_end(term);
    free(command);
}

/* The profiles, and how their programs were called if that is part of what differs. */
static void put_sides(struct pl_term *term, const struct side *before, const struct side *after)
{
    static const char was[] = "before  ", is[] = "after   ";
    bool differs = pl_invocation_differs(before->whole, after->whole);
    put_side(term, was, before);
    if (differs)
        put_command(term, strlen(was), before);
    put_side(term, is, after);
    if (differs)
        put_command(term, strlen(is), after);
    if (!pl_invocation_other_program(before->whole, after->whole))
        return;
    pl_term_print(term, PL_STYLE_WARN, "different programs: %s and %s", pl_invocation_program(before->whole),
                  pl_invocation_program(after->whole));
    pl_term_end(term);
}

static void put_head(const struct page *page)
{
    static const enum pl_metric usual[] = {PL_METRIC_INUSE_SPACE, PL_METRIC_ALLOC_SPACE, PL_METRIC_ALLOC_OBJECTS,
                                           PL_METRIC_PEAK_SPACE};
    struct pl_term *term = page->view.term;
    if (in_time())
        put_side(term, "", page->after);
    else
        put_sides(term, page->before, page->after);
    if (page->after->selection.words) {
        pl_term_print(term, PL_STYLE_WARN, "only: %s", page->after->selection.words);
        pl_term_end(term);
    }
    pl_term_end(term);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (!in_time() || usual[i] != PL_METRIC_PEAK_SPACE)
            put_total(page, usual[i]);
}

/* --- changes --- */

struct row {
    const struct pl_change *change;
    char sum[CELL_BYTES], error[PL_FIGURE_BYTES], sides[CELL_BYTES];
};

struct table {
    struct row *row;
    uint32_t rows;
    size_t sum_width, error_width, sides_width;
};

static bool large_enough(const struct page *page, const struct pl_change *change)
{
    const struct pl_change *total = &page->diff->total;
    double whole = fmax(total->before[page->metric].value, total->after[page->metric].value);
    return fabs(change->change[page->metric].value) >= given.threshold / 100 * whole;
}

static void widen(size_t *width, const char *text)
{
    size_t needed = pl_utf8_width(text);
    *width = needed > *width ? needed : *width;
}

static void fill_row(const struct page *page, const struct pl_change *change, struct table *table)
{
    struct row *row = &table->row[table->rows++];
    row->change = change;
    print_signed(row->sum, page->metric, change->change[page->metric].value);
    print_error(row->error, page->metric, &change->change[page->metric]);
    print_sides(row->sides, page->metric, change);
    widen(&table->sum_width, row->sum);
    widen(&table->error_width, row->error);
    widen(&table->sides_width, row->sides);
}

static void put_path(const struct page *page, const struct pl_change *change, size_t column)
{
    const struct pl_path *path = &page->diff->paths.path[change->who], *was = &page->diff->paths.path[change->was];
    const struct pl_spot *spots = page->diff->spots->spot;
    pl_view_site(&page->view, path, column);
    if (spots[was->spot[0]].line != spots[path->spot[0]].line)
        pl_term_print(page->view.term, PL_STYLE_DIM, "  (was line %u)", spots[was->spot[0]].line);
    if (path->count < 2)
        return;
    pl_term_end(page->view.term);
    pl_term_pad(page->view.term, column);
    pl_view_callers(&page->view, path, column);
}

static void put_who(const struct page *page, const struct pl_change *change, size_t column)
{
    const struct pl_profile *joined = page->diff->joined;
    struct pl_term *term = page->view.term;
    if (given.by == PL_DIFF_BY_STACK)
        put_path(page, change, column);
    else if (given.by == PL_DIFF_BY_THREAD)
        pl_term_put(term, PL_STYLE_BOLD, joined->thread[change->who].name);
    else
        pl_term_cut(term, PL_STYLE_BOLD, change->who ? joined->tag[change->who].path : "(no tag)",
                    term->width > column ? term->width - column : 1);
}

static void put_row(const struct page *page, const struct table *table, const struct row *row)
{
    struct pl_term *term = page->view.term;
    enum pl_style style = row->change->significant ? PL_STYLE_BOLD : PL_STYLE_DIM;
    size_t column = INDENT + table->sum_width + 1;
    pl_term_pad(term, INDENT);
    pl_term_right(term, style, row->sum, table->sum_width);
    pl_term_pad(term, column);
    pl_term_put(term, PL_STYLE_PLAIN, row->error);
    column += table->error_width + GAP;
    pl_term_pad(term, column);
    pl_term_put(term, PL_STYLE_PLAIN, row->sides);
    column += table->sides_width + GAP;
    pl_term_pad(term, column);
    if (!row->change->significant)
        pl_term_put(term, PL_STYLE_DIM, "within noise  ");
    put_who(page, row->change, column);
    pl_term_end(term);
}

/* --- what is not shown --- */

static void put_note(const struct page *page, uint32_t number, const char *one, const char *many, const char *rest)
{
    char figure[PL_FIGURE_BYTES];
    if (!number)
        return;
    pl_figure_exact(figure, number);
    char *text = pl_say_print("%s %s%s", figure, number == 1 ? one : many, rest);
    pl_term_words(page->view.term, PL_STYLE_DIM, text, 0);
    pl_term_end(page->view.term);
    free(text);
}

static void put_noise(const struct page *page, uint32_t noise, bool others)
{
    const char *one = others ? "other change is within noise" : "change is within noise";
    const char *many = others ? "other changes are within noise" : "changes are within noise";
    put_note(page, noise, one, many, noise == 1 ? "; --all shows it" : "; --all shows them");
}

/* Each peak is at a moment of its own, which may be any where the heap was nearly as large. */
static void put_slack(const struct page *page)
{
    double before = page->before->whole->peak_slack_bytes, after = page->after->whole->peak_slack_bytes;
    bool asked = page->metric == PL_METRIC_PEAK_SPACE || page->metric == PL_METRIC_PEAK_OBJECTS;
    char slack[PL_FIGURE_BYTES];
    if (!asked || in_time() || before + after == 0)
        return;
    pl_figure_bytes(slack, before + after);
    char *text =
        pl_say_print("as several threads allocate, what differs at the peak is known to within %s: changes that "
                     "are no larger are called noise, and larger ones may be due to another moment",
                     slack);
    pl_term_words(page->view.term, PL_STYLE_DIM, text, 0);
    pl_term_end(page->view.term);
    free(text);
}

/* How many changes are not shown, by why. */
struct left_out {
    uint32_t noise, small, late;
};

static void put_notes(const struct page *page, uint32_t shown, const struct left_out *left)
{
    put_note(page, left->late, "more change is not shown", "more changes are not shown", "; --top N shows more");
    put_note(page, left->small, "more change is below the threshold", "more changes are below the threshold", "");
    put_noise(page, left->noise, shown + left->small > 0);
    if (page->diff->moved)
        put_note(page, page->diff->moved, "site was compared by functions alone, as lines have moved",
                 "sites were compared by functions alone, as lines have moved", "; --lines tells them apart");
    put_slack(page);
}

/* Most important first, as they are. */
static struct left_out fill_rows(const struct page *page, struct table *table)
{
    struct left_out left = {0};
    for (uint32_t i = 0; i < page->diff->changes; i++) {
        const struct pl_change *change = &page->diff->change[i];
        if (change->what == PL_DIFF_SAME)
            continue;
        if (!change->significant && !given.all)
            left.noise++;
        else if (!large_enough(page, change))
            left.small++;
        else if (table->rows == given.top)
            left.late++;
        else
            fill_row(page, change, table);
    }
    return left;
}

/* What samples say of two moments is of the same samples: there, nothing was judged. */
static void put_heading(const struct page *page)
{
    struct pl_term *term = page->view.term;
    pl_term_end(term);
    pl_term_print(term, PL_STYLE_HEAD, "%s, by %s", title_of(page, page->metric), units[given.by]);
    if (!page->diff->exact && !given.all && !in_time())
        pl_term_print(term, PL_STYLE_DIM, "  at most %.3g%% of these are expected to be noise", given.rate);
    pl_term_end(term);
}

static void put_changes(const struct page *page)
{
    struct pl_term *term = page->view.term;
    struct table table = {.row = pl_say_memory(calloc(page->diff->changes + 1ull, sizeof *table.row))};
    struct left_out left = fill_rows(page, &table);
    put_heading(page);
    for (uint32_t i = 0; i < table.rows; i++)
        put_row(page, &table, &table.row[i]);
    if (!table.rows && !left.small) {
        pl_term_pad(term, INDENT);
        pl_term_put(term, PL_STYLE_PLAIN, left.noise ? "no change is more than noise" : "nothing has changed");
        pl_term_end(term);
    }
    put_notes(page, table.rows, &left);
    free(table.row);
}

/* --- both profiles --- */

static enum pl_exit open_side(char *typed, struct side *out)
{
    struct pl_subject_options how = {
        .command = "diff", .force = given.force, .names = {.file = given.names, .full = given.full_names}};
    struct side side = {0};
    enum pl_exit status = pl_subject_open(&how, 1, &typed, &side.whole);
    if (status != PL_EXIT_OK)
        return status;
    side.subject = pl_summary_typed(typed);
    status = pl_select_apply(&given.select, side.whole, side.subject, &side.selection);
    if (status == PL_EXIT_OK) {
        *out = side;
        return status;
    }
    free(side.subject);
    pl_profile_close(side.whole);
    return status;
}

static void close_side(struct side *side)
{
    pl_selection_free(&side->selection);
    free(side->subject);
    pl_profile_close(side->whole);
}

static enum pl_metric choose_metric(const struct pl_profile *before, const struct pl_profile *after)
{
    bool live = before->total[PL_METRIC_INUSE_SPACE].value > 0 || after->total[PL_METRIC_INUSE_SPACE].value > 0;
    return pl_select_metric(&given.select, live ? PL_METRIC_INUSE_SPACE : PL_METRIC_ALLOC_SPACE);
}

static void print_page(const struct pl_profile *joined, const struct pl_diff_options *how, const struct side *before,
                       const struct side *after)
{
    struct pl_diff diff;
    struct pl_term term = pl_term_open(stdout, (enum pl_colour) given.colour);
    term.whole = given.full_names;
    pl_diff_make(joined, how, &diff);
    struct page page = {
        .diff = &diff,
        .before = before,
        .after = after,
        .metric = how->metric,
        .view = {.profile = after->selection.profile, .whole = after->whole, .spots = diff.spots, .term = &term},
    };
    put_head(&page);
    put_changes(&page);
    pl_diff_free(&diff);
}

static struct pl_diff_options make_options(enum pl_metric metric, const struct pl_spot_options *names)
{
    return (struct pl_diff_options){
        .by = (enum pl_diff_by) given.by,
        .metric = metric,
        .rate = given.rate / 100,
        .depth = (uint32_t) given.depth,
        .lines = given.lines,
        .names = names,
    };
}

static void print_diff(const struct side *before, const struct side *after)
{
    const struct pl_profile *part[] = {before->selection.profile, after->selection.profile};
    struct pl_profile *joined = pl_join(part, 2, PL_JOIN_DIFFERENCE);
    struct pl_spot_options names = {.full_names = given.full_names};
    struct pl_diff_options how = make_options(choose_metric(part[0], part[1]), &names);
    how.before = part[0];
    how.after = part[1];
    print_page(joined, &how, before, after);
    pl_profile_close(joined);
}

/* What samples say of two moments is of the same samples, so that no change is noise: each has its error. */
static void print_interval(const struct side *side)
{
    struct pl_spot_options names = {.full_names = given.full_names};
    struct pl_diff_options how = make_options(pl_select_metric(&given.select, PL_METRIC_INUSE_SPACE), &names);
    how.rate = 1;
    print_page(side->selection.profile, &how, side, side);
}

/* A side may have nothing of what was selected, but not both. */
static enum pl_exit compare(char *first, char *second)
{
    struct side before, after;
    given.select.may_be_empty = true;
    enum pl_exit status = open_side(first, &before);
    if (status != PL_EXIT_OK)
        return status;
    given.select.may_be_empty = before.selection.profile->sites > 0;
    status = open_side(second, &after);
    if (status == PL_EXIT_OK) {
        print_diff(&before, &after);
        close_side(&after);
    }
    close_side(&before);
    return status;
}

static enum pl_exit look_at_interval(char *typed)
{
    struct side side;
    enum pl_exit status = open_side(typed, &side);
    if (status != PL_EXIT_OK)
        return status;
    print_interval(&side);
    close_side(&side);
    return status;
}

static int diff_main(int argc, char **argv)
{
    if (in_time() && argc == 1)
        return look_at_interval(argv[0]);
    if (in_time())
        return pl_say_usage("--since and --until are about one profile: %s diff --since 10s A.plim", pl_say_self());
    if (argc != 2)
        return pl_say_usage("diff takes two profiles, before and after: %s diff A.plim B.plim", pl_say_self());
    return compare(argv[0], argv[1]);
}

const struct pl_command pl_command_diff = {
    .name = "diff",
    .arguments = "BEFORE AFTER | --since TIME FILE",
    .summary = "show what has changed from one profile to another",
    .details =
        "Prints what appeared, grew, shrank and disappeared, the largest change first. BEFORE and AFTER are profiles, "
        "or PIDs of running processes.\n"
        "\n"
        "Sites are compared by functions and lines, so that two builds of a program compare; what only one of two "
        "builds has at its line is compared by functions alone.\n"
        "\n"
        "Where figures are estimates, a change that sampling alone may have made is called noise, and is counted but "
        "not shown. Exact figures that differ did change, but for peaks of several threads, which are not known to the "
        "byte. That there are differences is no error: the exit status is 0.\n"
        "\n"
        "With --since or --until and one profile, it shows what changed from one moment of that run to another: "
        "`plimsoll diff --since 10s --until 1m service.plim`.",
    .examples = "plimsoll run -o before.plim -- ls /\n"
                "plimsoll run -o after.plim -- ls -l /\n"
                "plimsoll diff before.plim after.plim\n"
                "plimsoll diff --metric allocated --by tag before.plim after.plim\n"
                "plimsoll diff --all --top 50 before.plim after.plim",
    .options = options,
    .main = diff_main,
};
