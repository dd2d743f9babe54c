/* SPDX-License-Identifier: MIT */
/*
 * asset.c - finds a file of the page by its name.
 */
#include <string.h>

#include "assets.h"

const struct pl_asset *pl_asset_find(const char *name)
{
    for (const struct pl_asset *asset = pl_assets; asset->name; asset++)
        if (!strcmp(asset->name, name))
            return asset;
    return NULL;
}
