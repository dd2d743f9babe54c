/* SPDX-License-Identifier: MIT */
/*
 * asset.h - the files of the HTML page (web/built), embedded in the program: nothing is read from disk at run time.
 */
#ifndef PL_ASSET_H
#define PL_ASSET_H

#include <stddef.h>
#include <string.h>

struct pl_asset {
    const char *name; /* "page.js"; NULL ends the table */
    const char *data; /* followed by a zero byte */
    size_t bytes;
};
extern const struct pl_asset pl_assets[];

/* NULL: no such file. */
static inline const struct pl_asset *pl_asset_find(const char *name)
{
    for (const struct pl_asset *asset = pl_assets; asset->name; asset++)
        if (!strcmp(asset->name, name))
            return asset;
    return NULL;
}

#endif
