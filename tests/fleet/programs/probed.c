/* SPDX-License-Identifier: MIT */
/*
 * probed.c - allocates and frees when it is told to, and writes down what it did. usage: probed LOG CALLS THREADS
 *
 * It says `ready`, waits for a line, makes its calls, says `done`, waits for another line, and ends. Each thread has
 * its part of LOG: CALLS entries, in the order of the calls. In between it calls nothing else that allocates.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIVE 400
#define IMPOSSIBLE ((size_t) 1 << 62)

enum kind { NOTHING, ALLOCATED, FREED, KEPT }; /* KEPT: a realloc failed */

struct entry {
    uint64_t kind;
    uint64_t block;
    uint64_t size;
};

static struct entry *entries;
static uint64_t calls;

struct part {
    struct entry *next, *end;
    uint64_t state;
    void *live[LIVE];
    size_t size[LIVE];
};

static uint64_t draw(struct part *part)
{
    part->state ^= part->state << 13;
    part->state ^= part->state >> 7;
    part->state ^= part->state << 17;
    return part->state;
}

static void note(struct part *part, enum kind kind, uintptr_t block, size_t size)
{
    *part->next++ = (struct entry){kind, block, size};
}

static void move(struct part *part, unsigned slot, size_t size)
{
    uintptr_t old = (uintptr_t) part->live[slot];
    void *moved = realloc(part->live[slot], size);
    if (!moved) {
        note(part, KEPT, old, part->size[slot]);
        return;
    }
    note(part, FREED, old, part->size[slot]);
    note(part, ALLOCATED, (uintptr_t) moved, size);
    part->live[slot] = moved;
    part->size[slot] = size;
}

static void *work(void *argument)
{
    struct part *part = argument;
    volatile size_t impossible = IMPOSSIBLE;
    while (part->next + 2 + LIVE < part->end) {
        uint64_t random = draw(part);
        unsigned slot = random % LIVE;
        size_t size = random >> 16 & ((1u << (4 + (random >> 40) % 14)) - 1);
        if (!part->live[slot]) {
            part->live[slot] = malloc(size);
            part->size[slot] = size;
            note(part, ALLOCATED, (uintptr_t) part->live[slot], size);
        } else if ((random >> 50) % 8 == 0) {
            move(part, slot, size + 1);
        } else if ((random >> 50) % 8 == 1) {
            move(part, slot, impossible);
        } else {
            note(part, FREED, (uintptr_t) part->live[slot], part->size[slot]);
            free(part->live[slot]);
            part->live[slot] = NULL;
        }
    }
    for (unsigned slot = 0; slot < LIVE; slot++)
        if (part->live[slot]) {
            note(part, FREED, (uintptr_t) part->live[slot], part->size[slot]);
            free(part->live[slot]);
        }
    return NULL;
}

int main(int count, char **argument)
{
    static struct part part[16];
    static char out[1 << 12];
    pthread_t thread[16];
    if (count != 4)
        return 2;
    calls = strtoull(argument[2], NULL, 10);
    unsigned threads = (unsigned) atoi(argument[3]);
    int log = open(argument[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (log < 0 || ftruncate(log, (off_t) (threads * calls * sizeof *entries)))
        return 1;
    entries = mmap(NULL, threads * calls * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, log, 0);
    if (entries == MAP_FAILED || threads > 16)
        return 1;
    for (unsigned i = 0; i < threads; i++)
        part[i] = (struct part){&entries[i * calls], &entries[(i + 1) * calls], 88172645463325252u + i, {0}, {0}};
    setvbuf(stdout, out, _IOLBF, sizeof out);
    puts("ready");
    char byte;
    if (read(0, &byte, 1) != 1)
        return 1;
    if (threads == 1) {
        work(&part[0]);
    } else {
        for (unsigned i = 0; i < threads; i++)
            pthread_create(&thread[i], NULL, work, &part[i]);
        for (unsigned i = 0; i < threads; i++)
            pthread_join(thread[i], NULL);
    }
    puts("done");
    return read(0, &byte, 1) < 0;
}
