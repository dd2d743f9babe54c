/* SPDX-License-Identifier: MIT */
/*
 * callers.c - functions of libc that allocate: each of them does so deep inside of libc.
 */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static void *volatile kept[64];

NOINLINE static void print_text(int i)
{
    char *text = NULL;
    if (asprintf(&text, "%01000d", i) > 0)
        kept[i % 16] = text;
}

NOINLINE static void read_lines(int i)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && getline(&line, &room, file) > 0)
        ;
    if (file)
        fclose(file);
    kept[16 + i % 16] = line;
}

NOINLINE static void copy_text(int i)
{
    kept[32 + i % 16] = strdup("a text that is copied");
}

NOINLINE static void compile_pattern(int i)
{
    static regex_t patterns[16];
    if (regcomp(&patterns[i % 16], "a(b|c)*d[0-9]+", REG_EXTENDED))
        abort();
}

int main(void)
{
    for (int i = 0; i < 100; i++) {
        print_text(i);
        read_lines(i);
        copy_text(i);
        compile_pattern(i);
    }
    return 0;
}
