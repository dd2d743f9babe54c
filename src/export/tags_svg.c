/* SPDX-License-Identifier: MIT */
/*
 * tags_svg.c - the tree of tags as a picture that any browser shows: no script, nothing to install.
 *
 * An icicle: a tag hangs below the one it was entered from. A rectangle is as wide as its total, so what its children
 * leave free below it is its own; the darker, the more that is. Where there are several groups of threads they hang
 * side by side, at one scale, below what they have together.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "label.h"
#include "shade.h"
#include "shown.h"
#include "utf8.h"

#define WIDTH 1200.0
#define MARGIN 16.0
#define PLOT (WIDTH - 2 * MARGIN)
#define TOP 84.0 /* where the rectangles begin */
#define ROW 36.0
#define GAP 2.0 /* between rectangles */
#define PADDING 6.0
#define NAME_COLUMN 8.0 /* how wide a character is at most, on average, in text of this picture */
#define FIGURE_COLUMN 6.5
#define NARROWEST 0.5 /* what is narrower is not drawn */
#define NARROWEST_TEXT 36.0
#define SWATCH 14.0

struct svg {
    FILE *out;
    const struct pl_profile *profile;
    const struct pl_export_options *options;
    double whole, heaviest;
    uint32_t trees; /* that are shown */
    struct pl_shown *shown;
};

struct box {
    double x, width;
    uint32_t row;
};

/* --- XML --- */

static void put_text(FILE *out, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (; *text; text++) {
        const char *at = strchr(special, *text);
        if (at)
            fputs(entity[at - special], out);
        else
            fputc(*text, out);
    }
}

static void put_line(FILE *out, const char *class, double x, double y, const char *text)
{
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
    put_text(out, text);
    fputs("</text>", out);
}

/* --- style --- */

static void put_shades(FILE *out, const struct pl_shade shade[PL_SHADES])
{
    for (int i = 0; i < PL_SHADES; i++)
        fprintf(out, ".s%d rect{fill:%s}.s%d text{fill:%s}\n", i, shade[i].fill, i, shade[i].text);
}

static void put_style(FILE *out)
{
    fputs("<style>\n"
          "text{font-family:system-ui,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;font-size:11px}\n"
          ".title{font-size:17px;font-weight:600}\n"
          ".name{font-size:12px;font-weight:600}\n"
          ".box:hover rect{stroke:#d9822b;stroke-width:2}\n"
          ".more rect{stroke-dasharray:3 2}\n"
          ".page{fill:#ffffff;stroke:none}.title,.note{fill:#14202e}rect{stroke:#8fa1b5;stroke-width:.5}\n",
          out);
    put_shades(out, pl_shade_light);
    fputs("@media (prefers-color-scheme:dark){\n"
          ".page{fill:#15181d;stroke:none}.title,.note{fill:#e8edf3}rect{stroke:#536273}\n",
          out);
    put_shades(out, pl_shade_dark);
    fputs("}\n</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n", out);
}

/* --- the head --- */

static void put_legend(const struct svg *svg)
{
    double x = WIDTH - MARGIN - PL_SHADES * SWATCH;
    for (int i = 0; i < PL_SHADES; i++)
        fprintf(svg->out, "<g class=\"s%d\"><rect x=\"%.1f\" y=\"58\" width=\"%.1f\" height=\"%.1f\"/></g>", i,
                x + i * SWATCH, SWATCH, SWATCH);
    fprintf(svg->out, "<text class=\"note\" text-anchor=\"end\" x=\"%.1f\" y=\"69\">self: none to most</text>\n",
            x - 8);
}

static void put_head(const struct svg *svg)
{
    char *title = pl_label_title(svg->profile, svg->options), *subtitle = pl_label_subtitle(svg->profile, svg->options);
    char *short_title = pl_label_cut(title, 110), *short_subtitle = pl_label_cut(subtitle, 180);
    fputs("<title>", svg->out);
    put_text(svg->out, title);
    fputs("</title>\n", svg->out);
    put_style(svg->out);
    put_line(svg->out, "title", MARGIN, 28, short_title);
    put_line(svg->out, "note", MARGIN, 48, short_subtitle);
    put_line(svg->out, "note", MARGIN, 69,
             svg->whole > 0
                 ? "Width: total, with all tags below. What is left free below a tag is its own."
                 : "There is nothing of this to show. Another metric may have something: --metric allocated");
    fputc('\n', svg->out);
    put_legend(svg);
    free(short_subtitle);
    free(short_title);
    free(subtitle);
    free(title);
}

