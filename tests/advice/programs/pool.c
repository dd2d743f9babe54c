/* SPDX-License-Identifier: MIT */
/*
 * pool.c - many small blocks of equal size. They are kept: nodes whose size wastes much memory in malloc, or little. Or
 * they are short-lived: messages of one size, or of many.
 *
 *   pool nodes|records|messages|mixed
 */
#include "case.h"

#define NODES 200000
#define NODE_BYTES 32
#define RECORD_BYTES 40
#define MESSAGES 400000
#define MESSAGE_BYTES 120
#define QUEUE 64

struct node {
    struct node *next;
};

static APART struct node *site_node(struct node *next, size_t bytes)
{
    struct node *node = case_use(malloc(bytes));
    node->next = next;
    return node;
}

static APART void *site_message(size_t bytes)
{
    return case_use(malloc(bytes));
}

static struct node *make_nodes(size_t bytes)
{
    struct node *first = NULL;
    for (size_t i = 0; i < NODES; i++)
        first = site_node(first, bytes);
    return first;
}

static void free_nodes(struct node *node)
{
    while (node) {
        struct node *next = node->next;
        free(node);
        node = next;
    }
}

static void pass_messages(bool mixed)
{
    void *queue[QUEUE] = {0};
    for (size_t i = 0; i < MESSAGES; i++) {
        void *message = site_message(mixed ? 16 + i * 7 % 240 : MESSAGE_BYTES);
        free(queue[i % QUEUE]);
        queue[i % QUEUE] = message;
    }
}

int main(int count, char **words)
{
    if (case_is(count, words, "nodes"))
        free_nodes(make_nodes(NODE_BYTES));
    else if (case_is(count, words, "records"))
        free_nodes(make_nodes(RECORD_BYTES));
    else if (case_is(count, words, "messages") || case_is(count, words, "mixed"))
        pass_messages(case_is(count, words, "mixed"));
    else
        return case_unknown(words[0]);
    return 0;
}
