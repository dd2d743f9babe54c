/* SPDX-License-Identifier: MIT */
/*
 * hostile.c - `hostile FILE SOURCE` writes a profile whose names are attacks on the page that shows them: functions,
 * their symbols and files, modules, tags, threads, executable, directory and command line.
 *
 * What would run, sets `window.hacked` or asks for /hacked. Attack N is a function that main calls (100 + N calls of
 * 10 bytes, half of them freed), with the next one inlined into it, in a file, a module, a thread and under a tag of
 * the same name, 0.8 s after the one before. One more function is in the file SOURCE, which exists, so that lines of it
 * are shown.
 */
#include <stdlib.h>
#include <string.h>

#include "forge.h"

#define CALLS 100u
#define SIZE 10u
#define LONG_CHARACTERS 4000
#define APART_NS 800000000ull
#define GHZ 3u
#define TIMELINE_SHIFT 16

static char long_name[LONG_CHARACTERS + 1];

static const char *const attacks[] = {
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "\"><img src=/hacked onerror=window.hacked=3>",
    "' onmouseover='window.hacked=4' style='position:fixed;inset:0",
    "</style></title></textarea></noscript><svg onload=window.hacked=5>",
    "<iframe srcdoc='<script>parent.hacked=6</script>'></iframe><!--",
    "<b>bold</b>&amp;&lt;&#10;]]>-->",
    "javascript:window.hacked=7",
    "data:text/html,<script>window.hacked=8</script>",
    "{{constructor.constructor('window.hacked=9')()}} ${window.hacked=9} <%= 9 %>",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "null",
    "",
    "\\u003cscript\\u003e \\x3c \\",
    "`back` \"double\" 'single' ;{}",
    "two\nlines\r\n\tand a tab",
    "escape \x1b[31m bell \x07 delete \x7f",
    "right to left \xe2\x80\xae gnp.exe \xe2\x81\xa6 isolate \xe2\x80\x8f",
    "separators \xe2\x80\xa8 \xe2\x80\xa9 \xc2\x85 zero\xe2\x80\x8bwidth",
    "not UTF-8: \xff \xc3( \xed\xa0\x80 \xf0\x9f\x98",
    "(.*)+$ [a-z{2,} (?<",
    "#metric=calls&zoom=x%00%3Cscript%3E",
    "日本語の関数 Käse \xf0\x9f\xa7\x80 e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
    long_name,
};
#define ATTACKS (uint32_t)(sizeof attacks / sizeof *attacks)

static uint64_t calls_so_far;

static uint32_t add_attack(struct forge *forge, uint32_t caller, uint32_t number)
{
    const char *name = attacks[number], *other = attacks[(number + 1) % ATTACKS];
    uint32_t module = forge_module(forge, name, 0);
    calls_so_far += CALLS + number;
    return forge_namesake(forge, caller, module, name, other, number, CALLS + number, SIZE);
}

/* What was allocated and held by then. */
static void remember(struct forge *forge, uint32_t number, uint32_t tally)
{
    uint64_t after_ns = (number + 1) * APART_NS;
    struct pl_moment *moment = forge_moment(forge, after_ns);
    moment->allocated_calls = calls_so_far;
    moment->allocated_bytes = calls_so_far * SIZE;
    moment->live_objects = calls_so_far / 2;
    moment->live_bytes = calls_so_far / 2 * SIZE;
    moment->rss_bytes = 2 << 20;
    if (number % 4 == 0)
        forge_holds(forge_snapshot(forge, after_ns), tally, CALLS / 2, CALLS / 2 * SIZE);
}

static void describe(struct forge *forge)
{
    static const char command[] =
        "./<script>window.hacked=10</script>\0\"two\nlines\"\0\xff</title><script>hacked=11</script>";
    static const char executable[] = "/opt/\"><img src=/hacked onerror=window.hacked=12>";
    static const char directory[] = "/home/<svg onload=window.hacked=13>";
    struct pl_header *header = forge_header(forge);
    header->mode = PL_MODE_EXACT;
    header->interval_bytes = 0;
    header->size_to = UINT64_MAX;
    header->end_monotonic_ns = header->start_monotonic_ns + (ATTACKS + 2) * APART_NS;
    header->timeline_shift = TIMELINE_SHIFT;
    header->clock = (struct pl_clock){1000, 1000 + (ATTACKS + 2) * APART_NS * GHZ, header->end_monotonic_ns};
    header->command = forge_text(forge, command, sizeof command);
    header->executable = forge_text(forge, executable, strlen(executable));
    header->directory = forge_text(forge, directory, strlen(directory));
    memcpy(header->comm, "<b>comm</b>\"'&", 15);
}

int main(int argc, char **argv)
{
    static const char *const top[] = {"_start", "main", NULL};
    if (argc != 3)
        return 2;
    struct forge *forge = forge_new();
    describe(forge);
    memset(long_name, 'x', LONG_CHARACTERS);
    long_name[LONG_CHARACTERS - 1] = 'y';

    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t main_frame = forge_stack(forge, module, "src/main.c", top);
    for (uint32_t i = 0; i < ATTACKS; i++)
        remember(forge, i, add_attack(forge, main_frame, i));
    uint32_t thread = forge_thread(forge, "plain", 0, 0);
    uint32_t quoted = forge_frame(forge, main_frame, module, 0x1234);
    forge_symbol(forge, quoted, "quoted", argv[2], 2);
    forge_churn(forge, forge_site(forge, quoted), thread, 0, 5000, SIZE);
    forge_churn(forge, PL_SITE_OVERFLOW, thread, 0, 1, SIZE);
    forge_churn(forge, forge_other_sizes(forge, 0), thread, 0, 30, SIZE);
    int result = forge_write(forge, argv[1]);
    forge_free(forge);
    return result != 0;
}
