/* SPDX-License-Identifier: MIT */
/*
 * feed.c - the newest reading of a profile, between the thread that makes it and the one that serves it.
 *
 * `lock` protects `newest` and every reading's holders; the feed itself is a holder of the newest. What a reading says
 * is not changed any more.
 */
#include "feed.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "grow.h"
#include "packed.h"

struct pl_feed {
    pthread_mutex_t lock;
    struct pl_reading *newest;
    uint64_t readings;
    int wish; /* an eventfd */
};

struct pl_feed *pl_feed_new(void)
{
    struct pl_feed *feed = pl_grow_zeroed(1, sizeof *feed);
    pthread_mutex_init(&feed->lock, NULL);
    feed->wish = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return feed;
}

void pl_feed_release(struct pl_feed *feed, struct pl_reading *reading)
{
    if (!reading)
        return;
    pthread_mutex_lock(&feed->lock);
    uint32_t left = --reading->holders;
    pthread_mutex_unlock(&feed->lock);
    if (left > 0)
        return;
    free(reading->data);
    free(reading);
}

void pl_feed_free(struct pl_feed *feed)
{
    pl_feed_release(feed, feed->newest);
    close(feed->wish);
    pthread_mutex_destroy(&feed->lock);
    free(feed);
}

/* 0 or a negative errno. */
static int make(struct pl_reading *reading, pl_feed_function *write, void *context)
{
    FILE *memory = open_memstream(&reading->data, &reading->bytes);
    if (!memory)
        return -errno;
    FILE *packed = pl_packed_open(memory);
    write(context, packed);
    int failed = ferror(packed) | fclose(packed) | ferror(memory);
    return fclose(memory) || failed ? -ENOMEM : 0;
}

static void publish(struct pl_feed *feed, struct pl_reading *reading)
{
    pthread_mutex_lock(&feed->lock);
    struct pl_reading *last = feed->newest;
    reading->number = ++feed->readings;
    feed->newest = reading;
    pthread_mutex_unlock(&feed->lock);
    pl_feed_release(feed, last);
}

int pl_feed_put(struct pl_feed *feed, pl_feed_function *write, void *context)
{
    struct pl_reading *reading = pl_grow_zeroed(1, sizeof *reading);
    reading->holders = 1;
    int error = make(reading, write, context);
    if (error)
        pl_feed_release(feed, reading);
    else
        publish(feed, reading);
    return error;
}

struct pl_reading *pl_feed_take(struct pl_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    struct pl_reading *reading = feed->newest;
    if (reading)
        reading->holders++;
    pthread_mutex_unlock(&feed->lock);
    eventfd_write(feed->wish, 1);
    return reading;
}

int pl_feed_wish(const struct pl_feed *feed)
{
    return feed->wish;
}

void pl_feed_granted(struct pl_feed *feed)
{
    eventfd_t wishes;
    eventfd_read(feed->wish, &wishes);
}
