/* SPDX-License-Identifier: MIT */
/*
 * test_remote.c - borrows threads of a child process. The child is a fork of this program, so functions and variables
 * have the same addresses there.
 */
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/patience.h"
#include "attach/remote.h"

#define WAIT_NS (PATIENCE_S * 1000000000ull)
#define NOINLINE __attribute__((noinline))

/* Shared with the child. */
static struct shared {
    volatile int ready, go, faults, handled, called, interrupted, woken;
    volatile unsigned long turns;
    volatile uint64_t slept_ns;
    sem_t sem;
} * shared;

static const uint64_t none[6];
static pid_t current; /* the child */

/* ---- children ---- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static void doze(void)
{
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* On a stack of its own: that of this program has leftovers of earlier borrowings, which are looked for there. */
static void live_apart(void (*life)(void))
{
    const size_t bytes = 256u << 10;
    char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack + bytes - 4096, 4096, PROT_NONE);
#ifdef __x86_64__
    asm volatile("mov %0, %%rsp\n push $0\n jmp *%1\n" : : "r"(stack + bytes - 4096), "r"(life) : "memory");
#elif defined(__aarch64__)
    asm volatile("mov sp, %0\n mov x29, #0\n mov x30, #0\n br %1\n"
                 :
                 : "r"(stack + bytes - 4096), "r"(life)
                 : "memory");
#endif
}

static pid_t start(void (*life)(void))
{
    memset(shared, 0, sizeof *shared);
    sem_init(&shared->sem, 1, 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(PATIENCE_S);
        live_apart(life);
    }
    while (!shared->ready)
        doze();
    return current = child;
}

static char state_of(pid_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[n] = 0;
    if (file)
        fclose(file);
    const char *end = strrchr(text, ')');
    return end ? end[2] : '?';
}

static void await_state(pid_t pid, char state)
{
    for (; state_of(pid) != state; doze())
        assert_true(state == 'Z' || state_of(pid) != 'Z'); /* it has crashed */
}

static void end(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* it has not ended before */
    assert_int_equal(shared->faults, 0);
}

static void await_turns(void)
{
    for (unsigned long before = shared->turns; shared->turns == before; doze())
        assert_true(state_of(current) != 'Z'); /* it has crashed */
}

/* ---- lives ---- */

/* Holds values in all registers, the flags and the red zone for a while. 0: they were still there. */
uint64_t hold_once(void);
#ifdef __x86_64__
asm("hold_once:\n"
    "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "mov $1, %rax\n mov $2, %rcx\n mov $3, %rdx\n mov $4, %rsi\n mov $5, %rdi\n mov $6, %r8\n mov $7, %r9\n"
    "mov $8, %r10\n mov $9, %r11\n mov $10, %r12\n mov $11, %r13\n mov $12, %r14\n mov $13, %r15\n mov $14, %rbp\n"
    "movq %r15, %xmm0\n movq %r14, %xmm15\n movq %r13, -8(%rsp)\n movq %r12, -128(%rsp)\n fldpi\n"
    "mov $300000, %ebx\n"
    "stc\n"
    "1: dec %ebx\n jnz 1b\n"
    "adc %rcx, %rax\n" /* 4 */
    "add %rdx, %rax\n add %rsi, %rax\n add %rdi, %rax\n add %r8, %rax\n add %r9, %rax\n add %r10, %rax\n"
    "add %r11, %rax\n add %r12, %rax\n add %r13, %rax\n add %r14, %rax\n add %r15, %rax\n add %rbp, %rax\n" /* 106 */
    "movq %xmm0, %rcx\n add %rcx, %rax\n movq %xmm15, %rcx\n add %rcx, %rax\n"                              /* 131 */
    "add -8(%rsp), %rax\n add -128(%rsp), %rax\n"                                                           /* 152 */
    "sub $152, %rax\n mov %rax, %rcx\n"
    "fldpi\n fucompp\n fnstsw %ax\n and $0x4000, %eax\n xor $0x4000, %eax\n or %rcx, %rax\n"
    "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n");
