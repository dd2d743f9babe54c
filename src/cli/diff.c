/* SPDX-License-Identifier: MIT */
/*
 * diff.c - the diff command: prints what changed from one profile to another.
 *
 *   Never freed      2.1 MiB → 9.8 MiB   +7.7 MiB (+366%)
 *
 *     +7.6 MiB              new                cache_put  src/cache.c:51  [indexer]
 *     -0.4 MiB ± 0.1 MiB    1.9 → 1.5 MiB      index_add_term  src/index.c:212  [indexer]
 *   214 other changes are within noise
 *
 * Noise is decided over all compared sites, before --top and --threshold leave any out.
 */
#include "analysis/diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "analysis/metric.h"
#include "analysis/traits.h"
#include "cli/names.h"
#include "cli/option.h"
#include "cli/report/print.h"
#include "cli/select.h"
#include "cli/subject.h"
#include "cli/table.h"
#include "cli/term.h"
#include "reader/base/utf8.h"
#include "reader/join/join.h"
#include "reader/describe.h"

#define DEPTH 6
#define TOP 20
#define RATE 5.0 /* percent */
#define INDENT 2
#define GAP 2
#define TOTAL_SIDES_COLUMN 22 /* where the lines of totals have their before and after, and the change */
#define TOTAL_CHANGE_COLUMN 46
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
    bool all, lines, force, full_names, python, native;
    const char *sysroot;
    const char *names;
    int colour;
} given = {.select = PL_SELECT_NOTHING, .top = TOP, .depth = DEPTH, .rate = RATE};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "by", .takes = "WHAT", .fallback = "stack", .help = "compare by stack, tag or thread; tags are compared "
     "without the tags below them, threads of one name together", .type = &pl_type_choice, .into = &given.by,
     .choices = by_words},
    PL_SELECT_METRIC(given.select, "the one that changed most"),
    PL_SELECT_HEAP(given.select),
    PL_SELECT_TAG(given.select),
    PL_SELECT_THREAD(given.select),
    PL_SELECT_STACKS(given.select),
    PL_SELECT_TIMES(given.select),
    {.name = "all", .letter = 'a', .help = "also show changes that may be noise", .type = &pl_type_flag,
     .into = &given.all},
    {.name = "rate", .takes = "PCT", .fallback = "5%", .help = "share of noise to allow among the changes shown",
     .type = &pl_type_percent, .into = &given.rate},
    {.name = "lines", .help = "never compare by function alone, even where lines have moved", .type = &pl_type_flag,
     .into = &given.lines},
    {.name = "top", .letter = 'n', .takes = "N", .fallback = "20", .help = "number of changes to show",
     .type = &pl_type_count, .into = &given.top, .min = 1, .max = UINT32_MAX},
    {.name = "depth", .letter = 'd', .takes = "N", .fallback = "6", .help = "number of frames per stack to compare and "
     "show; stacks with the same frames become one", .type = &pl_type_count, .into = &given.depth, .min = 1,
     .max = UINT32_MAX},
    {.name = "threshold", .letter = 't', .takes = "PCT", .fallback = "0", .help = "hide changes with a smaller share "
     "of the larger total", .type = &pl_type_percent, .into = &given.threshold},
    PL_LANGUAGE_OPTIONS(given.python, given.native),
    PL_NAMES_OPTION(given.names),
    PL_FULL_NAMES_OPTION(given.full_names),
    PL_FORCE_OPTION(given.force),
    PL_SYSROOT_OPTION(given.sysroot),
    PL_COLOUR_OPTION(given.colour),
    {0},
};
/* clang-format on */

