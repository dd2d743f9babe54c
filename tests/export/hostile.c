/* SPDX-License-Identifier: MIT */
/*
 * hostile.c - `hostile FILE` writes a profile in which everything has names that somebody might stumble over:
 * functions, their symbols and files, modules, tags, threads, the command line. Quotes, separators of each format,
 * ends of lines, markup, formulas, what is not UTF-8, 4,000 characters.
 *
 * Every name is called from main, as function N (100 + N calls of 10 bytes, half of them freed) with another one
 * inlined into it, in a file of that name, under a tag of that name, in a thread of that name. Beside them there are a
 * stack without any names, in a module with a bad one, one allocation without a stack, and blocks of sizes that were
 * not wanted.
 */
#include <stdlib.h>
#include <string.h>

#include "forge.h"

#define CALLS 100u
#define SIZE 10u
#define LONG_CHARACTERS 4000

static char long_name[LONG_CHARACTERS + 1];

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
#define NAMES (sizeof names / sizeof *names)

int main(int argc, char **argv)
{
    static const char command[] = "./example\0\"two\nlines\"\0\xff<script>";
    static const char *const top[] = {"_start", "main", NULL};
    struct forge *forge = forge_new();
    struct pl_header *header = forge_header(forge);
    header->mode = PL_MODE_EXACT;
    header->interval_bytes = 0;
    header->size_to = UINT64_MAX;
    header->command = forge_text(forge, command, sizeof command);
    memset(long_name, 'x', LONG_CHARACTERS);
    long_name[LONG_CHARACTERS - 1] = 'y';

    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t odd = forge_module(forge, "/opt/\"odd\"\n<lib>;\xff=\\.so", 0xcd);
    uint32_t main_frame = forge_stack(forge, module, "src/main.c", top);
    for (uint32_t i = 0; i < NAMES; i++)
        forge_namesake(forge, main_frame, module, names[i], names[(i + 1) % NAMES], i, CALLS + i, SIZE);
    uint32_t thread = forge_thread(forge, "plain", 0, 0);
    forge_churn(forge, forge_site(forge, forge_frame(forge, main_frame, odd, 0x1234)), thread, 0, 50, SIZE);
    forge_churn(forge, PL_SITE_OVERFLOW, thread, 0, 1, SIZE);
    forge_churn(forge, forge_other_sizes(forge, 0), thread, 0, 30, SIZE);
    int result = argc == 2 ? forge_write(forge, argv[1]) : 2;
    forge_free(forge);
    return result != 0;
}