#elif defined(__aarch64__)
asm("hold_once:\n"
    "stp x29, x30, [sp, #-160]!\n stp x19, x20, [sp, #16]\n stp x21, x22, [sp, #32]\n stp x23, x24, [sp, #48]\n"
    "stp x25, x26, [sp, #64]\n stp x27, x28, [sp, #80]\n stp d8, d9, [sp, #96]\n stp d10, d11, [sp, #112]\n"
    "stp d12, d13, [sp, #128]\n stp d14, d15, [sp, #144]\n"
    "mov x1, #1\n mov x2, #2\n mov x3, #3\n mov x4, #4\n mov x5, #5\n mov x6, #6\n mov x7, #7\n mov x8, #8\n"
    "mov x9, #9\n mov x10, #10\n mov x11, #11\n mov x12, #12\n mov x13, #13\n mov x14, #14\n mov x15, #15\n mov x16, "
    "#16\n"
    "mov x17, #17\n mov x18, #18\n mov x19, #19\n mov x20, #20\n mov x21, #21\n mov x22, #22\n mov x23, #23\n mov x24, "
    "#24\n"
    "mov x25, #25\n mov x26, #26\n mov x27, #27\n mov x28, #28\n mov x29, #29\n mov x30, #30\n"
    "fmov d0, x11\n fmov d31, x12\n fmov d15, x13\n mov v7.d[1], x14\n"
    "mov x0, #0x60000\n"
    "cmp x1, x1\n" /* sets the carry */
    "1: sub x0, x0, #1\n cbnz x0, 1b\n"
    "adc x1, x1, x2\n"
    "add x1, x1, x3\n add x1, x1, x4\n add x1, x1, x5\n add x1, x1, x6\n add x1, x1, x7\n add x1, x1, x8\n add x1, x1, "
    "x9\n"
    "add x1, x1, x10\n add x1, x1, x11\n add x1, x1, x12\n add x1, x1, x13\n add x1, x1, x14\n add x1, x1, x15\n add "
    "x1, x1, x16\n"
    "add x1, x1, x17\n add x1, x1, x18\n add x1, x1, x19\n add x1, x1, x20\n add x1, x1, x21\n add x1, x1, x22\n add "
    "x1, x1, x23\n"
    "add x1, x1, x24\n add x1, x1, x25\n add x1, x1, x26\n add x1, x1, x27\n add x1, x1, x28\n add x1, x1, x29\n add "
    "x1, x1, x30\n" /* 466 */
    "fmov x2, d0\n add x1, x1, x2\n fmov x2, d31\n add x1, x1, x2\n fmov x2, d15\n add x1, x1, x2\n"
    "mov x2, v7.d[1]\n add x1, x1, x2\n sub x0, x1, #516\n"
    "ldp d14, d15, [sp, #144]\n ldp d12, d13, [sp, #128]\n ldp d10, d11, [sp, #112]\n ldp d8, d9, [sp, #96]\n"
    "ldp x27, x28, [sp, #80]\n ldp x25, x26, [sp, #64]\n ldp x23, x24, [sp, #48]\n ldp x21, x22, [sp, #32]\n"
    "ldp x19, x20, [sp, #16]\n ldp x29, x30, [sp], #160\n ret\n");
#endif

static void hold_registers(void)
{
    shared->ready = 1;
    for (;;) {
        shared->faults += hold_once() != 0;
        shared->turns++;
    }
}

static void wait_for_poll(void)
{
    int pair[2];
    if (pipe(pair))
        _exit(1);
    shared->ready = 1;
    for (struct pollfd one = {pair[0], POLLIN, 0};;)
        if (poll(&one, 1, 1000000) < 0)
            shared->faults++;
}

static void handle(int number)
{
    (void) number;
    shared->handled++;
}

