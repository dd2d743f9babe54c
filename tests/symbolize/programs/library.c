/* SPDX-License-Identifier: MIT */
/* library.c - a shared library: exported, versioned and local functions, an ifunc, assembly labels, calls by PLT. */
#include <stdlib.h>
#include <string.h>

char *shelf_new(const char *text);
int shelf_weight(const char *shelf);

__attribute__((noinline)) static char *fill(const char *text)
{
    char *shelf = malloc(strlen(text) + 1);
    return shelf ? strcpy(shelf, text) : NULL;
}

char *shelf_new(const char *text)
{
    return fill(text);
}

static int weigh(const char *shelf)
{
    return (int) strlen(shelf);
}

static int (*choose(void))(const char *)
{
    return weigh;
}

int shelf_weight(const char *shelf) __attribute__((ifunc("choose")));

__asm__(".text\n"
        "bare_label:\n"
        "  nop\n"
        "  nop\n"
        "  nop\n"
        "  ret\n"
        ".type with_label,@function\n"
        "with_label:\n"
        "  nop\n"
        "label_inside:\n"
        "  nop\n"
        "  ret\n"
        ".size with_label,.-with_label\n");
