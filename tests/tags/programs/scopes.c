/* SPDX-License-Identifier: MIT */
/*
 * scopes.c - every way to enter and leave a scope.
 *
 *   scopes ACCOUNT prepared    tags prepared once, entered in several threads and under several tags
 *   scopes ACCOUNT formatted   names formatted like printf, also longer than its buffer
 *   scopes ACCOUNT pool        work given to a pool is charged to the tag of its caller
 *   scopes ACCOUNT pops        more pops than pushes
 *   scopes ACCOUNT ends        threads that end inside scopes, and new ones that reuse their records
 *   scopes ACCOUNT jumps       longjmp out of scopes, and adopt to restore the tag
 */
#include "account.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#define TURNS 50
#define WORKERS 3
#define JOBS 120

/* ---- prepared ---- */

static plimsoll_tag inner, outer;

static void use_prepared(unsigned number)
{
    for (unsigned i = 0; i < TURNS; i++) {
        enter(outer, "outer");
        allocate(10 + number);
        enter(inner, "inner");
        allocate(20 + number);
        pop();
        push("inner"); /* the same tag */
        allocate(30 + number);
        enter(outer, "outer");
        allocate(40);
        pop();
        pop();
        pop();
        enter(inner, "inner");
        allocate(50 + i);
        pop();
    }
}

static void prepared(void)
{
    outer = plimsoll_prepare("outer");
    inner = plimsoll_prepare("inner");
    REQUIRE(outer && inner && outer != inner);
    REQUIRE(plimsoll_prepare("outer") == outer);
    use_prepared(0);
    crew_run(1, 3, use_prepared);
}

/* ---- formatted ---- */

static void formatted(void)
{
    static char expected[3000], long_part[2500];
    memset(long_part, 'y', sizeof long_part - 1);
    for (int i = 0; i < TURNS; i++) {
        plimsoll_pushf("%s::%s", i % 2 ? "Server" : "Client", "handle");
        account_pushed(i % 2 ? "Server::handle" : "Client::handle");
        allocate(10 + (size_t) i);
        plimsoll_pushf("request %d of %s", i % 5, long_part);
        snprintf(expected, sizeof expected, "request %d of %s", i % 5, long_part);
        account_pushed(expected);
        allocate(100);
        pop();
        plimsoll_pushf("100%%");
        account_pushed("100%");
        allocate(7);
        pop();
        pop();
    }
}

/* ---- a pool ---- */

struct job {
    struct errand errand;
    size_t bytes;
    struct held result;
};

static struct job jobs[JOBS];
static unsigned jobs_ready, jobs_taken, jobs_done;

static void do_job(struct job *job)
{
    struct errand before = errand_adopt(job->errand);
    allocate(job->bytes);
    push("step");
    job->result = take(BY_ALIGNED, 3 * job->bytes);
    pop();
    errand_adopt(before);
    allocate(1); /* the pool's own */
}

static void serve(unsigned number)
{
    push("pool");
    allocate(number);
    while (__atomic_load_n(&jobs_done, __ATOMIC_ACQUIRE) < JOBS) {
        unsigned next = __atomic_load_n(&jobs_taken, __ATOMIC_RELAXED);
        if (next >= __atomic_load_n(&jobs_ready, __ATOMIC_ACQUIRE) ||
            !__atomic_compare_exchange_n(&jobs_taken, &next, next + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            sched_yield();
            continue;
        }
        do_job(&jobs[next]);
        __atomic_fetch_add(&jobs_done, 1, __ATOMIC_RELEASE);
    }
    pop();
    allocate(number + 1);
}

static void ask(unsigned number)
{
    for (unsigned i = 0; i < JOBS; i++) {
        push(i % 3 ? "request" : "chore");
        push(i % 2 ? "odd" : "even");
        jobs[i] = (struct job){errand_here(), 10 + i, {0}};
        __atomic_store_n(&jobs_ready, i + 1, __ATOMIC_RELEASE);
        allocate(5);
        pop();
        pop();
    }
    (void) number;
}

static void ask_or_serve(unsigned number)
{
    if (number == 1)
        ask(number);
    else
        serve(number);
}

static void pool(void)
{
    crew_run(1, 1 + WORKERS, ask_or_serve);
    for (unsigned i = 0; i < JOBS; i += 2)
        give(jobs[i].result);
}

/* ---- not balanced ---- */

static void pop_too_often_in(unsigned number)
{
    for (unsigned i = 0; i < TURNS; i++) {
        pop();
        allocate(10 + number);
        push("one");
        allocate(20);
        pop();
        pop();
        push("two");
        push("three");
        allocate(30);
        pop();
        allocate(40);
        pop();
    }
}

static void pop_too_often(void)
{
    crew_run(1, 2, pop_too_often_in);
}

/* ---- ending inside ---- */

static void end_inside(unsigned number)
{
    allocate(5); /* at the root, also in a reused record */
    push("unfinished");
    allocate(10 + number);
    push("business");
    allocate(20 + number);
}

static void end_and_begin(void)
{
    for (unsigned i = 1; i <= 20; i++)
        crew_run(i, 1, end_inside);
}

/* ---- jumping out ---- */

static jmp_buf back;

static void jump_from_below(void)
{
    push("jumped");
    allocate(10);
    push("from");
    allocate(20);
    longjmp(back, 1);
}

static void jump(void)
{
    push("around");
    struct errand here = errand_here();
    unsigned depth = account_depth();
    for (volatile unsigned i = 0; i < TURNS; i++) {
        if (setjmp(back) == 0) {
            jump_from_below();
        } else {
            allocate(30); /* still charged to the tag that it jumped out of: there was no pop */
            errand_adopt(here);
            account_return_to(depth);
            allocate(40);
        }
    }
    pop();
    allocate(50);
}

static const struct account_mode modes[] = {
    {"prepared", prepared},  {"formatted", formatted}, {"pool", pool}, {"pops", pop_too_often},
    {"ends", end_and_begin}, {"jumps", jump},          {NULL, NULL},
};

int main(int argc, char **argv)
{
    return account_main(argc, argv, modes);
}