static void read_with(int flags)
{
    int pair[2];
    char byte;
    struct sigaction action = {.sa_handler = handle, .sa_flags = flags};
    if (pipe(pair) || sigaction(SIGUSR1, &action, NULL))
        _exit(1);
    shared->ready = 1;
    for (;;) {
        if (read(pair[0], &byte, 1) < 0 && errno == EINTR)
            shared->interrupted++;
        shared->turns++;
    }
}

static void read_once(void)
{
    read_with(0);
}

static void read_again(void)
{
    read_with(SA_RESTART);
}

static void sleep_for_a_second(void)
{
    shared->ready = 1;
    uint64_t begin_ns = now_ns();
    if (nanosleep(&(struct timespec){1, 0}, NULL))
        shared->faults++;
    shared->slept_ns = now_ns() - begin_ns;
    shared->turns++;
    for (;;)
        pause();
}

/* On a stack with 700 bytes of room, below which nothing is mapped. */
static void *run_at_the_edge(void *unused)
{
    shared->ready = 1;
    for (;;)
        shared->turns++;
    return unused;
}

static char *edge;

static void live_at_the_edge(void)
{
    run_at_the_edge(NULL);
}

static void go_to_the_edge(void)
{
    edge = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(edge + 4096, 4096, PROT_READ | PROT_WRITE);
#ifdef __x86_64__
    asm volatile("mov %0, %%rsp\n call *%1\n" : : "r"(edge + 4096 + 704), "r"(live_at_the_edge) : "memory");
#elif defined(__aarch64__)
    asm volatile("mov sp, %0\n blr %1\n" : : "r"(edge + 4096 + 704), "r"(live_at_the_edge) : "x30", "memory");
#endif
}

static int spin_in_callback(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void) info, (void) bytes, (void) unused;
    shared->ready = 1;
    for (;;)
        shared->turns++;
    return 0;
}

static void hold_list_of_modules(void)
{
    dl_iterate_phdr(spin_in_callback, NULL);
}

static void spin_before_fork(void)
{
    spin_in_callback(NULL, 0, NULL);
}

/* Handlers of an allocator may have run before, which take its locks. */
static void hold_locks_for_fork(void)
{
    pthread_atfork(spin_before_fork, NULL, NULL);
    if (fork() < 0)
        _exit(1);
}

static void wait_for_nobody(void)
{
    shared->ready = 1;
    for (;;) {
        int status;
        if (waitpid(-1, &status, WNOHANG) >= 0)
            shared->faults++; /* somebody's child */
        shared->turns++;
        doze();
    }
}

static void signalled_and_busy(void)
{
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);
    shared->ready = 1;
    for (;;)
        shared->turns++;
}

/* Forks again and again. Its children say whether they have the memory that is wiped when it forks. */
#define WIPED_BYTES (64u << 10)
static volatile char *wiped;

static void fork_again_and_again(void)
{
    wiped[0] = wiped[WIPED_BYTES - 1] = 1;
    shared->ready = 1;
    for (;;) {
        pid_t child = fork();
        if (child == 0) {
            shared->faults += wiped[0] != 0 || wiped[WIPED_BYTES - 1] != 0;
            _exit(0);
        }
        int status;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        shared->turns++;
    }
}

/* ---- functions that they are made to call ---- */

NOINLINE static uint64_t add_up(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
    shared->called++;
    return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f;
}

NOINLINE static double divide(double a, double b)
{
    return a / b;
}

NOINLINE static uint64_t spoil_registers(void)
{
    volatile double x = 3;
    return (uint64_t) (divide(x, 7) * 1e6);
}

NOINLINE static uint64_t wait_for_handler(void)
{
    while (!shared->handled)
        doze();
    return 77;
}

NOINLINE static uint64_t stay(void)
{
    while (!shared->go)
        doze();
    return 0;
}

NOINLINE static uint64_t note_abandoned(void)
{
    shared->woken++;
    return 0;
}

static uint64_t address_of(const void *function)
{
    return (uint64_t) (uintptr_t) function;
}

