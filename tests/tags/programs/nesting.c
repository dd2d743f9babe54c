/* SPDX-License-Identifier: MIT */
/*
 * nesting.c - many tags: deep, wide and with all kinds of names.
 *
 *   nesting ACCOUNT deep        one thread, 100 nested scopes, repeatedly
 *   nesting ACCOUNT wide        four threads, 1,000 tags
 *   nesting ACCOUNT crowd       200 threads at once
 *   nesting ACCOUNT names       names that differ little, and names longer than any buffer
 *   nesting ACCOUNT long        few tags, used for so long that auto mode begins to sample
 */
#include "../../lib/patience.h"
#include "account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEVELS 100
#define ROUNDS 20
#define WIDE 1000
#define CROWD 200
#define LONGEST 100000
#define LONG_TURNS 200000

/* Gives each tag a different number of calls and bytes, so that tags cannot be confused. */
static void allocate_as(unsigned number, unsigned kept_of)
{
    for (unsigned i = 0; i <= number % 7; i++) {
        struct held block = take((enum account_function)((number + i) % ACCOUNT_FUNCTIONS), 10 + 3 * number + i);
        if (!kept_of || i % kept_of)
            give(block);
    }
}

static void push_number(const char *format, unsigned number)
{
    char name[64];
    snprintf(name, sizeof name, format, number);
    push(name);
}

static void go_down(void)
{
    account_follow_peak();
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned level = 0; level < LEVELS; level++) {
            push_number(level % 2 ? "level %u" : "same", level);
            allocate_as(level + round, 3);
        }
        for (unsigned level = 0; level < LEVELS; level++) {
            allocate_as(level, 0);
            pop();
        }
        allocate_as(round, 2);
    }
}

static void go_wide(unsigned thread)
{
    for (unsigned number = 0; number < WIDE; number++) {
        push_number("tag %u", (number * 7 + thread) % WIDE);
        allocate_as(number + thread, 4);
        pop();
    }
}

static void crowd(unsigned thread)
{
    push("common");
    allocate_as(thread, 2);
    push_number("thread %u", thread);
    allocate_as(thread + 1, 2);
    push("common");
    allocate_as(thread + 2, 2);
    pop();
    pop();
    crew_meet();
    allocate_as(thread + 3, 2);
    pop();
    allocate_as(thread + 4, 2);
}

static const char *const plain_names[] = {
    "Func",
    "FuncLong",
    "Fun",
    "func",
    "Func ",
    "a/b",
    "a",
    "b",
    "",
    " ",
    "größe",
    "o\xcc\x88",
    "日本語",
    "\"quoted\"",
    "it's",
    "back\\slash",
    "two\nlines",
    "tab\tbed",
    "\x01",
    "\xff\xfe not UTF-8",
    "<b>&amp;</b>",
    "%s%n",
    "(off)",
    "(paused)",
    "(other sizes)",
    "-",
    "std::vector<int>::push_back(int const&)",
};

static void use(const char *name, unsigned number)
{
    push(name);
    allocate_as(number, 2);
    pop();
}

static void use_all_names(unsigned number, char *name)
{
    static const unsigned lengths[] = {1023, 1024, 4095, 4096, 4097, 8192, 8193, 20000, 65536, LONGEST};
    for (unsigned i = 0; i < sizeof plain_names / sizeof *plain_names; i++)
        use(plain_names[i], number + i);
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memset(name, 'x', lengths[i]);
        name[lengths[i]] = 0;
        for (char last = 'a'; last <= 'c'; last++) {
            name[lengths[i] - 1] = last;
            use(name, number + 3 * i + (unsigned) last);
        }
    }
}

/* "a/b" and "b" inside "a"; the same names under different parents. */
static void use_names(unsigned number)
{
    static char name[3][LONGEST + 1];
    push("a");
    use("b", number);
    allocate_as(number + 1, 2);
    pop();
    use_all_names(number + 2, name[number]);
    push("Func");
    push("Func");
    use("Func", number + 3);
    use("FuncLong", number + 4);
    pop();
    pop();
    push("FuncLong");
    use("Func", number + 5);
    pop();
}

static void go_on_for_long(void)
{
    static const char *const names[] = {"parse", "index", "cache", "Func", "FuncLong"};
    plimsoll_tag prepared[5];
    uint32_t tag[5];
    for (unsigned i = 0; i < 5; i++) {
        prepared[i] = plimsoll_prepare(names[i]);
        tag[i] = account_tag_below(0, names[i], strlen(names[i]), TAG_NAMED);
    }
    for (unsigned i = 0; i < LONG_TURNS; i++) {
        plimsoll_enter(prepared[i % 5]);
        account_entered(tag[i % 5]);
        for (unsigned k = 0; k < 16; k++)
            give(take((enum account_function)(k % ACCOUNT_FUNCTIONS), 16 + (i + k) % 300));
        pop();
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    alarm(PATIENCE_S);
    account_open(argv[1]);
    if (strcmp(argv[2], "deep") == 0)
        go_down();
    if (strcmp(argv[2], "wide") == 0)
        crew_run(1, 4, go_wide);
    if (strcmp(argv[2], "crowd") == 0)
        crew_run(1, CROWD, crowd);
    if (strcmp(argv[2], "long") == 0)
        go_on_for_long();
    if (strcmp(argv[2], "names") == 0)
        crew_run(1, 2, use_names);
    return 0;
}
