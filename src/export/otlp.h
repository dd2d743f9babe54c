/* SPDX-License-Identifier: MIT */
/*
 * otlp.h - writes digests as OpenTelemetry profiles: a request of the protocol OTLP, signal profiles, v1development
 * (opentelemetry-proto 1.11).
 */
#ifndef PL_OTLP_H
#define PL_OTLP_H

#include <stdbool.h>
#include <stdio.h>

#include "export/digest.h"

/* Values are texts, also numbers: some stores ignore others. */
struct pl_otlp_attribute {
    const char *key, *value;
};

/* A process, or several of one service: who it is, and its figures. Each metric of each view becomes a profile. */
struct pl_otlp_resource {
    const struct pl_otlp_attribute *attribute; /* of the resource; a NULL key ends them */
    const struct pl_otlp_attribute *extra;     /* of its profiles; NULL: none */
    const struct pl_digest_view *view;
    uint32_t views;
};

/* Writes one request, not compressed. `no_names`: addresses and build-ids only. */
void pl_otlp_write(const struct pl_otlp_resource *resource, uint32_t resources, bool no_names, FILE *out);

#endif