static void borrow(struct pl_remote *remote, pid_t child, enum pl_remote_need need)
{
    bool borrowed = pl_remote_open(remote, child) && pl_remote_borrow(remote, need, WAIT_NS);
    if (!borrowed)
        print_message("%s\n", remote->problem);
    assert_true(borrowed);
}

/* ---- claims ---- */

static void a_borrowed_thread_makes_system_calls(void **state)
{
    (void) state;
    struct pl_remote remote;
    uint64_t result;
    pid_t child = start(wait_for_poll);
    borrow(&remote, child, PL_NEED_CALLS);
    assert_true(pl_remote_system_call(&remote, SYS_getpid, none, &result));
    assert_int_equal(result, child);
    const uint64_t bad[6] = {(uint64_t) -1, 0, 0, 0, 0, 0};
    assert_true(pl_remote_system_call(&remote, SYS_close, bad, &result));
    assert_int_equal((int64_t) result, -EBADF);
    assert_true(pl_remote_give_back(&remote));
    pl_remote_close(&remote);
    end(child);
}

static void a_borrowed_thread_calls_functions_with_six_arguments(void **state)
{
    (void) state;
    struct pl_remote remote;
    uint64_t result;
    pid_t child = start(wait_for_poll);
    borrow(&remote, child, PL_NEED_LOCKS);
    const uint64_t argument[6] = {1, 2, 3, 4, 5, 6};
    for (int i = 0; i < 3; i++) {
        assert_true(pl_remote_call(&remote, address_of(add_up), argument, &result));
        assert_int_equal(result, 654321);
    }
    pl_remote_close(&remote);
    assert_int_equal(shared->called, 3);
    end(child);
}

static void all_registers_are_as_they_were(void **state)
{
    (void) state;
    pid_t child = start(hold_registers);
    for (int i = 0; i < 50; i++) {
        struct pl_remote remote;
        uint64_t result;
        borrow(&remote, child, PL_NEED_CALLS);
        assert_true(pl_remote_call(&remote, address_of(spoil_registers), none, &result));
        assert_int_equal(result, 428571);
        pl_remote_close(&remote);
        await_turns();
    }
    end(child);
}

static void the_stack_of_the_thread_is_not_used(void **state)
{
    (void) state;
    pid_t child = start(go_to_the_edge);
    for (int i = 0; i < 5; i++) {
        struct pl_remote remote;
        uint64_t result;
        borrow(&remote, child, PL_NEED_CALLS);
        assert_true(pl_remote_call(&remote, address_of(spoil_registers), none, &result));
        pl_remote_close(&remote);
        await_turns();
    }
    end(child);
}

static void a_call_that_waits_goes_on_waiting(void **state)
{
    (void) state;
    pid_t child = start(sleep_for_a_second);
    struct pl_remote remote;
    await_state(child, 'S');
    borrow(&remote, child, PL_NEED_LOCKS);
    pl_remote_close(&remote);
    while (!shared->turns)
        doze();
    assert_true(shared->slept_ns >= 1000000000u);
    end(child);
    child = start(wait_for_poll);
    for (int i = 0; i < 5; i++) {
        await_state(child, 'S');
        borrow(&remote, child, PL_NEED_LOCKS);
        pl_remote_close(&remote);
    }
    end(child);
}

/* The handler of a signal that comes while the thread is borrowed runs when it is given back, and decides whether the
 * system call goes on. */
static void signals_come_as_if_nobody_had_borrowed_the_thread(void **state)
{
    (void) state;
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < 10; i++) {
            struct pl_remote remote;
            uint64_t result;
            pid_t child = start(again ? read_again : read_once);
            await_state(child, 'S');
            if (i % 2)
                kill(child, SIGUSR1); /* it may be on its way already */
            borrow(&remote, child, PL_NEED_CALLS);
            kill(child, SIGUSR1);
            assert_true(pl_remote_system_call(&remote, SYS_getpid, none, &result));
            assert_true(shared->handled < 2);
            pl_remote_close(&remote);
            while (!shared->handled || (!again && !shared->interrupted))
                doze();
            await_state(child, 'S');
            if (again)
                assert_true(!shared->interrupted && !shared->turns);
            else if (i % 2) /* the second one may find it between two calls */
                assert_true(shared->interrupted <= shared->handled);
            else
                assert_int_equal(shared->interrupted, shared->handled);
            end(child);
        }
}

