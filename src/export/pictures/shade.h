/* SPDX-License-Identifier: MIT */
/*
 * shade.h - colours of pictures: the more weight, the farther from the colour of the page.
 */
#ifndef PL_SHADE_H
#define PL_SHADE_H

#define PL_SHADES 9

/* Text is readable on its fill: their contrast is at least 4.5. */
struct pl_shade {
    const char *fill;
    const char *text;
};

extern const struct pl_shade pl_shade_light[PL_SHADES]; /* on a light page, and on paper */
extern const struct pl_shade pl_shade_dark[PL_SHADES];

/* Of a change: from much less (blue) over none, in the middle, to much more (orange); also for colour-blind readers. */
extern const struct pl_shade pl_shade_change_light[PL_SHADES];
extern const struct pl_shade pl_shade_change_dark[PL_SHADES];

/* Which one for this weight, where `heaviest` is the largest there is. */
unsigned pl_shade_of(double weight, double heaviest);

/* Which one for this change, where `largest` is the largest there is, up or down. */
unsigned pl_shade_of_change(double change, double largest);

#endif
