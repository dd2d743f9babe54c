/* SPDX-License-Identifier: MIT */
/*
 * stepped.c - a signal handler runs at each instruction of plimsoll_push() and plimsoll_pop(), or of another function,
 * and does what handlers may do.
 *
 *   stepped ACCOUNT ACTION TAGS [DIRECTORY]
 *
 * It makes TAGS tags first, because tables of many tags are larger than those that a thread begins with. It ends with a
 * message on stderr if something is wrong.
 */
#include "../../lib/patience.h"
#include "step_figures.h"

#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_BYTES 8
#define HANDLER_BYTES 100

static plimsoll_context tag_a;
static uint64_t turns, own_calls, handler_calls;
static struct plimsoll_stats process_before, root_before;
static const char *directory;
static bool allocating, in_child;

/* ---- figures ---- */

struct sums {
    uint64_t process, tags;
};

static int add_calls(void *context, const char *key, uint64_t number)
{
    struct sums *sums = context;
    const char *metric = strrchr(key, '.');
    if (strcmp(key, "process.calls") == 0)
        sums->process = number;
    else if (metric && strcmp(metric, ".calls") == 0 && strncmp(key, "process.", 8) != 0)
        sums->tags += number;
    return 0;
}

static void check_sums(void)
{
    struct sums sums = {0, 0};
    REQUIRE(plimsoll_pairs(add_calls, &sums) == 0);
    same("calls of all tags", sums.tags, sums.process);
}

/* The handler's calls belong to the root, to "A" or to a tag of their own, always with their bytes. */
static void check_figures(void)
{
    struct plimsoll_stats process = of_process(), a = of_tag(tag_a), root = of_tag(0);
    uint64_t calls = process.calls - process_before.calls;
    same("calls", calls, own_calls + handler_calls);
    same("bytes", process.allocated_bytes - process_before.allocated_bytes,
         own_calls * OWN_BYTES + handler_calls * HANDLER_BYTES);
    same("entered A", a.entered, turns);
    REQUIRE(a.calls >= own_calls && a.calls <= calls);
    same("bytes of A", a.allocated_bytes, own_calls * OWN_BYTES + (a.calls - own_calls) * HANDLER_BYTES);
    same("bytes of the root", root.allocated_bytes - root_before.allocated_bytes,
         (root.calls - root_before.calls) * HANDLER_BYTES);
}

/* ---- actions of handlers ---- */

static void act_allocate(void)
{
    free(malloc(HANDLER_BYTES));
    handler_calls++;
}

static void act_push(void)
{
    plimsoll_push("handler");
    act_allocate();
    plimsoll_pop();
}

static void act_push_new_name(void)
{
    char name[32];
    snprintf(name, sizeof name, "new %llu", (unsigned long long) handler_calls);
    plimsoll_push(name);
    act_allocate();
    plimsoll_pop();
}

static void act_write(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/copy", directory);
    REQUIRE(plimsoll_write(path) == 0 && unlink(path) == 0);
}

static void act_fork(void)
{
    pid_t child = fork();
    REQUIRE(child >= 0);
    in_child = child == 0;
}

static void act_reset(void)
{
    plimsoll_reset();
}

/* ---- push and pop ---- */

static void push_and_pop(void)
{
    plimsoll_context before = plimsoll_capture();
    step_begin();
    plimsoll_push("A");
    step_end();
    if (allocating) {
        free(malloc(OWN_BYTES));
        own_calls++;
    }
    step_begin();
    plimsoll_pop();
    step_end();
    turns++;
    same("tag after the turn", plimsoll_capture(), before);
}

static void turn(void)
{
    push_and_pop();
    check_figures();
}

static void wait_for_child(void)
{
    int status;
    if (wait(&status) > 0)
        same("status of the child", (uint64_t) status, 0);
}

/* Parent and child both continue. The child's calls are not in its parent's figures. */
static void turn_of_two(void)
{
    push_and_pop();
    if (in_child) {
        plimsoll_output(0);
        plimsoll_push("child");
        free(malloc(30));
        plimsoll_pop();
        exit(plimsoll_capture() == 0 ? 0 : 9);
    }
    wait_for_child();
    check_figures();
}

