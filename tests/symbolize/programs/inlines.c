/* SPDX-License-Identifier: MIT */
/* inlines.c - calls inlined into each other, several deep, so that one address has many places. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
    struct list *next;
    char *text;
};

static inline __attribute__((always_inline)) void *checked(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static inline __attribute__((always_inline)) char *copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(checked(malloc(bytes)), text, bytes);
}

static inline __attribute__((always_inline)) struct list *push(struct list *list, const char *text)
{
    struct list *added = checked(malloc(sizeof *added));
    added->text = copy(text);
    added->next = list;
    return added;
}

__attribute__((noinline)) static struct list *fill(int count)
{
    struct list *list = NULL;
    for (int i = 0; i < count; i++) {
        char text[32];
        snprintf(text, sizeof text, "%d", i);
        list = push(list, text);
        if (i % 3 == 0)
            list = push(list, "fizz");
    }
    return list;
}

__attribute__((noinline)) static size_t drain(struct list *list)
{
    size_t bytes = 0;
    while (list) {
        struct list *next = list->next;
        bytes += strlen(list->text);
        free(list->text);
        free(list);
        list = next;
    }
    return bytes;
}

int main(int argc, char **argv)
{
    (void) argv;
    printf("%zu\n", drain(fill(argc * 10)));
    return 0;
}
