/* SPDX-License-Identifier: MIT */
/*
 * control.c - a program that controls what is recorded.
 *
 *   control ACCOUNT stop|begin|pause|reset|crew-reset|crew-reset-later|sample|sizes|output|output-again
 *   control ACCOUNT write|snapshot|due DIRECTORY
 *
 * ACCOUNT.NAME has the account at the time of the copy NAME.
 */
#include "account.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TURNS 30

static const char *account_path, *directory;

static void copy_account(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s.%s", account_path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    REQUIRE(fd >= 0 && write(fd, account, sizeof *account) == (ssize_t) sizeof *account);
    close(fd);
}

/* ---- on and off ---- */

static void stop(void)
{
    plimsoll_stop();
    account_off(true);
    REQUIRE(!plimsoll_active());
}

static void start(void)
{
    plimsoll_start();
    account_off(false);
    REQUIRE(plimsoll_active());
}

static void stop_and_start(void)
{
    push("kept");
    struct held before = take(BY_MALLOC, 1000);
    REQUIRE(plimsoll_active() && plimsoll_loaded());
    for (unsigned i = 0; i < TURNS; i++) {
        stop();
        allocate(20);
        push("entered while off");
        allocate(21);
        start();
        allocate(22);
        stop();
        pop();
        allocate(23);
        start();
        allocate(24);
    }
    stop();
    struct held unknown = take(BY_MALLOC, 500);
    give(before); /* it is recorded, so its free is, too */
    start();
    give(unknown);
    pop();
    allocate(25);
}

/* PLIMSOLL_OFF=1 */
static void begin_stopped(void)
{
    account_off(true);
    REQUIRE(plimsoll_loaded() && !plimsoll_active());
    push("early");
    allocate(10);
    start();
    allocate(20);
    pop();
    allocate(30);
}

static void pause_in(unsigned number)
{
    for (unsigned i = 0; i < TURNS; i++) {
        push("work");
        struct held known = take(BY_MALLOC, 100 + number);
        plimsoll_pause();
        account_paused(true);
        REQUIRE(!plimsoll_active());
        allocate(200);
        plimsoll_pause();
        give(known);
        push("entered while paused");
        allocate(300);
        plimsoll_resume();
        REQUIRE(!plimsoll_active());
        allocate(400);
        plimsoll_resume();
        account_paused(false);
        REQUIRE(plimsoll_active());
        allocate(500);
        pop();
        pop();
        allocate(600);
    }
}

static void pause_some(void)
{
    pause_in(0);
    crew_run(1, 2, pause_in);
}

/* ---- resets ---- */

static void reset(void)
{
    account_follow_peak();
    struct held old[TURNS];
    for (unsigned round = 0; round < 3; round++) {
        push("before");
        for (unsigned i = 0; i < TURNS; i++)
            old[i] = take(BY_MALLOC, 50000 + i);
        push("inside");
        allocate(10);
        plimsoll_reset();
        account_reset();
        for (unsigned i = 0; i < TURNS; i++)
            old[i] = i % 2 ? take_again(old[i], 300) : old[i];
        allocate(20 + round);
        pop();
        for (unsigned i = 0; i < TURNS; i++)
            give(old[i]);
        allocate(30);
        pop();
        push("after");
        allocate(40);
        pop();
        allocate(50);
    }
}

static pthread_barrier_t step;
static bool at_once;

/* Thread 1 resets while the others are idle. The last of them never allocates again. In sampled mode the others see the
 * reset when they next leave or enter a tag. */
static void reset_in_crew(unsigned number)
{
    push("work");
    allocate(100 + number);
    pthread_barrier_wait(&step);
    if (number == 1) {
        plimsoll_reset();
        account_reset();
    }
    pthread_barrier_wait(&step);
    if (number == 4)
        return;
    if (at_once || number == 1)
        allocate(200 + number);
    pop();
    push("more");
    allocate(300);
    pop();
}

static void reset_crew_later(void)
{
    pthread_barrier_init(&step, NULL, 4);
    crew_run(1, 4, reset_in_crew);
}

static void reset_crew(void)
{
    at_once = true;
    reset_crew_later();
}

/* ---- sampling interval and sizes ---- */

