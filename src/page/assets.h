/* SPDX-License-Identifier: MIT */
/*
 * assets.h - the files of the page (web/built), in the program itself: nothing is looked for at run time.
 */
#ifndef PL_ASSETS_H
#define PL_ASSETS_H

#include <stddef.h>

struct pl_asset {
    const char *name; /* "page.js"; NULL ends the table */
    const char *data; /* a zero follows */
    size_t bytes;
};
extern const struct pl_asset pl_assets[];

/* NULL: no such file. */
const struct pl_asset *pl_asset_find(const char *name);

#endif
