/* SPDX-License-Identifier: MIT */
/*
 * census.h - all blocks of a process that the profiler knows to be live, at one moment.
 *
 * Exact mode keeps a word for each (core/blocks/blocks.h). Fork wipes that table; a copy of the process has it only if
 * the kernel was told to keep its slabs. Where glibc is the allocator, a slot says only in which 32 bytes a small block
 * begins: its exact address is then found by what glibc has written in front of the block.
 */
#ifndef PL_CENSUS_H
#define PL_CENSUS_H

#include "reach/locate.h"
#include "reach/memory/space.h"
#include "reach/samples.h"

struct pl_census_block { /* 24 bytes: there are many */
    uint64_t address;
    uint64_t size : 56;
    uint64_t held : 7;  /* verdict.h */
    uint64_t vague : 1; /* it begins here, or 16 bytes later */
    uint32_t place;     /* of its tally: an offset in the file, in units of 64 bytes; or one of the below */
    uint32_t owner;     /* verdict.h: the lost block that it is lost with */
};

#define PL_CENSUS_UNRECORDED 0u      /* a place: the profiler has no record of it: only glibc knows that it is in use */
#define PL_CENSUS_SAMPLED (1u << 31) /* a place: the rest is the number of its sample */

struct pl_census_sample {
    double weight; /* stands for so many blocks of its size */
    uint32_t row;  /* the number of its row in the profile */
};

struct pl_census_heap {
    uint64_t from, to;
};

struct pl_census {
    struct pl_census_block *block; /* by address */
    uint32_t count;
    uint32_t room;
    bool glibc;                      /* the allocator is glibc's */
    bool walked;                     /* glibc's heaps were walked: every block in use is here (chunks.h) */
    struct pl_locate index;          /* settled */
    struct pl_census_sample *sample; /* if not all blocks are recorded */
    uint32_t samples, sample_room;
    struct pl_census_heap *heap; /* if walked: glibc's heaps, as far as they could be understood; by address */
    uint32_t heaps;
};
#define PL_CENSUS_NONE UINT32_MAX

/* The slabs of the table, a struct pl_blocks: each is a mapping and has the blocks of one region. */
struct pl_census_slab {
    uint64_t region;   /* the first address in it */
    uint64_t at;       /* its first slot */
    uint64_t from, to; /* the mapping */
};
struct pl_census_table {
    struct pl_census_slab *slab;
    uint32_t count;
    uint32_t granule_shift; /* 0: nothing was ever counted */
    struct pl_sample_level level[PL_SAMPLE_LEVELS];
    uint32_t levels;
};

/* Finds the slabs, and the levels of the table of samples (`live_at`; 0: none), which is quick; the process stands
 * still. False: it cannot be read, or there is no memory. */
bool pl_census_find_table(struct pl_census_table *table, struct pl_space *process, uint64_t blocks_at,
                          uint64_t live_at);
void pl_census_free_table(struct pl_census_table *table);

/* Reads them, from the process or from a copy that has them. False: as above. */
bool pl_census_take(struct pl_census *census, struct pl_space *space, const struct pl_census_table *table);

/* Finds exact addresses, and makes it possible to look blocks up. False: no memory. */
bool pl_census_settle(struct pl_census *census, struct pl_space *space);

/* Adds a block. False: no memory. */
bool pl_census_enter(struct pl_census *census, struct pl_census_block block);
bool pl_census_sort(struct pl_census *census); /* false: no memory */
void pl_census_free(struct pl_census *census);

/* The last block that begins at this address or before; PL_CENSUS_NONE: there is none. */
uint32_t pl_census_before(const struct pl_census *census, uint64_t address);

/* Is the address in this block, or at the end of it? `begins`: one begins there, so it is this one. */
INLINE bool pl_census_holds(const struct pl_census *census, uint32_t block, uint64_t address, bool begins)
{
    return block != PL_CENSUS_NONE && (begins || address - census->block[block].address <= census->block[block].size);
}

/* The block that this address is in, or at the end of; PL_CENSUS_NONE: none. */
uint32_t pl_census_find(const struct pl_census *census, uint64_t address);

/* What glibc has written in front of a block: the size of its chunk, which begins 16 bytes before it, and flags. */
#define PL_CHUNK_FLAGS 15u     /* three; our own build of glibc has one more */
#define PL_CHUNK_AFTER_USED 1u /* the chunk before it is in use */
#define PL_CHUNK_MAPPED 2u
#define PL_CHUNK_ELSEWHERE 4u /* in an arena that is not the main one */
#define PL_CHUNK_FRONT 16u

#endif
