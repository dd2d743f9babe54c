/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - the functions that libFuzzer and a fuzz target call, and helpers of the targets.
 */
#ifndef PL_FUZZ_H
#define PL_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t bytes_max); /* in libFuzzer, or in driver.c */

/* The next of a sequence of random numbers. */
uint64_t fuzz_random(uint64_t *state);

#endif