/* The output. */
struct page {
    const struct pl_diff *diff;
    const struct pl_selection *before, *after;
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

/* In the unit of the change, or in its own unit if the error is larger. */
static void print_error(char out[PL_FIGURE_BYTES], enum pl_metric metric, const struct pl_estimate *change)
{
    struct pl_estimate size = *change;
    size.value = fabs(size.value) > size.error ? fabs(size.value) : 0;
    pl_figure_error(out, metric, &size);
}

static void print_sides(char out[CELL_BYTES], enum pl_metric metric, const struct pl_change *change)
{
    char before[PL_FIGURE_BYTES], after[PL_FIGURE_BYTES];
    pl_figure_metric(before, metric, change->before.value);
    pl_figure_metric(after, metric, change->after.value);
    if (change->what == PL_DIFF_APPEARED)
        snprintf(out, CELL_BYTES, "new");
    else if (change->what == PL_DIFF_DISAPPEARED)
        snprintf(out, CELL_BYTES, "gone");
    else
        snprintf(out, CELL_BYTES, "%s → %s", before, after);
}

/* --- the first lines --- */

/* Compares two moments of one run, not two runs. */
static bool in_time(void)
{
    return pl_select_in_time(&given.select);
}

/* In the middle of a run blocks are live, not "never freed". The peak is a sum of peaks if either profile is merged. */
static const char *title_of(const struct page *page, enum pl_metric metric)
{
    static const char *const in_between[PL_METRIC_COUNT] = {
        [PL_METRIC_INUSE_SPACE] = "Live", [PL_METRIC_INUSE_OBJECTS] = "Live blocks"};
    bool peak = metric == PL_METRIC_PEAK_SPACE || metric == PL_METRIC_PEAK_OBJECTS;
    const struct pl_selection *whose = peak && page->before->whole->merged ? page->before : page->after;
    return in_time() && in_between[metric] ? in_between[metric] : pl_metric_title(whose->profile, metric);
}

static void put_side(struct pl_term *term, const char *word, const struct pl_selection *side)
{
    char method[METHOD_BYTES];
    pl_describe_method(side->profile, method, sizeof method);
    pl_term_put(term, PL_STYLE_DIM, word);
    pl_term_put(term, PL_STYLE_BOLD, side->subject);
    pl_term_put(term, PL_STYLE_PLAIN, "  ");
    pl_term_words(term, PL_STYLE_PLAIN, method, strlen(word));
    pl_term_end(term);
}

/* "(+366%)", "(-0.8%)"; prints nothing if there was nothing before. */
static void put_percent(struct pl_term *term, double change, double before)
{
    double percent = 100 * change / before;
    if (change != 0 && isfinite(percent))
        pl_term_print(term, PL_STYLE_PLAIN, " (%+.*f%%)", fabs(percent) < 9.95 ? 1 : 0, percent);
}

/* How sure a change is: behind it, or below it on a narrow terminal. Frees the text. */
static void put_judgement(struct pl_term *term, enum pl_style style, char *text)
{
    pl_term_room(term, GAP, pl_utf8_width(text), TOTAL_CHANGE_COLUMN);
    pl_term_put(term, style, text);
    free(text);
}

static void put_total(const struct page *page, enum pl_metric metric)
{
    const struct pl_diff_sides *total = &page->diff->totals;
    const struct pl_estimate *change = &total->change[metric];
    struct pl_term *term = page->view.term;
    char before[PL_FIGURE_BYTES], after[PL_FIGURE_BYTES], sum[CELL_BYTES], error[PL_FIGURE_BYTES];
    pl_figure_metric(before, metric, total->before[metric].value);
    pl_figure_metric(after, metric, total->after[metric].value);
    print_signed(sum, metric, change->value);
    print_error(error, metric, change);
    pl_term_put(term, PL_STYLE_PLAIN, title_of(page, metric));
    pl_term_pad(term, TOTAL_SIDES_COLUMN);
    pl_term_print(term, PL_STYLE_PLAIN, "%s → %s", before, after);
    pl_term_pad(term, TOTAL_CHANGE_COLUMN);
    pl_term_put(term, change->value == 0 ? PL_STYLE_DIM : PL_STYLE_BOLD, change->value == 0 ? "the same" : sum);
    put_percent(term, change->value, total->before[metric].value);
    if (*error && change->value != 0 && change->low <= 0 && change->high >= 0)
        put_judgement(term, PL_STYLE_DIM, pl_say_print("within noise (%s)", error));
    else if (*error) /* also if the estimates are equal: the truth may differ */
        put_judgement(term, PL_STYLE_PLAIN, pl_say_print("%s", error));
    pl_term_end(term);
}

static void put_command(struct pl_term *term, size_t column, const struct pl_selection *side)
{
    char *command = pl_traits_command(side->whole);
    pl_term_pad(term, column);
    pl_term_cut(term, PL_STYLE_PLAIN, command, term->width > column ? term->width - column : 1);
    pl_term_end(term);
    free(command);
}

/* The profiles, and their command lines if those differ. */
static void put_sides(struct pl_term *term, const struct pl_selection *before, const struct pl_selection *after)
{
    static const char was[] = "before  ", is[] = "after   ";
    bool differs = pl_traits_other_command(before->whole, after->whole);
    put_side(term, was, before);
    if (differs)
        put_command(term, strlen(was), before);
    put_side(term, is, after);
    if (differs)
        put_command(term, strlen(is), after);
    if (!pl_traits_other_program(before->whole, after->whole))
        return;
    pl_term_print(term, PL_STYLE_WARN, "different programs: %s and %s", pl_traits_program(before->whole),
                  pl_traits_program(after->whole));
    pl_term_end(term);
}

/* The totals that are always compared. The peak of a part of the run is not known. */
static const enum pl_metric usual[] = {PL_METRIC_INUSE_SPACE, PL_METRIC_PEAK_SPACE, PL_METRIC_ALLOC_SPACE,
                                       PL_METRIC_ALLOC_OBJECTS};
#define USUAL (sizeof usual / sizeof *usual)

static bool is_shown(enum pl_metric metric)
{
    return !in_time() || metric != PL_METRIC_PEAK_SPACE;
}

/* The metric that is compared by site below comes first. */
static void put_head(const struct page *page)
{
    struct pl_term *term = page->view.term;
    if (in_time())
        put_side(term, "", page->after);
    else
        put_sides(term, page->before, page->after);
    if (page->after->words) {
        pl_term_print(term, PL_STYLE_WARN, "only: %s", page->after->words);
        pl_term_end(term);
    }
    pl_term_end(term);
    put_total(page, page->metric);
    for (size_t i = 0; i < USUAL; i++)
        if (usual[i] != page->metric && is_shown(usual[i]))
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
    double whole = fmax(total->before.value, total->after.value);
    return fabs(change->change.value) >= given.threshold / 100 * whole;
}

static void fill_row(const struct page *page, const struct pl_change *change, struct table *table)
{
    struct row *row = &table->row[table->rows++];
    row->change = change;
    print_signed(row->sum, page->metric, change->change.value);
    print_error(row->error, page->metric, &change->change);
    print_sides(row->sides, page->metric, change);
    pl_table_widen(&table->sum_width, row->sum);
    pl_table_widen(&table->error_width, row->error);
    pl_table_widen(&table->sides_width, row->sides);
}

/* "(was line 66)", "(was index.c:66)". */
static void put_origin(struct pl_term *term, const struct pl_location *was, const struct pl_location *is)
{
    if (strcmp(basename(was->source), basename(is->source)) != 0)
        pl_term_print(term, PL_STYLE_DIM, "  (was %s:%u)", basename(was->source), was->line);
    else if (was->line != is->line)
        pl_term_print(term, PL_STYLE_DIM, "  (was line %u)", was->line);
}

static void put_path(const struct page *page, const struct pl_change *change, size_t column)
{
    const struct pl_path *path = &page->diff->paths.path[change->who], *was = &page->diff->paths.path[change->was];
    const struct pl_location *locations = page->diff->locations->location;
    pl_print_site(&page->view, path, column);
    put_origin(page->view.term, &locations[was->location[0]], &locations[path->location[0]]);
    if (path->count < 2)
        return;
    pl_term_end(page->view.term);
    pl_term_pad(page->view.term, column);
    pl_print_callers(&page->view, path, column);
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

/* --- changes that are not shown --- */

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

/* Each run has its peak at its own moment, and the heap may have been nearly as large at others. */
static void put_slack(const struct page *page)
{
    double before = page->before->whole->peak_slack_bytes, after = page->after->whole->peak_slack_bytes;
    bool asked = page->metric == PL_METRIC_PEAK_SPACE || page->metric == PL_METRIC_PEAK_OBJECTS;
    char slack[PL_FIGURE_BYTES];
    if (!asked || in_time() || before + after == 0)
        return;
    pl_figure_bytes(slack, before + after);
    char *text =
        pl_say_print("several threads allocate, so changes at the peak are known to within %s: smaller changes "
                     "count as noise, and larger ones may mean only that the peak was at another moment",
                     slack);
    pl_term_words(page->view.term, PL_STYLE_DIM, text, 0);
    pl_term_end(page->view.term);
    free(text);
}

/* How many changes are not shown, by reason. */
struct left_out {
    uint32_t noise, small, late;
};

static void put_notes(const struct page *page, uint32_t shown, const struct left_out *left)
{
    put_note(page, left->late, "more change is not shown", "more changes are not shown", "; --top N shows more");
    put_note(page, left->small, "more change is below the threshold", "more changes are below the threshold", "");
    put_noise(page, left->noise, shown + left->small > 0);
    if (page->diff->moved)
        put_note(page, page->diff->moved, "site was compared by functions only, because lines have moved",
                 "sites were compared by functions only, because lines have moved", "; --lines compares lines, too");
    put_slack(page);
}

/* diff->change is sorted, most important first. */
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

/* Two moments of one run share their samples, so they are not tested for noise and get no rate. */
static void put_heading(const struct page *page)
{
    struct pl_term *term = page->view.term;
    pl_term_end(term);
    pl_term_print(term, PL_STYLE_HEAD, "%s, by %s", title_of(page, page->metric), units[given.by]);
    if (!page->diff->exact && !given.all && !in_time())
        pl_term_print(term, PL_STYLE_DIM, "  at most %.3g%% of these are expected to be noise", given.rate);
    pl_term_end(term);
}

/* A total whose change is more than noise. */
static bool has_changed(const struct page *page, enum pl_metric metric)
{
    const struct pl_estimate *change = &page->diff->totals.change[metric];
    return change->value != 0 && (change->low > 0 || change->high < 0);
}

/* "Allocated and At the peak have changed, too: --metric peak". */
static void put_elsewhere(const struct page *page)
{
    char *list = NULL;
    for (size_t i = 0; i < USUAL; i++) {
        enum pl_metric metric = usual[i];
        if (metric == page->metric || !is_shown(metric) || !has_changed(page, metric))
            continue;
        char *longer = pl_say_print("%s%s--metric %s", list ? list : "", list ? ", " : "", pl_metric_info[metric].word);
        free(list);
        list = longer;
    }
    if (!list)
        return;
    char *text = pl_say_print("other totals have changed, too: %s", list);
    pl_term_words(page->view.term, PL_STYLE_DIM, text, 0);
    pl_term_end(page->view.term);
    free(text);
    free(list);
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
        pl_term_put(term, PL_STYLE_PLAIN,
                    left.noise ? "no site has changed by more than noise" : "nothing has changed");
        pl_term_end(term);
    }
    put_notes(page, table.rows, &left);
    put_elsewhere(page);
    free(table.row);
}

/* --- both profiles --- */

static enum pl_exit open_side(char *typed, struct pl_selection *out)
{
    struct pl_subject_options how = {.command = "diff",
                                     .force = given.force,
                                     .sysroot = given.sysroot,
                                     .languages = pl_subject_languages(given.python, given.native),
                                     .names = {.file = given.names, .full = given.full_names}};
    struct pl_profile *profile;
    enum pl_exit status = pl_subject_open(&how, 1, &typed, &profile);
    return status == PL_EXIT_OK ? pl_select_take(&given.select, profile, typed, out) : status;
}

static enum pl_metric choose_metric(const struct pl_profile *before, const struct pl_profile *after)
{
    return pl_select_metric(&given.select, pl_diff_leading(before, after));
}

static void print_page(const struct pl_profile *joined, const struct pl_diff_options *how,
                       const struct pl_selection *before, const struct pl_selection *after)
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
        .view = {.profile = after->profile, .whole = after->whole, .locations = diff.locations, .term = &term},
    };
    put_head(&page);
    put_changes(&page);
    pl_diff_free(&diff);
}

