/* SPDX-License-Identifier: MIT */
/*
 * chains.c - loses and holds blocks by way of others, most of which are in no sample, and keeps a ledger of what is
 * lost, which it prints: `FUNCTION BYTES BLOCKS`. Then it prints `ready` and waits for its standard input to end.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define HEADS 64
#define CACHED 7 /* blocks of one size that a thread's cache has room for */

struct node {
    struct node *before;
    char text[40];
};

struct kept {
    void *overwritten[2]; /* by malloc, when it keeps the block for later */
    void *pointer;
};

struct node *held_list, *held_of_thread;
void **held_mapped;
struct kept *dangling[2];

static void enter(const char *name, size_t bytes, int blocks)
{
    printf("%s %zu %d\n", name, bytes, blocks);
}

#define MAKES_LIST(name)                                                                                               \
    static APART struct node *name(int length)                                                                         \
    {                                                                                                                  \
        struct node *last = NULL;                                                                                      \
        for (int i = 0; i < length; i++) {                                                                             \
            struct node *more = malloc(sizeof *more);                                                                  \
            memset(more, 0, sizeof *more);                                                                             \
            more->before = last;                                                                                       \
            last = more;                                                                                               \
        }                                                                                                              \
        return last;                                                                                                   \
    }
MAKES_LIST(held_by_list)
MAKES_LIST(held_of_other_arena)
MAKES_LIST(lost_list)
MAKES_LIST(lost_ring)
MAKES_LIST(lost_of_other_arena)

/* Sizes from 1 to 1000 bytes. */
static APART size_t lost_alone(int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        size_t size = (size_t) (i * 617 % 1000) + 1;
        memset(malloc(size), 0, size);
        bytes += size;
    }
    return bytes;
}

#define MAKES_MAPPED(name)                                                                                             \
    static APART void **name(int count)                                                                                \
    {                                                                                                                  \
        void **slot = calloc(100000, sizeof *slot);                                                                    \
        for (int i = 0; i < count; i++)                                                                                \
            slot[i * 100] = calloc(1, 100);                                                                            \
        return slot;                                                                                                   \
    }
MAKES_MAPPED(held_through_mapped)
MAKES_MAPPED(lost_through_mapped)

static APART void *lost_behind_cache(void)
{
    return calloc(1, 72);
}

static APART void *lost_behind_fastbin(void)
{
    return calloc(1, 72);
}

/* What was freed still has its pointers, and something still points to it. */
static APART void free_holders(void)
{
    struct kept *holder[CACHED + 2];
    for (int i = 0; i < CACHED + 2; i++)
        holder[i] = calloc(1, sizeof **holder);
    holder[0]->pointer = lost_behind_cache();
    holder[CACHED]->pointer = lost_behind_fastbin();
    dangling[0] = holder[0];
    dangling[1] = holder[CACHED];
    for (int i = 0; i < CACHED + 2; i++)
        free(holder[i]);
}

static void *work(void *unused)
{
    held_of_thread = held_of_other_arena(3000);
    volatile struct node *lost = lost_of_other_arena(2000);
    lost = NULL;
    (void) lost;
    return unused;
}

/* Where stale pointers may be. */
static APART void forget(void)
{
    volatile char scratch[64 << 10];
    memset((void *) scratch, 0, sizeof scratch);
}

static APART void lose(void)
{
    pthread_t thread;
    held_list = held_by_list(20000);
    held_mapped = held_through_mapped(1000);
    lost_list(4000);
    struct node *last = lost_ring(1), *first = last;
    for (int i = 0; i < 999; i++) {
        struct node *more = lost_ring(1);
        more->before = last;
        last = more;
    }
    first->before = last;
    enter("lost_alone", lost_alone(5000), 5000);
    lost_through_mapped(1000);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    free_holders();
    enter("lost_list", 4000 * sizeof(struct node), 4000);
    enter("lost_ring", 1000 * sizeof(struct node), 1000);
    enter("lost_of_other_arena", 2000 * sizeof(struct node), 2000);
    enter("lost_through_mapped", 100000 * sizeof(void *) + 1000 * 100, 1001);
    enter("lost_behind_cache", 72, 1);
    enter("lost_behind_fastbin", 72, 1);
}

int main(void)
{
    lose();
    forget();
    puts("ready");
    fflush(stdout);
    for (char byte; read(0, &byte, 1) > 0;)
        ;
    return 0;
}
