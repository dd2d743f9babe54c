/* SPDX-License-Identifier: MIT */
/*
 * leaks.c - `report --leaks`: a table of memory never freed, with a verdict for each site:
 *
 *     bytes  blocks  allocated  site
 *   1.9 MiB   1,180  ▅▅▆▅▅▆▅▅   index_add_term  src/index.c:212  [indexer]
 *                               suspected leak: growing 160 KiB/s over 9.1 s; 1,033 are older than 2.2 s; none of its
 *                               blocks was ever freed
 *                               ← index_file  src/index.c:97 ← main  src/main.c:31
 *
 * "Allocated" has a bar for each stretch of the run, oldest first. Its height shows how many of the surviving blocks
 * were allocated then.
 */
#include "cli/report/leaks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "analysis/leaks/families.h"
#include "analysis/leaks/suspicion.h"
#include "analysis/metric.h"
#include "analysis/path.h"
#include "analysis/traits.h"
#include "cli/leaks/lost.h"
#include "cli/report/print.h"
#include "cli/report/tagview.h"
#include "cli/run/summary.h"
#include "cli/table.h"

#define INDENT 2
#define GAP 2
#define MADE_TITLE "allocated"
#define SITE_WIDTH_LEAST 44 /* if less is left for the site, "allocated" is dropped */
#define TEXT_WIDTH_LEAST 60 /* if less is left for the verdict, it begins further to the left */

/* --- suppressions --- */

/* The value of `suppressions` in LSAN_OPTIONS, whose options are separated by blanks, commas or colons and may be
 * quoted; NULL: none. The last one counts. The caller frees it. */
static char *lsan_suppressions(void)
{
    static const char separators[] = " ,:\n\t\r", name[] = "suppressions=";
    const char *at = getenv("LSAN_OPTIONS");
    char *found = NULL;
    while (at && *(at += strspn(at, separators))) {
        size_t bytes = strcspn(at, separators);
        bool wanted = strncmp(at, name, strlen(name)) == 0;
        const char *value = at + strcspn(at, "=");
        if (value < at + bytes && (value[1] == '"' || value[1] == '\'')) {
            const char *quote = strchr(value + 2, value[1]);
            bytes = (size_t) ((quote ? quote + 1 : value + strlen(value)) - at);
            if (wanted && quote)
                free(found), found = pl_say_print("%.*s", (int) (quote - value - 2), value + 2);
        } else if (wanted) {
            free(found), found = pl_say_print("%.*s", (int) (at + bytes - value - 1), value + 1);
        }
        at += bytes;
    }
    return found;
}

/* The variable was set for another tool: a mistake in it is worth a warning, but must not fail the report. */
static void add_lsan(struct pl_suppressions *set)
{
    char why[PL_WHY_BYTES], *path = lsan_suppressions();
    if (path && *path && pl_suppressions_read(set, path, why) != 0)
        pl_say("%s (from LSAN_OPTIONS); ignored", why);
    free(path);
}

static void say_ignored(const struct pl_suppressions *set)
{
    if (set->ignored == 1)
        pl_say("%s is for another tool; ignored", set->first_ignored);
    else if (set->ignored > 1)
        pl_say("%s and %u more lines are for other tools; ignored", set->first_ignored, set->ignored - 1);
}

/* Such rules are misspelt or no longer needed. Rules of LSAN_OPTIONS may serve many programs and do not count. */
void pl_leaks_unmatched(const struct pl_suppressions *set, uint32_t asked_for)
{
    uint32_t unmatched = 0, first = 0;
    for (uint32_t i = asked_for; i-- > 0;)
        if (set->rule[i].stacks == 0)
            unmatched++, first = i;
    if (unmatched)
        pl_say("%u rule%s matched nothing: leak:%s%s", unmatched, unmatched == 1 ? "" : "s", set->rule[first].pattern,
               unmatched == 1 ? "" : ", ...");
}

struct pl_suppressions *pl_leaks_suppressions(const struct pl_leaks_options *options, uint32_t *asked_for)
{
    struct pl_suppressions *set = pl_suppressions_new();
    char why[PL_WHY_BYTES];
    for (size_t i = 0; i < options->suppressions.count; i++) {
        if (pl_suppressions_read(set, options->suppressions.path[i], why) == 0)
            continue;
        pl_say("%s", why);
        pl_suppressions_free(set);
        return NULL;
    }
    *asked_for = set->own;
    add_lsan(set);
    say_ignored(set);
    if (!options->no_defaults)
        pl_suppressions_add_builtin(set);
    return set;
}

