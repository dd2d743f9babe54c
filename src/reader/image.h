/* SPDX-License-Identifier: MIT */
/*
 * image.h - a private copy of a profile file: one array per kind of record. Only the header's identity has been
 * checked.
 *
 * What image.c promises: arrays are as long as they say, never longer than the file, and everything that a record
 * refers to had been published before its own kind was copied. What it does not promise: that references are in range.
 */
#ifndef PL_IMAGE_H
#define PL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"
#include "reader/base/arena.h"
#include "reader/profile.h"

/* Where the bytes come from: a file, which may grow, shrink and change while it is read, or memory, which may not. */
struct pl_image_source {
    const char *name; /* for messages */
    int fd;           /* -1: memory */
    const unsigned char *data;
    size_t data_bytes;
};

/* Records 0 .. count-1, of which 0 is never used. For PL_KIND_TEXT a record is a byte. */
struct pl_image_table {
    void *record;
    uint32_t count;
};

struct pl_image {
    struct pl_header header; /* its peak is from when rows and tallies were copied */
    uint64_t file_bytes;
    struct pl_image_table table[PL_KINDS_MAX];
    uint64_t damage;    /* missing chunks, and later invalid records */
    uint64_t in_flight; /* rows and tallies that never held still */
};

/* Typed views of the tables; valid indexes are below pl_image_count(). */
static inline uint32_t pl_image_count(const struct pl_image *image, enum pl_kind kind)
{
    return image->table[kind].count;
}

#define PL_IMAGE_VIEW(name, type, kind)                                                                                \
    static inline const type *pl_image_##name(const struct pl_image *image)                                            \
    {                                                                                                                  \
        return image->table[kind].record;                                                                              \
    }
PL_IMAGE_VIEW(text, char, PL_KIND_TEXT)
PL_IMAGE_VIEW(modules, struct pl_module, PL_KIND_MODULE)
PL_IMAGE_VIEW(frames, struct pl_frame, PL_KIND_FRAME)
PL_IMAGE_VIEW(jits, struct pl_jit_record, PL_KIND_JIT)
PL_IMAGE_VIEW(threads, struct pl_thread_record, PL_KIND_THREAD)
PL_IMAGE_VIEW(sites, struct pl_site, PL_KIND_SITE)
PL_IMAGE_VIEW(rows, struct pl_row, PL_KIND_ROW)
PL_IMAGE_VIEW(tallies, struct pl_tally, PL_KIND_TALLY)
PL_IMAGE_VIEW(smalls, struct pl_small, PL_KIND_SMALL)
PL_IMAGE_VIEW(heaps, struct pl_heap_record, PL_KIND_HEAP)
PL_IMAGE_VIEW(ledgers, struct pl_ledger, PL_KIND_LEDGER)
PL_IMAGE_VIEW(remotes, struct pl_remote, PL_KIND_REMOTE)
PL_IMAGE_VIEW(moments, struct pl_moment, PL_KIND_MOMENT)
PL_IMAGE_VIEW(compositions, struct pl_composition_record, PL_KIND_COMPOSITION)
PL_IMAGE_VIEW(tags, struct pl_tag_record, PL_KIND_TAG)
PL_IMAGE_VIEW(scopes, struct pl_scope_record, PL_KIND_SCOPE)
PL_IMAGE_VIEW(verdicts, struct pl_verdict_record, PL_KIND_VERDICT)
PL_IMAGE_VIEW(footprints, struct pl_footprint_record, PL_KIND_FOOTPRINT)
PL_IMAGE_VIEW(residents, struct pl_resident_record, PL_KIND_RESIDENT)
PL_IMAGE_VIEW(holders, struct pl_holder_record, PL_KIND_HOLDER)
PL_IMAGE_VIEW(functions, struct pl_function_record, PL_KIND_FUNCTION)
PL_IMAGE_VIEW(symbols, struct pl_symbol, PL_KIND_SYMBOL)
#undef PL_IMAGE_VIEW

/* The tables live in `scratch`. 0, or a negative errno and a line in `why`. */
int pl_image_take(const struct pl_image_source *source, struct pl_arena *scratch, struct pl_image *out,
                  char why[PL_WHY_BYTES]);

/* Reads the header. If it is not one of ours, `why` says why. */
int pl_image_header(const struct pl_image_source *source, struct pl_header *out, char why[PL_WHY_BYTES]);

/* The kinds of all chunks, from all directories; 0 where a directory is missing. Returns 0 or a negative errno. */
int pl_image_directory(const struct pl_image_source *source, uint8_t directory[PL_CHUNKS_MAX]);

/* Bytes read, fewer than asked for at the end of the source (or where it cannot be read). */
size_t pl_image_read(const struct pl_image_source *source, uint64_t offset, void *out, size_t bytes);

#endif
