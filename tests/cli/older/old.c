#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "plimsoll.h"
static void *held[64];
__attribute__((noinline)) static void *parse(size_t n)
{
    return malloc(n);
}
__attribute__((noinline)) static void *render(size_t n)
{
    return calloc(1, n);
}
static void *worker(void *x)
{
    for (int i = 0; i < 16; i++)
        free(held[i]);
    for (int i = 0; i < 300; i++)
        free(parse(100));
    return x;
}
int main(void)
{
    plimsoll_push("load");
    for (int i = 0; i < 64; i++)
        held[i] = parse(1000 + i);
    plimsoll_pop();
    plimsoll_push("draw");
    char *p = render(10);
    for (int i = 1; i < 9; i++)
        p = realloc(p, 1000 << i);
    plimsoll_pop();
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    pthread_join(t, 0);
    for (int i = 16; i < 40; i++)
        free(held[i]);
    free(p);
    return 0;
}
