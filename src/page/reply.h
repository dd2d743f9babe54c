/* SPDX-License-Identifier: MIT */
/*
 * reply.h - what our servers share: reading a request's headers, and answers that all have the same security headers.
 */
#ifndef PL_REPLY_H
#define PL_REPLY_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

/* Queues the response with the security headers, and releases it. `type` NULL: it has no content. */
enum MHD_Result pl_reply(struct MHD_Connection *connection, unsigned status, const char *type,
                         struct MHD_Response *response);

/* A response whose data stays valid for ever. */
struct MHD_Response *pl_reply_constant(const char *data, size_t bytes);

/* A line of text that says why. */
enum MHD_Result pl_reply_refuse(struct MHD_Connection *connection, unsigned status, const char *why);

/* The last value of a header, and how many there are. */
struct pl_reply_values {
    const char *name;
    const char *value;
    unsigned count;
};
struct pl_reply_values pl_reply_header(struct MHD_Connection *connection, const char *name);

/* There is one such header, and it has this value. */
bool pl_reply_says(struct MHD_Connection *connection, const char *name, const char *wanted);

/* Sec-Fetch-Site says which site caused the request. "none": the user typed the address, or opened it from another
 * program. No such header: not a browser, or an old one. */
bool pl_reply_comes_from_us(struct MHD_Connection *connection);

bool pl_reply_only_gets(const char *method);

/* Is gzip among the encodings that the client accepts? */
bool pl_reply_takes_gzip(struct MHD_Connection *connection);

#endif
