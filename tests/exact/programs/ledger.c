/* SPDX-License-Identifier: MIT */
/* ledger.c - see ledger.h. Only its thread writes a cell, except for the frees in it. */
#include "ledger.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct ledger *ledger;
static const char *const *site_texts;
static unsigned site_count;
static bool following, exiting;

static _Thread_local unsigned me;
static _Thread_local uint64_t calls;

/* ---- the file ---- */

void ledger_open(const char *path, const char *const *names, unsigned sites)
{
    site_texts = names;
    site_count = sites;
    ledger_open_child(path);
}

void ledger_open_child(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || site_count > LEDGER_SITES || ftruncate(fd, sizeof *ledger) != 0)
        _exit(96);
    ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (ledger == MAP_FAILED)
        _exit(95);
    ledger->threads = LEDGER_THREADS;
    ledger->sites = site_count;
    for (unsigned i = 0; i < site_count; i++)
        strncpy(ledger->name[i], site_texts[i], LEDGER_NAME - 1);
    ledger_thread(0);
    __atomic_store_n(&ledger->magic, LEDGER_MAGIC, __ATOMIC_RELEASE);
}

void ledger_thread(unsigned number)
{
    if (number >= LEDGER_THREADS)
        _exit(94);
    me = number;
    ledger->thread[me].tid = (uint32_t) gettid();
}

/* ---- the peak ---- */

static struct ledger_amount live_in(const struct ledger_cell *cell)
{
    return (struct ledger_amount){cell->calls - cell->freed_calls, cell->bytes - cell->freed_bytes};
}

void ledger_mark_peak(void)
{
    ledger->peak_bytes = ledger->live_bytes;
    ledger->peak_ns = ledger_now_ns();
    for (unsigned t = 0; t < LEDGER_THREADS; t++)
        for (unsigned s = 0; s < site_count; s++)
            ledger->peak[t][s] = live_in(&ledger->cell[t][s]);
}

void ledger_follow_peak(void)
{
    following = true;
}

void ledger_exiting(void)
{
    exiting = true;
}

void ledger_mark_point(void)
{
    if (ledger->points < LEDGER_POINTS)
        ledger->point[ledger->points++] = (struct ledger_point){ledger_now_ns(), ledger->live_bytes};
}

/* ---- booking ---- */

static void add(uint64_t *to, uint64_t amount)
{
    __atomic_fetch_add(to, amount, __ATOMIC_RELAXED);
}

void ledger_begin(enum ledger_doing doing, unsigned site, size_t bytes, const struct block *old)
{
    struct ledger_thread *thread = &ledger->thread[me];
    thread->site = site;
    thread->bytes = bytes;
    if (old) {
        thread->old_thread = old->thread;
        thread->old_site = old->site;
        thread->old_bytes = old->address ? old->bytes : 0;
    }
    __atomic_store_n(&thread->doing, doing, __ATOMIC_RELEASE);
}

static void done(void)
{
    __atomic_store_n(&ledger->thread[me].doing, LEDGER_NOTHING, __ATOMIC_RELEASE);
}

static struct block book(unsigned site, size_t bytes, void *address)
{
    struct ledger_cell *cell = &ledger->cell[me][site];
    if (!address)
        return (struct block){0};
    add(&cell->calls, 1);
    add(&cell->bytes, bytes);
    add(&ledger->live_bytes, bytes);
    return (struct block){address, bytes, me, site, ++calls};
}

static void unbook(const struct block *block)
{
    if (block->thread == LEDGER_NOBODY)
        return;
    struct ledger_cell *cell = &ledger->cell[block->thread][block->site];
    if (following && ledger->live_bytes > ledger->peak_bytes)
        ledger_mark_peak();
    add(&cell->freed_calls, 1);
    add(&cell->freed_bytes, block->bytes);
    add(&cell->exit_calls, exiting);
    add(&cell->exit_bytes, exiting ? block->bytes : 0);
    add(&ledger->live_bytes, -(uint64_t) block->bytes);
}

struct block ledger_allocated(unsigned site, size_t bytes, void *address)
{
    struct block block = book(site, bytes, address);
    done();
    return block;
}

static void book_move(unsigned site, size_t bytes, const struct block *old, const void *address)
{
    struct ledger_cell *cell = &ledger->cell[me][site];
    add(&cell->realloc_calls, 1);
    if (address == old->address)
        add(&cell->realloc_in_place, 1);
    else
        add(&cell->realloc_moved, old->bytes < bytes ? old->bytes : bytes);
}

/* realloc(p, 0) frees and returns NULL: nothing is allocated. With other sizes NULL is a failure: nothing changed. */
struct block ledger_moved(unsigned site, size_t bytes, struct block old, void *address)
{
    struct block block = {0};
    if (!address && bytes) {
        done();
        return old;
    }
    if (old.address)
        unbook(&old);
    if (old.address && address)
        book_move(site, bytes, &old, address);
    block = book(site, bytes, address);
    done();
    return block;
}

static void release_plainly(void *address, size_t bytes)
{
    (void) bytes;
    free(address);
}

void ledger_free(struct block block)
{
    ledger_free_by(block, release_plainly);
}

void ledger_free_by(struct block block, void (*release)(void *address, size_t bytes))
{
    if (!block.address)
        return;
    bool temporary = block.thread == me && block.number == calls;
    ledger_begin(LEDGER_FREEING, block.site, 0, &block);
    release(block.address, block.bytes);
    add(&ledger->cell[block.thread][block.site].temporaries, temporary);
    unbook(&block);
    done();
}

/* ---- time ---- */

uint64_t ledger_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

void ledger_sleep_ms(unsigned ms)
{
    struct timespec pause = {ms / 1000, (long) (ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
}
