/* SPDX-License-Identifier: MIT */
/*
 * subject.c - a program to attach to. `subject MODE [THREADS]` prints `ready` and does what its mode says:
 *
 *   churn    THREADS threads allocate without pause and verify the contents of their blocks
 *   ledger   obeys lines on stdin, and answers each with `done`:
 *              keep N    every thread allocates N blocks in kept_block() and keeps them
 *              drop      frees all of them
 *              work N    every thread N times: malloc, calloc, realloc twice, aligned_alloc, and frees
 *              load P    loads the plugin P and lets it allocate 1,000 blocks
 *              bare      calls getppid three times: first it reuses one block, then it allocates in all ways
 *              fork      a child makes 5,000 allocations in forked_block() and exits
 *              exec P    becomes the program P
 *              spawn P   starts the program P by posix_spawn, and waits for it
 *   once     makes 1,000 allocations in kept_block() and exits
 *   waits    threads wait in nanosleep, poll, read, a condition variable; `fault` if a call is interrupted
 *   restless THREADS threads start threads that allocate and end, one more starts programs, without pause
 *   signals  a timer interrupts a thread that allocates; the handler counts
 *   sandbox  enters seccomp and sleeps; with THREADS, only a thread of it does
 *   headless its first thread ends, another one sleeps
 *   shared   a child made by clone() shares its memory, and sleeps
 *   vforked  a vfork child sleeps before exec
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 64
#define NOINLINE __attribute__((noinline))

static int threads = 4;

static void say(const char *word)
{
    if (write(1, word, strlen(word)) < 0)
        _exit(1);
}

static void fault(const char *what)
{
    fprintf(stderr, "fault: %s: %s\n", what, strerror(errno));
    say("fault\n");
    abort();
}

/* ---- churn ---- */

static void verify(const unsigned char *block, size_t bytes, unsigned char mark)
{
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != mark)
            fault("a block has changed");
}

static void *churn(void *argument)
{
    unsigned seed = (unsigned) (size_t) argument * 7919 + 1;
    prctl(PR_SET_NAME, "churn");
    unsigned char *block[SLOTS] = {NULL};
    size_t bytes[SLOTS] = {0};
    for (;;) {
        seed = seed * 1103515245 + 12345;
        unsigned i = seed >> 16 & (SLOTS - 1);
        size_t n = (seed >> 8) % 2000 + 1;
        if (block[i])
            verify(block[i], bytes[i], (unsigned char) (i + bytes[i]));
        if (block[i] && seed & 0x100) {
            block[i] = realloc(block[i], n);
        } else if (block[i]) {
            free(block[i]);
            block[i] = NULL;
            continue;
        } else {
            block[i] = seed & 0x200 ? calloc(1, n) : seed & 0x400 ? aligned_alloc(64, (n + 63) & ~63ul) : malloc(n);
        }
        if (!block[i])
            fault("no memory");
        bytes[i] = n;
        memset(block[i], (int) (i + n), n);
    }
    return NULL;
}

/* ---- ledger ---- */

static pthread_barrier_t begin, end;
static char order[16];
static unsigned long amount;

struct kept {
    void **block;
    unsigned long count;
};

NOINLINE void *kept_block(size_t n)
{
    void *block = malloc(n);
    memset(block, 1, n);
    return block;
}

NOINLINE void work(unsigned long times)
{
    for (unsigned long i = 0; i < times; i++) {
        char *a = malloc(100), *b = calloc(10, 10), *c = realloc(NULL, 50), *d = aligned_alloc(64, 128);
        memset(a, 1, 100);
        c = realloc(c, 5000);
        memset(c, 2, 5000);
        free(a);
        free(b);
        free(c);
        free(d);
    }
}

/*
 * The way inside the allocator must not depend on what else the process has allocated or freed. So the block is as old
 * as the process, and the thread's cache has room: malloc takes the block from there, realloc leaves it where it is,
 * and free puts it back.
 */
