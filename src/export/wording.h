/* SPDX-License-Identifier: MIT */
/*
 * wording.h - what valgrind's formats and heaptrack's say in the same words: command lines, frames, files.
 *
 * Texts and arrays belong to the caller, who frees them.
 */
#ifndef PL_WORDING_H
#define PL_WORDING_H

#include "flat.h"

/* The words of the command, with blanks between them, on one line. */
char *pl_wording_command(const struct pl_profile *profile);

/*
 * Valgrind's way to write a frame: "0x1095D3: main (src/main.c:12)", "0x2F10: ??? (in /usr/lib/libfoo.so)". What is not
 * code is its name and nothing else. Names are as programs have them: whoever writes the text cleans or quotes it.
 * Brief: of the file only the last part of its path.
 */
char *pl_wording_frame(const struct pl_flat *flat, uint32_t line, uint64_t address, bool brief);

/* By line of the flat: an address that it is at, one of many perhaps; 0 for what is not code. */
uint64_t *pl_wording_addresses(const struct pl_flat *flat);

/* By function of the flat: the first function that is in the same file. */
uint32_t *pl_wording_files(const struct pl_flat *flat);

#endif
