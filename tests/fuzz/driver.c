/* SPDX-License-Identifier: MIT */
/*
 * driver.c - runs a fuzz target without libFuzzer: `fuzz_TARGET_replay SEED ROUNDS FILE...` gives it each file
 * unchanged, and then ROUNDS changed copies of each. It uses no coverage. The same seed gives the same run. The file
 * that FUZZ_KEEP names has the last input: the one that broke the target, if it broke.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define BYTES_MAX (1u << 20)
#define CHANGES 6 /* applied to one copy, at most */

size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t bytes_max)
{
    if (bytes == 0 && bytes_max > 0)
        data[bytes++] = 0;
    if (bytes > 0)
        data[(size_t) rand() % bytes] ^= (uint8_t) (1 << rand() % 8);
    return bytes;
}

static size_t read_whole(const char *path, uint8_t *data)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        perror(path);
        exit(1);
    }
    size_t bytes = fread(data, 1, BYTES_MAX, file);
    fclose(file);
    return bytes;
}

static void keep(const uint8_t *data, size_t bytes)
{
    const char *path = getenv("FUZZ_KEEP");
    FILE *file = path ? fopen(path, "we") : NULL;
    if (!file)
        return;
    fwrite(data, 1, bytes, file);
    fclose(file);
}

/* Runs the target on a copy of exactly this size, so that a sanitizer sees a read beyond the end. */
static void run(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes > 0 ? bytes : 1);
    if (!copy)
        exit(1);
    memcpy(copy, data, bytes);
    keep(data, bytes);
    LLVMFuzzerTestOneInput(copy, bytes);
    free(copy);
}

int main(int argc, char **argv)
{
    static uint8_t original[BYTES_MAX], changed[BYTES_MAX];
    int rounds = argc > 2 ? atoi(argv[2]) : 0;
    srand(argc > 1 ? (unsigned) atoi(argv[1]) : 0);
    for (int i = 3; i < argc; i++) {
        size_t bytes = read_whole(argv[i], original);
        run(original, bytes);
        for (int round = 0; round < rounds; round++) {
            size_t now = bytes;
            memcpy(changed, original, bytes);
            for (int change = 0; change <= round % CHANGES; change++)
                now = LLVMFuzzerCustomMutator(changed, now, BYTES_MAX, (unsigned) rand());
            run(changed, now);
        }
        printf("%s: %d changed copies read or refused\n", argv[i], rounds);
    }
    return argc > 3 ? 0 : 2;
}
