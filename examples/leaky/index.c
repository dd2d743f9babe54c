/* SPDX-License-Identifier: MIT */
/*
 * index.c - terms in a hash table, each with a growing array of postings.
 *
 * Invariant: a posting owns its snippet. One function below breaks it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "indexer.h"

static uint32_t hash(const char *text)
{
    uint32_t sum = 2166136261u;
    for (; *text; text++)
        sum = (sum ^ (unsigned char) *text) * 16777619u;
    return sum;
}

static struct term *find_or_add(struct index *index, const char *text)
{
    struct term **bucket = &index->bucket[hash(text) % INDEX_BUCKETS];
    for (struct term *term = *bucket; term; term = term->next)
        if (strcmp(term->text, text) == 0)
            return term;

    struct term *term = need(calloc(1, sizeof *term));
    term->text = need(strdup(text));
    term->next = *bucket;
    *bucket = term;
    index->terms++;
    return term;
}

static void grow_postings(struct term *term)
{
    term->room = term->room ? 2 * term->room : 2;
    term->posting = need(realloc(term->posting, term->room * sizeof *term->posting));
}

static struct posting *find_or_add_posting(struct term *term, const char *path)
{
    for (size_t i = 0; i < term->postings; i++)
        if (term->posting[i].path == path)
            return &term->posting[i];

    if (term->postings == term->room)
        grow_postings(term);
    struct posting *posting = &term->posting[term->postings++];
    *posting = (struct posting){.path = path};
    return posting;
}

void index_open(struct index *index)
{
    memset(index, 0, sizeof *index);
    pthread_mutex_init(&index->lock, NULL);
}

void index_add_term(struct index *index, const char *text, const char *path, const char *line)
{
    pthread_mutex_lock(&index->lock);
    struct posting *posting = find_or_add_posting(find_or_add(index, text), path);
    posting->count++;
    posting->snippet = need(strdup(line)); /* the leak: the old snippet is not freed */
    index->occurrences++;
    pthread_mutex_unlock(&index->lock);
}

static void free_term(struct term *term)
{
    for (size_t i = 0; i < term->postings; i++)
        free(term->posting[i].snippet);
    free(term->posting);
    free(term->text);
    free(term);
}

void index_close(struct index *index)
{
    for (size_t i = 0; i < INDEX_BUCKETS; i++) {
        for (struct term *term = index->bucket[i], *next; term; term = next) {
            next = term->next;
            free_term(term);
        }
    }
    pthread_mutex_destroy(&index->lock);
}
