/* SPDX-License-Identifier: MIT */
/*
 * victim.c - keeps allocating, freeing and making new stacks, threads and modules, keeps a ledger, and ends in a given
 * way.
 *
 *   victim LEDGER ENDING TURNS [PLUGIN...]     ends when each worker has made this many turns; workers go on meanwhile
 *
 * Workers share a table of blocks: each puts its blocks there and frees, or reallocates, the blocks that it finds,
 * which are often another worker's. A churner keeps starting short threads. A loader keeps loading and unloading the
 * plugins. These two only disturb. The ledger has only the workers' calls, and workers make no others.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/patience.h"
#include "../lib/turns.h"
#include "kill_ledger.h"

#define SLOTS 2048
#define CALLS_PER_NEW_SITE 24

struct block {
    uint32_t owner;
    uint32_t site;
};

struct worker {
    uint32_t number;
    uint32_t site;       /* of the current call */
    struct block *moved; /* the block that is being reallocated */
    void *made;          /* what the current call returned */
    uint64_t random;
};

static struct ledger *ledger;
static struct block *slots[SLOTS];
static char **plugins;
static int plugin_count;
static uint32_t working;            /* workers that have made their first call */
static uint32_t turns_wanted, warm; /* turns to make, and workers that have made them */

static uint32_t draw(struct worker *worker, uint32_t below)
{
    worker->random = worker->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (worker->random >> 33) % below;
}

/* ---- the ledger ---- */

static void count(uint32_t *word)
{
    __atomic_store_n(word, *word + 1, __ATOMIC_SEQ_CST);
}

static struct ledger_pair *given_back(const struct worker *worker, const struct block *block)
{
    return &ledger->freed[worker->number][block->owner][block->site];
}

/* ---- calls of an allocation function, with a stack that encodes the site ---- */

static void *call_malloc(struct worker *worker)
{
    return malloc(ledger_size(worker->site));
}

static void *call_calloc(struct worker *worker)
{
    return calloc(1, ledger_size(worker->site));
}

static void *call_aligned(struct worker *worker)
{
    void *block = NULL;
    return posix_memalign(&block, 64, ledger_size(worker->site)) ? NULL : block;
}

static void *call_realloc(struct worker *worker)
{
    return realloc(worker->moved, ledger_size(worker->site));
}

static void *(*const calls[])(struct worker *) = {call_malloc, call_calloc, call_aligned, call_realloc};

static void call(void *argument)
{
    struct worker *worker = argument;
    worker->made = worker->moved ? call_realloc(worker) : calls[worker->site % 3](worker);
}

static struct block *allocate(struct worker *worker, uint32_t site)
{
    struct ledger_pair *pair = &ledger->allocated[worker->number][site];
    worker->site = site;
    count(&pair->started);
    descend(site, LEDGER_DEPTH, call, worker);
    struct block *block = worker->made;
    count(&pair->done);
    if (!block)
        _exit(99);
    *block = (struct block){worker->number, site};
    return block;
}

static void release(struct worker *worker, struct block *block)
{
    struct ledger_pair *pair = given_back(worker, block);
    count(&pair->started);
    free(block);
    count(&pair->done);
}

/* A realloc is an allocation at its own site and a free of the old block. */
static struct block *move(struct worker *worker, struct block *block, uint32_t site)
{
    struct ledger_pair *pair = given_back(worker, block);
    count(&pair->started);
    worker->moved = block;
    struct block *moved = allocate(worker, site);
    worker->moved = NULL;
    count(&pair->done);
    return moved;
}

/* ---- threads ---- */

static void wait_ms(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void await_workers(const uint32_t *arrived)
{
    while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < LEDGER_WORKERS)
        wait_ms(1);
}

static void exchange(struct worker *worker, struct block *block, uint32_t site)
{
    struct block **slot = &slots[draw(worker, SLOTS)];
    struct block *old = __atomic_exchange_n(slot, block, __ATOMIC_ACQ_REL);
    if (old && draw(worker, 4) == 0) {
        block = move(worker, old, site);
        old = __atomic_exchange_n(slot, block, __ATOMIC_ACQ_REL);
    }
    if (old)
        release(worker, old);
}

