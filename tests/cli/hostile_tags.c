/* SPDX-License-Identifier: MIT */
/*
 * hostile_tags.c - `hostile_tags FILE` writes a profile whose tags have names that somebody might stumble over, each in
 * a format of its own: quotes, backslashes, ends of lines, markup, what is not UTF-8 or not a character, 4,000 and 64
 * Ki bytes, nothing at all; the same under a chain of a hundred. Every tag has 100 calls of 10 bytes by itself, all
 * live.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forge.h"

#define DEPTH 100
#define LONG_BYTES 4000
#define LONGEST_BYTES 65536
#define CALLS 100u
#define SIZE 10u

static const char *const names[] = {
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

static uint32_t thread, stack;

static uint32_t add(struct forge *forge, uint32_t parent, const char *name)
{
    uint32_t tag = forge_tag(forge, parent, name);
    struct pl_thread_record *record = forge_thread_at(forge, thread);
    record->calls[PL_FN_MALLOC] += CALLS;
    record->bytes += CALLS * SIZE;
    forge_scope(forge, thread, tag, CALLS, CALLS * SIZE);
    forge_count(forge_tally_at(forge, forge_tally(forge, forge_tagged_site(forge, stack, tag), thread)), CALLS, SIZE);
    return tag;
}

/* A name of so many bytes that tells where it ends. */
static void add_long(struct forge *forge, uint32_t parent, size_t bytes, char last)
{
    char *name = malloc(bytes + 1);
    if (!name)
        abort();
    memset(name, 'x', bytes);
    name[bytes - 1] = last;
    name[bytes] = 0;
    add(forge, parent, name);
    free(name);
}

int main(int argc, char **argv)
{
    struct forge *forge = forge_new();
    uint32_t tag = 0;
    forge_header(forge)->mode = PL_MODE_EXACT;
    forge_header(forge)->interval_bytes = 0;
    thread = forge_thread(forge, "<\"&\\\n\xff>", 0, 0);
    stack = forge_frame(forge, 0, forge_module(forge, "/opt/example/bin/example", 0xab), 0x1000);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add(forge, 0, names[i]);
    add_long(forge, 0, LONG_BYTES, 'a');
    add_long(forge, 0, LONG_BYTES, 'b');
    add_long(forge, 0, LONGEST_BYTES, 'c');
    for (int i = 0; i < DEPTH; i++)
        tag = add(forge, tag, names[i % (sizeof names / sizeof *names)]);
    int result = argc == 2 ? forge_write(forge, argv[1]) : 2;
    forge_free(forge);
    return result != 0;
}
