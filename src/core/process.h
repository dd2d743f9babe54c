/* SPDX-License-Identifier: MIT */
/*
 * process.h - the state of the runtime in this process.
 *
 * It lies in pages that fork wipes. All zeros is the state before the first visit, so a child starts over with its own
 * file, whichever way it was forked, and needs no fork handler for that. What a child must know about its parent (the
 * settings, what it has to unmap) is kept elsewhere.
 *
 *   NEW ──► STARTING ──► ON ◄──► ENDING     ON: visits are handled. ENDING: visits wait while a thread writes the
 *                   └──► IGNORED            final figures. IGNORED (not chosen, setuid, no file): forward for ever
 */
#ifndef PL_PROCESS_H
#define PL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/blocks/blocks.h"
#include "core/blocks/live.h"
#include "core/budget.h"
#include "core/compiler.h"
#include "core/config.h"
#include "core/map.h"
#include "core/records/heaps.h"
#include "core/records/file.h"
#include "core/records/timeline.h"
#include "core/threads.h"

enum pl_process_state {
    PL_PROCESS_NEW = 0,
    PL_PROCESS_STARTING,
    PL_PROCESS_ON,
    PL_PROCESS_IGNORED,
    PL_PROCESS_ENDING,
};

/* Sums of what the threads have told so far, in batches (eras.h). */
struct pl_totals {
    int64_t live_bytes;
    int64_t live_objects;
    uint64_t bytes; /* requested */
    uint64_t calls;
};

struct pl_process {
    /* One cache line, up to timeline.begun: what exact mode reads in every visit. Nothing here changes often. */
    uint32_t state;
    uint32_t generation; /* modules unloaded so far */
    uint32_t counting;   /* a ticket with enum pl_counting */
    uint32_t changes;    /* number of changes of what threads keep copies of: resets, size_from and size_to */
    union {
        struct {
            uint32_t resets;  /* number of resets */
            uint32_t exiting; /* main has returned or exit was called */
        };
        uint64_t special; /* 0: neither */
    };
    union {
        struct {
            uint32_t era;      /* counts peaks and cohorts: a record of an older era must catch up before it changes */
            uint32_t peak_era; /* the era that began at the peak */
        };
        uint64_t eras; /* both at once */
    };
    uint64_t start_ticks;
    uint64_t alarm; /* units since the start: exact mode looks at the timeline and at control words; see exact.c */
    struct pl_timeline timeline;

    uint32_t pid;
    uint32_t sandboxed;
    bool forked;
    bool file_failed;
    bool claimed; /* the destination is a link to our live file */
    bool adrift;  /* an exec failed after the live file was copied and unlinked: file.path is now the copy's path */
    char comm[16];
    uint64_t start_ns;
    uint64_t seed;
    uint64_t interval_bytes;
    uint32_t streams; /* random streams handed out */
    uint32_t thread_count;
    uintptr_t ender;           /* thread pointer of the thread that writes the final figures */
    uint32_t ended;            /* they are written: the process only has to exit */
    uint32_t lingered;         /* how often a thread was delayed since then */
    struct pl_thread *threads; /* all blocks, newest first; only ever prepended to */
    struct pl_file file;
    struct pl_file opening; /* the file while it is being made, before other threads may write to it */
    struct pl_map map;
    struct pl_live live;
    struct pl_heaps heaps;
    uint32_t python_module; /* the record that frames of Python code are in; 0: none yet */

    uint32_t sampled;   /* a control word has set an interval since the last reset */
    uint32_t grown;     /* number of small records that a tally has replaced */
    uint64_t size_from; /* stacks are recorded for these sizes only */
    uint64_t size_to;
    int64_t peak_bytes;
    uint64_t left_exact; /* ticks when exact mode was last left or entered */
    struct pl_totals totals;
    struct pl_budget budget;
    struct pl_blocks blocks;
    struct pl_bucket gone[PL_SIZE_BUCKETS]; /* frees that no thread's own figures include */
    uintptr_t copying;                      /* thread pointer of the thread that is copying the file, */
    uintptr_t copying_from;                 /* and its stack pointer */
    uint32_t snapshots;                     /* taken so far, without a name */
    uint64_t snapshot_due;                  /* ticks */
    char destination[PL_PATH_MAX];
    char scratch[2 * PL_PATH_MAX] __attribute__((aligned(8)));
} PAGE_ALIGNED; /* whole pages, shared with nothing else: fork wipes them */
_Static_assert(__builtin_offsetof(struct pl_process, timeline.shift) <= 64, "one cache line");

/* The calling thread's free took the cold path for nothing, and that took so long. */
INLINE void pl_process_missed(struct pl_process *process, uint32_t ticks)
{
    if (unlikely((pl_tls.missed_ticks += ticks) >= PL_BUDGET_MISSED_MOST))
        pl_meter_missed(process);
}

/* A program that was started as an argument of its loader: the kernel only knows the loader. */
struct pl_process_program {
    const char *path;
    char *const *arguments;
};