static void a_call_that_needs_a_signal_gets_it(void **state)
{
    (void) state;
    struct pl_remote remote;
    uint64_t result;
    pid_t child = start(signalled_and_busy);
    borrow(&remote, child, PL_NEED_CALLS);
    pl_remote_go(&remote);
    kill(child, SIGUSR1);
    assert_true(pl_remote_call(&remote, address_of(wait_for_handler), none, &result));
    assert_int_equal(result, 77);
    pl_remote_close(&remote);
    await_turns();
    end(child);
}

static void a_process_that_is_stopped_meanwhile_stays_stopped(void **state)
{
    (void) state;
    struct pl_remote remote;
    pid_t child = start(signalled_and_busy);
    borrow(&remote, child, PL_NEED_CALLS);
    kill(child, SIGSTOP);
    pl_remote_close(&remote);
    await_state(child, 'T');
    kill(child, SIGCONT);
    await_turns();
    end(child);
}

static void a_thread_that_may_hold_a_lock_is_not_made_to_take_one(void **state)
{
    (void) state;
    void (*const lives[])(void) = {hold_list_of_modules, hold_locks_for_fork};
    for (size_t i = 0; i < 2; i++) {
        struct pl_remote remote;
        pid_t child = start(lives[i]);
        assert_true(pl_remote_open(&remote, child));
        while (!strstr(remote.problem, "no safe moment")) /* it may be slow to stop: the machine is busy */
            assert_false(pl_remote_borrow(&remote, PL_NEED_LOCKS, 50000000));
        pl_remote_close(&remote);
        borrow(&remote, child, PL_NEED_CALLS); /* other calls do no harm */
        pl_remote_close(&remote);
        await_turns();
        end(child);
    }
}

static void a_copy_shares_no_memory_and_the_process_does_not_see_it(void **state)
{
    (void) state;
    struct pl_remote remote;
    struct pl_machine_registers registers;
    pid_t child = start(wait_for_nobody);
    static volatile int mine = 1; /* not shared */
    borrow(&remote, child, PL_NEED_CALLS);
    pid_t copy = pl_remote_copy(&remote);
    assert_true(copy > 0);
    assert_int_equal(state_of(copy), 't');
    assert_true(pl_machine_read(copy, &registers));
    pl_remote_go(&remote);
    struct pl_tracee memory;
    int seen = 0;
    assert_true(pl_tracee_open(&memory, copy));
    int changed = 2;
    assert_true(pl_tracee_write(&remote.tracee, address_of((const void *) &mine), &changed, sizeof changed));
    assert_true(pl_tracee_read(&memory, address_of((const void *) &mine), &seen, sizeof seen));
    assert_int_equal(seen, 1);
    pl_tracee_close(&memory);
    pl_remote_end_copy(copy);
    assert_int_equal(state_of(copy), 'Z');
    assert_true(pl_remote_forget_copy(&remote, copy));
    pl_remote_close(&remote);
    assert_int_equal(kill(copy, 0), -1); /* not even a zombie */
    await_turns();
    end(child);
}

