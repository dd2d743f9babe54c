/* SPDX-License-Identifier: MIT */
/*
 * account.h - a program's own account of what it allocated under which tag, for comparison with its profile.
 *
 * A program enters and leaves tags, allocates and frees only through these functions. Each calls the profiler or the
 * allocator, and books the expected result per thread and tag into a mapped file, so that the account survives kill -9
 * like the profile. A call is booked after it was made, so after a kill the profile of a thread may have one call more.
 *
 * Nothing here allocates. Allocations that libraries make for a program (for a new thread, an exception) happen under a
 * tag that is `loose`: it is not compared.
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
    UINT32_MAX /* the cell of a block whose free is not booked: allocated while off or paused, or inherited */

enum account_function { BY_MALLOC, BY_CALLOC, BY_REALLOC, BY_ALIGNED, ACCOUNT_FUNCTIONS };

enum account_kind { TAG_NAMED, TAG_OFF, TAG_PAUSED }; /* as in format.h */

/* Tag 0 is the root. */
struct account_tag {
    uint32_t parent;
    uint32_t kind;
    uint32_t loose;
    uint32_t name_bytes;
    uint64_t name; /* offset in text */
};

/* What one thread requested under one tag, and what became of it. The thread that frees a block adds the free here. */
struct account_cell {
    uint32_t thread;
    uint32_t tag;
    uint64_t calls_of[ACCOUNT_FUNCTIONS];
    uint64_t bytes;
    uint64_t entered;
    uint64_t failed_of[ACCOUNT_FUNCTIONS]; /* failed requests, which are not in the figures above */
    uint64_t failed_bytes;
    uint64_t freed_calls;
    uint64_t freed_bytes;
    uint64_t peak_calls; /* live at the peak of the whole heap */
    uint64_t peak_bytes;
    uint64_t other_calls; /* of sizes that are not recorded by stack; calls_of has them, too */
    uint64_t other_bytes;
    uint64_t resets;         /* the number of resets before this cell */
    double variance_objects; /* of the estimates of calls and of bytes: see docs/maths.md */
    double variance_space;
    double weight_most; /* the largest weight of a sample, in calls */
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

/* Makes the file. The calling thread becomes thread 0. ACCOUNT_INTERVAL in the environment is the mean number of bytes
 * between samples. */
void account_open(const char *path);

/* The calling thread becomes this one, at the root. */
void account_thread(unsigned number);

/* A forked child stays in its tag, with a new account. Its inherited blocks are in no account. */
void account_open_child(const char *path);

/* ---- tags ---- */

void push(const char *name);
void push_loose(const char *name); /* for allocations that are not compared */
void pop(void);
void enter(plimsoll_tag prepared, const char *name);

/* Only the account's side, for operations that the program makes by other means. */
uint32_t account_tag_below(uint32_t parent, const char *name, size_t bytes, enum account_kind kind);
uint32_t account_tag_now(void);
unsigned account_depth(void);
void account_pushed(const char *name);
void account_entered(uint32_t tag);
void account_popped(void);
void account_return_to(unsigned depth); /* leaves scopes that were not popped */

/* Gives work to another thread. */
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
void allocate(size_t bytes); /* takes two blocks of about that size, and frees one */

/* The parts of take(), for calls of another kind. */
struct held account_took(enum account_function function, size_t bytes, void *address);

/* From now on the account keeps what is live at the peak. This is exact in programs with one thread. */
void account_follow_peak(void);

/* The program declares the peak, while no thread allocates. */
void account_mark_peak(void);

/* ---- threads ---- */

struct crew_member {
    unsigned number;
    void (*work)(unsigned number);
};

/* Runs `work` in this many threads at the same time, numbered from `first`, and waits for them. */
void crew_run(unsigned first, unsigned threads, void (*work)(unsigned number));

/* In such a thread: waits until all of them have come here. */
void crew_meet(void);

/* ---- programs ---- */

/* The modes of a program. One without a name ends the table. */
struct account_mode {
    const char *name;
    void (*run)(void);
};

/* `PROGRAM ACCOUNT MODE ...` opens the account and runs the mode. Returns the exit status. */
int account_main(int argc, char **argv, const struct account_mode *modes);

uint32_t draw(uint64_t *random, uint32_t below);
void require(bool true_, const char *what); /* otherwise the program ends with a message on stderr */

#define REQUIRE(condition) require(condition, #condition)

#ifdef __cplusplus
}
#endif

#endif