/* --- the table --- */

struct table {
    const struct pl_view *view;
    const struct pl_paths *paths;
    const struct pl_leftovers *leftovers;
    const struct pl_families *families;
    uint32_t count; /* shown */
    size_t bytes_width, blocks_width, made_width;
};

static void fill_figures(const struct pl_leftover *item, char bytes[2 * PL_FIGURE_BYTES],
                         char blocks[2 * PL_FIGURE_BYTES])
{
    pl_figure_estimate(bytes, PL_METRIC_INUSE_SPACE, &item->metric[PL_METRIC_INUSE_SPACE]);
    pl_figure_estimate(blocks, PL_METRIC_INUSE_OBJECTS, &item->metric[PL_METRIC_INUSE_OBJECTS]);
}

static size_t site_column(const struct table *table)
{
    size_t made = table->made_width ? table->made_width + GAP : 0;
    return INDENT + table->bytes_width + GAP + table->blocks_width + GAP + made;
}

/* The column where the verdict on a site begins. */
static size_t text_column(const struct table *table)
{
    size_t column = site_column(table);
    return column + TEXT_WIDTH_LEAST <= table->view->term->width ? column : 2 * INDENT;
}

static void lay_out(struct table *table)
{
    pl_table_widen(&table->bytes_width, "bytes");
    pl_table_widen(&table->blocks_width, "blocks");
    for (uint32_t i = 0; i < table->count; i++) {
        char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
        fill_figures(&table->leftovers->item[i], bytes, blocks);
        pl_table_widen(&table->bytes_width, bytes);
        pl_table_widen(&table->blocks_width, blocks);
    }
    for (uint32_t i = 0; i < table->families->count; i++) {
        char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
        fill_figures(&table->families->family[i].whole, bytes, blocks);
        pl_table_widen(&table->bytes_width, bytes);
        pl_table_widen(&table->blocks_width, blocks);
    }
    if (table->leftovers->aged && table->leftovers->classes > 1)
        pl_table_widen(&table->made_width, MADE_TITLE);
    if (site_column(table) + SITE_WIDTH_LEAST > table->view->term->width)
        table->made_width = 0;
}

/* Clamped: figures of damaged profiles may have any value. */
static int height_of(double part, double most)
{
    double height = ceil(8 * part / most);
    return height > 0 ? (int) fmin(8, height) : 0;
}