#define SAME_BYTES 100
#define CACHED 7 /* blocks of one size that glibc keeps for a thread */

static void *same_block;

NOINLINE void reuse(void)
{
    for (int i = 0; i < 3; i++) {
        void *block = malloc(SAME_BYTES);
        if (block != same_block)
            fault("the block is another one");
        block = realloc(block, SAME_BYTES + 4);
        free(block);
    }
}

static void mark_work(void)
{
    void *cached[CACHED];
    for (int i = 0; i < CACHED; i++)
        cached[i] = malloc(SAME_BYTES);
    free(same_block);
    syscall(SYS_getppid);
    reuse();
    syscall(SYS_getppid);
    work(1);
    syscall(SYS_getppid);
    same_block = malloc(SAME_BYTES);
    for (int i = 0; i < CACHED; i++)
        free(cached[i]);
}

static void *obey(void *argument)
{
    struct kept *kept = argument;
    for (;;) {
        pthread_barrier_wait(&begin);
        if (!strcmp(order, "keep"))
            for (unsigned long i = 0; i < amount; i++)
                kept->block[kept->count++] = kept_block(100);
        else if (!strcmp(order, "drop"))
            while (kept->count)
                free(kept->block[--kept->count]);
        else if (!strcmp(order, "work"))
            work(amount);
        pthread_barrier_wait(&end);
    }
    return NULL;
}

NOINLINE void forked_block(void)
{
    for (int i = 0; i < 5000; i++)
        free(malloc(64));
}

static void let_child_work(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        forked_block();
        exit(0);
    }
    if (waitpid(child, &status, 0) != child || status)
        fault("the child failed");
}

static void load(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW);
    void (*allocate)(int) = plugin ? (void (*)(int)) dlsym(plugin, "plugin_allocate") : NULL;
    if (!allocate)
        fault(dlerror());
    allocate(1000);
    dlclose(plugin);
}

static void spawn(char *path)
{
    int status = 0;
    pid_t child;
    char *arguments[] = {path, "once", NULL}, *environment[] = {"LD_PRELOAD=/nonexistent/none.so", "MARK=1", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&child, path, &actions, NULL, arguments, environment) || waitpid(child, &status, 0) != child)
        fault("posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
}

static void keep_ledger(void)
{
    char line[512], path[480];
    same_block = malloc(SAME_BYTES);
    pthread_barrier_init(&begin, NULL, (unsigned) threads + 1);
    pthread_barrier_init(&end, NULL, (unsigned) threads + 1);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        struct kept *kept = calloc(1, sizeof *kept);
        kept->block = calloc(1000000, sizeof *kept->block);
        pthread_create(&thread, NULL, obey, kept);
    }
    say("ready\n");
    for (size_t n = 0; read(0, line + n, 1) == 1;) {
        if (line[n++] != '\n')
            continue;
        line[n] = 0;
        n = 0;
        amount = 0;
        path[0] = 0;
        sscanf(line, "%15s %lu", order, &amount);
        sscanf(line, "%*s %479s", path);
        if (!strcmp(order, "load"))
            load(path);
        else if (!strcmp(order, "bare"))
            mark_work();
        else if (!strcmp(order, "fork"))
            let_child_work();
        else if (!strcmp(order, "spawn"))
            spawn(path);
        else if (!strcmp(order, "exec"))
            execl(path, path, "-c", "exit 7", NULL);
        else {
            pthread_barrier_wait(&begin);
            pthread_barrier_wait(&end);
        }
        say("done\n");
    }
}

/* ---- waits ---- */

static void *wait_in_nanosleep(void *unused)
{
    for (struct timespec time = {1000, 0};;)
        if (nanosleep(&time, NULL))
            fault("nanosleep");
    return unused;
}

static void *wait_in_poll(void *unused)
{
    int pair[2];
    if (pipe(pair))
        fault("pipe");
    for (struct pollfd one = {pair[0], POLLIN, 0};;)
        if (poll(&one, 1, 1000000) < 0)
            fault("poll");
    return unused;
}

