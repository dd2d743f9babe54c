/* SPDX-License-Identifier: MIT */
/*
 * feed.h - the data that the server sends: the newest reading of a profile, gzipped and numbered.
 *
 * One thread makes readings and puts them here; another takes them and serves them. A taken reading stays valid until
 * it is released, so a slow client does not block newer ones. Taking a reading also wakes the maker to make the next.
 */
#ifndef PL_FEED_H
#define PL_FEED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pl_feed_reading {
    uint64_t number; /* 1, 2, 3, ... */
    char *data;      /* a gzip stream */
    size_t bytes;
    uint32_t holders;
};

struct pl_feed;
struct pl_feed *pl_feed_new(void);
void pl_feed_free(struct pl_feed *feed); /* after all taken readings were released */

/* Publishes the bytes that `write` writes as the newest reading. 0, or a negative errno: then the last one stays. */
typedef void pl_feed_function(void *context, FILE *out);
int pl_feed_put(struct pl_feed *feed, pl_feed_function *write, void *context);

/* The newest reading; the caller must release it. NULL: there is none yet. */
struct pl_feed_reading *pl_feed_take(struct pl_feed *feed);
void pl_feed_release(struct pl_feed *feed, struct pl_feed_reading *reading);

/* A descriptor that polls readable if a reading was taken since pl_feed_clear_request() was last called. */
int pl_feed_request(const struct pl_feed *feed);
void pl_feed_clear_request(struct pl_feed *feed);

#endif
