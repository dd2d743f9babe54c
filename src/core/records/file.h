/* SPDX-License-Identifier: MIT */
/*
 * file.h - the writer's side of format.h: a mapped file that grows.
 *
 * The file has its maximum size from the start, as a hole, and is mapped as far as it is used. The mapping grows in
 * place, so records never move. A store into a hole on a full disk would raise SIGBUS and kill the program, so pages
 * are allocated first, by calls that fail instead. None of this needs a descriptor or the path: the program may close
 * everything, chroot, and change its user.
 *
 * Each kind of record has a chunk of its own, and a short process touches one page of most of them. So in memory
 * (tmpfs) the pages of the first chunks are allocated one by one, when records get there.
 *
 * Who may touch what: any thread, anything, at any time. There is no lock: counts grow by fetch_add, sizes by
 * compare-and-swap, and a chunk is assigned by a claim that any thread can complete. If growing fails, appending
 * returns 0 and the loss is counted with its reason; later appends try again.
 */
#ifndef PL_FILE_H
#define PL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"
#include "format/format.h"

#define PL_PATH_MAX 4096
#define PL_FILE_YOUNG (256u << 10)

struct pl_file {
    uint8_t *base; /* NULL: no file (yet) */
    uint64_t limit_bytes;
    uint64_t mapped_bytes;
    uint64_t file_bytes; /* allocated, from PL_FILE_YOUNG on: stores below this cannot fail */
    uint64_t young;      /* a bit for each page before PL_FILE_YOUNG: it is allocated */
    uint64_t chunks;     /* assigned */
    uint32_t limit_why;  /* enum pl_full: what limit_bytes comes from */
    uint32_t frozen;
    uint32_t full; /* enum pl_full: why it did not grow when it last had to */
    uint32_t full_errno;
    uint32_t refused; /* attempts since then */
    uint32_t growing; /* threads that are making it grow, or died there */
    uint64_t inode;
    char path[PL_PATH_MAX];
};

/* Creates the file at `path`, which must not exist, and maps it. Returns 0 or a negative errno. */
long pl_file_create(struct pl_file *file, const char *path, uint64_t limit_bytes);

/* Stops all growth, before the program enters a sandbox. Or allows it again: the kernel refused the sandbox. */
void pl_file_freeze(struct pl_file *file, bool frozen);

/* Grows the file now, if possible, so that there is room for `bytes` more. */
void pl_file_reserve(struct pl_file *file, uint64_t bytes);

/* Memory for stores that have no other place: if a signal handler forks inside a visit, the visit goes on in the child,
 * which has no file yet. */
extern HIDDEN uint8_t pl_file_nowhere[PL_CHUNK_BYTES];

static inline struct pl_header *pl_file_header(const struct pl_file *file)
{
    return (struct pl_header *) (void *) (file->base ? file->base : pl_file_nowhere);
}

/* Where the file is mapped. Fork does not wipe this word: in a child it is the parent's mapping, until the child's own
 * file is mapped at the same place. */
extern HIDDEN uint8_t *pl_file_base;

/* In a forked child that continues its parent's visit: replaces the parent's file by anonymous memory, so that the
 * visit's stores do not reach it. */
void pl_file_detach(void);

/* Unmaps the file and forgets all about it: the process is not profiled any more. */
void pl_file_leave(struct pl_file *file);

/* Reserves a record. Returns its number and address, or 0. The caller fills it in and stores its first word last. */
uint32_t pl_file_append(struct pl_file *file, enum pl_kind kind, void **record);

/* The address of a record that pl_file_append() has returned. */
void *pl_file_record(const struct pl_file *file, enum pl_kind kind, uint32_t number);

/* Is this range, in chunks that are assigned, allocated? If there was no room for a record, its pages may be missing:
 * then a load would raise SIGBUS, as would a store. */
bool pl_file_has(const struct pl_file *file, const void *at, uint64_t bytes);

/* The number of the record at an address; 0 if there is no record of this kind. */
uint32_t pl_file_number(const struct pl_file *file, enum pl_kind kind, const void *record);

/* Stores a string; {0, 0} if there is no room or it is longer than 4,096 bytes. */
struct pl_text pl_file_text(struct pl_file *file, const char *text, uint64_t bytes);

/* At the end of the process: cuts the part of the file at its path that is not allocated. It does not grow any more. */
void pl_file_trim(struct pl_file *file);

void pl_file_lost(const struct pl_file *file, enum pl_loss loss);

/* Copies the used part of the file to `path`, which must not exist. Other threads may write to the file meanwhile, so
 * records that refer to others are copied before those that they refer to. `room` is memory for the copy's header;
 * `change`, unless NULL, may modify that header. Returns 0 or a negative errno. */
long pl_file_copy(const struct pl_file *file, const char *path, struct pl_header *room,
                  void (*change)(struct pl_header *header));

#endif