/* What the front end provides to the core. A pointer may be NULL only if its comment says what that means. */
struct pl_front {
    enum pl_mode mode; /* the default; 0: auto */
    char **(*environment)(void);
    bool (*unwanted)(void);                          /* AT_SECURE, or never switched on: do nothing at all */
    void (*configure)(struct pl_config *config);     /* settings of the front end, which win; NULL: none */
    bool (*program)(struct pl_process_program *out); /* false, or NULL: not started through its loader */
    uintptr_t (*main_header)(void);                  /* the ELF header of the program itself; 0: not known */
    void (*started)(void);           /* fork will wipe the filter: save what a child needs of it; NULL: nothing */
    void (*thread_started)(void);    /* make the end of this thread call pl_thread_goodbye(); NULL: it does */
    uint32_t (*page_bytes)(void);    /* the kernel's page size */
    unsigned (*granule_shift)(void); /* blocks begin at least 2^this bytes apart: 5 or 3 */
    bool (*owns)(uintptr_t pc);      /* is this code of the front end, to be left out of stacks? NULL: there is none */
    uintptr_t (*allocator)(void);    /* address of the allocator's malloc; 0: not known yet. NULL: never known */
    uintptr_t (*self)(void);         /* pthread_self(). NULL, this or the next: frames of Python code are not read */
    void *(*specific)(uint32_t key); /* pthread_getspecific(): NULL if there is no such key */
    void (*thrown)(uintptr_t sp);    /* a jump out of all frames below this stack pointer; NULL: do nothing */
    void (*describe)(struct pl_header *header); /* adds to a new file's header; NULL: nothing */
    void (*ending)(
        struct pl_process *process); /* the final figures are written; other threads wait a little. NULL: do nothing */
};
extern HIDDEN const struct pl_front pl_front;

/* An array of one, so that its address is known without a load. */
extern HIDDEN struct pl_process pl_process[1];
extern HIDDEN struct pl_config pl_config;

/* What runs in the process, as the kernel said when it started. Children of fork inherit it: to ask again would cost
 * each of them more than a hundred allocations. */
struct pl_program {
    char path[PL_PATH_MAX];
    char command[PL_PATH_MAX]; /* argv, each word followed by a zero */
    uint32_t command_bytes;
};
extern HIDDEN struct pl_program pl_program;

/* Brings the process from NEW to ON or IGNORED, once. If it is ENDING, waits: an exec may fail, and the process go on.
 * True if the process is ON. */
bool pl_process_start(struct pl_process *process);

/* The same, for callers that nearly always find it ON. */
INLINE bool pl_process_on(struct pl_process *process)
{
    return likely(load_acquire(&process->state) == PL_PROCESS_ON) || pl_process_start(process);
}

/* The calling thread's name, as the kernel has it. If that is the loader's name: the program's. */
void pl_process_thread_name(char name[16]);

/* Sets when the process began, by both clocks. */
void pl_process_read_clocks(struct pl_process *process);

/* Makes the file, if there is none: at start, or in a forked child when there is something to record. */
bool pl_process_open(struct pl_process *process);

/* In a new child, as soon as we know about the fork: resets the thread's counters. */
void pl_process_forked(struct pl_process *process, struct pl_tls *tls);

/* Allocations of this module, or those that it serves, go past us. The first module of each kind is kept, also for
 * children. */
void pl_process_bypassed(struct pl_process *process, enum pl_bypass how, const char *module);

/* A module was unloaded: cached rules and stacks are invalid, because their addresses may be reused. */
void pl_process_unloaded(struct pl_process *process);

/* Applies a pending reset, and decides again whether all allocations are counted: from the mode, the budget and the
 * control words in the file. */
void pl_process_obey(struct pl_process *process);

/* Settings that threads keep copies of have changed. */
void pl_process_changed(struct pl_process *process);

/* Resets all figures. */
void pl_process_reset(struct pl_process *process);

/* Do the control words overrule the mode, by an interval or by `off`? And the sampling interval now in force; 0:
 * switched off. */
bool pl_process_overruled(const struct pl_process *process);
uint64_t pl_process_interval(const struct pl_process *process);

/* main has returned, or exit was called: later frees are booked as freed by exit handlers. */
void pl_process_exiting(struct pl_process *process);

/* Writes the final figures. Moves the file to its destination unless `plimsoll run` will do that. */
void pl_process_end(struct pl_process *process, enum pl_end how, int exit_status);

/* Writes the final figures, leaves the file where it is (or removes it, unless `keep`), and gives back everything that
 * the runtime has: the state is NEW again. No thread may be inside a visit, or begin one. */
void pl_process_leave(struct pl_process *process, bool keep);

/* Before exec: writes the final figures and moves the file, because afterwards our code is gone. Does nothing if `path`
 * cannot be executed: shells try one directory of PATH after the other. `path` NULL: not known. The result is for
 * pl_process_exec_failed(), which undoes all this. */
bool pl_process_exec(struct pl_process *process, const char *path);
void pl_process_exec_failed(struct pl_process *process, bool copied);

#endif