static void turn_that_begins_anew(void)
{
    push_and_pop();
    plimsoll_reset();
    plimsoll_push("A");
    free(malloc(OWN_BYTES));
    plimsoll_pop();
    same("calls since", of_process().calls, 1);
    same("calls of A since", of_tag(tag_a).calls, 1);
    same("entered A since", of_tag(tag_a).entered, 1);
}

/* ---- jumps ---- */

static sigjmp_buf out;

static void act_jump(void)
{
    siglongjmp(out, 1);
}

static struct plimsoll_stats since(struct plimsoll_stats now, const struct plimsoll_stats *before)
{
    now.calls -= before->calls;
    now.allocated_bytes -= before->allocated_bytes;
    return now;
}

/* Adopting the tag that was captured before restores it: no call is lost, booked twice, or charged to "A" afterwards. A
 * jump out of the booking itself may charge allocations of "A" to the root. */
static void turn_that_is_jumped_out_of(void)
{
    struct plimsoll_stats a_before = of_tag(tag_a), before = of_tag(0);
    own_calls = 0;
    if (sigsetjmp(out, 1) == 0) {
        step_begin();
        plimsoll_push("A");
        step_end();
        free(malloc(OWN_BYTES));
        own_calls = 1;
        step_begin();
        plimsoll_pop();
        step_end();
    }
    plimsoll_adopt(0);
    free(malloc(HANDLER_BYTES));
    struct plimsoll_stats a = since(of_tag(tag_a), &a_before), root = since(of_tag(0), &before);
    same("calls", a.calls + root.calls, own_calls + 1);
    same("bytes", a.allocated_bytes + root.allocated_bytes, own_calls * OWN_BYTES + HANDLER_BYTES);
    REQUIRE(a.calls <= own_calls);
    REQUIRE(a.allocated_bytes == 0 || a.allocated_bytes == own_calls * OWN_BYTES);
    plimsoll_push("A");
    same("tag when entered again", plimsoll_capture(), tag_a);
    plimsoll_pop();
}

/* ---- copies ---- */

static char copy_path[512];

static void *write_in_thread(void *status)
{
    *(int *) status = plimsoll_write(copy_path);
    return NULL;
}

/* Many programs have a time limit by alarm and longjmp. Afterwards any thread can make the next copy. */
static void turn_that_writes_and_is_jumped_out_of(void)
{
    int status = 1;
    pthread_t thread;
    if (sigsetjmp(out, 1) == 0) {
        step_begin();
        plimsoll_write(copy_path);
        step_end();
    }
    unlink(copy_path);
    same("write", (uint64_t) plimsoll_write(copy_path), 0);
    unlink(copy_path);
    REQUIRE(pthread_create(&thread, NULL, write_in_thread, &status) == 0);
    pthread_join(thread, NULL);
    same("write in another thread", (uint64_t) status, 0);
    unlink(copy_path);
}

/* The parent makes the copy. The child may be refused, and continues. */
static void turn_that_writes_and_forks(void)
{
    step_begin();
    int status = plimsoll_write(copy_path);
    step_end();
    if (in_child) {
        free(malloc(30));
        _exit(0);
    }
    wait_for_child();
    same("write", (uint64_t) status, 0);
    same("copies", (uint64_t) unlink(copy_path), 0);
}

/* ---- resets ---- */

/* The copy has the number of resets: the first turn, which makes no copy, resets once, and each of the others twice. */
static void turn_that_resets(void)
{
    char path[512];
    step_begin();
    plimsoll_reset();
    step_end();
    if (!step_target)
        return;
    snprintf(path, sizeof path, "%s/%llu.plim", directory, (unsigned long long) ++turns);
    same("write", (uint64_t) plimsoll_write(path), 0);
}

/* ---- threads that begin and end ---- */

static pthread_key_t key;

