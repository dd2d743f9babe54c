/* SPDX-License-Identifier: MIT */
/*
 * parse.c - cuts files into lines and lines into words. Each word is a string of its own for as long as it takes to
 * hand it over: many calls, few bytes, nothing kept.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "indexer.h"

#define WORD_MIN 3

void *need(void *memory)
{
    if (!memory) {
        fputs("indexer: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static char *lower_word(const char *from, size_t bytes)
{
    char *word = need(strndup(from, bytes));
    for (char *c = word; *c; c++)
        *c = (char) tolower((unsigned char) *c);
    return word;
}

static size_t word_bytes(const char *text)
{
    size_t bytes = 0;
    while (isalnum((unsigned char) text[bytes]) || text[bytes] == '_')
        bytes++;
    return bytes;
}

static void parse_line(struct index *index, const char *path, const char *line)
{
    for (const char *at = line; *at;) {
        size_t bytes = word_bytes(at);
        if (bytes >= WORD_MIN) {
            char *word = lower_word(at, bytes);
            index_add_term(index, word, path, line);
            free(word);
        }
        at += bytes ? bytes : 1;
    }
}

int parse_file(struct index *index, const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        parse_line(index, path, line);
    }
    free(line);
    fclose(file);
    return 1;
}
