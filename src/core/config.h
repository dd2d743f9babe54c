/* SPDX-License-Identifier: MIT */
/*
 * config.h - the settings of settings.h, read once from the environment.
 *
 * A value that makes no sense is ignored and its bit set in `bad`; the profile carries the bits and the report names
 * the variables. Fork keeps the settings; exec reads them afresh.
 */
#ifndef PL_CONFIG_H
#define PL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "file.h"
#include "settings.h"

#define PL_ONLY_BYTES 256

/* A program that is run as an argument of its loader, which is what the kernel knows: kept, since later the arguments,
 * and the name that led to it, are the program's own to change. */
struct pl_behind {
    char program[PL_PATH_MAX];
    char command[PL_PATH_MAX]; /* its words, each with a zero behind it */
    uint32_t command_bytes;
    char name[16];   /* the program's, */
    char loader[16]; /* and what the kernel calls it instead; or empty */
};

struct pl_config {
    bool ready;
    bool off;
    bool seeded;
    uint32_t bad;  /* bit n: setting n was not understood */
    uint32_t mode; /* enum pl_mode */
    uint32_t overhead_ppm;
    uint64_t interval_bytes; /* in sampled mode */
    uint64_t wanted_bytes;   /* as control.interval_bytes: the program's own wish, which its children inherit */
    uint64_t max_file_bytes;
    uint64_t size_from; /* allocations of other sizes are counted together */
    uint64_t size_to;
    uint32_t max_tags;
    uint32_t max_threads;       /* with figures of their own */
    uint64_t snapshot_every_ns; /* 0: never */
    uint64_t seed;
    char out[PL_PATH_MAX];
    char only[PL_ONLY_BYTES];
    char live_dir[PL_PATH_MAX];
    char runtime_dir[PL_PATH_MAX]; /* $XDG_RUNTIME_DIR */
    char run_dir[PL_PATH_MAX];
    char directory[PL_PATH_MAX]; /* the working directory at start: relative paths begin there */
    struct pl_behind *behind;    /* NULL: the kernel knows what is run */
};

/* `mode`: the one to begin with, when the environment asks for none. */
void pl_config_read(struct pl_config *config, char *const *environment, enum pl_mode mode);

/* Sets one. False: the text makes no sense, and all is as it was. */
bool pl_config_set(struct pl_config *config, enum pl_setting setting, const char *text);

/* Does `--only` choose a process of this name? */
bool pl_config_chooses(const struct pl_config *config, const char *comm);

#endif
