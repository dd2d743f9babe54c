/* SPDX-License-Identifier: MIT */
/*
 * config.h - the settings of settings.h, read once from the environment.
 *
 * An invalid value is ignored and its bit set in `bad`; the profile stores the bits and the report names the variables.
 * A forked child keeps the settings; a program started by exec reads them again.
 */
#ifndef PL_CONFIG_H
#define PL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/records/file.h"
#include "format/settings.h"

#define PL_ONLY_BYTES 256

/* A program that was started as an argument of its loader (`ld.so program ...`). The kernel only knows the loader, so
 * we keep the program's path and arguments, which may change later. */
struct pl_behind {
    char program[PL_PATH_MAX];
    char command[PL_PATH_MAX]; /* argv, each word followed by a zero */
    uint32_t command_bytes;
    char name[16];   /* the program's name, */
    char loader[16]; /* and the loader's name, which the kernel shows instead; or empty */
};

struct pl_config {
    bool ready;
    bool off;
    bool seeded;
    bool no_mappings;
    bool python_objects;
    bool contained; /* the environment says that this is a container */
    bool on_disk;   /* live files belong on the disk of their destination, not in /dev/shm (process.c) */
    uint32_t bad;   /* bit n: setting n was not understood */
    uint32_t mode;  /* enum pl_mode */
    uint32_t overhead_ppm;
    uint32_t credit_ms;
    uint64_t interval_bytes; /* in sampled mode */
    uint64_t wanted_bytes;   /* interval that the program has set, as in control.interval_bytes; children inherit it */
    uint64_t max_file_bytes;
    uint64_t size_from; /* allocations outside of size_from to size_to are counted together */
    uint64_t size_to;
    uint32_t max_tags;
    uint32_t max_threads;       /* threads that get their own records */
    uint64_t snapshot_every_ns; /* 0: never */
    uint64_t seed;
    char out[PL_PATH_MAX];
    char only[PL_ONLY_BYTES];
    char live_dir[PL_PATH_MAX];
    char runtime_dir[PL_PATH_MAX]; /* $XDG_RUNTIME_DIR */
    char run_dir[PL_PATH_MAX];
    char directory[PL_PATH_MAX]; /* the working directory at start: relative paths begin there */
    struct pl_behind *behind;    /* NULL: the program was not started through its loader */
};

/* `mode` is the default, if the environment does not set one. */
void pl_config_read(struct pl_config *config, char *const *environment, enum pl_mode mode);

/* Sets one setting. False: the text is invalid, and nothing has changed. */
bool pl_config_set(struct pl_config *config, enum pl_setting setting, const char *text);

/* Does `--only` include a process of this name? */
bool pl_config_chooses(const struct pl_config *config, const char *comm);

#endif
