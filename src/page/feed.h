/* SPDX-License-Identifier: MIT */
/*
 * feed.h - what is served as data: the newest reading of a profile, gzipped, with a number.
 *
 * Two sides: one makes readings and puts them here, the other hands them out. Whoever takes one may keep it for as long
 * as a slow client needs, whatever is put meanwhile. Taking one is also a wish for a newer one, and wakes the maker.
 */
#ifndef PL_FEED_H
#define PL_FEED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pl_reading {
    uint64_t number; /* 1, 2, 3, ... */
    char *data;      /* a gzip stream */
    size_t bytes;
    uint32_t holders;
};

struct pl_feed;
struct pl_feed *pl_feed_new(void);
void pl_feed_free(struct pl_feed *feed); /* nobody has a reading of it any more */

/* Puts what `write` writes. 0, or a negative errno: then the last one stays. */
typedef void pl_feed_function(void *context, FILE *out);
int pl_feed_put(struct pl_feed *feed, pl_feed_function *write, void *context);

/* NULL: there is none yet. */
struct pl_reading *pl_feed_take(struct pl_feed *feed);
void pl_feed_release(struct pl_feed *feed, struct pl_reading *reading);

/* Ready for reading when somebody took a reading since this was last called. */
int pl_feed_wish(const struct pl_feed *feed);
void pl_feed_granted(struct pl_feed *feed);

#endif