/* --- rectangles --- */

#define FIGURES_BYTES (4 * PL_EXPORT_FIGURE_BYTES)

/* The longest of "12.4 MiB (48.0%) · self 3.0 MiB (11.6%)", "12.4 MiB (48.0%)" and "12.4 MiB" that fits, or nothing. */
static void fit_figures(const struct svg *svg, const struct pl_tag_figures *self, const struct pl_tag_figures *total,
                        size_t columns, char out[FIGURES_BYTES])
{
    char *of_all = pl_label_weight(svg->options, total), *own = pl_label_weight(svg->options, self);
    bool leaf = !strcmp(of_all, own);
    snprintf(out, FIGURES_BYTES, "%s%s%s", of_all, leaf ? "" : " · self ", leaf ? "" : own);
    if (pl_utf8_width(out) > columns)
        snprintf(out, FIGURES_BYTES, "%s", of_all);
    if (pl_utf8_width(out) > columns)
        svg->options->figure(out, svg->options->metric, &total->metric[svg->options->metric]);
    if (pl_utf8_width(out) > columns)
        *out = 0;
    free(own);
    free(of_all);
}

/* Text is cut by an estimate of its width, and clipped where that was too low: an inner <svg> clips. */
static void put_inside(const struct svg *svg, const struct box *box, const char *name,
                       const struct pl_tag_figures *self, const struct pl_tag_figures *total)
{
    double room = box->width - GAP - 2 * PADDING;
    if (box->width < NARROWEST_TEXT)
        return;
    char *clean = pl_label_clean(name), *cut = pl_label_cut(clean, (size_t) (room / NAME_COLUMN));
    char figures[FIGURES_BYTES];
    fit_figures(svg, self, total, (size_t) (room / FIGURE_COLUMN), figures);
    fprintf(svg->out, "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", box->x + PADDING,
            TOP + box->row * ROW, room, ROW - GAP);
    put_line(svg->out, "name", 0, *figures ? 14 : 21, cut);
    if (*figures)
        put_line(svg->out, "figures", 0, 28, figures);
    fputs("</svg>", svg->out);
    free(cut);
    free(clean);
}

static void put_box(const struct svg *svg, const struct box *box, const char *name, const char *tooltip, bool several,
                    const struct pl_tag_figures *self, const struct pl_tag_figures *total)
{
    if (box->width < NARROWEST)
        return;
    fprintf(svg->out, "<g class=\"box s%u%s\"><title>",
            pl_shade_of(self->metric[svg->options->metric].value, svg->heaviest), several ? " more" : "");
    put_text(svg->out, tooltip);
    fprintf(svg->out, "</title><rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" rx=\"2\"/>", box->x,
            TOP + box->row * ROW, fmax(box->width - GAP, NARROWEST), ROW - GAP);
    put_inside(svg, box, name, self, total);
    fputs("</g>\n", svg->out);
}

static double width_of(const struct svg *svg, const struct pl_tag_figures *total)
{
    return total->metric[svg->options->metric].value / svg->whole * PLOT;
}

/* Places the nodes of a tree, parents first: each child begins where the one before it ended. */
static struct box *place(const struct svg *svg, const struct pl_shown *shown, double x, uint32_t row)
{
    struct box *box = calloc(shown->nodes, sizeof *box);
    double *next = calloc(shown->nodes, sizeof *next);
    if (!box || !next)
        abort();
    for (uint32_t i = 0; i < shown->nodes; i++) {
        const struct pl_shown_node *node = &shown->node[i];
        next[i] = i ? next[node->parent] : x;
        box[i] = (struct box){.x = next[i], .width = width_of(svg, node->total), .row = row + node->depth};
        if (i)
            next[node->parent] += box[i].width;
    }
    free(next);
    return box;
}

