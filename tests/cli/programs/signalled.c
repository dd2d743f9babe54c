/* SPDX-License-Identifier: MIT */
/*
 * signalled.c - prints "up", then a line for each signal. It exits with 7 at SIGTERM.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    sigset_t all;
    siginfo_t info;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    puts("up");
    fflush(stdout);
    while (sigwaitinfo(&all, &info) > 0) {
        printf("SIG%s %d\n", sigabbrev_np(info.si_signo), info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
        fflush(stdout);
        if (info.si_signo == SIGTERM)
            return 7;
    }
    return 1;
}
