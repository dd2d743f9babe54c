/* SPDX-License-Identifier: MIT */
/*
 * hostile.c - writes profiles whose names are hard to print: `hostile KIND FILE [SOURCE]`.
 *
 *   names     for every format: names of functions, their symbols and files, modules, tags, threads, the command line.
 *             They have quotes, separators of each format, line ends, markup, formulas, bytes that are not UTF-8, 4,000
 *             characters. Name N is that of a function that main calls, of its file, its tag and its thread.
 *   attacks   for the page: the same, and the names of modules, executable and directory. An attack that succeeds sets
 *             `window.hacked` or requests /hacked. Attack N runs 0.8 s after attack N - 1. One more function is in the
 *             file SOURCE, which exists, so that the page shows lines of it.
 *   tags      for pictures and JSON of the tag tree: names of tags, also of 64 KiB, empty, and below a chain of a
 *             hundred tags. Every tag has 100 calls of 10 bytes itself, all live.
 *
 * Function N has 100 + N calls of 10 bytes, half of them freed, and name N + 1 is inlined into it. In addition there
 * are one allocation without a stack, and blocks of sizes that are not recorded by stack.
 */
#include <stdlib.h>
#include <string.h>

#include "forge.h"

#define CALLS 100u
#define SIZE 10u
#define LONG_CHARACTERS 4000
#define COUNT(array) (uint32_t)(sizeof(array) / sizeof *(array))

static char long_name[LONG_CHARACTERS + 1];

/* What all kinds have in common: everything is counted. */
static struct forge *begin(void)
{
    struct forge *forge = forge_new();
    forge_header(forge)->mode = PL_MODE_EXACT;
    forge_header(forge)->interval_bytes = 0;
    memset(long_name, 'x', LONG_CHARACTERS);
    long_name[LONG_CHARACTERS - 1] = 'y';
    return forge;
}

static uint32_t add_main(struct forge *forge, uint32_t module)
{
    static const char *const top[] = {"_start", "main", NULL};
    return forge_stack(forge, module, "src/main.c", top);
}

/* Blocks of the sites that have no stack. */
static void add_stackless(struct forge *forge, uint32_t thread)
{
    forge_churn(forge, PL_SITE_OVERFLOW, thread, 0, 1, SIZE);
    forge_churn(forge, forge_other_sizes(forge, 0), thread, 0, 30, SIZE);
}

/* ---- names ---- */

static const char *const names[] = {
    "\"double\" 'single' `back`",
    "back\\slash \\n \\N \\l \\u0041 and at the end \\",
    "two\nlines\r\n\tand a tab",
    "\n# comment\nfn=(1) x\nsummary: 1\n",
    "<b>bold</b><script>alert(1)</script> ]]> -->",
    "&amp; &lt; &#10; %s %n $HOME ${x}",
    "a;b;c 12",
    "ends in a number 34",
    "=1+1",
    "+cmd|' /C calc'!A0",
    "@sum, \"two\", three",
    "(1) looks like a reference",
    "n0: 12 (heap",
    "escape \x1b[31m bell \x07 delete \x7f",
    "not UTF-8: \xff \xc3( \xed\xa0\x80 \xf0\x9f\x98",
    "not characters: \xef\xbf\xbe \xef\xbf\xbf \xc2\x85 \xe2\x80\xa8",
    "日本語の関数 Käse \xf0\x9f\xa7\x80",
    " blanks around ",
    long_name,
};

static void write_names(struct forge *forge, const char *source)
{
    static const char command[] = "./example\0\"two\nlines\"\0\xff<script>";
    (void) source;
    forge_header(forge)->size_to = UINT64_MAX;
    forge_header(forge)->command = forge_text(forge, command, sizeof command);
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t odd = forge_module(forge, "/opt/\"odd\"\n<lib>;\xff=\\.so", 0xcd);
    uint32_t main_frame = add_main(forge, module);
    for (uint32_t i = 0; i < COUNT(names); i++)
        forge_namesake(forge, main_frame, module, names[i], names[(i + 1) % COUNT(names)], i, CALLS + i, SIZE);
    uint32_t thread = forge_thread(forge, "plain", 0, 0);
    forge_churn(forge, forge_site(forge, forge_frame(forge, main_frame, odd, 0x1234)), thread, 0, 50, SIZE);
    add_stackless(forge, thread);
}

/* ---- attacks ---- */

#define APART_NS 800000000ull
#define GHZ 3u
#define TIMELINE_SHIFT 16

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
#define ATTACKS COUNT(attacks)

static uint32_t add_attack(struct forge *forge, uint32_t caller, uint32_t number)
{
    const char *name = attacks[number], *other = attacks[(number + 1) % ATTACKS];
    uint32_t module = forge_module(forge, name, 0);
    return forge_namesake(forge, caller, module, name, other, number, CALLS + number, SIZE);
}

/* Records the totals at this time and, after every fourth attack, who held the heap. */
static void remember(struct forge *forge, uint32_t number, uint64_t calls, uint32_t tally)
{
    uint64_t after_ns = (number + 1) * APART_NS;
    struct pl_moment *moment = forge_moment(forge, after_ns);
    moment->allocated_calls = calls;
    moment->allocated_bytes = calls * SIZE;
    moment->live_objects = calls / 2;
    moment->live_bytes = calls / 2 * SIZE;
    moment->rss_bytes = 2 << 20;
    if (number % 4 == 0)
        forge_holds(forge_composition(forge, after_ns), tally, CALLS / 2, CALLS / 2 * SIZE);
}

