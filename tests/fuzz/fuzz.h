/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - the names by which libFuzzer and a fuzz target know each other, and what targets have in common.
 */
#ifndef PL_FUZZ_H
#define PL_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t bytes_max); /* libFuzzer's own, or driver.c's */

/* The next of a sequence of random numbers. */
uint64_t fuzz_random(uint64_t *state);

#endif