static struct pl_diff_options make_options(enum pl_metric metric, const struct pl_location_options *names)
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

static void print_diff(const struct pl_selection *before, const struct pl_selection *after)
{
    const struct pl_profile *part[] = {before->profile, after->profile};
    struct pl_profile *joined = pl_join(part, 2, PL_JOIN_DIFFERENCE);
    struct pl_location_options names = {.full_names = given.full_names};
    struct pl_diff_options how = make_options(choose_metric(part[0], part[1]), &names);
    how.before = part[0];
    how.after = part[1];
    print_page(joined, &how, before, after);
    pl_profile_close(joined);
}

/* Two moments of one run share their samples, so no change is called noise: each has its error. */
static void print_interval(const struct pl_selection *side)
{
    struct pl_location_options names = {.full_names = given.full_names};
    struct pl_diff_options how = make_options(pl_select_metric(&given.select, PL_METRIC_INUSE_SPACE), &names);
    how.rate = 1;
    print_page(side->profile, &how, side, side);
}

/* The selection may be empty on one side, but not on both. */
static enum pl_exit compare(char *first, char *second)
{
    struct pl_selection before, after;
    given.select.may_be_empty = true;
    enum pl_exit status = open_side(first, &before);
    if (status != PL_EXIT_OK)
        return status;
    given.select.may_be_empty = before.profile->sites > 0;
    status = open_side(second, &after);
    if (status == PL_EXIT_OK) {
        print_diff(&before, &after);
        pl_select_free(&after);
    }
    pl_select_free(&before);
    return status;
}

