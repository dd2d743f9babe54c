/* SPDX-License-Identifier: MIT */
/*
 * file.h - the writer's side of format.h: a mapped file that grows.
 *
 * The whole of the file that may ever be is mapped at once, so records never move; what is not yet allocated on disk
 * lies beyond the end of the file and is never touched. Growing means fallocate: a store into a sparse page of a full
 * disk would be a SIGBUS that kills the program. When it fails nothing breaks: appending returns 0 and the loss is
 * counted.
 *
 * Who may touch what: counts are fetch-added by anyone. `grow_lock` protects the directory and the end of the file; it
 * is only ever tried for a bounded time, so a thread that dies holding it costs growth, not a deadlock.
 */
#ifndef PL_FILE_H
#define PL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "format.h"

#define PL_PATH_MAX 4096

struct pl_file {
    uint8_t *base; /* NULL: no file (yet) */
    uint64_t mapped_bytes;
    uint64_t file_bytes; /* allocated on disk */
    uint64_t limit_bytes;
    uintptr_t grow_lock; /* 0, or who holds it */
    uint32_t full;       /* enum pl_loss + 1: growth has failed for good, and this is why */
    int fd;              /* high, close-on-exec; the program may close it behind our back */
    uint64_t inode;
    uint64_t device;
    char path[PL_PATH_MAX];
};

/* Creates the file at `path`, which must not exist, and maps it. Returns 0 or a negative errno. */
long pl_file_create(struct pl_file *file, const char *path, uint64_t limit_bytes);

/* No fork, no exec, no file: a child gives back what it inherited of its parent's. */
void pl_file_abandon(void);

/* Stops all growth: the program is about to enter a sandbox. Or lets it go on: it was not let in. */
void pl_file_freeze(struct pl_file *file, bool frozen);

/* Grows now, so that there is room for `bytes` more, if they can be had. */
void pl_file_reserve(struct pl_file *file, uint64_t bytes);

/* Where bytes go that have no place: a visit that was cut in two by a fork in a signal handler goes on in the child,
 * which has no file yet. */
extern HIDDEN uint8_t pl_file_nowhere[PL_CHUNK_BYTES];

static inline struct pl_header *pl_file_header(const struct pl_file *file)
{
    return (struct pl_header *) (void *) (file->base ? file->base : pl_file_nowhere);
}

/* The mapping of the file, or of the parent's, whose place the child's will take: fork does not wipe this word. */
extern HIDDEN uint8_t *pl_file_base;

/* In a forked child that goes on with its parent's visit: what it writes goes nowhere. */
void pl_file_detach(void);

/* Reserves a record. Returns its number and address, or 0. The caller fills it in and publishes its first word. */
uint32_t pl_file_append(struct pl_file *file, enum pl_kind kind, void **record);

/* The address of a record that pl_file_append() has returned. */
void *pl_file_record(const struct pl_file *file, enum pl_kind kind, uint32_t number);

/* Stores a string; {0, 0} when there is no room or it is longer than 4,096 bytes. */
struct pl_text pl_file_text(struct pl_file *file, const char *text, uint64_t bytes);

void pl_file_lost(const struct pl_file *file, enum pl_loss loss);

/* Copies the file's bytes in use to `path`, which must not exist, while others may go on writing to it: what names
 * others first, then what is named. `room` is where the copy's header is made; `change`, unless NULL, makes it what it
 * is to be. Returns 0 or a negative errno. */
long pl_file_copy(const struct pl_file *file, const char *path, struct pl_header *room,
                  void (*change)(struct pl_header *header));

#endif