static void put_tree(const struct svg *svg, uint32_t index, double x, uint32_t row)
{
    const struct pl_tag_tree *tree = &svg->options->forest->tree[index];
    const struct pl_shown *shown = &svg->shown[index];
    struct box *box = place(svg, shown, x, row);
    for (uint32_t i = 0; i < shown->nodes; i++) {
        const struct pl_shown_node *node = &shown->node[i];
        char *tooltip = pl_label_tooltip(svg->profile, svg->options, tree, node);
        char *name = i ? pl_label_name(node) : pl_label_threads(tree);
        put_box(svg, &box[i], name, tooltip, node->tag == PL_SHOWN_NONE, node->self, node->total);
        free(name);
        free(tooltip);
    }
    free(box);
}

/* Groups of threads that are too small, or all of them. Nothing of that is anybody's own. */
static void put_groups(const struct svg *svg, struct box box, uint32_t first, const char *what)
{
    static const struct pl_tag_figures none;
    struct pl_tag_figures sum;
    char name[64], tooltip[FIGURES_BYTES];
    pl_shown_sum(svg->options, first, &sum);
    box.width = width_of(svg, &sum);
    char *weight = pl_label_weight(svg->options, &sum), *beside = pl_label_beside(svg->options, &sum);
    snprintf(name, sizeof name, "%" PRIu32 " %s", svg->options->forest->trees - first, what);
    snprintf(tooltip, sizeof tooltip, "%s\n%s: %s, %s", name, pl_metric_info[svg->options->metric].word, weight,
             beside);
    put_box(svg, &box, name, tooltip, first > 0, first ? &sum : &none, &sum);
    free(beside);
    free(weight);
}

/* --- the whole --- */

/* Rows that have something wide enough in them. */
static uint32_t count_rows(const struct svg *svg)
{
    uint32_t rows = 0;
    for (uint32_t t = 0; t < svg->trees && svg->whole > 0; t++)
        for (uint32_t i = 0; i < svg->shown[t].nodes; i++) {
            const struct pl_shown_node *node = &svg->shown[t].node[i];
            if (node->depth >= rows && width_of(svg, node->total) >= NARROWEST)
                rows = node->depth + 1;
        }
    return rows + (svg->options->forest->trees > 1);
}

static void put_trees(const struct svg *svg)
{
    const struct pl_tag_forest *forest = svg->options->forest;
    bool several = forest->trees > 1;
    double x = MARGIN;
    if (several)
        put_groups(svg, (struct box){.x = x}, 0, "groups of threads");
    for (uint32_t i = 0; i < svg->trees; i++) {
        put_tree(svg, i, x, several);
        x += width_of(svg, &forest->tree[i].node[0].total);
    }
    if (svg->trees < forest->trees)
        put_groups(svg, (struct box){.x = x, .row = 1}, svg->trees, "more groups of threads");
}

static void put_picture(const struct svg *svg)
{
    double height = TOP + count_rows(svg) * ROW + MARGIN;
    fprintf(svg->out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "role=\"img\">\n",
            WIDTH, height, WIDTH, height);
    put_head(svg);
    if (svg->whole > 0)
        put_trees(svg);
    fputs("</svg>\n", svg->out);
}

void pl_export_tags_svg(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    struct svg svg = {.out = out,
                      .profile = profile,
                      .options = options,
                      .whole = pl_shown_whole(options),
                      .heaviest = pl_shown_heaviest(options),
                      .trees = pl_shown_trees(options)};
    svg.shown = calloc(svg.trees + 1ull, sizeof *svg.shown);
    if (!svg.shown)
        abort();
    for (uint32_t i = 0; i < svg.trees; i++)
        pl_shown_make(profile, options, PL_SHOWN_PICTURE, &options->forest->tree[i], &svg.shown[i]);
    put_picture(&svg);
    for (uint32_t i = 0; i < svg.trees; i++)
        pl_shown_free(&svg.shown[i]);
    free(svg.shown);
}