static void *begin_thread(void *unused)
{
    step_begin();
    free(malloc(HANDLER_BYTES));
    step_end();
    plimsoll_push("A");
    free(malloc(OWN_BYTES));
    plimsoll_pop();
    return unused;
}

/* A destructor that sets its key again is called once more. The profiler's destructor runs in between, because of the
 * allocation here. */
static void end_thread_slowly(void *round)
{
    if (round != &key) {
        step_end();
        return;
    }
    pthread_setspecific(key, &turns);
    free(malloc(OWN_BYTES));
    own_calls++;
    step_begin();
}

static void *end_thread(void *unused)
{
    pthread_setspecific(key, &key);
    plimsoll_push("A");
    free(malloc(OWN_BYTES));
    return unused;
}

static void run_thread(void *(*run)(void *) )
{
    pthread_t thread;
    plimsoll_push("crew");
    REQUIRE(pthread_create(&thread, NULL, run, NULL) == 0);
    pthread_join(thread, NULL);
    plimsoll_pop();
    own_calls++;
    turns++;
    struct plimsoll_stats a = of_tag(tag_a);
    same("entered A", a.entered, turns);
    REQUIRE(a.calls >= own_calls && a.calls <= own_calls + handler_calls);
    same("bytes of A", a.allocated_bytes, own_calls * OWN_BYTES + (a.calls - own_calls) * HANDLER_BYTES);
    check_sums();
}

static void turn_of_a_threads_beginning(void)
{
    run_thread(begin_thread);
}

static void turn_of_a_threads_end(void)
{
    run_thread(end_thread);
}

/* ---- running ---- */

static const struct action {
    const char *name;
    void (*act)(void);
    void (*turn)(void);
    long stride, most;
    bool with_and_without; /* runs with and without an allocation in the turn */
} actions[] = {
    {"allocate", act_allocate, turn, 1, ALL_STEPS, true},
    {"push", act_push, turn, 2, ALL_STEPS, true},
    {"push-new-name", act_push_new_name, turn, 2, ALL_STEPS, true},
    {"write", act_write, turn, 3, ALL_STEPS, true},
    {"fork", act_fork, turn_of_two, 3, ALL_STEPS, true},
    {"reset", act_reset, turn_that_begins_anew, 1, ALL_STEPS, true},
    {"jump", act_jump, turn_that_is_jumped_out_of, 1, ALL_STEPS, false},
    {"write-jump", act_jump, turn_that_writes_and_is_jumped_out_of, 4001, ALL_STEPS, false},
    {"write-fork", act_fork, turn_that_writes_and_forks, 4001, ALL_STEPS, false},
    {"reset-reset", act_reset, turn_that_resets, 7, 600, false},
    {"thread-begins", act_push, turn_of_a_threads_beginning, 61, ALL_STEPS, false},
    {"thread-ends", act_push, turn_of_a_threads_end, 17, ALL_STEPS, false},
};

static const struct action *find_action(const char *name)
{
    for (unsigned i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    require(false, "no such action");
    return NULL;
}

static void make_tags(int tags)
{
    for (int i = 0; i < tags; i++) {
        plimsoll_pushf("tag %d", i);
        plimsoll_pop();
    }
    plimsoll_push("A");
    tag_a = plimsoll_capture();
    plimsoll_pop();
    turns = 1;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    const struct action *action = find_action(argv[2]);
    directory = argc > 4 ? argv[4] : "/nowhere";
    snprintf(copy_path, sizeof copy_path, "%s/a copy", directory);
    alarm(PATIENCE_S);
    pthread_key_create(&key, end_thread_slowly);
    make_tags(atoi(argv[3]));
    process_before = of_process();
    root_before = of_tag(0);
    check_sums();
    at_each_step(action->stride, action->most, action->act, action->turn);
    allocating = action->with_and_without;
    if (allocating)
        at_each_step(action->stride, action->most, action->act, action->turn);
    check_sums();
    fprintf(stderr, "%ld steps\n", step_target);
    return 0;
}
