/* SPDX-License-Identifier: MIT */
/*
 * samples.h - the live samples of a process, read from outside: its table of samples (core/blocks/live.h), in the
 * process itself or in a copy of it that has the table.
 */
#ifndef PL_SAMPLES_H
#define PL_SAMPLES_H

#include "reach/memory/space.h"

struct pl_sample {
    uint64_t address, size;
    double weight; /* stands for so many blocks of its size */
    uint32_t row;  /* the number of its row in the profile */
};

/* A mapping with a level of the table. */
struct pl_sample_level {
    uint64_t from, to;
};
#define PL_SAMPLE_LEVELS 8

/* Finds the levels. Returns how many there are; -1: they cannot be read. */
int pl_samples_find(struct pl_space *space, uint64_t live_at, struct pl_sample_level level[PL_SAMPLE_LEVELS]);

/* Calls `meet` for each sample of a level, until it returns false. False: that, or it cannot be read. */
typedef bool pl_sample_met(void *context, const struct pl_sample *sample);
bool pl_samples_read(struct pl_space *space, const struct pl_sample_level *level, pl_sample_met *meet, void *context);

#endif
