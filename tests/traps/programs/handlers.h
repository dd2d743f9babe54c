/* SPDX-License-Identifier: MIT */
/*
 * handlers.h - signal handlers, and a timer that sends signals to the thread that made it.
 */
#ifndef HANDLERS_H
#define HANDLERS_H

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "trap.h"

typedef void handler(int number, siginfo_t *info, void *context);

static inline void handle(int number, handler *by, int flags)
{
    struct sigaction action = {.sa_sigaction = by, .sa_flags = SA_SIGINFO | SA_RESTART | flags};
    sigemptyset(&action.sa_mask);
    CHECK(sigaction(number, &action, NULL) == 0);
}

#ifndef sigev_notify_thread_id /* glibc before 2.38 */
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Sends `number` to the calling thread every `ns`. */
static inline timer_t start_timer(int number, long ns)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    struct itimerspec every = {{0, ns}, {0, ns}};
    event.sigev_notify_thread_id = (pid_t) syscall(SYS_gettid);
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    CHECK(timer_settime(timer, 0, &every, NULL) == 0);
    return timer;
}

#endif
