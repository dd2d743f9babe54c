/* SPDX-License-Identifier: MIT */
/*
 * announced.c - allocators that announce what they do, each with an account of its own.
 *
 * usage: announced arena     an arena: blocks one after the other, all freed at once
 *        announced slab      a pool of equal slots in chunks from malloc, freed one by one, with reallocs
 *        announced tree      pools in pools, as APR has them: a pool takes those below it with it
 *        announced threads   four threads allocate in one heap, and free one another's blocks
 *        announced forks     a child uses and destroys the heaps of its parent
 *        announced odd       what a program should not do
 *
 * Prints the account: HEAP CALLS BYTES BLOCKS LIVE HELD.
 */
#include <plimsoll.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

struct account {
    const char *name;
    uint64_t calls, bytes, blocks, live, held;
};

static void print(const struct account *account)
{
    printf("%s %lu %lu %lu %lu %lu\n", account->name, account->calls, account->bytes, account->blocks, account->live,
           account->held);
    fflush(stdout);
}

static void add(struct account *account, uint64_t bytes)
{
    account->calls++;
    account->bytes += bytes;
    account->blocks++;
    account->live += bytes;
}

static void take(struct account *account, uint64_t bytes)
{
    account->blocks--;
    account->live -= bytes;
}

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 3;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (state >> 33) % below;
}

/* ---- an arena ---- */

#define CHUNK 65536u

struct arena {
    plimsoll_heap heap;
    char *chunk;
    size_t used;
    struct account account;
};

APART static void *arena_alloc(struct arena *arena, size_t bytes)
{
    if (!arena->chunk) {
        arena->chunk = malloc(CHUNK);
        plimsoll_heap_took(arena->heap, arena->chunk, CHUNK);
        arena->account.held += CHUNK;
    }
    void *block = arena->chunk + arena->used;
    arena->used += (bytes + 16) & ~15ul;
    plimsoll_heap_allocated(arena->heap, block, bytes);
    add(&arena->account, bytes);
    return block;
}

APART static void arena_clear(struct arena *arena)
{
    plimsoll_heap_clear(arena->heap);
    free(arena->chunk);
    arena->chunk = NULL;
    arena->used = 0;
    arena->account.blocks = arena->account.live = arena->account.held = 0;
}

static void fill(struct arena *arena)
{
    while (arena->used < CHUNK - 1000)
        arena_alloc(arena, draw(900)); /* some have no bytes */
}

static void do_arena(void)
{
    struct arena arena = {.heap = plimsoll_heap_create("arena", NULL), .account.name = "arena"};
    for (int round = 0; round < 20; round++) {
        fill(&arena);
        arena_clear(&arena);
    }
    fill(&arena);
    print(&arena.account);
}

/* ---- a slab ---- */

#define SLOT 64u
#define SLOTS 5000u

static void do_slab(void)
{
    static struct {
        char *at;
        size_t bytes;
    } block[SLOTS];
    struct account account = {.name = "slab"};
    plimsoll_heap heap = plimsoll_heap_create("slab", NULL);
    char *chunk = malloc(SLOTS * SLOT);
    plimsoll_heap_took(heap, chunk, SLOTS * SLOT);
    account.held = SLOTS * SLOT;
    for (uint32_t i = 0; i < 30000; i++) {
        uint32_t n = draw(SLOTS), what = draw(4);
        char *slot = chunk + n * SLOT;
        size_t bytes = 1 + draw(SLOT);
        if (!block[n].at) {
            plimsoll_heap_allocated(heap, slot, bytes);
            add(&account, block[n].bytes = bytes);
            block[n].at = slot;
        } else if (what == 0) {
            plimsoll_heap_reallocated(heap, slot, slot, bytes);
            take(&account, block[n].bytes);
            add(&account, block[n].bytes = bytes);
        } else {
            plimsoll_heap_freed(heap, slot);
            take(&account, block[n].bytes);
            block[n].at = NULL;
        }
    }
    plimsoll_heap_freed(heap, chunk - 1); /* nobody's */
    print(&account);
}

/* ---- a tree of pools ---- */

