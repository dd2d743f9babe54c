/* SPDX-License-Identifier: MIT */
/*
 * csv.c - a table of sites for spreadsheets (RFC 4180): a row for each stack, tag and name of threads.
 *
 * The columns in front say where: the function that report names a site after, its tag and its thread. Then come the
 * figures, and the whole stack. Control characters become their pictures, so a row is one line; and a text that a
 * spreadsheet would take for a formula has an apostrophe in front.
 *
 * Invariant: each metric's column adds up to flat's total.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cleaned.h"
#include "export.h"
#include "grow.h"
#include "label.h"
#include "path.h"

#define LINE_END "\r\n"
#define CALLED_BY " < "
#define TAG_BYTES_MAX 4096 /* of a path: those of a deep tree would be most of the file */

#define MOST 0x1p62 /* that a figure can be, in a damaged profile */

struct writer {
    FILE *out;
    const struct pl_profile *profile;
    const struct pl_flat *flat;
    struct pl_spots *spots;
    struct pl_cleaned names;
    uint32_t *frame, *line, *spot;  /* room for one stack each */
    uint32_t *first_site, *site_of; /* of row i: site_of[first_site[i]] .. site_of[first_site[i + 1] - 1] */
    struct pl_estimate estimate[PL_METRIC_COUNT]; /* of the row at hand */
};

/* --- texts --- */