static void *wait_in_read(void *unused)
{
    int pair[2];
    char byte;
    if (pipe(pair))
        fault("pipe");
    if (read(pair[0], &byte, 1) < 0)
        fault("read");
    return unused;
}

static void *wait_in_condition(void *unused)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&mutex);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    return unused;
}

/* ---- restless ---- */

static void *live_shortly(void *argument)
{
    size_t bytes = (size_t) argument % 3000 + 1;
    unsigned char *block = malloc(bytes);
    memset(block, (int) bytes, bytes);
    block = realloc(block, 2 * bytes);
    verify(block, bytes, (unsigned char) bytes);
    free(block);
    return NULL;
}

static void *start_threads(void *unused)
{
    for (size_t i = 0;; i += 977) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, live_shortly, (void *) i) || pthread_join(thread, NULL))
            fault("a short thread");
    }
    return unused;
}

static void *start_programs(void *unused)
{
    char *arguments[] = {"true", NULL}, *environment[] = {NULL};
    for (int status = 0;;) {
        pid_t child;
        if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environment) ||
            waitpid(child, &status, 0) != child || status)
            fault("a program");
    }
    return unused;
}

/* ---- signals ---- */

static volatile sig_atomic_t alarms;

static void count_alarm(int signal)
{
    (void) signal;
    alarms++;
}

static void be_interrupted(void)
{
    struct itimerval often = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, count_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    say("ready\n");
    churn(NULL);
}

/* ---- confined, vforked ---- */

static void *enter_sandbox(void *unused)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        fault("seccomp");
    say("ready\n");
    for (;;)
        pause();
    return unused;
}

static void *outlive(void *unused)
{
    say("ready\n");
    for (;;)
        pause();
    return unused;
}

static int share(void *unused)
{
    (void) unused;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    say("ready\n");
    for (;;)
        pause();
    return 0;
}

static void share_memory(void)
{
    static _Alignas(16) char stack[16384];
    if (clone(share, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL) < 0)
        fault("clone");
}

static void vfork_child(void)
{
    pid_t child = vfork();
    if (child == 0) {
        char line[32];
        int bytes = snprintf(line, sizeof line, "ready %d\n", getpid());
        if (write(1, line, (size_t) bytes) < 0)
            _exit(1);
        for (;;)
            pause();
    }
}

static void start(void *(*function)(void *), size_t argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, (void *) argument))
        fault("pthread_create");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (argc > 2)
        threads = atoi(argv[2]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!strcmp(mode, "ledger"))
        keep_ledger();
    else if (!strcmp(mode, "once")) {
        for (int i = 0; i < 1000; i++)
            kept_block(100);
        return 0;
    } else if (!strcmp(mode, "signals"))
        be_interrupted();
    else if (!strcmp(mode, "sandbox") && argc > 2)
        start(enter_sandbox, 0);
    else if (!strcmp(mode, "sandbox"))
        enter_sandbox(NULL);
    else if (!strcmp(mode, "shared"))
        share_memory();
    else if (!strcmp(mode, "headless")) {
        start(outlive, 0);
        pthread_exit(NULL);
    } else if (!strcmp(mode, "vforked"))
        vfork_child();
    else if (!strcmp(mode, "churn")) {
        for (int i = 0; i < threads; i++)
            start(churn, (size_t) i);
        say("ready\n");
    } else if (!strcmp(mode, "restless")) {
        for (int i = 0; i < threads; i++)
            start(start_threads, 0);
        start(start_programs, 0);
        say("ready\n");
    } else if (!strcmp(mode, "waits")) {
        void *(*const all[])(void *) = {wait_in_nanosleep, wait_in_poll, wait_in_read, wait_in_condition};
        for (size_t i = 0; i < 4; i++)
            start(all[i], 0);
        say("ready\n");
        wait_in_nanosleep(NULL);
    }
    for (;;)
        pause();
}
