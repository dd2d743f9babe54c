/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - a private copy of a profile file: one array per kind of record, nothing believed yet but the header's
 * identity.
 *
 * What snapshot.c promises: arrays are as long as they say, never longer than the file, and everything that a record
 * names had been published before its own kind was copied. What it does not promise: that names are in range.
 */
#ifndef PL_SNAPSHOT_H
#define PL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "format.h"
#include "profile.h"

/* Where the bytes come from: a file, which may grow, shrink and change under us, or memory, which may not. */
struct pl_source {
    const char *name; /* for messages */
    int fd;           /* -1: memory */
    const unsigned char *data;
    size_t data_bytes;
};

/* Records 0 .. count-1, of which 0 is never used. For PL_KIND_TEXT a record is a byte. */
struct pl_table {
    void *record;
    uint32_t count;
};

struct pl_snapshot {
    struct pl_header header; /* its word on the peak is that of when rows and tallies were copied */
    uint64_t file_bytes;
    struct pl_table table[PL_KINDS_MAX];
    uint64_t damage;    /* chunks that should be there and are not */
    uint64_t in_flight; /* rows and tallies that never held still */
};

/* Typed views of the tables; valid indexes are below pl_snapshot_count(). */
static inline uint32_t pl_snapshot_count(const struct pl_snapshot *snapshot, enum pl_kind kind)
{
    return snapshot->table[kind].count;
}

#define PL_SNAPSHOT_VIEW(name, type, kind)                                                                             \
    static inline const type *pl_snapshot_##name(const struct pl_snapshot *snapshot)                                   \
    {                                                                                                                  \
        return snapshot->table[kind].record;                                                                           \
    }
PL_SNAPSHOT_VIEW(text, char, PL_KIND_TEXT)
PL_SNAPSHOT_VIEW(modules, struct pl_module, PL_KIND_MODULE)
PL_SNAPSHOT_VIEW(frames, struct pl_frame, PL_KIND_FRAME)
PL_SNAPSHOT_VIEW(threads, struct pl_thread_record, PL_KIND_THREAD)
PL_SNAPSHOT_VIEW(sites, struct pl_site, PL_KIND_SITE)
PL_SNAPSHOT_VIEW(rows, struct pl_row, PL_KIND_ROW)
PL_SNAPSHOT_VIEW(tallies, struct pl_tally, PL_KIND_TALLY)
PL_SNAPSHOT_VIEW(remotes, struct pl_remote, PL_KIND_REMOTE)
PL_SNAPSHOT_VIEW(moments, struct pl_moment, PL_KIND_MOMENT)
PL_SNAPSHOT_VIEW(snapshots, struct pl_snapshot_record, PL_KIND_SNAPSHOT)
PL_SNAPSHOT_VIEW(tags, struct pl_tag_record, PL_KIND_TAG)
PL_SNAPSHOT_VIEW(scopes, struct pl_scope_record, PL_KIND_SCOPE)
PL_SNAPSHOT_VIEW(symbols, struct pl_symbol, PL_KIND_SYMBOL)
#undef PL_SNAPSHOT_VIEW

/* The tables live in `scratch`. 0, or a negative errno and a line in `why`. */
int pl_snapshot_take(const struct pl_source *source, struct pl_arena *scratch, struct pl_snapshot *out,
                     char why[PL_WHY_BYTES]);

/* Reads the header and says why it is not one of ours. */
int pl_snapshot_header(const struct pl_source *source, struct pl_header *out, char why[PL_WHY_BYTES]);

/* Bytes read, fewer than asked for at the end of the source (or where it cannot be read). */
size_t pl_source_read(const struct pl_source *source, uint64_t offset, void *out, size_t bytes);

#endif
