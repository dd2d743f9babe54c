/* SPDX-License-Identifier: MIT */
/*
 * forks.c - a child frees and moves blocks that it inherited, allocates, and forks once more, while its parent goes on.
 * Each of the three processes keeps its own ledger.
 *
 *   forks LEDGER     the children's are LEDGER.child and LEDGER.grandchild
 *
 * Inherited blocks are in no account: neither in a child's profile nor in its ledger.
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITES(X) X(before) X(after) X(meanwhile) X(childs) X(moved) X(thread)
LEDGER_DECLARE(SITES);

#define BLOCKS 400

static struct block before[BLOCKS];
static int enough;

#define SITE(name)                                                                                                     \
    static APART struct block site_##name(size_t bytes)                                                                \
    {                                                                                                                  \
        return LEDGER_ALLOCATE(SITE_##name, bytes, malloc(bytes));                                                     \
    }
SITE(before)
SITE(after)
SITE(meanwhile)
SITE(childs)
SITE(thread)

static APART struct block site_moved(struct block inherited, size_t bytes)
{
    inherited.thread = LEDGER_NOBODY;
    inherited.bytes = malloc_usable_size(inherited.address); /* the requested size is not known */
    return LEDGER_MOVE(SITE_moved, bytes, inherited, realloc(inherited.address, bytes));
}

/* Keeps the allocator's locks busy while main forks. */
static void *go_on(void *unused)
{
    ledger_thread(1);
    for (size_t i = 0; !__atomic_load_n(&enough, __ATOMIC_RELAXED); i++)
        ledger_free(site_meanwhile(1 + i % 5000));
    return unused;
}

static void *work_in_child(void *unused)
{
    ledger_thread(2);
    for (size_t i = 0; i < BLOCKS; i++) {
        struct block block = site_thread(10 + i);
        if (i % 2)
            ledger_free(block);
    }
    return unused;
}

static void wait_for(pid_t child)
{
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        _exit(9);
}

/* `from` is the first inherited block that has not been freed yet. */
static void live_as_child(const char *path, size_t from, const char *grandchild)
{
    pthread_t thread;
    ledger_open_child(path);
    for (size_t i = from; i < from + 40; i++)
        free(before[i].address);
    for (size_t i = from + 40; i < from + 80; i++)
        ledger_free(site_moved(before[i], 20 * (i - from) + 1));
    for (size_t i = 0; i < BLOCKS; i++) {
        struct block block = site_childs(i);
        if (i % 4)
            ledger_free(block);
    }
    if (pthread_create(&thread, NULL, work_in_child, NULL))
        _exit(8);
    pthread_join(thread, NULL);
    pid_t child = grandchild ? fork() : 0;
    if (grandchild && child == 0) {
        live_as_child(grandchild, from + 80, NULL);
        exit(0);
    }
    if (child)
        wait_for(child);
}

int main(int argc, char **argv)
{
    char path[2][512];
    pthread_t thread;
    if (argc != 2)
        return 2;
    alarm(PATIENCE_S);
    snprintf(path[0], sizeof path[0], "%s.child", argv[1]);
    snprintf(path[1], sizeof path[1], "%s.grandchild", argv[1]);
    ledger_open(argv[1], site_names, SITE_COUNT);
    for (size_t i = 0; i < BLOCKS; i++)
        before[i] = site_before(100 + i);
    if (pthread_create(&thread, NULL, go_on, NULL))
        return 3;
    ledger_sleep_ms(5);
    pid_t child = fork();
    if (child == 0) {
        live_as_child(path[0], 0, path[1]);
        exit(0);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        struct block block = site_after(i);
        if (i % 2)
            ledger_free(block);
        if (i % 3)
            ledger_free(before[i]);
    }
    wait_for(child);
    __atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    return 0;
}
