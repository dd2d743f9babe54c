/* SPDX-License-Identifier: MIT */
/*
 * picture.c - an icicle as SVG.
 */
#include "export/pictures/picture.h"

#include <math.h>
#include <stdlib.h>

#include "export/label.h"
#include "export/pictures/shade.h"
#include "reader/base/utf8.h"

#define TOP 84.0 /* where the boxes begin */
#define GAP 2.0  /* between boxes */
#define PADDING 6.0
#define TWO_LINES 32.0    /* height with room for two */
#define NAME_COLUMN 8.0   /* width of a character of a name: the average, at most */
#define FIGURE_COLUMN 6.5 /* likewise, of figures */
#define NARROWEST_TEXT 36.0
#define SWATCH 14.0

static void put_line(FILE *out, const char *class, double x, double y, const char *text)
{
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
    pl_label_xml(out, text);
    fputs("</text>", out);
}

/* --- style --- */

static void put_shades(FILE *out, const struct pl_shade shade[PL_SHADES])
{
    for (int i = 0; i < PL_SHADES; i++)
        fprintf(out, ".s%d rect{fill:%s}.s%d text{fill:%s}\n", i, shade[i].fill, i, shade[i].text);
}

static void put_style(FILE *out, bool difference)
{
    fputs("<style>\n"
          "text{font-family:system-ui,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;font-size:11px}\n"
          ".title{font-size:17px;font-weight:600}\n"
          ".name{font-size:12px;font-weight:600}\n"
          ".figures{font-size:11px;font-weight:400}\n"
          ".box:hover rect{stroke:#d9822b;stroke-width:2}\n"
          ".more rect{stroke-dasharray:3 2}.aside .name{font-style:italic}\n"
          ".sheet{background:#ffffff}.page{fill:#ffffff;stroke:none}.title,.note{fill:#14202e}rect{stroke:#8fa1b5;"
          "stroke-width:.5}\n",
          out);
    put_shades(out, difference ? pl_shade_change_light : pl_shade_light);
    fputs("@media (prefers-color-scheme:dark){\n"
          ".sheet{background:#15181d}.page{fill:#15181d;stroke:none}.title,.note{fill:#e8edf3}rect{stroke:#536273}\n",
          out);
    put_shades(out, difference ? pl_shade_change_dark : pl_shade_dark);
    fputs("}\n</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n", out);
}

/* --- the page --- */

static void put_legend(FILE *out, const struct pl_picture_head *head)
{
    double right = PL_PICTURE_WIDTH - PL_PICTURE_MARGIN - 8 - 6.5 * (double) pl_utf8_width(head->legend_more);
    double x = right - PL_SHADES * SWATCH;
    for (int i = 0; i < PL_SHADES; i++)
        fprintf(out, "<g class=\"s%d\"><rect x=\"%.1f\" y=\"58\" width=\"%.1f\" height=\"%.1f\"/></g>", i,
                x + i * SWATCH, SWATCH, SWATCH);
    fprintf(out, "<text class=\"note\" text-anchor=\"end\" x=\"%.1f\" y=\"69\">", x - 8);
    pl_label_xml(out, head->legend_less);
    fputs("</text>", out);
    put_line(out, "note", right + 8, 69, head->legend_more);
    fputc('\n', out);
}

void pl_picture_open(const struct pl_picture *picture, const struct pl_profile *profile,
                     const struct pl_export_options *options, const struct pl_picture_head *head, uint32_t rows)
{
    FILE *out = picture->out;
    double height = TOP + rows * picture->row + PL_PICTURE_MARGIN;
    char *title = pl_label_title(profile, options), *subtitle = pl_label_subtitle(profile, options);
    char *short_title = pl_label_cut(title, 110), *short_subtitle = pl_label_cut(subtitle, 180);
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg class=\"sheet\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
            "%.0f %.0f\" "
            "role=\"img\">\n<title>",
            PL_PICTURE_WIDTH, height, PL_PICTURE_WIDTH, height);
    pl_label_xml(out, title);
    fputs("</title>\n", out);
    put_style(out, profile->difference);
    put_line(out, "title", PL_PICTURE_MARGIN, 28, short_title);
    put_line(out, "note", PL_PICTURE_MARGIN, 48, short_subtitle);
    put_line(out, "note", PL_PICTURE_MARGIN, 69, head->note);
    fputc('\n', out);
    put_legend(out, head);
    free(short_subtitle);
    free(short_title);
    free(subtitle);
    free(title);
}

void pl_picture_close(const struct pl_picture *picture)
{
    fputs("</svg>\n", picture->out);
}

/* --- boxes --- */

static const char *fit_figures(const struct pl_box *box, double room)
{
    for (int i = 0; i < 3 && box->figures[i]; i++)
        if ((double) pl_utf8_width(box->figures[i]) * FIGURE_COLUMN <= room)
            return box->figures[i];
    return NULL;
}

static bool fits(const char *text, double room)
{
    return (double) pl_utf8_width(text) * NAME_COLUMN <= room;
}

/* The caller frees it. */
static char *fit_name(const struct pl_box *box, double room)
{
    const char *name = box->brief && !fits(box->name, room) ? box->brief : box->name;
    return pl_label_cut(name, (size_t) (room / NAME_COLUMN));
}

static void put_two_lines(FILE *out, const struct pl_box *box, double room)
{
    char *cut = fit_name(box, room);
    const char *figures = fit_figures(box, room);
    put_line(out, "name", 0, figures ? 14 : 21, cut);
    if (figures)
        put_line(out, "figures", 0, 28, figures);
    free(cut);
}

/* The name first, and figures after it if there is room for them. */
static void put_one_line(FILE *out, const struct pl_box *box, double room, double height)
{
    char *cut = fit_name(box, room);
    double name_width = (double) pl_utf8_width(cut) * NAME_COLUMN;
    const char *figures = fit_figures(box, room - name_width - PADDING);
    double line = height / 2 + 4;
    fprintf(out, "<text class=\"name\" y=\"%.1f\">", line);
    pl_label_xml(out, cut);
    if (figures) {
        fprintf(out, "<tspan class=\"figures\" dx=\"%.0f\">", PADDING);
        pl_label_xml(out, figures);
        fputs("</tspan>", out);
    }
    fputs("</text>", out);
    free(cut);
}

/* An inner <svg> clips. */
static void put_inside(const struct pl_picture *picture, const struct pl_box *box)
{
    double room = box->width - GAP - 2 * PADDING, height = picture->row - GAP;
    if (box->width < NARROWEST_TEXT)
        return;
    fprintf(picture->out, "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", box->x + PADDING,
            TOP + box->row * picture->row, room, height);
    if (height >= TWO_LINES)
        put_two_lines(picture->out, box, room);
    else
        put_one_line(picture->out, box, room, height);
    fputs("</svg>", picture->out);
}

void pl_picture_box(const struct pl_picture *picture, const struct pl_box *box)
{
    if (box->width < PL_PICTURE_NARROWEST)
        return;
    fprintf(picture->out, "<g class=\"box s%u%s%s\"><title>", box->shade, box->several ? " more" : "",
            box->aside ? " aside" : "");
    pl_label_xml(picture->out, box->tooltip);
    fprintf(picture->out, "</title><rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" rx=\"2\"/>", box->x,
            TOP + box->row * picture->row, fmax(box->width - GAP, PL_PICTURE_NARROWEST), picture->row - GAP);
    put_inside(picture, box);
    fputs("</g>\n", picture->out);
}