static void put_made(const struct table *table, const struct pl_leftover *item)
{
    static const char *const heights[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double most = 0;
    for (uint32_t i = 0; i < PL_COHORTS; i++)
        most = fmax(most, item->spread.ages[i]);
    for (uint32_t i = 0; i < table->leftovers->classes && table->made_width; i++)
        pl_term_put(table->view->term, PL_STYLE_BAR, heights[height_of(item->spread.ages[i], most)]);
}

static void put_callers(const struct table *table, const struct pl_path *path)
{
    struct pl_term *term = table->view->term;
    size_t indent = text_column(table);
    if (path->count < 2)
        return;
    pl_term_pad(term, indent);
    pl_print_callers(table->view, path, indent);
    pl_term_end(term);
}

static void put_site(const struct table *table, uint32_t number)
{
    struct pl_term *term = table->view->term;
    pl_term_pad(term, site_column(table));
    pl_print_site(table->view, &table->paths->path[number], site_column(table));
    pl_tagview_put(term, pl_tagview_of_path(table->view->profile, table->paths, number, PL_METRIC_INUSE_SPACE),
                   site_column(table));
    pl_term_end(term);
}

static void put_figures(const struct table *table, const struct pl_leftover *item, enum pl_style style)
{
    struct pl_term *term = table->view->term;
    char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
    fill_figures(item, bytes, blocks);
    pl_term_pad(term, INDENT);
    pl_term_right(term, style, bytes, table->bytes_width);
    pl_term_pad(term, term->column + GAP);
    pl_term_right(term, PL_STYLE_PLAIN, blocks, table->blocks_width);
    pl_term_pad(term, term->column + GAP);
    put_made(table, item);
}

static void put_evidence(const struct table *table, const struct pl_leftover *item)
{
    struct pl_term *term = table->view->term;
    bool suspected = item->verdict == PL_LEFT_SUSPECTED;
    char *words = pl_suspicion_evidence(table->view->profile, table->leftovers, item);
    pl_term_pad(term, text_column(table));
    pl_term_words(term, suspected ? PL_STYLE_WARN : PL_STYLE_PLAIN, words, text_column(table));
    pl_term_end(term);
    free(words);
}

static void put_item(const struct table *table, const struct pl_leftover *item, bool alone)
{
    put_figures(table, item, alone ? PL_STYLE_BOLD : PL_STYLE_PLAIN);
    put_site(table, item->group);
    if (alone)
        put_evidence(table, item);
    put_callers(table, &table->paths->path[item->group]);
    pl_print_below(table->view, table->paths, item->group, text_column(table));
}

/* "open_session  cycle.cpp:10  [cycle] and its callees: 5 sites", before its sites. */
static void put_owner(const struct table *table, const struct pl_family *family)
{
    const struct pl_path owner = {.location = &family->owner, .count = 1, .via = PL_PATH_NO_LOCATION};
    struct pl_term *term = table->view->term;
    put_figures(table, &family->whole, PL_STYLE_BOLD);
    pl_term_pad(term, site_column(table));
    pl_print_site(table->view, &owner, site_column(table));
    char *sites = pl_say_print(" and its callees: %u sites, allocated and kept together", family->count);
    pl_term_words(term, PL_STYLE_PLAIN, sites, text_column(table));
    pl_term_end(term);
    put_evidence(table, &family->whole);
    free(sites);
}

static const struct pl_family *family_at(const struct table *table, uint32_t item)
{
    for (uint32_t i = 0; i < table->families->count; i++)
        if (table->families->family[i].first == item && table->families->family[i].count > 1)
            return &table->families->family[i];
    return NULL;
}

/* Members of a family have the verdict of the family. */
static void put_items(const struct table *table)
{
    uint32_t members = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct pl_family *family = family_at(table, i);
        if (family)
            put_owner(table, family);
        members = family ? family->count : members;
        put_item(table, &table->leftovers->item[i], !members);
        members -= members > 0;
    }
}

static void put_heading(const struct table *table)
{
    struct pl_term *term = table->view->term;
    pl_term_end(term);
    pl_term_pad(term, INDENT);
    pl_term_right(term, PL_STYLE_DIM, "bytes", table->bytes_width);
    pl_term_pad(term, term->column + GAP);
    pl_term_right(term, PL_STYLE_DIM, "blocks", table->blocks_width);
    pl_term_pad(term, term->column + GAP);
    if (table->made_width)
        pl_term_put(term, PL_STYLE_DIM, MADE_TITLE);
    pl_term_pad(term, site_column(table));
    pl_term_put(term, PL_STYLE_DIM, "site");
    pl_term_end(term);
}

static void put_rest(const struct table *table)
{
    struct pl_term *term = table->view->term;
    char bytes[PL_FIGURE_BYTES], number[PL_FIGURE_BYTES];
    double sum = 0;
    for (uint32_t i = table->count; i < table->leftovers->count; i++)
        sum += table->leftovers->item[i].metric[PL_METRIC_INUSE_SPACE].value;
    if (table->count == table->leftovers->count)
        return;
    pl_figure_bytes(bytes, sum);
    pl_figure_exact(number, table->leftovers->count - table->count);
    pl_term_pad(term, INDENT);
    pl_term_right(term, PL_STYLE_DIM, bytes, table->bytes_width);
    pl_term_pad(term, site_column(table));
    pl_term_print(term, PL_STYLE_DIM, "(%s more)", number);
    pl_term_end(term);
}

static bool worth_a_line(const struct table *table, const struct pl_leftover *item)
{
    double value = item->metric[PL_METRIC_INUSE_SPACE].value;
    double whole = table->leftovers->left_metric[PL_METRIC_INUSE_SPACE].value;
    return table->count < table->view->top && value >= table->view->threshold * whole;
}

static void put_table(struct table *table)
{
    while (table->count < table->leftovers->count && worth_a_line(table, &table->leftovers->item[table->count]))
        table->count++;
    lay_out(table);
    if (table->leftovers->count == 0)
        return;
    put_heading(table);
    put_items(table);
    put_rest(table);
}

