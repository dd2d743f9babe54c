/* SPDX-License-Identifier: MIT */
/*
 * mapped.c - maps and unmaps memory, and keeps an account of it: for each site calls, bytes, and what is left.
 *
 * usage: mapped random SEED    blocks of up to 16 pages: parts unmapped, holes, mappings over others, mremap, failures
 *        mapped threads        four threads map, and the main thread unmaps a part of that
 *        mapped forks          a child unmaps what its parent has mapped, and maps something itself
 *        mapped break          sbrk and brk; shared memory of System V
 *
 * After the word `later` it prints `ready` and waits for a byte first; and for another one behind the account.
 *
 * Prints the account: SITE CALLS BYTES BLOCKS LIVE, and "peak BYTES".
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define MOST 4000u
#define PAGES_MOST 64u
#define APART __attribute__((noinline, noclone))

enum site { ONE, TWO, FIXED, REMAP, BREAK, SHARED, SITES };
static const char *const names[SITES] = {"map_one", "map_two", "map_over", "remap", "grow_break", "share"};

static struct {
    uint64_t calls, bytes, blocks, live;
} account[SITES];
static uint64_t live_bytes, peak_bytes;

/* What is mapped: block n has `pages` pages from `at` on, those in `left` still. */
static struct block {
    char *at;
    enum site site;
    uint32_t pages;
    uint64_t left;
} block[MOST];
static uint32_t blocks;

/* ---- the account ---- */

static void add(enum site site, uint64_t bytes)
{
    account[site].calls++;
    account[site].bytes += bytes;
    account[site].blocks++;
    account[site].live += bytes;
    live_bytes += bytes;
    peak_bytes = live_bytes > peak_bytes ? live_bytes : peak_bytes;
}

static void take(enum site site, uint64_t bytes, int last)
{
    account[site].live -= bytes;
    account[site].blocks -= last != 0;
    live_bytes -= bytes;
}

static void print_account(void)
{
    for (int i = 0; i < SITES; i++)
        printf("%s %lu %lu %lu %lu\n", names[i], account[i].calls, account[i].bytes, account[i].blocks,
               account[i].live);
    printf("peak %lu\n", peak_bytes);
    fflush(stdout);
}

static void enter(char *at, uint32_t pages, enum site site)
{
    block[blocks++] = (struct block){at, site, pages, pages == 64 ? ~0ull : (1ull << pages) - 1};
    add(site, pages * PAGE);
}

/* All pages of a range, whichever blocks they belong to. */
static void leave(char *from, char *to)
{
    for (uint32_t i = 0; i < blocks; i++) {
        for (uint32_t page = 0; page < block[i].pages; page++) {
            char *at = block[i].at + page * PAGE;
            if (!(block[i].left >> page & 1) || at < from || at >= to)
                continue;
            block[i].left &= ~(1ull << page);
            take(block[i].site, PAGE, !block[i].left);
        }
    }
}

/* ---- the sites ---- */

static void *must(void *mapped)
{
    if (mapped == MAP_FAILED)
        abort();
    return mapped;
}

