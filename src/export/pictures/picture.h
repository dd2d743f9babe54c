/* SPDX-License-Identifier: MIT */
/*
 * picture.h - an icicle as SVG, of any tree: a page with a heading and a legend, and rows of boxes.
 *
 * Any browser shows it: no script, nothing to install, light or dark as the reader prefers. Texts are clean (label.h).
 * Text in a box is cut by an estimate of its width, and clipped where that was too low.
 */
#ifndef PL_PICTURE_H
#define PL_PICTURE_H

#include "export/export.h"

#define PL_PICTURE_WIDTH 1200.0
#define PL_PICTURE_MARGIN 16.0
#define PL_PICTURE_PLOT (PL_PICTURE_WIDTH - 2 * PL_PICTURE_MARGIN) /* the width of the whole */
#define PL_PICTURE_NARROWEST 0.5                                   /* a box that is narrower is not drawn */

struct pl_picture {
    FILE *out;
    double row; /* height of a row: two lines of text if there is room for them, else one */
};

struct pl_picture_head {
    const char *note;        /* how to read it */
    const char *legend_less; /* what the palest colour means, and the darkest; of a difference, the two ends */
    const char *legend_more;
};

struct pl_box {
    double x, width;
    uint32_t row;
    unsigned shade;
    bool several; /* stands for several that are too small */
    bool aside;   /* is of another kind than the others */
    const char *name;
    const char *brief;      /* instead of the name where that does not fit; NULL: the name is cut */
    const char *figures[3]; /* shown beside the name: the first that fits; NULL ends them */
    const char *tooltip;
};

/* Writes everything up to the boxes. */
void pl_picture_open(const struct pl_picture *picture, const struct pl_profile *profile,
                     const struct pl_export_options *options, const struct pl_picture_head *head, uint32_t rows);
void pl_picture_box(const struct pl_picture *picture, const struct pl_box *box);
void pl_picture_close(const struct pl_picture *picture);

#endif