static bool looks_like_a_formula(const char *text)
{
    static const char *const signs[] = {"=", "+", "-", "@", "＝", "＋", "－", "＠"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (!strncmp(text, signs[i], strlen(signs[i])))
            return true;
    return false;
}

/* Texts are in quotes whether they need them or not: some readers split at semicolons, or trim. */
static void begin_text(FILE *out, const char *clean)
{
    fputs(looks_like_a_formula(clean) ? "\"'" : "\"", out);
}

static void put_part(FILE *out, const char *clean)
{
    for (; *clean; clean++) {
        if (*clean == '"')
            fputc_unlocked('"', out);
        fputc_unlocked(*clean, out);
    }
}

static void put_text(FILE *out, const char *text)
{
    if (*text) {
        char *clean = pl_label_clean(text);
        begin_text(out, clean);
        put_part(out, clean);
        fputc('"', out);
        free(clean);
    }
    fputc(',', out);
}

/* --- where --- */

/* Those of the last places of a frame: a flat may leave out what was inlined, the innermost ones. */
static const uint32_t *last_spots(const struct pl_spots *spots, uint32_t frame, uint32_t count)
{
    return &spots->of_place[spots->of_frame[frame + 1] - count];
}

/* The function that is one's own, as in report: a line of flat. */
static uint32_t own_line(struct writer *writer, uint32_t stack)
{
    uint32_t frames = pl_flat_frames(writer->flat, stack, writer->frame), count = 0;
    for (uint32_t f = 0; f < frames; f++) {
        const uint32_t *line;
        uint32_t lines = pl_flat_frame_lines(writer->flat, writer->frame[f], &line);
        const uint32_t *spot = last_spots(writer->spots, writer->frame[f], lines);
        for (uint32_t p = 0; p < lines; p++) {
            if (count && writer->spot[count - 1] == spot[p])
                continue;
            writer->line[count] = line[p];
            writer->spot[count++] = spot[p];
        }
    }
    if (count)
        return writer->line[pl_path_own(writer->spots, writer->spot, count)];
    return writer->line[pl_flat_stack(writer->flat, stack, writer->line) - 1];
}

static void put_place(struct writer *writer, uint32_t number)
{
    const struct pl_flat_line *line = &writer->flat->line[number];
    const struct pl_flat_function *function = &writer->flat->function[line->function];
    put_text(writer->out, function->name);
    put_text(writer->out, function->file);
    if (line->line)
        fprintf(writer->out, "%" PRIu32, line->line);
    fputc(',', writer->out);
    put_text(writer->out, function->module == PL_FLAT_NONE ? "" : writer->profile->module[function->module].path);
}

static void put_tag(struct writer *writer, const struct pl_tag_view *tag)
{
    put_text(writer->out, strlen(tag->path) <= TAG_BYTES_MAX ? tag->path : tag->name);
}

/* Lines of a stack without those in front: tags and threads, which --by puts there, have columns already. */
static uint32_t count_code(struct writer *writer, uint32_t stack)
{
    uint32_t frames = pl_flat_frames(writer->flat, stack, writer->frame), count = 0;
    const uint32_t *line;
    for (uint32_t i = 0; i < frames; i++)
        count += pl_flat_frame_lines(writer->flat, writer->frame[i], &line);
    return frames ? count : 1;
}

/* Innermost first. */
static void put_stack(struct writer *writer, uint32_t stack)
{
    uint32_t depth = pl_flat_stack(writer->flat, stack, writer->line), front = depth - count_code(writer, stack);
    begin_text(writer->out, pl_cleaned_name(&writer->names, writer->line[depth - 1]));
    for (uint32_t i = depth; i-- > front;) {
        uint32_t line = writer->flat->line[writer->line[i]].line;
        fputs_unlocked(i + 1 < depth ? CALLED_BY : "", writer->out);
        put_part(writer->out, pl_cleaned_name(&writer->names, writer->line[i]));
        if (line)
            fprintf(writer->out, ":%" PRIu32, line);
    }
    fputc('"', writer->out);
}

/* --- figures --- */

/* Sites by the row that they are in. */
static void group_sites(struct writer *writer)
{
    const struct pl_flat *flat = writer->flat;
    uint32_t sites = writer->profile->sites;
    uint32_t *first = pl_grow_zeroed(flat->rows + 2ull, sizeof *first);
    uint32_t *site_of = pl_grow_zeroed(sites + 1ull, sizeof *site_of);
    for (uint32_t i = 0; i < sites; i++)
        if (flat->row_of_site[i] != PL_FLAT_NONE)
            first[flat->row_of_site[i] + 2]++;
    for (uint32_t i = 2; i < flat->rows + 2; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; i < sites; i++)
        if (flat->row_of_site[i] != PL_FLAT_NONE)
            site_of[first[flat->row_of_site[i] + 1]++] = i;
    writer->first_site = first;
    writer->site_of = site_of;
}

static void estimate_row(struct writer *writer, uint32_t row)
{
    struct pl_figures sum = {0};
    for (uint32_t i = writer->first_site[row]; i < writer->first_site[row + 1]; i++)
        pl_figures_add(&sum, &writer->profile->site[writer->site_of[i]].figures);
    pl_figures_estimate(&sum, writer->estimate);
}

static int64_t value(const struct writer *writer, const struct pl_flat_row *row, int metric)
{
    (void) writer;
    return row->value[metric];
}

static int64_t before(const struct writer *writer, const struct pl_flat_row *row, int metric)
{
    (void) writer;
    return row->base[metric];
}

/* Values are rounded site by site, so they may lie outside by a little. */
static int64_t low(const struct writer *writer, const struct pl_flat_row *row, int metric)
{
    double bound = floor(writer->estimate[metric].low);
    return bound < (double) row->value[metric] ? (int64_t) fmax(bound, 0) : row->value[metric];
}

static int64_t high(const struct writer *writer, const struct pl_flat_row *row, int metric)
{
    double bound = ceil(writer->estimate[metric].high);
    return bound > (double) row->value[metric] ? (int64_t) fmin(bound, MOST) : row->value[metric];
}

enum when { ALWAYS, IN_DIFFERENCES, IN_ESTIMATES };

/* Each is a column for every metric. */
static const struct figure {
    const char *suffix;
    int64_t (*of)(const struct writer *writer, const struct pl_flat_row *row, int metric);
    enum when when;
} figures[] = {
    {"", value, ALWAYS},
    {" before", before, IN_DIFFERENCES},
    {" low", low, IN_ESTIMATES},
    {" high", high, IN_ESTIMATES},
};
#define FIGURES (sizeof figures / sizeof *figures)

/* Of a difference, intervals are for `plimsoll diff` to find. */
static bool wanted(const struct pl_profile *profile, enum when when)
{
    bool of[] = {
        [ALWAYS] = true,
        [IN_DIFFERENCES] = profile->difference,
        [IN_ESTIMATES] = !profile->exact && !profile->difference,
    };
    return of[when];
}

/* --- the table --- */

static void put_header(const struct writer *writer)
{
    fputs("function,file,line,module,tag,thread,", writer->out);
    for (size_t i = 0; i < FIGURES; i++)
        for (int m = 0; m < PL_METRIC_COUNT && wanted(writer->profile, figures[i].when); m++)
            fprintf(writer->out, "%s%s,", pl_metric_info[m].word, figures[i].suffix);
    fputs("stack" LINE_END, writer->out);
}

static void put_row(struct writer *writer, uint32_t number)
{
    const struct pl_flat_row *row = &writer->flat->row[number];
    put_place(writer, own_line(writer, row->stack));
    put_tag(writer, &writer->profile->tag[row->tag]);
    put_text(writer->out, row->thread == PL_FLAT_NONE ? "" : writer->profile->thread[row->thread].name);
    if (wanted(writer->profile, IN_ESTIMATES))
        estimate_row(writer, number);
    for (size_t i = 0; i < FIGURES; i++)
        for (int m = 0; m < PL_METRIC_COUNT && wanted(writer->profile, figures[i].when); m++)
            fprintf(writer->out, "%" PRId64 ",", figures[i].of(writer, row, m));
    put_stack(writer, row->stack);
    fputs(LINE_END, writer->out);
}

void pl_export_csv(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    const struct pl_flat *flat = options->flat;
    struct writer writer = {
        .out = out,
        .profile = profile,
        .flat = flat,
        .spots = pl_spots_new(profile, &(struct pl_spot_options){.full_names = true}),
        .names = pl_cleaned_new(flat, NULL),
        .frame = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *writer.frame),
        .line = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *writer.line),
        .spot = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *writer.spot),
    };
    group_sites(&writer);
    put_header(&writer);
    for (uint32_t i = 0; i < flat->rows; i++)
        put_row(&writer, i);
    free(writer.site_of);
    free(writer.first_site);
    free(writer.spot);
    free(writer.line);
    free(writer.frame);
    pl_cleaned_free(&writer.names);
    pl_spots_free(writer.spots);
}