static void map_what_is_wiped(void)
{
    wiped = mmap(NULL, WIPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(madvise((void *) (uintptr_t) wiped, WIPED_BYTES, MADV_WIPEONFORK), 0);
}

static struct pl_machine_range range_of_wiped(void)
{
    return (struct pl_machine_range){address_of((const void *) (uintptr_t) wiped), WIPED_BYTES};
}

static void a_copy_can_have_memory_that_is_wiped_by_a_fork(void **state)
{
    (void) state;
    struct pl_remote remote;
    char seen = 0;
    map_what_is_wiped();
    pid_t child = start(fork_again_and_again);
    const struct pl_machine_range range = range_of_wiped();
    borrow(&remote, child, PL_NEED_CALLS);
    assert_true(pl_remote_keep(&remote, &range, 1));
    pid_t copy = pl_remote_copy(&remote);
    assert_true(copy > 0);
    assert_true(pl_remote_keep_no_more(&remote));
    struct pl_tracee memory;
    assert_true(pl_tracee_open(&memory, copy));
    assert_true(pl_tracee_read(&memory, range.address + WIPED_BYTES - 1, &seen, 1));
    assert_int_equal(seen, 1);
    pl_tracee_close(&memory);
    pl_remote_end_copy(copy);
    assert_true(pl_remote_forget_copy(&remote, copy));
    const struct pl_machine_range nowhere[2] = {range, {4096, 4096}};
    assert_false(pl_remote_keep(&remote, nowhere, 2));
    assert_false(pl_remote_keep(&remote, &range, PL_MACHINE_RANGES + 1));
    pl_remote_close(&remote);
    await_turns();
    await_turns(); /* the last fork began before */
    end(child);
    munmap((void *) (uintptr_t) wiped, WIPED_BYTES);
}

static void why_a_thread_does_not_come_back_is_said(void **state)
{
    (void) state;
    struct pl_remote remote;
    pid_t child = start(signalled_and_busy);
    borrow(&remote, child, PL_NEED_CALLS);
    kill(child, SIGSTOP);
    assert_false(pl_remote_give_back(&remote));
    assert_non_null(strstr(remote.problem, "SIGCONT"));
    pl_remote_close(&remote);
    kill(child, SIGCONT);
    await_turns();
    borrow(&remote, child, PL_NEED_CALLS);
    kill(child, SIGKILL);
    await_state(child, 'Z');
    assert_false(pl_remote_give_back(&remote));
    assert_non_null(strstr(remote.problem, "has ended")); /* as its parent, remote.c has waited for it */
    pl_remote_close(&remote);
}

/* ---- killed ---- */

/* A tracer that borrows, does this, and waits to be killed. */
static void kill_a_tracer(pid_t child, void (*act)(struct pl_remote *))
{
    int pair[2], status;
    char byte;
    assert_int_equal(pipe(pair), 0);
    pid_t tracer = fork();
    if (tracer == 0) {
        struct pl_remote remote;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        bool good = pl_remote_open(&remote, child) && pl_remote_borrow(&remote, PL_NEED_CALLS, WAIT_NS);
        if (good)
            act(&remote);
        if (write(pair[1], good ? "y" : "n", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(pair[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    kill(tracer, SIGKILL);
    waitpid(tracer, &status, 0);
    close(pair[0]);
    close(pair[1]);
}

static void act_nothing(struct pl_remote *remote)
{
    (void) remote;
}

static void act_with_a_function_behind(struct pl_remote *remote)
{
    pl_visitor_if_abandoned(&remote->visitor, address_of(note_abandoned));
}

static void act_keep(struct pl_remote *remote)
{
    const struct pl_machine_range range = range_of_wiped();
    if (!pl_remote_keep(remote, &range, 1))
        shared->faults++;
}

static void act_copy(struct pl_remote *remote)
{
    pid_t copy = pl_remote_copy(remote);
    shared->called = copy;
}

/* Killed while the thread makes a call. */
static void act_call(struct pl_remote *remote)
{
    uint64_t call[8] = {address_of(stay)};
    pl_tracee_write(&remote->tracee, remote->visitor.memory, call, sizeof call);
    pl_tracee_step(remote->visitor.tid);
    pl_remote_go(remote);
}

static void a_thread_whose_borrower_is_killed_goes_home(void **state)
{
    (void) state;
    pid_t child = start(hold_registers);
    for (int i = 0; i < 60; i++) { /* more often than there is room for visits */
        kill_a_tracer(child, act_nothing);
        await_turns();
    }
    kill_a_tracer(child, act_call);
    struct pl_remote remote;
    uint64_t result;
    shared->go = 1;
    await_turns();
    borrow(&remote, child, PL_NEED_CALLS);
    assert_true(pl_remote_system_call(&remote, SYS_getpid, none, &result));
    pl_remote_close(&remote);
    await_turns();
    end(child);
}

static void a_thread_whose_borrower_is_killed_cleans_up(void **state)
{
    (void) state;
    pid_t child = start(hold_registers);
    kill_a_tracer(child, act_with_a_function_behind);
    await_turns();
    assert_int_equal(shared->woken, 1);
    struct pl_remote remote; /* but not if it is given back */
    borrow(&remote, child, PL_NEED_CALLS);
    act_with_a_function_behind(&remote);
    pl_remote_close(&remote);
    await_turns();
    assert_int_equal(shared->woken, 1);
    end(child);
}

static void what_is_wiped_by_a_fork_is_wiped_again_when_its_borrower_is_killed(void **state)
{
    (void) state;
    map_what_is_wiped();
    pid_t child = start(fork_again_and_again);
    for (int i = 0; i < 3; i++) {
        kill_a_tracer(child, act_keep);
        await_turns();
        await_turns();
    }
    end(child);
    munmap((void *) (uintptr_t) wiped, WIPED_BYTES);
}

static void a_copy_ends_with_its_tracer(void **state)
{
    (void) state;
    pid_t child = start(wait_for_nobody);
    kill_a_tracer(child, act_copy);
    assert_true(shared->called > 0);
    await_state(shared->called, 'Z');
    await_turns();
    end(child);
}

/* Several threads, one after the other, while another is still in a call that a killed tracer has asked for. */
static void *turn(void *unused)
{
    for (;;)
        shared->turns++;
    return unused;
}

static void live_in_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, turn, NULL);
    shared->ready = 1;
    for (;;)
        pause();
}

static void a_visit_is_not_overwritten_while_a_thread_is_in_it(void **state)
{
    (void) state;
    pid_t child = start(live_in_threads);
    kill_a_tracer(child, act_call); /* stays there */
    for (int i = 0; i < 3; i++)
        kill_a_tracer(child, act_nothing);
    shared->go = 1;
    struct pl_remote remote;
    borrow(&remote, child, PL_NEED_CALLS);
    assert_int_equal(remote.threads, 4);
    pl_remote_close(&remote);
    await_turns();
    end(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_borrowed_thread_makes_system_calls),
        cmocka_unit_test(a_borrowed_thread_calls_functions_with_six_arguments),
        cmocka_unit_test(all_registers_are_as_they_were),
        cmocka_unit_test(the_stack_of_the_thread_is_not_used),
        cmocka_unit_test(a_call_that_waits_goes_on_waiting),
        cmocka_unit_test(signals_come_as_if_nobody_had_borrowed_the_thread),
        cmocka_unit_test(a_call_that_needs_a_signal_gets_it),
        cmocka_unit_test(a_process_that_is_stopped_meanwhile_stays_stopped),
        cmocka_unit_test(a_thread_that_may_hold_a_lock_is_not_made_to_take_one),
        cmocka_unit_test(a_copy_shares_no_memory_and_the_process_does_not_see_it),
        cmocka_unit_test(a_copy_can_have_memory_that_is_wiped_by_a_fork),
        cmocka_unit_test(why_a_thread_does_not_come_back_is_said),
        cmocka_unit_test(a_thread_whose_borrower_is_killed_goes_home),
        cmocka_unit_test(a_thread_whose_borrower_is_killed_cleans_up),
        cmocka_unit_test(what_is_wiped_by_a_fork_is_wiped_again_when_its_borrower_is_killed),
        cmocka_unit_test(a_copy_ends_with_its_tracer),
        cmocka_unit_test(a_visit_is_not_overwritten_while_a_thread_is_in_it),
    };
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
