/* SPDX-License-Identifier: MIT */
/*
 * base64.c - a stream that encodes in base64 everything written to it.
 *
 * Three bytes become four letters. One or two bytes left over from a write wait for the next one, so padding occurs at
 * the end only.
 */
#include "page/base64.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "reader/base/grow.h"

#define GROUP_BYTES 3u
#define GROUP_LETTERS 4u
#define PIECE_GROUPS 4096u

struct base64 {
    FILE *out;
    unsigned char rest[GROUP_BYTES];
    size_t rests;
    char letter[PIECE_GROUPS * GROUP_LETTERS];
};

static void spell(const unsigned char byte[GROUP_BYTES], char letter[GROUP_LETTERS])
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = (unsigned) byte[0] << 16 | (unsigned) byte[1] << 8 | byte[2];
    for (unsigned i = 0; i < GROUP_LETTERS; i++)
        letter[i] = alphabet[bits >> (18 - 6 * i) & 63];
}

static void write_groups(struct base64 *base64, const unsigned char *from, size_t groups)
{
    while (groups > 0) {
        size_t part = groups < PIECE_GROUPS ? groups : PIECE_GROUPS;
        for (size_t i = 0; i < part; i++)
            spell(from + i * GROUP_BYTES, base64->letter + i * GROUP_LETTERS);
        fwrite(base64->letter, GROUP_LETTERS, part, base64->out);
        from += part * GROUP_BYTES;
        groups -= part;
    }
}

static ssize_t write_bytes(void *cookie, const char *data, size_t bytes)
{
    struct base64 *base64 = cookie;
    const unsigned char *from = (const unsigned char *) data, *end = from + bytes;
    while (base64->rests > 0 && base64->rests < GROUP_BYTES && from < end)
        base64->rest[base64->rests++] = *from++;
    if (base64->rests == GROUP_BYTES) {
        write_groups(base64, base64->rest, 1);
        base64->rests = 0;
    }
    size_t groups = (size_t) (end - from) / GROUP_BYTES;
    write_groups(base64, from, groups);
    for (from += groups * GROUP_BYTES; from < end;)
        base64->rest[base64->rests++] = *from++;
    return ferror(base64->out) ? 0 : (ssize_t) bytes;
}

static int finish(void *cookie)
{
    struct base64 *base64 = cookie;
    if (base64->rests > 0) {
        memset(base64->rest + base64->rests, 0, GROUP_BYTES - base64->rests);
        spell(base64->rest, base64->letter);
        memset(base64->letter + base64->rests + 1, '=', GROUP_BYTES - base64->rests);
        fwrite(base64->letter, 1, GROUP_LETTERS, base64->out);
    }
    free(base64);
    return 0;
}

FILE *pl_base64_open(FILE *out)
{
    struct base64 *base64 = pl_grow_zeroed(1, sizeof *base64);
    base64->out = out;
    FILE *stream = fopencookie(base64, "w", (cookie_io_functions_t){.write = write_bytes, .close = finish});
    return pl_grow_check(stream, 1, sizeof *base64);
}