/* --- the text around the table --- */

/* "2.1 MiB in 1,204 blocks". The caller frees it. */
static char *print_amount(const struct pl_estimate metric[PL_METRIC_COUNT])
{
    char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(bytes, PL_METRIC_INUSE_SPACE, &metric[PL_METRIC_INUSE_SPACE]);
    pl_figure_estimate(blocks, PL_METRIC_INUSE_OBJECTS, &metric[PL_METRIC_INUSE_OBJECTS]);
    return pl_say_print("%s in %s block%s", bytes, blocks, strcmp(blocks, "1") == 0 ? "" : "s");
}

static char *print_suppressed(const struct pl_leftovers *leftovers)
{
    if (leftovers->rules_used == 0)
        return pl_say_print("%s", "");
    char *amount = print_amount(leftovers->suppressed_metric);
    char *part = leftovers->count ? pl_say_print("%s of that", amount) : pl_say_print("all of it");
    char *text =
        pl_say_print("; %s matches suppressions (%u of %u rules%s)", part, leftovers->rules_used, leftovers->rules,
                     leftovers->builtin_used ? "; --no-default-suppressions shows them" : "");
    free(part);
    free(amount);
    return text;
}

/* Frees at exit have no confidence interval: of estimates, "about" says so. */
static char *print_exit(const struct pl_profile *profile, const struct pl_leftovers *leftovers)
{
    const char *about = pl_traits_estimated(profile) ? "about " : "";
    char bytes[PL_FIGURE_BYTES], blocks[PL_FIGURE_BYTES];
    if (!(leftovers->exit_objects > 0))
        return pl_say_print("%s", "");
    pl_figure_bytes(bytes, leftovers->exit_space);
    pl_figure_count(blocks, leftovers->exit_objects);
    return pl_say_print("; %s%s in %s%s block%s freed by exit handlers", about, bytes, about, blocks,
                        pl_figure_plural(blocks));
}

