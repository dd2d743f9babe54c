/* SPDX-License-Identifier: MIT */
/*
 * indexer.h - a small full-text indexer: files in, a table of terms and of the places where they occur out.
 *
 * It exists to be profiled. It has what real programs have (threads, a hash table that grows, many short-lived strings)
 * and one mistake that real programs make. `make demo` shows how Plimsoll finds it.
 */
#ifndef INDEXER_H
#define INDEXER_H

#include <pthread.h>
#include <stddef.h>

/* Where a term occurs, and what a result page would show of it. */
struct posting {
    const char *path;
    size_t count;
    char *snippet;
};

struct term {
    struct term *next;
    char *text;
    struct posting *posting;
    size_t postings;
    size_t room;
};

#define INDEX_BUCKETS 4096

struct index {
    pthread_mutex_t lock; /* protects everything below */
    struct term *bucket[INDEX_BUCKETS];
    size_t terms;
    size_t occurrences;
};

void index_open(struct index *index);
void index_add_term(struct index *index, const char *text, const char *path, const char *line);
void index_close(struct index *index);

/* Feeds every word of a file to the index. False when the file cannot be read. */
int parse_file(struct index *index, const char *path);

/* Ends the program if an allocation failed. */
void *need(void *memory);

#endif
