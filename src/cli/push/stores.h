/* SPDX-License-Identifier: MIT */
/*
 * stores.h - the stores of profiles that we can push to: a table of their protocols.
 */
#ifndef PL_STORES_H
#define PL_STORES_H

#include <stdbool.h>
#include <stdio.h>

#include "export/digest.h"
#include "export/otlp.h"

/* What is sent of a process at a time: who it is, what is live, and what was allocated since the last time. */
struct pl_parcel {
    const struct pl_otlp_attribute *who; /* names as in OpenTelemetry; a NULL key ends them */
    const struct pl_digest_view *view;
    uint32_t views;
};

struct pl_store {
    const char *protocol; /* as in --to PROTOCOL+URL */
    const char *path;     /* appended to a URL without a path */
    const char *type;     /* of the content */
    const char *answer;   /* what the type of a good answer begins with */
    bool gzip;            /* the content is compressed as a whole */
    void (*write)(const struct pl_parcel *parcel, uint32_t parcels, bool no_names, FILE *out); /* one request */
};

/* NULL: there is none of this name. */
const struct pl_store *pl_store_find(const char *protocol, size_t letters);

/* "otlp, pyroscope or parca" */
#define PL_STORE_NAMES "otlp, pyroscope or parca"

#endif