static void sample(void)
{
    REQUIRE(plimsoll_sample(2ull << 40) == -EINVAL);
    push("counted");
    for (unsigned i = 0; i < 2000; i++)
        allocate(100);
    pop();
    REQUIRE(plimsoll_sample(2048) == 0);
    push("sampled");
    for (unsigned i = 0; i < 2000; i++)
        allocate(100);
    pop();
    REQUIRE(plimsoll_sample(0) == 0);
    push("as it was");
    for (unsigned i = 0; i < 2000; i++)
        allocate(100);
    pop();
}

static void allocate_sizes(unsigned number)
{
    static const size_t sizes[] = {1, 50, 99, 100, 101, 500, 999, 1000, 1001, 5000, 70000};
    push("sizes");
    for (unsigned i = 0; i < TURNS * 11; i++) {
        if (i % 50 == 0)
            push(i % 100 ? "odd" : "even");
        struct held block = take((enum account_function)(i % ACCOUNT_FUNCTIONS), sizes[i % 11]);
        if (i % 3)
            give(block);
        else if (i % 2)
            give(take_again(block, sizes[(i + number) % 11]));
        if (i % 50 == 40)
            pop();
    }
    pop();
}

static void restrict_sizes(void)
{
    account_follow_peak();
    REQUIRE(plimsoll_sizes(2, 1) == -EINVAL);
    allocate_sizes(0);
    REQUIRE(plimsoll_sizes(100, 1000) == 0);
    account_sizes(100, 1000);
    allocate_sizes(1);
    REQUIRE(plimsoll_sizes(0, UINT64_MAX) == 0);
    account_sizes(0, UINT64_MAX);
    allocate_sizes(2);
}

/* PLIMSOLL_ABOVE=100, PLIMSOLL_BELOW=1000 */
static void restricted_sizes(void)
{
    account_sizes(100, 1000);
    allocate_sizes(0);
    crew_run(1, 2, allocate_sizes);
}

/* ---- copies ---- */

static const char *in_directory(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void write_copies(void)
{
    push("first");
    allocate(10);
    push("inside");
    allocate(20);
    REQUIRE(plimsoll_write(in_directory("first.plim")) == 0);
    copy_account("first");
    REQUIRE(plimsoll_write(in_directory("first.plim")) == -EEXIST);
    REQUIRE(plimsoll_write(in_directory("nowhere/first.plim")) == -ENOENT);
    pop();
    pop();
    push("second");
    allocate(30);
    pop();
    REQUIRE(plimsoll_write(in_directory("second.plim")) == 0);
    copy_account("second");
    allocate(40);
}

static void take_snapshots(void)
{
    push("warm-up");
    allocate(10);
    REQUIRE(plimsoll_snapshot("warm") == 0);
    copy_account("warm");
    pop();
    push("service");
    allocate(20);
    REQUIRE(plimsoll_snapshot("warm") == 0);
    copy_account("again");
    allocate(30);
    REQUIRE(plimsoll_snapshot(NULL) == 0);
    copy_account("numbered");
    pop();
    REQUIRE(plimsoll_snapshot("odd/na me") <= 0);
}

/* Polls until two snapshots were due, or a number of times if none ever is. */
static void poll_for_snapshots(void)
{
    bool ever = getenv("PLIMSOLL_SNAPSHOT_EVERY");
    unsigned taken = 0;
    push("polls");
    for (unsigned i = 0; ever ? taken < 2 : i < 50; i++) {
        allocate(10);
        taken += (unsigned) plimsoll_snapshot_if_due();
        usleep(10000);
    }
    pop();
    char line[16];
    int bytes = snprintf(line, sizeof line, "%u\n", taken);
    REQUIRE(write(1, line, (size_t) bytes) == bytes);
}

static void no_output(void)
{
    push("secret");
    allocate(10);
    pop();
    plimsoll_output(0);
    allocate(20);
}

static void output_again(void)
{
    no_output();
    plimsoll_output(1);
}

static const struct account_mode modes[] = {
    {"stop", stop_and_start}, {"begin", begin_stopped},       {"pause", pause_some},
    {"reset", reset},         {"crew-reset", reset_crew},     {"crew-reset-later", reset_crew_later},
    {"sample", sample},       {"sizes", restrict_sizes},      {"bounds", restricted_sizes},
    {"write", write_copies},  {"snapshot", take_snapshots},   {"due", poll_for_snapshots},
    {"output", no_output},    {"output-again", output_again}, {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    account_path = argv[1];
    directory = argv[argc - 1];
    return account_main(argc, argv, modes);
}
