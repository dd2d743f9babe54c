/* SPDX-License-Identifier: MIT */
/*
 * feed.c - passes the newest reading of a profile from the thread that makes it to the thread that serves it.
 *
 * `lock` protects `newest` and the `holders` of every reading. The feed itself holds the newest one. The data of a
 * published reading never changes.
 */
#include "page/feed.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "export/gzip.h"
#include "reader/base/grow.h"

struct pl_feed {
    pthread_mutex_t lock;
    struct pl_feed_reading *newest;
    uint64_t readings;
    int request; /* an eventfd: somebody took a reading */
};

struct pl_feed *pl_feed_new(void)
{
    struct pl_feed *feed = pl_grow_zeroed(1, sizeof *feed);
    pthread_mutex_init(&feed->lock, NULL);
    feed->request = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return feed;
}

void pl_feed_release(struct pl_feed *feed, struct pl_feed_reading *reading)
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
    close(feed->request);
    pthread_mutex_destroy(&feed->lock);
    free(feed);
}

/* 0 or a negative errno. */
static int make(struct pl_feed_reading *reading, pl_feed_function *write, void *context)
{
    FILE *memory = open_memstream(&reading->data, &reading->bytes);
    if (!memory)
        return -errno;
    FILE *packed = pl_gzip_open(memory);
    write(context, packed);
    int failed = ferror(packed) | fclose(packed) | ferror(memory);
    return fclose(memory) || failed ? -ENOMEM : 0;
}

static void publish(struct pl_feed *feed, struct pl_feed_reading *reading)
{
    pthread_mutex_lock(&feed->lock);
    struct pl_feed_reading *last = feed->newest;
    reading->number = ++feed->readings;
    feed->newest = reading;
    pthread_mutex_unlock(&feed->lock);
    pl_feed_release(feed, last);
}

int pl_feed_put(struct pl_feed *feed, pl_feed_function *write, void *context)
{
    struct pl_feed_reading *reading = pl_grow_zeroed(1, sizeof *reading);
    reading->holders = 1;
    int error = make(reading, write, context);
    if (error)
        pl_feed_release(feed, reading);
    else
        publish(feed, reading);
    return error;
}

struct pl_feed_reading *pl_feed_take(struct pl_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    struct pl_feed_reading *reading = feed->newest;
    if (reading)
        reading->holders++;
    pthread_mutex_unlock(&feed->lock);
    eventfd_write(feed->request, 1);
    return reading;
}

int pl_feed_request(const struct pl_feed *feed)
{
    return feed->request;
}

void pl_feed_clear_request(struct pl_feed *feed)
{
    eventfd_t requests;
    eventfd_read(feed->request, &requests);
}
