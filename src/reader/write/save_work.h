/* SPDX-License-Identifier: MIT */
/*
 * save_work.h - what the steps of pl_save() share: records of every kind, as they will be in the file.
 *
 * They run in this order: process, code, tags and threads, figures, history. A record may refer to records of earlier
 * steps.
 */
#ifndef PL_SAVE_WORK_H
#define PL_SAVE_WORK_H

#include "reader/profile.h"
#include "reader/write/textout.h"

struct pl_save_table {
    void *record;
    uint32_t count, capacity; /* record 0 included */
};

struct pl_save_work {
    const struct pl_profile *profile;
    struct pl_arena *arena;
    struct pl_header header;
    struct pl_textout texts;
    struct pl_save_table table[PL_KINDS_MAX];
    uint64_t bytes;         /* of all records */
    bool full;              /* too much for a file: nothing will be written, and record numbers mean nothing any more */
    uint32_t *stack_record; /* by index in the profile: the innermost frame record of each stack */
    uint32_t *frame_record; /* one of the records of each frame; 0: no stack has it */
    uint32_t *who;          /* of each site: what a heap composition refers to it by */
};

/* Adds a record and returns its number. */
uint32_t pl_save_add(struct pl_save_work *save, enum pl_kind kind, const void *record);
void *pl_save_at(const struct pl_save_work *save, enum pl_kind kind, uint32_t number);
struct pl_text pl_save_text(struct pl_save_work *save, const char *text);

void pl_save_code(struct pl_save_work *save);
void pl_save_figures(struct pl_save_work *save);
void pl_save_history(struct pl_save_work *save);

#endif
