/* SPDX-License-Identifier: MIT */
/*
 * space.h - the address space of a process: its mappings, and their contents.
 *
 * Contents are only looked at, in small windows. They are never stored or printed.
 */
#ifndef PL_SPACE_H
#define PL_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A mapping. */
struct pl_space_part {
    uint64_t from, to;
    bool readable, writable, executable, shared;
    bool ours;      /* a table of the profiler */
    bool uncopied;  /* fork leaves it out */
    bool anonymous; /* of no file */
    uint64_t inode;
    uint64_t rss, pss, swap; /* bytes, as the kernel counts them */
    uint64_t changed;        /* resident and no file's: all of it, or private copies of a file's pages */
    uint64_t huge, hugetlb;  /* of it in transparent huge pages; in reserved ones, which are in no RSS */
    char name[64];           /* "[heap]", or the end of a path; "" */
};

struct pl_space {
    pid_t pid;
    int contents;               /* /proc/PID/mem; -1: cannot be read in this way */
    int pagemap;                /* which pages were ever touched; -1: not known */
    struct pl_space_part *part; /* by address */
    size_t count;
    uint64_t read_bytes; /* so far */
    /* Asked now and then while contents are read; NULL: never. If it says no, nothing more can be read. */
    bool (*go_on)(void *context, uint64_t read_bytes);
    void *context;
    uint64_t asked; /* read_bytes then */
    bool stopped;
};

#define PL_SPACE_NONE ((struct pl_space){.contents = -1, .pagemap = -1})

/* Bytes of a page of the kernel, to which it gives a word in pagemap: on AArch64 also 16 or 64 KiB. */
uint64_t pl_space_page(void);

/* For reading contents only. */
void pl_space_begin(struct pl_space *space, pid_t pid);

/* With mappings. False: it has ended, or may not be read. */
bool pl_space_open(struct pl_space *space, pid_t pid);
void pl_space_close(struct pl_space *space);

/* Is it a device's memory? */
bool pl_space_is_device(const struct pl_space_part *part);

/* The mapping that has this address; NULL: none. */
const struct pl_space_part *pl_space_at(const struct pl_space *space, uint64_t address);

/* The first pages from `from` on, up to `to`, that were ever touched, as far as they follow each other; others of a
 * private mapping hold what its file has, or zeros. False: there are none. */
bool pl_space_touched(const struct pl_space *space, uint64_t from, uint64_t to, uint64_t *begin, uint64_t *end);

/* How many bytes could be read, from the first on. */
size_t pl_space_read(struct pl_space *space, uint64_t from, void *to, size_t bytes);

/* The same, but what cannot be read becomes zero. */
void pl_space_fill(struct pl_space *space, uint64_t from, void *to, size_t bytes);

/* A window through which words are read that lie near each other. */
#define PL_SPACE_WORDS (64u << 10)
#define PL_SPACE_WINDOW (1u << 20)
struct pl_space_window {
    struct pl_space *space;
    uint64_t from;
    size_t bytes;
    uint64_t *word; /* PL_SPACE_WORDS bytes */
};

/* The word at this address, which is a multiple of 8; 0 if it cannot be read. */
uint64_t pl_space_word(struct pl_space_window *window, uint64_t at);

#endif
