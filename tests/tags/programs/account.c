/* SPDX-License-Identifier: MIT */
/* account.c - see account.h. Only its thread writes a cell, except for the frees in it. */
#include "../../lib/patience.h"
#include "account.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEPTH_MAX 256
#define CALL_CHARGE 64.0 /* PL_CALL_CHARGE: docs/maths.md */

struct account *account;
static double interval_bytes;
static bool following, off;
static uint64_t size_from, size_to = UINT64_MAX;
static char lock;

/* The number of a cell plus 1, by thread and tag; 0: there is none yet. Each thread writes only its own row. */
static uint32_t cell_of[ACCOUNT_THREADS][ACCOUNT_TAGS];

static _Thread_local unsigned me;
static _Thread_local uint32_t path[DEPTH_MAX];
static _Thread_local unsigned depth;
static _Thread_local bool paused;

void require(bool true_, const char *what)
{
    if (true_)
        return;
    ssize_t written = write(2, what, strlen(what));
    written += write(2, "\n", 1);
    _exit(written ? 90 : 91);
}

uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (*random >> 33) % below;
}

/* ---- the file ---- */

static void map_file(const char *at)
{
    int fd = open(at, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && ftruncate(fd, sizeof *account) == 0);
    account = mmap(NULL, sizeof *account, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(account != MAP_FAILED);
    close(fd);
}

void account_open(const char *at)
{
    const char *interval = getenv("ACCOUNT_INTERVAL");
    interval_bytes = interval ? atof(interval) : 0;
    map_file(at);
    account->tags = 1;
    account_thread(0);
    __atomic_store_n(&account->magic, ACCOUNT_MAGIC, __ATOMIC_RELEASE);
}

void account_open_child(const char *at)
{
    struct account *parents = account;
    map_file(at);
    account->tags = parents->tags;
    account->text_bytes = parents->text_bytes;
    memcpy(account->tag, parents->tag, sizeof account->tag);
    memcpy(account->text, parents->text, parents->text_bytes);
    memset(cell_of, 0, sizeof cell_of);
    account->tid[me] = (uint32_t) gettid();
    account->threads = me + 1;
    account->magic = ACCOUNT_MAGIC;
}

void account_thread(unsigned number)
{
    REQUIRE(number < ACCOUNT_THREADS);
    me = number;
    depth = 0;
    path[0] = 0;
    account->tid[me] = (uint32_t) gettid();
    uint32_t threads = __atomic_load_n(&account->threads, __ATOMIC_RELAXED);
    while (threads <= number && !__atomic_compare_exchange_n(&account->threads, &threads, number + 1, false,
                                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* ---- tags ---- */

static bool is_tag(const struct account_tag *tag, uint32_t parent, const char *name, size_t bytes,
                   enum account_kind kind)
{
    return tag->parent == parent && tag->kind == kind && tag->name_bytes == bytes &&
           memcmp(account->text + tag->name, name, bytes) == 0;
}

static uint32_t add_tag(uint32_t parent, const char *name, size_t bytes, enum account_kind kind)
{
    REQUIRE(account->tags < ACCOUNT_TAGS && account->text_bytes + bytes < ACCOUNT_TEXT);
    struct account_tag *tag = &account->tag[account->tags];
    *tag = (struct account_tag){parent, kind, 0, (uint32_t) bytes, account->text_bytes};
    memcpy(account->text + account->text_bytes, name, bytes);
    account->text_bytes += (uint32_t) bytes;
    return account->tags++;
}

/* Not for signal handlers, because it takes a lock. They enter tags that exist already. */
uint32_t account_tag_below(uint32_t parent, const char *name, size_t bytes, enum account_kind kind)
{
    uint32_t found = 0;
    while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
        sched_yield();
    for (uint32_t i = 1; i < account->tags && !found; i++)
        if (is_tag(&account->tag[i], parent, name, bytes, kind))
            found = i;
    if (!found)
        found = add_tag(parent, name, bytes, kind);
    __atomic_clear(&lock, __ATOMIC_RELEASE);
    return found;
}

unsigned account_depth(void)
{
    return depth;
}

/* The tag that is charged now. */
uint32_t account_tag_now(void)
{
    if (paused)
        return account_tag_below(0, "(paused)", 8, TAG_PAUSED);
    if (off)
        return account_tag_below(0, "(off)", 5, TAG_OFF);
    return path[depth];
}

static uint32_t cell_number(uint32_t tag)
{
    uint32_t *number = &cell_of[me][tag];
    if (!*number || account->cell[*number - 1].resets != account->resets) {
        *number = __atomic_add_fetch(&account->cells, 1, __ATOMIC_RELAXED);
        REQUIRE(*number <= ACCOUNT_CELLS);
        account->cell[*number - 1].thread = me;
        account->cell[*number - 1].tag = tag;
        account->cell[*number - 1].resets = account->resets;
    }
    return *number - 1;
}

static void add(uint64_t *to, uint64_t amount)
{
    __atomic_fetch_add(to, amount, __ATOMIC_RELAXED);
}

void account_entered(uint32_t tag)
{
    REQUIRE(depth + 1 < DEPTH_MAX);
    add(&account->cell[cell_number(tag)].entered, 1);
    path[++depth] = tag;
}

void account_pushed(const char *name)
{
    account_entered(account_tag_below(path[depth], name, strlen(name), TAG_NAMED));
}

void account_popped(void)
{
    if (depth)
        depth--;
    else
        add(&account->pops_too_many, 1);
}

void account_return_to(unsigned to)
{
    depth = to;
}

void push(const char *name)
{
    plimsoll_push(name);
    account_pushed(name);
}

void push_loose(const char *name)
{
    push(name);
    account->tag[path[depth]].loose = 1;
}

void enter(plimsoll_tag prepared, const char *name)
{
    plimsoll_enter(prepared);
    account_pushed(name);
}

void pop(void)
{
    plimsoll_pop();
    account_popped();
}

struct errand errand_here(void)
{
    return (struct errand){plimsoll_capture(), path[depth]};
}

/* Adopting a tag does not count as entering it. */
struct errand errand_adopt(struct errand errand)
{
    struct errand before = {plimsoll_adopt(errand.context), path[depth]};
    path[depth] = errand.tag;
    return before;
}

/* ---- control ---- */

void account_paused(bool yes)
{
    paused = yes;
}

void account_off(bool yes)
{
    off = yes;
}

void account_sizes(uint64_t from, uint64_t to)
{
    size_from = from;
    size_to = to;
}

void account_reset(void)
{
    account->resets++;
    account->live_bytes = account->peak_bytes = 0;
}

/* ---- booking ---- */

void account_mark_peak(void)
{
    account->peak_bytes = account->live_bytes;
    for (uint32_t i = 0; i < account->cells; i++) {
        struct account_cell *cell = &account->cell[i];
        uint64_t calls = 0;
        for (int f = 0; f < ACCOUNT_FUNCTIONS; f++)
            calls += cell->calls_of[f];
        cell->peak_calls = calls - cell->freed_calls;
        cell->peak_bytes = cell->bytes - cell->freed_bytes;
    }
}

void account_follow_peak(void)
{
    following = true;
}

/* An allocation of y bytes is sampled with probability p and then has weight 1/p: variance (1 - p)/p, times y^2. */
static void book_variance(struct account_cell *cell, size_t bytes)
{
    if (interval_bytes == 0)
        return;
    double p = -expm1(-((double) bytes + CALL_CHARGE) / interval_bytes), variance = (1 - p) / p;
    cell->variance_objects += variance;
    cell->variance_space += variance * (double) bytes * (double) bytes;
    if (cell->weight_most < 1 / p)
        cell->weight_most = 1 / p;
}

/* Blocks allocated while off or paused are counted as requests. Nothing more is recorded of them. */
struct held account_took(enum account_function function, size_t bytes, void *address)
{
    uint32_t number = cell_number(account_tag_now());
    struct account_cell *cell = &account->cell[number];
    if (!address) {
        add(&cell->failed_of[function], 1);
        add(&cell->failed_bytes, bytes);
        return (struct held){0};
    }
    add(&cell->calls_of[function], 1);
    add(&cell->bytes, bytes);
    if (account->tag[cell->tag].kind != TAG_NAMED)
        return (struct held){address, bytes, ACCOUNT_NOBODY};
    if (bytes < size_from || bytes > size_to) {
        add(&cell->other_calls, 1);
        add(&cell->other_bytes, bytes);
    }
    book_variance(cell, bytes);
    add(&account->live_bytes, bytes);
    return (struct held){address, bytes, number};
}

static void gave(struct held block)
{
    if (block.cell == ACCOUNT_NOBODY)
        return;
    struct account_cell *cell = &account->cell[block.cell];
    if (cell->resets == account->resets) {
        if (following && account->live_bytes > account->peak_bytes)
            account_mark_peak();
        add(&account->live_bytes, -(uint64_t) block.bytes);
    }
    add(&cell->freed_calls, 1);
    add(&cell->freed_bytes, block.bytes);
}

static void *by_malloc(size_t bytes)
{
    return malloc(bytes);
}

static void *by_calloc(size_t bytes)
{
    return calloc(1, bytes);
}

static void *by_realloc(size_t bytes)
{
    return realloc(NULL, bytes);
}

static void *by_aligned(size_t bytes)
{
    void *address = NULL;
    return posix_memalign(&address, 64, bytes) ? NULL : address;
}

static void *(*const request[ACCOUNT_FUNCTIONS])(size_t) = {by_malloc, by_calloc, by_realloc, by_aligned};

struct held take(enum account_function function, size_t bytes)
{
    return account_took(function, bytes, request[function](bytes));
}

/* realloc(p, 0) frees and returns NULL: a request without a block. With other sizes NULL is a failure, and the old
 * block stays. */
struct held take_again(struct held old, size_t bytes)
{
    void *address = realloc(old.address, bytes);
    bool kept = !address && bytes;
    if (old.address && !kept)
        gave(old);
    struct held block = account_took(BY_REALLOC, bytes, address);
    return kept ? old : block;
}

void give(struct held block)
{
    if (!block.address)
        return;
    free(block.address);
    gave(block);
}

void allocate(size_t bytes)
{
    struct held first = take(BY_MALLOC, bytes);
    take(BY_CALLOC, bytes + 1);
    give(first);
}

/* ---- threads ---- */

static pthread_barrier_t together;

void crew_meet(void)
{
    pthread_barrier_wait(&together);
}

static void *work_in_crew(void *argument)
{
    struct crew_member *member = argument;
    account_thread(member->number);
    crew_meet();
    member->work(member->number);
    return NULL;
}

void crew_run(unsigned first, unsigned threads, void (*work)(unsigned number))
{
    static struct crew_member member[ACCOUNT_THREADS];
    static pthread_t thread[ACCOUNT_THREADS];
    pthread_attr_t attributes;
    REQUIRE(threads <= ACCOUNT_THREADS);
    push_loose("crew");
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    pthread_barrier_init(&together, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        member[i] = (struct crew_member){first + i, work};
        REQUIRE(pthread_create(&thread[i], &attributes, work_in_crew, &member[i]) == 0);
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    pthread_attr_destroy(&attributes);
    pthread_barrier_destroy(&together);
    pop();
}

/* ---- programs ---- */

int account_main(int argc, char **argv, const struct account_mode *modes)
{
    if (argc < 3)
        return 2;
    alarm(PATIENCE_S);
    account_open(argv[1]);
    while (modes->name && strcmp(argv[2], modes->name) != 0)
        modes++;
    if (!modes->name)
        return 2;
    modes->run();
    return 0;
}
