/* SPDX-License-Identifier: MIT */
/*
 * main.c - collects the files below the given directories and indexes them, again and again, in a few threads, as a
 * search service does that watches a source tree.
 */
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "indexer.h"

#define THREADS_MAX 64

static char **files;
static size_t files_count;
static size_t jobs; /* each file, once per round */
static atomic_size_t next_job;
static struct index words;

static int collect(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void) status;
    (void) walk;
    if (type != FTW_F)
        return 0;
    files = need(reallocarray(files, files_count + 1, sizeof *files));
    files[files_count++] = need(strdup(path));
    return 0;
}

static void *work(void *name)
{
    pthread_setname_np(pthread_self(), name);
    for (;;) {
        size_t job = atomic_fetch_add(&next_job, 1);
        if (job >= jobs)
            return NULL;
        const char *path = files[job % files_count];
        if (!parse_file(&words, path))
            fprintf(stderr, "indexer: cannot read %s: %s\n", path, strerror(errno));
    }
}

static void run_workers(unsigned threads)
{
    pthread_t thread[THREADS_MAX];
    char name[THREADS_MAX][16];
    for (unsigned i = 0; i < threads; i++) {
        snprintf(name[i], sizeof name[i], "worker-%hhu", (unsigned char) (i + 1));
        if (pthread_create(&thread[i], NULL, work, name[i])) {
            fputs("indexer: cannot start a thread\n", stderr);
            exit(1);
        }
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
}

static unsigned number(const char *option, const char *text, unsigned max)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end || value < 1 || value > max) {
        fprintf(stderr, "indexer: --%s %s: not a number from 1 to %u\n", option, text, max);
        exit(2);
    }
    return (unsigned) value;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"rounds", required_argument, NULL, 'r'},
        {"threads", required_argument, NULL, 't'},
        {NULL, 0, NULL, 0},
    };
    unsigned rounds = 1, threads = 3;
    for (int option; (option = getopt_long(argc, argv, "r:t:", options, NULL)) != -1;) {
        if (option == 'r')
            rounds = number("rounds", optarg, 1000000);
        else if (option == 't')
            threads = number("threads", optarg, THREADS_MAX);
        else
            return 2;
    }
    if (optind == argc) {
        fputs("usage: indexer [--rounds N] [--threads N] DIRECTORY...\n", stderr);
        return 2;
    }
    for (; optind < argc; optind++)
        nftw(argv[optind], collect, 16, FTW_PHYS);

    index_open(&words);
    jobs = files_count * rounds;
    run_workers(threads);
    printf("indexed %zu files %u times: %zu occurrences of %zu terms\n", files_count, rounds, words.occurrences,
           words.terms);

    index_close(&words);
    for (size_t i = 0; i < files_count; i++)
        free(files[i]);
    free(files);
    return 0;
}
