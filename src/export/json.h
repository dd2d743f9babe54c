/* SPDX-License-Identifier: MIT */
/*
 * json.h - writes JSON: its grammar, and the figures of profiles.
 *
 * Values are written as they come; a struct pl_json remembers only whether the next one needs a comma in front. Texts
 * may be any bytes, as programs use them for names, and become valid JSON: see docs/json.md for what becomes of the
 * rest.
 */
#ifndef PL_JSON_H
#define PL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/profile.h"

struct pl_json {
    FILE *out;
    bool comma;
};

void pl_json_begin(struct pl_json *json, char bracket);
void pl_json_end(struct pl_json *json, char bracket);
void pl_json_key(struct pl_json *json, const char *name);
void pl_json_line(struct pl_json *json); /* the next element of an array has a line of its own */

/* Elements of arrays. */
void pl_json_separate(struct pl_json *json);
void pl_json_text(struct pl_json *json, const char *text);
void pl_json_whole(struct pl_json *json, uint64_t number);
void pl_json_real(struct pl_json *json, double number); /* null when it is not finite */

/* Members of objects. */
void pl_json_add_text(struct pl_json *json, const char *name, const char *text); /* NULL: null */
void pl_json_add_whole(struct pl_json *json, const char *name, uint64_t number);
void pl_json_add_index(struct pl_json *json, const char *name, uint32_t index); /* UINT32_MAX: null */
void pl_json_add_hex(struct pl_json *json, const char *name, uint64_t number);
void pl_json_add_bool(struct pl_json *json, const char *name, bool truth);
void pl_json_add_real(struct pl_json *json, const char *name, double number);
void pl_json_add_known(struct pl_json *json, const char *name, double number); /* 0, "not known" or "never": null */
void pl_json_add_histogram(struct pl_json *json, const char *name, const double *count, unsigned counts);
void pl_json_add_estimate(struct pl_json *json, const char *name, const struct pl_estimate *estimate);
void pl_json_add_metrics(struct pl_json *json, const struct pl_profile *profile,
                         const struct pl_estimate metric[PL_METRIC_COUNT]);
void pl_json_add_functions(struct pl_json *json, const char *name, const uint64_t calls[PL_FN_MAX]);

/* A tag's path; null if it is so long that the paths of a deep tree would be most of the file. */
void pl_json_add_path(struct pl_json *json, const char *name, const struct pl_profile *profile, uint32_t tag);

/* "root", "named", "off", "paused": what sort of tag this is. */
const char *pl_json_tag_kind(const struct pl_profile *profile, uint32_t tag);

#endif
