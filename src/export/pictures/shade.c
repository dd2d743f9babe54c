/* SPDX-License-Identifier: MIT */
/*
 * shade.c - colours of pictures.
 */
#include "export/pictures/shade.h"

#include <math.h>

const struct pl_shade pl_shade_light[PL_SHADES] = {
    {"#f1f4f8", "#14202e"}, {"#d6e3f2", "#14202e"}, {"#bbd2ec", "#14202e"},
    {"#9ec0e5", "#14202e"}, {"#7cabdc", "#14202e"}, {"#5a96d3", "#14202e"},
    {"#3872b0", "#ffffff"}, {"#2c64a2", "#ffffff"}, {"#174a86", "#ffffff"},
};

const struct pl_shade pl_shade_dark[PL_SHADES] = {
    {"#252a32", "#e8edf3"}, {"#293647", "#e8edf3"}, {"#2c425d", "#e8edf3"},
    {"#325176", "#e8edf3"}, {"#3c6698", "#e8edf3"}, {"#5088c6", "#0b121b"},
    {"#6598d2", "#0b121b"}, {"#8db7e6", "#0b121b"}, {"#b5d6fb", "#0b121b"},
};

const struct pl_shade pl_shade_change_light[PL_SHADES] = {
    {"#174a86", "#ffffff"}, {"#3872b0", "#ffffff"}, {"#7cabdc", "#14202e"},
    {"#c3d8ee", "#14202e"}, {"#f1f2f4", "#14202e"}, {"#fadfc2", "#14202e"},
    {"#f2b271", "#14202e"}, {"#dd7f1f", "#14202e"}, {"#94480a", "#ffffff"},
};

const struct pl_shade pl_shade_change_dark[PL_SHADES] = {
    {"#a9d0fb", "#0b121b"}, {"#6598d2", "#0b121b"}, {"#3c6698", "#e8edf3"},
    {"#2c425d", "#e8edf3"}, {"#26292f", "#e8edf3"}, {"#4d3720", "#e8edf3"},
    {"#7d4d17", "#e8edf3"}, {"#cf7c23", "#0b121b"}, {"#fbb871", "#0b121b"},
};

/* By the square root: weights often differ by orders of magnitude, and a hundredth should not look like nothing. */
unsigned pl_shade_of(double weight, double heaviest)
{
    double fraction = heaviest > 0 && weight > 0 ? fmin(weight / heaviest, 1) : 0;
    return (unsigned) lround(sqrt(fraction) * (PL_SHADES - 1));
}

unsigned pl_shade_of_change(double change, double largest)
{
    double fraction = largest > 0 ? fmin(fabs(change) / largest, 1) : 0;
    long steps = lround(sqrt(fraction) * (PL_SHADES / 2));
    return (unsigned) (PL_SHADES / 2 + (change < 0 ? -steps : steps));
}