static enum pl_exit look_at_interval(char *typed)
{
    struct pl_selection side;
    enum pl_exit status = open_side(typed, &side);
    if (status != PL_EXIT_OK)
        return status;
    print_interval(&side);
    pl_select_free(&side);
    return status;
}

static int diff_main(int argc, char **argv)
{
    if (in_time() && argc == 1)
        return look_at_interval(argv[0]);
    if (in_time())
        return pl_say_usage("--since and --until need a single profile: %s diff --since 10s A.plim", pl_say_self());
    if (argc != 2)
        return pl_say_usage("diff takes two profiles, before and after: %s diff A.plim B.plim", pl_say_self());
    return compare(argv[0], argv[1]);
}

const struct pl_command pl_command_diff = {
    .name = "diff",
    .arguments = "BEFORE AFTER | --since TIME FILE",
    .summary = "compare two profiles",
    .details =
        "Prints what appeared, grew, shrank and disappeared, the largest change first. BEFORE and AFTER are profiles, "
        "directories of profiles, or PIDs of running processes. All totals are compared; the one that changed most is "
        "also compared site by "
        "site.\n"
        "\n"
        "Sites are compared by functions and lines, so two builds of a program can be compared. A site that only one "
        "of two builds has at its line is compared by functions only.\n"
        "\n"
        "If figures are estimates, a change that sampling alone can explain counts as noise: it is counted but not "
        "shown. Exact figures have no noise, except for the peak of several threads, which is not known to the byte. "
        "Differences are not an error: the exit status is 0.\n"
        "\n"
        "With --since or --until and one profile, diff compares two moments of that run: `plimsoll diff --since 10s "
        "--until 1m service.plim`.",
    .examples = "plimsoll run -o before.plim -- ls /\n"
                "plimsoll run -o after.plim -- ls -l /\n"
                "plimsoll diff before.plim after.plim\n"
                "plimsoll diff --metric allocated --by tag before.plim after.plim\n"
                "plimsoll diff --all --top 50 before.plim after.plim",
    .options = options,
    .main = diff_main,
};