static void describe_attack(struct forge *forge)
{
    static const char command[] =
        "./<script>window.hacked=10</script>\0\"two\nlines\"\0\xff</title><script>hacked=11</script>";
    static const char executable[] = "/opt/\"><img src=/hacked onerror=window.hacked=12>";
    static const char directory[] = "/home/<svg onload=window.hacked=13>";
    struct pl_header *header = forge_header(forge);
    header->end_monotonic_ns = header->start_monotonic_ns + (ATTACKS + 2) * APART_NS;
    header->timeline_shift = TIMELINE_SHIFT;
    header->clock = (struct pl_clock){1000, 1000 + (ATTACKS + 2) * APART_NS * GHZ, header->end_monotonic_ns};
    header->command = forge_text(forge, command, sizeof command);
    header->executable = forge_text(forge, executable, strlen(executable));
    header->directory = forge_text(forge, directory, strlen(directory));
    memcpy(header->comm, "<b>comm</b>\"'&", 15);
}

static void write_attacks(struct forge *forge, const char *source)
{
    uint64_t calls = 0;
    forge_header(forge)->size_to = UINT64_MAX;
    describe_attack(forge);
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t main_frame = add_main(forge, module);
    for (uint32_t i = 0; i < ATTACKS; i++) {
        uint32_t tally = add_attack(forge, main_frame, i);
        calls += CALLS + i;
        remember(forge, i, calls, tally);
    }
    uint32_t thread = forge_thread(forge, "plain", 0, 0);
    uint32_t quoted = forge_frame(forge, main_frame, module, 0x1234);
    forge_symbol(forge, quoted, "quoted", source, 2);
    forge_churn(forge, forge_site(forge, quoted), thread, 0, 5000, SIZE);
    add_stackless(forge, thread);
}

/* ---- tags ---- */

#define DEPTH 100u
#define LONGEST_BYTES 65536

static const char *const tags[] = {
    "\"double\" 'single' `back`",
    "back\\slash \\N \\G \\l \\\\ and at the end \\",
    "two\nlines\r\n\tand a tab",
    "<b>bold</b><script>alert(1)</script> ]]> -->",
    "&amp; &lt; &#10; &nbsp; %s %n $HOME",
    "escape \x1b[31m bell \x07 delete \x7f",
    "not UTF-8: \xff \xc3( \xed\xa0\x80 \xf0\x9f\x98",
    "not characters: \xef\xbf\xbe \xef\xbf\xbf \xc2\x85",
    "日本語のタグ Käse \xf0\x9f\xa7\x80",
    "a/b",
    "",
};

struct tagged {
    struct forge *forge;
    uint32_t thread, stack;
};

static uint32_t add_tag(const struct tagged *to, uint32_t parent, const char *name)
{
    struct forge *forge = to->forge;
    uint32_t tag = forge_tag(forge, parent, name);
    struct pl_thread_record *record = forge_thread_at(forge, to->thread);
    record->calls[PL_FN_MALLOC] += CALLS;
    record->bytes += CALLS * SIZE;
    forge_scope(forge, to->thread, tag, CALLS, CALLS * SIZE);
    forge_count(forge_tally_at(forge, forge_tally(forge, forge_tagged_site(forge, to->stack, tag), to->thread)), CALLS,
                SIZE);
    return tag;
}

/* A name of this many bytes, all x but the last character. */
static void add_long(const struct tagged *to, uint32_t parent, size_t bytes, char last)
{
    char *name = malloc(bytes + 1);
    if (!name)
        abort();
    memset(name, 'x', bytes);
    name[bytes - 1] = last;
    name[bytes] = 0;
    add_tag(to, parent, name);
    free(name);
}

static void write_tags(struct forge *forge, const char *source)
{
    struct tagged to = {.forge = forge, .thread = forge_thread(forge, "<\"&\\\n\xff>", 0, 0)};
    uint32_t tag = 0;
    (void) source;
    to.stack = forge_frame(forge, 0, forge_module(forge, "/opt/example/bin/example", 0xab), 0x1000);
    for (uint32_t i = 0; i < COUNT(tags); i++)
        add_tag(&to, 0, tags[i]);
    add_long(&to, 0, LONG_CHARACTERS, 'a');
    add_long(&to, 0, LONG_CHARACTERS, 'b');
    add_long(&to, 0, LONGEST_BYTES, 'c');
    for (uint32_t i = 0; i < DEPTH; i++)
        tag = add_tag(&to, tag, tags[i % COUNT(tags)]);
}

static const struct kind {
    const char *name;
    int arguments;
    void (*write)(struct forge *forge, const char *source);
} kinds[] = {{"names", 3, write_names}, {"attacks", 4, write_attacks}, {"tags", 3, write_tags}};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (argc != kinds[i].arguments || strcmp(argv[1], kinds[i].name))
            continue;
        struct forge *forge = begin();
        kinds[i].write(forge, argc == 4 ? argv[3] : NULL);
        int result = forge_write(forge, argv[2]);
        forge_free(forge);
        return result != 0;
    }
    return 2;
}
