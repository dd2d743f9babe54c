/* SPDX-License-Identifier: MIT */
/*
 * account.h - a program's own account of what it allocated under which tag, to hold a profile against.
 *
 * A program enters and leaves tags, allocates and frees through these functions and in no other way. Each calls the
 * profiler, or the allocator, and books what must come of it, per thread and tag, into a file that is mapped, so that
 * the account survives a kill -9 as the profile does. A call is booked after it was made: where a thread was killed,
 * the profile may know of one more than the account.
 *
 * Nothing here allocates. What libraries allocate for a program that asks them for something else (a new thread, an
 * exception) is allocated under a tag that is `loose`: it is in no comparison.
 */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <plimsoll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCOUNT_MAGIC 0xacc04e7u
#define ACCOUNT_THREADS 256
#define ACCOUNT_TAGS 2048
#define ACCOUNT_CELLS 16384
#define ACCOUNT_TEXT (4u << 20)
#define ACCOUNT_NOBODY                                                                                                 \
    UINT32_MAX /* the cell of a block whose free is nobody's: made while off or paused, or inherited */

enum account_function { BY_MALLOC, BY_CALLOC, BY_REALLOC, BY_ALIGNED, ACCOUNT_FUNCTIONS };

enum account_kind { TAG_NAMED, TAG_OFF, TAG_PAUSED }; /* as in format.h */

/* Tag 0 is the root. */
struct account_tag {
    uint32_t parent;
    uint32_t kind;
    uint32_t loose;
    uint32_t name_bytes;
    uint64_t name; /* in text */
};

/* What one thread asked for under one tag, and what became of it. Frees are added by whoever frees. */
struct account_cell {
    uint32_t thread;
    uint32_t tag;
    uint64_t calls_of[ACCOUNT_FUNCTIONS];
    uint64_t bytes;
    uint64_t entered;
    uint64_t failed_of[ACCOUNT_FUNCTIONS]; /* requests that came to nothing: not in the figures above */
    uint64_t failed_bytes;
    uint64_t freed_calls;
    uint64_t freed_bytes;
    uint64_t peak_calls; /* live when the whole heap was largest */
    uint64_t peak_bytes;
    uint64_t other_calls; /* of sizes whose stacks are not wanted; they are in calls_of, too */
    uint64_t other_bytes;
    uint64_t resets;         /* how often figures had begun anew when this began */
    double variance_objects; /* of the estimate that samples give of calls and of bytes: see docs/maths.md */
    double variance_space;
    double weight_most; /* calls that one sample may stand for */
};

struct account {
    uint32_t magic;
    uint32_t threads;
    uint32_t tags;
    uint32_t cells;
    uint32_t text_bytes;
    uint32_t resets;
    uint64_t live_bytes;
    uint64_t peak_bytes;
    uint64_t pops_too_many;
    uint64_t scopes_lost;
    uint32_t tid[ACCOUNT_THREADS];
    struct account_tag tag[ACCOUNT_TAGS];
    struct account_cell cell[ACCOUNT_CELLS];
    char text[ACCOUNT_TEXT];
};

struct held {
    void *address; /* NULL: no block */
    size_t bytes;
    uint32_t cell;
};

#ifdef __cplusplus
extern "C" {
#endif

extern struct account *account;

/* Makes the file; the calling thread becomes thread 0. ACCOUNT_INTERVAL in the environment is the mean number of bytes
 * between samples. */
void account_open(const char *path);

/* The calling thread is this one from now on, and at the root. */
void account_thread(unsigned number);

/* A forked child goes on in the tag where it is, with an account of its own. What it inherited is nobody's. */
void account_open_child(const char *path);

/* ---- tags ---- */

void push(const char *name);
void push_loose(const char *name); /* for what is not to be compared */
void pop(void);
void enter(plimsoll_tag prepared, const char *name);

/* The account's side alone: what the program does by other means. */
uint32_t account_tag_below(uint32_t parent, const char *name, size_t bytes, enum account_kind kind);
uint32_t account_tag_now(void);
unsigned account_depth(void);
void account_pushed(const char *name);
void account_entered(uint32_t tag);
void account_popped(void);
void account_return_to(unsigned depth); /* out of scopes that were left without pops */

/* Work for another thread. */
struct errand {
    plimsoll_context context;
    uint32_t tag;
};
struct errand errand_here(void);
struct errand errand_adopt(struct errand errand);

/* ---- control ---- */

void account_paused(bool yes);
void account_off(bool yes);
void account_reset(void);
void account_sizes(uint64_t from, uint64_t to);

/* ---- blocks ---- */

struct held take(enum account_function function, size_t bytes);
struct held take_again(struct held old, size_t bytes); /* realloc */
void give(struct held block);
void allocate(size_t bytes); /* takes two of about that size, and gives one back */

/* The parts of take(), for calls of another kind. */
struct held account_took(enum account_function function, size_t bytes, void *address);

/* From now on what is live at the heap's highest is kept: exact in programs of one thread. */
void account_follow_peak(void);

/* The heap is at its highest, says the program, while nobody allocates. */
void account_mark_peak(void);

/* ---- threads ---- */

struct crew_member {
    unsigned number;
    void (*work)(unsigned number);
};

/* Runs `work` in so many threads, numbered from `first`, all at once, and waits for them. */
void crew_run(unsigned first, unsigned threads, void (*work)(unsigned number));

/* In such a thread: waits until all of them are here. */
void crew_meet(void);

/* ---- programs ---- */

/* What a program can be asked for; one without a name ends the table. */
struct account_mode {
    const char *name;
    void (*run)(void);
};

/* `PROGRAM ACCOUNT MODE ...` opens the account and runs the mode. Returns the exit status. */
int account_main(int argc, char **argv, const struct account_mode *modes);

uint32_t draw(uint64_t *random, uint32_t below);
void require(bool true_, const char *what); /* or the program ends with a word on stderr */

#define REQUIRE(condition) require(condition, #condition)

#ifdef __cplusplus
}
#endif

#endif
