/* SPDX-License-Identifier: MIT */
/*
 * through.c - allocates through functions of libc, which in musl have no unwind tables, and in a constructor of a
 * library that it opens. Each call has its own function, and a size that no other has.
 *
 *   through LIBRARY
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#define SITE __attribute__((noinline, noclone))

static void *volatile kept;
static char text[] = "sixteen letters.";

SITE void site_strdup(void)
{
    kept = strdup(text);
    __asm__ volatile("");
}

SITE void site_asprintf(void)
{
    char *made = NULL;
    int length = asprintf(&made, "%s%s", text, "and 7 more");
    kept = length > 0 ? made : NULL;
}

/* A frame that is found by its frame pointer, below libc. */
SITE void site_variable(int n)
{
    volatile char room[n];
    room[0] = 1;
    kept = strdup(text + 1 + room[n - 1] * 0);
    room[n - 1] = 2;
}

static int compare(const void *a, const void *b)
{
    if (!kept)
        kept = malloc(1234);
    return *(const int *) a - *(const int *) b;
}

SITE void site_qsort(void)
{
    int numbers[] = {3, 1, 2};
    kept = NULL;
    qsort(numbers, 3, sizeof *numbers, compare);
    __asm__ volatile("" : : "r"(numbers) : "memory");
}

SITE static void *site_thread(void *unused)
{
    kept = malloc(777);
    return unused;
}

SITE static int site_thread_c11(void *unused)
{
    kept = malloc(778);
    return unused != NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    thrd_t other;
    site_strdup();
    site_asprintf();
    site_variable(100 + argc);
    site_qsort();
    pthread_create(&thread, NULL, site_thread, NULL);
    pthread_join(thread, NULL);
    thrd_create(&other, site_thread_c11, NULL);
    thrd_join(other, NULL);
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library)
        puts(dlerror());
    return library ? 3 : 1;
}