static void *work(void *argument)
{
    struct worker worker = {.number = (uint32_t) (uintptr_t) argument, .random = (uintptr_t) argument + 1};
    ledger->tid[worker.number] = (uint32_t) gettid();
    for (uint32_t turn = 0;; turn++) {
        uint32_t reached = 8 + turn / CALLS_PER_NEW_SITE;
        uint32_t site = draw(&worker, reached < LEDGER_SITES ? reached : LEDGER_SITES);
        exchange(&worker, allocate(&worker, site), site);
        if (turn == 0)
            __atomic_fetch_add(&working, 1, __ATOMIC_RELEASE);
        if (turn == turns_wanted)
            __atomic_fetch_add(&warm, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void *live_briefly(void *unused)
{
    for (size_t i = 1; i < 20; i++)
        free(malloc(i * 100));
    return unused;
}

/* After some hundreds of threads a new one reuses the record of an ended one. All workers must have started by then. */
static void *churn(void *unused)
{
    pthread_t thread;
    await_workers(&working);
    while (pthread_create(&thread, NULL, live_briefly, NULL) == 0)
        pthread_join(thread, NULL);
    return unused;
}

static void *load(void *unused)
{
    for (int i = 0; plugin_count > 0; i = (i + 1) % plugin_count) {
        void *plugin = dlopen(plugins[i], RTLD_NOW | RTLD_LOCAL);
        void *(*make)(size_t) = plugin ? (void *(*) (size_t)) dlsym(plugin, "plugin_make") : NULL;
        if (!make)
            _exit(98);
        free(make(100 + (size_t) i));
        dlclose(plugin);
    }
    return unused;
}

static void start(void *(*function)(void *), uintptr_t argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, (void *) argument) != 0)
        _exit(97);
}

static void start_all(void)
{
    for (uintptr_t i = 0; i < LEDGER_WORKERS; i++)
        start(work, i);
    start(churn, 0);
    start(load, 0);
}

/* ---- endings ---- */

static void end_never(void)
{
    for (;;)
        pause();
}

static void end_by_exit(void)
{
    exit(7);
}

static void end_by_quick_exit(void)
{
    quick_exit(7);
}

static void end_by_underscore_exit(void)
{
    _exit(7);
}

static void end_by_fault(void)
{
    volatile uintptr_t nowhere = 8;
    *(volatile int *) nowhere = 1;
}

static void end_by_sigterm(void)
{
    raise(SIGTERM);
}

/* When a process exceeds its hard limit, the kernel sends SIGKILL. */
static void end_by_limit(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    struct rlimit limit = {(rlim_t) used.tv_sec + 1, (rlim_t) used.tv_sec + 1};
    setrlimit(RLIMIT_CPU, &limit);
    end_never();
}

/* Another program replaces this one. Whether that succeeds or fails, everything recorded until then must be there. */
static void end_by_exec(void)
{
    execl("/bin/true", "true", (char *) NULL);
}

static void end_by_failed_exec(void)
{
    execl("/nonexistent/true", "true", (char *) NULL);
    _exit(7);
}

static const struct {
    const char *name;
    void (*end)(void);
} endings[] = {
    {"never", end_never},     {"abort", abort},
    {"exit", end_by_exit},    {"quick_exit", end_by_quick_exit},
    {"fault", end_by_fault},  {"_exit", end_by_underscore_exit},
    {"term", end_by_sigterm}, {"limit", end_by_limit},
    {"exec", end_by_exec},    {"failed_exec", end_by_failed_exec},
};

static void map_ledger(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *ledger) != 0)
        _exit(96);
    ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (ledger == MAP_FAILED)
        _exit(95);
    ledger->workers = LEDGER_WORKERS;
    ledger->sites = LEDGER_SITES;
    ledger->magic = LEDGER_MAGIC;
}

/* "fork:" before an ending: everything happens in a child. The parent waits for it and ends in the same way. */
static bool go_on_in_child(const char **ending)
{
    if (strncmp(*ending, "fork:", 5) != 0)
        return true;
    *ending += 5;
    ledger->tid[LEDGER_WORKERS] = (uint32_t) fork();
    if (ledger->tid[LEDGER_WORKERS] == 0)
        return true;
    int status = 0;
    waitpid((pid_t) ledger->tid[LEDGER_WORKERS], &status, 0);
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 94;
    const char *ending = argv[2];
    turns_wanted = (uint32_t) atol(argv[3]);
    plugins = argv + 4;
    plugin_count = argc - 4;
    alarm(PATIENCE_S); /* in case the test is gone */
    map_ledger(argv[1]);
    if (!go_on_in_child(&ending))
        return 93;
    start_all();
    await_workers(&warm);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strcmp(ending, endings[i].name) == 0)
            endings[i].end();
    return 92;
}
