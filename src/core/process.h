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

#include "blocks.h"
#include "budget.h"
#include "compiler.h"
#include "config.h"
#include "file.h"
#include "live.h"
#include "map.h"
#include "threads.h"
#include "timeline.h"

enum pl_process_state {
    PL_PROCESS_NEW = 0,
    PL_PROCESS_STARTING,
    PL_PROCESS_ON,
    PL_PROCESS_IGNORED,
    PL_PROCESS_ENDING,
};

/*
 * Is every allocation counted now? Only ever true while the process is ON and has a file.
 *
 * The word is a ticket: how often settings have changed, and one of these below it. A thread that counts holds the one
 * it began with; one that finds another here goes to the cold path, and sees there what has changed. The record of a
 * thread that holds any ticket but PL_TICKET_NONE keeps step with its counters.
 */
enum pl_counting {
    PL_COUNT_NOTHING = 0,
    PL_COUNT_ALL,
    PL_COUNT_EXITING, /* all, and main has returned or exit was called */
    PL_TICKET_NONE,   /* no such ticket is ever given */
};
#define PL_TICKET_SHIFT 2
#define PL_TICKET_NEW (1u << PL_TICKET_SHIFT | PL_TICKET_NONE) /* nor this one: the thread has not allocated yet */
#define PL_TICKET_MASK 3u

/* What the threads have told of their figures so far, in batches (eras.h). */
struct pl_totals {
    int64_t live_bytes;
    int64_t live_objects;
    uint64_t bytes; /* requested */
    uint64_t calls;
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

    uint32_t counting;  /* enum pl_counting, and a ticket */
    uint32_t changes;   /* of what threads keep copies of: the next three */
    uint32_t sampled;   /* somebody has set an interval, since figures last began anew */
    uint32_t resets;    /* how often figures have begun anew */
    uint64_t size_from; /* sizes of which stacks are recorded */
    uint64_t size_to;
    uint32_t exiting; /* main has returned or exit was called */
    union {
        struct {
            uint32_t era;      /* counts peaks and cohorts: what was written to in an older one has something to save */
            uint32_t peak_era; /* the one that began at the peak */
        };
        uint64_t eras; /* both at once */
    };
    int64_t peak_bytes;
    uint64_t start_ticks;
    uint64_t left_exact; /* ticks when it was last left */
    struct pl_totals totals;
    struct pl_timeline timeline;
    struct pl_budget budget;
    struct pl_blocks blocks;
    struct pl_bucket gone[PL_SIZE_BUCKETS]; /* freed by nobody in particular */
    uintptr_t copying;                      /* the thread that makes a copy of the file, */
    uintptr_t copying_from;                 /* and its stack pointer */
    uint32_t snapshots;                     /* taken so far, without a name */
    uint64_t snapshot_due;                  /* ticks */
    char executable[PL_PATH_MAX];
    char destination[PL_PATH_MAX];
    char scratch[2 * PL_PATH_MAX] __attribute__((aligned(8)));
};

/* A program that was started as an argument of its loader, which is all that the kernel knows of it. */
struct pl_program {
    const char *path;
    char *const *arguments;
};

/* What the front end gives the core. Where NULL is allowed, it says what it means. */
struct pl_front {
    enum pl_mode mode; /* unless something else is asked for; 0: auto */
    char **(*environment)(void);
    bool (*unwanted)(void);                      /* AT_SECURE, or never switched on: do nothing at all */
    void (*configure)(struct pl_config *config); /* settings of its own, which win; NULL: none */
    bool (*program)(struct pl_program *out);     /* false, or NULL: the kernel knows */
    uintptr_t (*main_header)(void);              /* the ELF header of the program itself; 0: not known */
    void (*started)(void);           /* fork will wipe the filter: keep what must be kept; NULL: nothing must */
    void (*thread_started)(void);    /* arrange for pl_thread_goodbye(); NULL: it is arranged */
    unsigned (*granule_shift)(void); /* blocks begin at least 2^this bytes apart: 5 or 3 */
    bool (*owns)(uintptr_t pc);      /* code of the front end's own, which is in nobody's stack; NULL: there is none */
    uintptr_t (*allocator)(void);    /* the malloc that is in charge; 0: not known yet. NULL: never will be */
    void (*ending)(
        struct pl_process *process); /* the last words are said; others wait, a little. NULL: nothing to add */
};
extern HIDDEN const struct pl_front pl_front;

extern HIDDEN struct pl_process *const pl_process;
extern HIDDEN struct pl_config pl_config;

/* Brings the process from NEW to ON or IGNORED, once; waits when it is ENDING, which may yet be called off. True when
 * it is ON. */
bool pl_process_start(struct pl_process *process);

/* The same, where it nearly always has been. */
INLINE bool pl_process_on(struct pl_process *process)
{
    return likely(load_acquire(&process->state) == PL_PROCESS_ON) || pl_process_start(process);
}

/* The calling thread's name, as the kernel has it; the program's, where that would be its loader's. */
void pl_process_thread_name(char name[16]);

/* When the process began, by both clocks. */
void pl_process_read_clocks(struct pl_process *process);

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

/* Decides anew whether all allocations are counted: what was set, what the budget says, what somebody outside wants. */
void pl_process_obey(struct pl_process *process);

/* Settings that threads keep copies of have changed. */
void pl_process_changed(struct pl_process *process);

/* Figures begin anew. */
void pl_process_reset(struct pl_process *process);

/* Does anybody overrule the mode: set an interval, or switch off? The mean gap between samples that is now in force; 0:
 * switched off. */
bool pl_process_overruled(const struct pl_process *process);
uint64_t pl_process_interval(const struct pl_process *process);

/* main has returned, or exit was called: what is freed from now on, exit handlers free. */
void pl_process_exiting(struct pl_process *process);

/* The last words. Moves the file to its destination unless `plimsoll run` is there to do it. */
void pl_process_end(struct pl_process *process, enum pl_end how, int exit_status);

/* exec: writes a copy to the destination beforehand, since afterwards there is nobody to do it. Not for a `path` that
 * cannot be executed: shells try one directory of PATH after the other. NULL: not known. Returns what
 * pl_process_exec_failed() needs to take it back. */
bool pl_process_exec(struct pl_process *process, const char *path);
void pl_process_exec_failed(struct pl_process *process, bool copied);

#endif
