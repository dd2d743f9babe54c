/* SPDX-License-Identifier: MIT */
/*
 * names.c - the words for what a profile counts, and for how a process ended.
 *
 * The tables are the lists of format.h and profile.h unrolled: a new metric, loss or function is one row there and
 * nothing here.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "profile.h"

#define NAME_BYTES 64

const struct pl_metric_info pl_metric_info[PL_METRIC_COUNT] = {
#define ROW(name, key, word, unit, help) {key, word, unit, help},
    PL_METRICS(ROW)
#undef ROW
};

const char *const pl_function_name[PL_FN_COUNT] = {
#define ROW(name, text) text,
    PL_FUNCTIONS(ROW)
#undef ROW
};

const struct pl_named_counter pl_loss_info[PL_LOSS_COUNT] = {
#define ROW(name, key, help) {key, help},
    PL_LOSSES(ROW)
#undef ROW
};

const struct pl_named_counter pl_stop_info[PL_STOP_COUNT] = {
#define ROW(name, key, help) {key, help},
    PL_STOPS(ROW)
#undef ROW
};

static void say_signal(int number, bool core, char *out, size_t bytes)
{
    const char *name = sigabbrev_np(number);
    const char *dumped = core ? ", core dumped" : "";
    if (name)
        snprintf(out, bytes, "killed by SIG%s%s", name, dumped);
    else
        snprintf(out, bytes, "killed by signal %d%s", number, dumped);
}

static void say_wait_status(int status, char *out, size_t bytes)
{
    if (WIFEXITED(status))
        snprintf(out, bytes, "exited %d", WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        say_signal(WTERMSIG(status), WCOREDUMP(status), out, bytes);
    else
        snprintf(out, bytes, "ended with wait status %#x", (unsigned) status);
}

/* A name comes from the program: whole characters, and none that a terminal would obey. */
static void print_name(const char *name, char out[NAME_BYTES])
{
    size_t bytes = strnlen(name, NAME_BYTES);
    if (bytes == NAME_BYTES)
        for (bytes--; bytes > 0 && ((unsigned char) name[bytes] & 0xc0) == 0x80;)
            bytes--;
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char) name[i] < ' ' || name[i] == 0x7f ? '?' : name[i];
    out[bytes] = 0;
}

static void say_snapshot(const struct pl_profile *profile, char *out, size_t bytes)
{
    char name[NAME_BYTES];
    print_name(profile->snapshot_name, name);
    if (*name)
        snprintf(out, bytes, "snapshot `%s` after %.1f s", name, profile->snapshot_s);
    else
        snprintf(out, bytes, "snapshot after %.1f s", profile->snapshot_s);
}

/*
 * The parent's word counts for more than the process's own: a process may say exit and be killed on the way out. Not so
 * after exec: the parent then tells how the next program ended.
 */
void pl_profile_ending(const struct pl_profile *profile, char *out, size_t bytes)
{
    const struct pl_header *header = &profile->header;
    if (profile->snapshot_name)
        say_snapshot(profile, out, bytes);
    else if (header->end == PL_END_EXEC)
        snprintf(out, bytes, "became another program (exec)");
    else if (header->flags & PL_FLAG_WAITED)
        say_wait_status((int) header->wait_status, out, bytes);
    else if (profile->running)
        snprintf(out, bytes, "running");
    else if (header->end == PL_END_EXIT || header->end == PL_END_QUICK)
        snprintf(out, bytes, "exited %u", header->exit_status & 0xff);
    else
        snprintf(out, bytes, "ended without a word");
}