static void do_tree(void)
{
    static char room[1 << 20];
    struct account request = {.name = "request"}, server = {.name = "server"};
    size_t used = 0;
    plimsoll_heap above = plimsoll_heap_create("server", NULL);
    for (int i = 0; i < 50; i++) {
        plimsoll_heap pool = plimsoll_heap_create("request", above);
        plimsoll_heap deep = plimsoll_heap_create("request", pool);
        for (int j = 0; j < 20; j++, used += 32) {
            plimsoll_heap_allocated(pool, room + used, 24);
            plimsoll_heap_allocated(deep, room + used, 8); /* the same address in another pool */
            add(&request, 24);
            add(&request, 8);
        }
        plimsoll_heap_allocated(above, room + used, 100);
        add(&server, 100);
        used += 112;
        if (i % 2) {
            plimsoll_heap_destroy(pool);
            request.blocks -= 40;
            request.live -= 20 * 32;
        } else if (i % 4 == 0) {
            plimsoll_heap_clear(pool);
            request.blocks -= 40;
            request.live -= 20 * 32;
        }
    }
    print(&request);
    print(&server);
    plimsoll_heap_clear(above);
    plimsoll_heap again = plimsoll_heap_create("request", above);
    plimsoll_heap_allocated(again, room, 5);
    request.blocks = request.live = server.blocks = server.live = 0;
    add(&request, 5);
    print(&request);
    print(&server);
}

/* ---- threads ---- */

#define THREADS 4
#define EACH 2000u

static plimsoll_heap shared;
static char slots[THREADS][EACH][16];

static void *allocate_each(void *given)
{
    char(*mine)[16] = given;
    for (uint32_t i = 0; i < EACH; i++)
        plimsoll_heap_allocated(shared, mine[i], 16);
    return NULL;
}

static void *free_half(void *given)
{
    char(*other)[16] = given;
    for (uint32_t i = 0; i < EACH; i += 2)
        plimsoll_heap_freed(shared, other[i]);
    return NULL;
}

static void run_threads(void *(*work)(void *), int shift)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, slots[(i + shift) % THREADS]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void do_threads(void)
{
    shared = plimsoll_heap_create("shared", NULL);
    run_threads(allocate_each, 0);
    run_threads(free_half, 1);
    print(&(struct account){"shared", THREADS * EACH, THREADS * EACH * 16, THREADS * EACH / 2, THREADS * EACH * 8, 0});
}

/* ---- forks ---- */

static void do_forks(void)
{
    static char room[4096];
    struct account account = {.name = "pool"};
    plimsoll_heap pool = plimsoll_heap_create("pool", NULL), below = plimsoll_heap_create("pool", pool);
    for (int i = 0; i < 10; i++) {
        plimsoll_heap_allocated(i % 2 ? below : pool, room + 16 * i, 16);
        add(&account, 16);
    }
    pid_t child = fork();
    if (child == 0) {
        account.calls = account.bytes = account.blocks = account.live = 0;
        plimsoll_heap_freed(pool, room); /* the parent's */
        plimsoll_heap_allocated(pool, room + 1000, 7);
        add(&account, 7);
        plimsoll_heap_destroy(below);
        plimsoll_heap other = plimsoll_heap_create("pool", pool);
        plimsoll_heap_allocated(other, room + 1000, 9);
        add(&account, 9);
        print(&account);
        exit(0);
    }
    waitpid(child, NULL, 0);
    print(&account);
}

/* ---- what a program should not do ---- */

static void do_odd(void)
{
    static char room[4096], name[100000];
    struct account account = {.name = "odd"};
    plimsoll_heap pool = plimsoll_heap_create("odd", NULL);
    plimsoll_heap_allocated(NULL, room, 10);
    plimsoll_heap_allocated(pool, NULL, 10);
    plimsoll_heap_freed(pool, NULL);
    plimsoll_heap_freed(NULL, room);
    plimsoll_heap_clear(NULL);
    plimsoll_heap_destroy(NULL);
    plimsoll_heap_took(pool, NULL, 10);
    plimsoll_heap_took(pool, room, 0);
    plimsoll_heap_gave(pool, room);
    plimsoll_heap_allocated(pool, room, 100);
    add(&account, 100);
    plimsoll_heap_freed(pool, room + 1);           /* inside of it */
    plimsoll_heap_allocated(pool, room + 50, 100); /* the other one was freed unseen */
    take(&account, 100);
    add(&account, 100);
    plimsoll_heap_freed(pool, room + 50);
    take(&account, 100);
    plimsoll_heap_freed(pool, room + 50);                /* twice */
    plimsoll_heap_allocated(pool, room + 200, SIZE_MAX); /* wraps: is not recorded */
    print(&account);
    memset(name, 'n', sizeof name - 1);
    plimsoll_heap_allocated(plimsoll_heap_create(name, NULL), room, 1);
    plimsoll_heap_allocated(plimsoll_heap_create(NULL, NULL), room, 2);
    plimsoll_heap_allocated(plimsoll_heap_create("mappings", NULL), room, 3);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"arena", do_arena},     {"slab", do_slab},   {"tree", do_tree},
               {"threads", do_threads}, {"forks", do_forks}, {"odd", do_odd}};
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++) {
        if (strcmp(argv[1], all[i].name) == 0) {
            all[i].run();
            return 0;
        }
    }
    return 2;
}