/* A cache without a limit is no leak if the program frees it in the end, but it was as large before. */
static void put_freed(const struct table *table)
{
    const struct pl_profile *profile = table->view->profile;
    char peak[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(peak, PL_METRIC_PEAK_SPACE, &profile->total[PL_METRIC_PEAK_SPACE]);
    pl_print_paragraph(table->view,
                       "nearly everything was freed, but the heap had %s at its peak: %s report --peak %s shows what "
                       "held it",
                       peak, pl_say_self(), table->view->subject);
}

static void put_summary(const struct table *table)
{
    const struct pl_leftovers *leftovers = table->leftovers;
    const struct pl_profile *profile = table->view->profile;
    char *suppressed = print_suppressed(leftovers), *exit = print_exit(table->view->profile, leftovers);
    char *amount = print_amount(profile->total);
    if (leftovers->count || leftovers->rules_used)
        pl_print_paragraph(table->view, "%s %s%s%s", amount, pl_metric_live_word(profile), suppressed, exit);
    else if (pl_traits_recorded(profile))
        pl_print_paragraph(table->view, "no blocks are left%s", exit);
    else if (profile->exact)
        pl_print_nothing(table->view, "Live memory is not known: no allocation was recorded.");
    else
        pl_print_nothing(table->view, "Live memory is not known: no allocation was sampled.");
    free(amount);
    free(exit);
    free(suppressed);
    if (pl_traits_recorded(profile) && !pl_metric_live_matters(profile) && !table->view->selection)
        put_freed(table);
}

static void put_suspected(const struct table *table)
{
    const struct pl_leftovers *leftovers = table->leftovers;
    char bytes[PL_FIGURE_BYTES];
    double sum = 0;
    for (uint32_t i = 0; i < leftovers->suspected; i++)
        sum += leftovers->item[i].metric[PL_METRIC_INUSE_SPACE].value;
    pl_figure_bytes(bytes, sum);
    uint32_t leaks = table->families->count;
    char *sites = leaks < leftovers->suspected ? pl_say_print(" at %u sites", leftovers->suspected) : NULL;
    pl_print_paragraph(table->view, "%u suspected leak%s%s, %s: old blocks survive and new ones accumulate", leaks,
                       leaks == 1 ? "" : "s", sites ? sites : "", bytes);
    free(sites);
}

/* Sites with too few samples for a verdict. */
static uint32_t count_blind(const struct pl_leftovers *leftovers)
{
    uint32_t blind = 0;
    for (uint32_t i = 0; i < leftovers->count; i++)
        blind += leftovers->item[i].doubt == PL_DOUBT_UNSEEN || leftovers->item[i].doubt == PL_DOUBT_SAMPLES;
    return blind;
}

static uint32_t count_stepping(const struct pl_leftovers *leftovers)
{
    uint32_t stepping = 0;
    for (uint32_t i = 0; i < leftovers->count; i++)
        stepping += leftovers->item[i].doubt == PL_DOUBT_STEPS;
    return stepping;
}

static void put_unsuspected(const struct table *table)
{
    uint32_t blind = count_blind(table->leftovers), stepping = count_stepping(table->leftovers);
    char few[PL_FIGURE_BYTES], all[PL_FIGURE_BYTES];
    pl_figure_exact(few, blind ? blind : stepping);
    pl_figure_exact(all, table->leftovers->count);
    if (blind)
        pl_print_paragraph(table->view,
                           "no leak is suspected, but %s of %s sites %s too few samples to tell; %s run --exact "
                           "counts every allocation",
                           few, all, blind == 1 ? "has" : "have", pl_say_self());
    else if (stepping)
        pl_print_paragraph(table->view, "no leak is suspected, but %s of %s sites may still grow, in steps", few, all);
    else
        pl_print_paragraph(table->view, "no leak is suspected: no site shows steady growth");
}

/* Another question than growth: see docs/leaks.md. */
static void put_lost(const struct table *table)
{
    const struct pl_profile *profile = table->view->profile;
    const struct pl_estimate *total = profile->total;
    if (profile->looked == PL_LOOKED_NOT || profile->difference)
        return;
    char *amount = pl_lost_amount(&total[PL_METRIC_LOST_SPACE], &total[PL_METRIC_LOST_OBJECTS]);
    char *subject = pl_summary_typed(table->view->subject);
    if (total[PL_METRIC_LOST_OBJECTS].value > 0)
        pl_print_paragraph(table->view, "lost: %s that nothing led to any more %s; %s leaks %s lists them", amount,
                           pl_lost_when(profile), pl_say_self(), subject);
    else
        pl_print_paragraph(table->view, "lost: nothing; something pointed to every block %s", pl_lost_when(profile));
    free(subject);
    free(amount);
}

static void put_conclusion(const struct table *table)
{
    const struct pl_leftovers *leftovers = table->leftovers;
    char seconds[PL_FIGURE_BYTES];
    pl_figure_seconds(seconds, table->view->profile->duration_s);
    if (leftovers->suspected)
        put_suspected(table);
    else if (leftovers->count && !leftovers->aged)
        pl_print_paragraph(table->view, "this profile has no block ages, so it cannot show growth");
    else if (leftovers->count && leftovers->timed)
        put_unsuspected(table);
    else if (leftovers->count)
        pl_print_paragraph(table->view, "%s %s; leaks are judged only in runs of about two seconds or more",
                           table->view->profile->running ? "the process has run for" : "the run took", seconds);
}

enum pl_exit pl_leaks_print(const struct pl_view *view, const struct pl_leaks_options *options)
{
    uint32_t asked_for = 0;
    struct pl_suppressions *set = pl_leaks_suppressions(options, &asked_for);
    if (!set)
        return PL_EXIT_FAILURE;
    struct pl_paths paths = pl_paths_new(view->profile, view->locations, PL_SHAPE_SITE, view->depth);
    uint32_t *group = pl_paths_of_stacks(view->profile, &paths);
    struct pl_leftovers *leftovers = pl_leftovers_new(view->profile, set, group, paths.count);
    struct pl_families families = pl_families_new(leftovers, &paths, view->locations);
    struct table table = {.view = view, .paths = &paths, .leftovers = leftovers, .families = &families};
    pl_head_print(view);
    put_summary(&table);
    put_lost(&table);
    put_conclusion(&table);
    put_table(&table);
    pl_head_losses(view);
    pl_leaks_unmatched(set, asked_for);
    pl_leftovers_free(leftovers);
    pl_suppressions_free(set);
    free(group);
    return PL_EXIT_OK;
}