APART static char *map_one(uint32_t pages)
{
    return must(mmap(NULL, pages * PAGE - 100, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

APART static char *map_two(uint32_t pages)
{
    return must(mmap64(NULL, pages * PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

APART static char *map_over(char *at, uint32_t pages)
{
    return must(mmap(at, pages * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

APART static char *remap(char *at, uint32_t pages, uint32_t new_pages)
{
    return must(mremap(at, pages * PAGE, new_pages * PAGE, MREMAP_MAYMOVE));
}

APART static char *grow_break(intptr_t bytes)
{
    return sbrk(bytes);
}

/* What the C library maps on behalf of the program is not the program's. */
APART static void use_libc(void)
{
    free(malloc(64ul << 20));
    FILE *file = fopen("/proc/self/maps", "re");
    if (file)
        fclose(file);
}

APART static void *share(int id)
{
    return must(shmat(id, NULL, 0));
}

/* ---- random ---- */

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (state >> 33) % below;
}

static int is_whole(const struct block *in)
{
    return in->left == (1ull << in->pages) - 1;
}

/* What is not mapped any more may be somebody else's by now. */
static int has(const struct block *in, uint32_t first, uint32_t pages)
{
    uint64_t mask = ((1ull << pages) - 1) << first;
    return (in->left & mask) == mask;
}

static void change(struct block *in)
{
    uint32_t first = draw(in->pages), pages = 1 + draw(in->pages - first);
    char *at = in->at + first * PAGE;
    if (!has(in, first, pages))
        return;
    switch (draw(5)) {
    case 0:
        munmap(at, pages * PAGE);
        leave(at, at + pages * PAGE);
        break;
    case 1: /* fails: an address inside of a page, and no size */
        if (munmap(at + 1, PAGE) == 0 || munmap(at, 0) == 0)
            abort();
        break;
    case 2:
        map_over(at, pages);
        leave(at, at + pages * PAGE);
        enter(at, pages, FIXED);
        break;
    default:
        if (!is_whole(in))
            break;
        uint32_t new_pages = 1 + draw(PAGES_MOST - 1);
        char *old = in->at, *moved = remap(old, in->pages, new_pages);
        leave(old, old + in->pages * PAGE);
        enter(moved, new_pages, REMAP);
    }
}

static void do_random(uint32_t seed)
{
    for (uint32_t i = 0; i < seed; i++)
        draw(2);
    while (blocks < MOST - 2) {
        uint32_t pages = 1 + draw(16);
        int one = draw(2) == 0;
        char *at = one ? map_one(pages) : map_two(pages);
        enter(at, pages, one ? ONE : TWO);
        for (int changes = 0; changes < 3 && blocks < MOST - 1; changes++)
            change(&block[draw(blocks)]);
    }
}

/* ---- threads ---- */

#define THREADS 4
#define EACH 500u

static void *work(void *given)
{
    char **kept = given;
    for (uint32_t i = 0; i < EACH; i++) {
        char *at = map_one(4);
        munmap(at, 3 * PAGE);
        if (i % 5 == 0)
            kept[i / 5] = at + 3 * PAGE;
        else
            munmap(at + 3 * PAGE, PAGE);
    }
    return NULL;
}

static void do_threads(void)
{
    static char *kept[THREADS][EACH / 5];
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, kept[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        munmap(kept[i][7], PAGE);
    account[ONE].calls = THREADS * EACH;
    account[ONE].bytes = THREADS * EACH * 4 * PAGE;
    account[ONE].blocks = THREADS * (EACH / 5 - 1);
    account[ONE].live = account[ONE].blocks * PAGE;
}

/* ---- the others ---- */

static void do_forks(void)
{
    for (int i = 0; i < 10; i++)
        enter(map_one(4), 4, ONE);
    pid_t child = fork();
    if (child == 0) {
        for (uint32_t i = 0; i < blocks; i++)
            munmap(block[i].at, 4 * PAGE);
        memset(account, 0, sizeof account);
        blocks = 0;
        live_bytes = peak_bytes = 0;
        for (int i = 0; i < 3; i++)
            enter(map_two(2), 2, TWO);
        print_account();
        exit(0);
    }
    waitpid(child, NULL, 0);
}

static void do_break(void)
{
    grow_break(16 * PAGE);
    add(BREAK, 16 * PAGE);
    grow_break(-6 * (intptr_t) PAGE);
    take(BREAK, 6 * PAGE, 0);
    int id = shmget(IPC_PRIVATE, 10 * PAGE - 5, 0600 | IPC_CREAT);
    if (id < 0)
        return;
    void *one = share(id);
    add(SHARED, 10 * PAGE);
    share(id);
    add(SHARED, 10 * PAGE);
    shmctl(id, IPC_RMID, NULL);
    shmdt(one);
    take(SHARED, 10 * PAGE, 1);
}

int main(int argc, char **argv)
{
    int later = argc > 1 && !strcmp(argv[1], "later");
    argc -= later;
    argv += later;
    if (later && (puts("ready"), fflush(stdout), getchar() == EOF))
        return 3;
    use_libc();
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "random") && argc > 2)
        do_random((uint32_t) atoi(argv[2]));
    else if (!strcmp(what, "threads"))
        do_threads();
    else if (!strcmp(what, "forks"))
        do_forks();
    else if (!strcmp(what, "break"))
        do_break();
    else
        return 2;
    print_account();
    if (later)
        getchar();
    return 0;
}
