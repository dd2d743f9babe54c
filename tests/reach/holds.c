/* SPDX-License-Identifier: MIT */
/*
 * holds.c - holds blocks by variables and threads, and keeps a ledger of what each of them retains, which it prints:
 * `ROOT BYTES BLOCKS`. Then it prints `ready` and waits for its standard input to end.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

struct node {
    struct node *left, *right, *other;
    char text[40];
};

struct table {
    long before[100];
    struct node *slot[50];
};

struct node *list_root, *tree_root, *one_way, *other_way, *ring_root, *into_shared;
struct table table_root;
__thread struct node *of_thread; /* not static: the compiler would leave it out, because nobody reads it */
static pthread_barrier_t barrier;

static APART struct node *make_node(void)
{
    return calloc(1, sizeof(struct node));
}

static APART struct node *make_list(int length)
{
    struct node *first = NULL;
    for (int i = 0; i < length; i++) {
        struct node *more = make_node();
        more->left = first;
        first = more;
    }
    return first;
}

static APART struct node *make_tree(int depth)
{
    struct node *tree = make_node();
    if (depth > 1) {
        tree->left = make_tree(depth - 1);
        tree->right = make_tree(depth - 1);
    }
    return tree;
}

static void enter(const char *root, int nodes)
{
    printf("%s %zu %d\n", root, nodes * sizeof(struct node), nodes);
}

static void *hold_by_thread(void *unused)
{
    of_thread = make_list(77);
    pthread_barrier_wait(&barrier);
    for (;;)
        pause();
    return unused;
}

/* Where stale pointers may be. */
static APART void forget(void)
{
    volatile char scratch[64 << 10];
    memset((void *) scratch, 0, sizeof scratch);
}

static APART void hold(void)
{
    list_root = make_list(1000);
    tree_root = make_tree(9);
    one_way = make_list(300);
    other_way = one_way;
    for (int i = 0; i < 50; i++)
        table_root.slot[i] = make_list(i);
    ring_root = make_list(10);
    struct node *last = ring_root;
    while (last->left)
        last = last->left;
    last->left = ring_root;
    /* Five of its own, and then into the middle of what one_way and other_way hold. */
    into_shared = make_list(5);
    last = into_shared;
    while (last->left)
        last = last->left;
    last->left = one_way->left->left;
    tree_root->other = list_root; /* list_root is held by two roots now, but only as a whole */
}

int main(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    hold();
    pthread_create(&thread, NULL, hold_by_thread, NULL);
    pthread_barrier_wait(&barrier);
    forget();
    enter("tree_root", 511);
    enter("table_root", 49 * 50 / 2);
    enter("ring_root", 10);
    enter("into_shared", 5);
    enter("thread", 77);
    enter("several", 300 + 1000);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
}
