/* SPDX-License-Identifier: MIT */
/*
 * process.h - the state of the runtime in this process.
 *
 * It lies in pages that fork wipes. All zero is the state before the first visit, so a child finds itself there without
 * being told, whichever way it was forked, and starts over with its own file. What a child must know of its parent (the
 * settings, the mapping to give back) is kept elsewhere.
 *
 *   NEW ──► STARTING ──► ON ◄──► ENDING     visits are handled; they wait while the last words are being said
 *                   └──► IGNORED            not chosen, setuid, no place for a file: forward for ever
 */
#ifndef PL_PROCESS_H
#define PL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "config.h"
#include "file.h"
#include "live.h"
#include "map.h"
#include "threads.h"

enum pl_process_state {
    PL_PROCESS_NEW = 0,
    PL_PROCESS_STARTING,
    PL_PROCESS_ON,
    PL_PROCESS_IGNORED,
    PL_PROCESS_ENDING,
};

struct pl_process {
    uint32_t state;
    uint32_t pid;
    uint32_t generation; /* modules unloaded so far */
    uint32_t sandboxed;
    bool forked;
    bool file_failed;
    bool adrift; /* the live file has lost its name to an exec that failed: file.path is the copy made then */
    char comm[16];
    uint64_t start_ns;
    uint64_t seed;
    uint64_t interval_bytes;
    uint32_t streams; /* random streams handed out */
    uint32_t thread_count;
    uintptr_t ender;           /* the thread that says the last words */
    uint32_t ended;            /* they are said: what is left of the process is its way out */
    uint32_t lingered;         /* how often a thread was held back since */
    struct pl_thread *threads; /* all blocks, newest first; only ever prepended to */
    struct pl_file file;
    struct pl_file opening; /* the file before others may write to it */
    struct pl_map map;
    struct pl_live live;
    char executable[PL_PATH_MAX];
    char destination[PL_PATH_MAX];
    char scratch[2 * PL_PATH_MAX];
};

/* What the front end gives the core. */
struct pl_front {
    char **(*environment)(void);
    bool (*secure)(void);           /* AT_SECURE: do nothing at all */
    uintptr_t (*main_header)(void); /* the ELF header of the program itself; 0: not known */
    void (*started)(void);          /* fork will wipe the filter: keep what must be kept */
    void (*thread_started)(void);   /* arrange for pl_thread_goodbye() */
};
extern HIDDEN const struct pl_front pl_front;

extern HIDDEN struct pl_process *const pl_process;
extern HIDDEN struct pl_config pl_config;

/* Brings the process from NEW to ON or IGNORED, once; waits when it is ENDING, which may yet be called off. True when
 * it is ON. */
bool pl_process_start(struct pl_process *process);

/* Makes the file, if there is none: at start, or in a forked child at the first thing worth recording. */
bool pl_process_open(struct pl_process *process);

/* In a new child, as soon as we hear of it: the thread's counters start over. */
void pl_process_forked(struct pl_process *process, struct pl_tls *tls);

/* The program is about to enter seccomp: from now on not one system call, since each may kill it. True when that is
 * new, and to be taken back should the program not be let in. */
bool pl_process_sandbox(struct pl_process *process);
void pl_process_sandbox_refused(struct pl_process *process);

/* A module went away: what was known of addresses is void. */
void pl_process_unloaded(struct pl_process *process);

/* The last words. Moves the file to its destination unless `plimsoll run` is there to do it. */
void pl_process_end(struct pl_process *process, enum pl_end how, int exit_status);

/* exec: writes a copy to the destination beforehand, since afterwards there is nobody to do it. Not for a `path` that
 * cannot be executed: shells try one directory of PATH after the other. NULL: not known. Returns what
 * pl_process_exec_failed() needs to take it back. */
bool pl_process_exec(struct pl_process *process, const char *path);
void pl_process_exec_failed(struct pl_process *process, bool copied);

#endif
