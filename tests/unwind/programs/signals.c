/* SPDX-License-Identifier: MIT */
/*
 * signals.c - signal handlers whose stacks are examined: at known places and at any instruction, on the interrupted
 * stack and on another, one within another, and after a stack overflow.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "allocate.h"

static char other_stack[1 << 16];
static volatile int handled;

static void use_other_stack(void)
{
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    sigaltstack(&stack, NULL);
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

static NOINLINE void in_vla(int n)
{
    char block[n];
    memset(block, n, (size_t) n);
    allocate(n);
    sink += block[n / 2];
}

/* The program raises the signal itself, outside of the allocator, so the handler may allocate. */
static void allocating(int number)
{
    handled++;
    allocate(number);
    in_vla(33);
}

static void nesting(int number)
{
    handled++;
    if (number == SIGUSR1)
        raise(SIGUSR2);
    allocate(number);
}

static void raise_often(int times)
{
    for (int i = 0; i < times; i++) {
        raise(SIGUSR1);
        kill(getpid(), SIGUSR1);
    }
}

static void same_stack(int times)
{
    handle(SIGUSR1, allocating, 0);
    raise_often(times);
}

static void alternate_stack(int times)
{
    use_other_stack();
    handle(SIGUSR1, allocating, SA_ONSTACK);
    raise_often(times);
}

static void nested(int times)
{
    use_other_stack();
    handle(SIGUSR1, nesting, SA_ONSTACK);
    handle(SIGUSR2, nesting, 0);
    raise_often(times);
}

/*
 * A signal trampoline without unwind tables, as in musl and Go: it can be recognised only by its instructions.
 */
#if defined(__x86_64__)
#define TRAMPOLINE "mov $15, %rax\n\tsyscall"
#else
#define TRAMPOLINE "mov x8, #139\n\tsvc #0"
#endif
void untabled_trampoline(void);
__asm__(".text\n\t.p2align 4\n\t.globl untabled_trampoline\n\t.type untabled_trampoline, %function\n\tnop\n"
        "untabled_trampoline:\n\t" TRAMPOLINE "\n\t.size untabled_trampoline, .-untabled_trampoline");

static void own_trampoline(int times)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } action = {allocating, 0x04000000 /* SA_RESTORER */, untabled_trampoline, 0};
    if (syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, sizeof action.mask) != 0)
        abort();
    raise_often(times);
}

/* Work that runs through prologues, epilogues, PLT stubs and assembler code of libc, and never allocates. */
static NOINLINE int leaf(int a, const char *text)
{
    volatile char block[40];
    block[a & 31] = text[a & 7];
    return block[a & 31] + (int) strlen(text);
}

static NOINLINE int middle(int a)
{
    char text[32];
    memset(text, 'a' + (a & 7), 20);
    text[20] = 0;
    return leaf(a, text) + atoi(text);
}

static NOINLINE double work(int a)
{
    char text[64];
    int sum = 0;
    char aligned[64] __attribute__((aligned(64)));
    memset(aligned, a, sizeof aligned);
    for (int i = 0; i < 10; i++)
        sum += middle(a + i);
    snprintf(text, sizeof text, "%d %d", a, sum);
    return sin(sum) + pow(abs(sum), 0.3) + text[2] + aligned[a & 63];
}

static void looking(int number)
{
    handled++;
    sink += number;
    compare_here();
}

/* No signals after this: code that the linker adds to the end of a program (crtend.o) has no unwind tables. */
static void work_with_timer(int times)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec often = {{0, 50000}, {0, 50000}};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &often, NULL);
    double sum = 0;
    while (handled < times)
        sum += work(handled);
    sink += (int) sum;
    timer_delete(timer);
}

static void any_instruction(int times)
{
    handle(SIGALRM, looking, SA_RESTART);
    work_with_timer(times);
}

static void any_instruction_alternate(int times)
{
    use_other_stack();
    handle(SIGALRM, looking, SA_RESTART | SA_ONSTACK);
    work_with_timer(times);
}

/* The program has run into the guard page: the stack pointer itself points to unreadable memory. */
static sigjmp_buf before_overflow;

static void overflowed(int number)
{
    looking(number);
    siglongjmp(before_overflow, 1);
}

static volatile int endless = 1;

static NOINLINE int overflow(int n)
{
    volatile char block[20000];
    block[n & 1023] = 1;
    int result = endless ? overflow(n + 1) : n;
    return result + block[n & 511];
}

static void *overflow_in_thread(void *unused)
{
    static char stack_memory[1 << 16];
    stack_t stack = {.ss_sp = stack_memory, .ss_size = sizeof stack_memory};
    sigaltstack(&stack, NULL);
    if (sigsetjmp(before_overflow, 1) == 0)
        overflow(0);
    return unused;
}

static void overflows(int times)
{
    handle(SIGSEGV, overflowed, SA_ONSTACK);
    for (int i = 0; i < times; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, overflow_in_thread, NULL);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    static const struct scenario scenarios[] = {
        {"same-stack", same_stack},
        {"alternate-stack", alternate_stack},
        {"nested", nested},
        {"own-trampoline", own_trampoline},
        {"any-instruction", any_instruction},
        {"any-instruction-alternate", any_instruction_alternate},
        {"overflow", overflows},
    };
    return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
