/* SPDX-License-Identifier: MIT */
/*
 * ledger.h - a program's own account of what it allocated and freed, for comparison with its profile.
 *
 * A program allocates only in functions named site_NAME. Its calls are booked per thread and site into a mapped file,
 * so that the account survives kill -9 like the profile. A thread states beforehand what it is about to do (struct
 * ledger_thread, `doing`): after a kill the profile may have one call that is not booked here yet.
 *
 * The ledger itself allocates nothing. The program keeps a struct block for each block: a block of malloc(0) has no
 * room for it.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/apart.h"

#define LEDGER_MAGIC 0x1ed6e200u
#define LEDGER_THREADS 16
#define LEDGER_SITES 32
#define LEDGER_NAME 32
#define LEDGER_POINTS 4096
#define LEDGER_NOBODY UINT32_MAX /* the thread of an inherited block, which is in no account */

enum ledger_doing { LEDGER_NOTHING = 0, LEDGER_ALLOCATING, LEDGER_FREEING, LEDGER_MOVING };

/* What one thread allocated at one site, and what became of it. Frees by other threads are added to this cell. */
struct ledger_cell {
    uint64_t calls, bytes;
    uint64_t freed_calls, freed_bytes;
    uint64_t temporaries;      /* freed by the same thread before its next allocation */
    uint64_t realloc_calls;    /* at the site of the realloc */
    uint64_t realloc_moved;    /* bytes copied to another address */
    uint64_t realloc_in_place; /* calls */
    uint64_t exit_calls;       /* freed since ledger_exiting() */
    uint64_t exit_bytes;
};

struct ledger_thread {
    uint32_t tid;
    uint32_t doing; /* enum ledger_doing; the other fields say which cells */
    uint32_t site;
    uint32_t old_thread, old_site;
    uint32_t reserved;
    uint64_t bytes, old_bytes;
};

struct ledger_amount {
    uint64_t blocks, bytes;
};

/* Live bytes at a time (CLOCK_MONOTONIC). */
struct ledger_point {
    uint64_t time_ns, live_bytes;
};

struct ledger {
    uint32_t magic, threads, sites, points;
    uint64_t live_bytes;
    uint64_t peak_bytes;
    uint64_t peak_ns;
    char name[LEDGER_SITES][LEDGER_NAME];
    struct ledger_thread thread[LEDGER_THREADS];
    struct ledger_cell cell[LEDGER_THREADS][LEDGER_SITES];
    struct ledger_amount peak[LEDGER_THREADS][LEDGER_SITES];
    struct ledger_point point[LEDGER_POINTS];
};

struct block {
    void *address; /* NULL: no block */
    size_t bytes;
    uint32_t thread, site;
    uint64_t number; /* the number of calls of its thread up to and including this one */
};

#ifdef __cplusplus
extern "C" {
#endif

extern struct ledger *ledger;

/* A program lists its sites once: #define SITES(X) X(small) X(large). */
#define LEDGER_ENUM(name) SITE_##name,
#define LEDGER_TEXT(name) "site_" #name,
#define LEDGER_DECLARE(SITES)                                                                                          \
    enum { SITES(LEDGER_ENUM) SITE_COUNT };                                                                            \
    static const char *const site_names[] = {SITES(LEDGER_TEXT)}

/* Makes the file. The calling thread becomes thread 0. */
void ledger_open(const char *path, const char *const *names, unsigned sites);

/* The calling thread becomes this one. */
void ledger_thread(unsigned number);

/* Before the call, and after it. `address` NULL: it failed, and nothing was allocated. */
void ledger_begin(enum ledger_doing doing, unsigned site, size_t bytes, const struct block *old);
struct block ledger_allocated(unsigned site, size_t bytes, void *address);
struct block ledger_moved(unsigned site, size_t bytes, struct block old, void *address);

/* Frees a block with free(), or in another way, and books it. */
void ledger_free(struct block block);
void ledger_free_by(struct block block, void (*release)(void *address, size_t bytes));

#define LEDGER_ALLOCATE(site, bytes, call)                                                                             \
    (ledger_begin(LEDGER_ALLOCATING, site, bytes, NULL), ledger_allocated(site, bytes, call))
#define LEDGER_MOVE(site, bytes, old, call)                                                                            \
    (ledger_begin(LEDGER_MOVING, site, bytes, &(old)), ledger_moved(site, bytes, old, call))

/* Sites that only call malloc: SITES(LEDGER_MALLOC_SITE). A table of them: {SITES(LEDGER_FUNCTION)}. */
#define LEDGER_MALLOC_SITE(name)                                                                                       \
    static APART struct block site_##name(size_t bytes)                                                                \
    {                                                                                                                  \
        return LEDGER_ALLOCATE(SITE_##name, bytes, malloc(bytes));                                                     \
    }
#define LEDGER_FUNCTION(name) site_##name,

/* From now on the composition of the heap at its peak is kept. This is exact in programs with one thread. */
void ledger_follow_peak(void);

/* The program declares the peak, while no thread allocates. */
void ledger_mark_peak(void);

/* Records a point of the curve of live bytes. */
void ledger_mark_point(void);

/* main is about to return or to call exit: later frees are those of exit handlers. */
void ledger_exiting(void);

/* Starts the account of a forked child. */
void ledger_open_child(const char *path);

uint64_t ledger_now_ns(void);
void ledger_sleep_ms(unsigned ms);

#ifdef __cplusplus
}
#endif

#endif
