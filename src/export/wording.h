/* SPDX-License-Identifier: MIT */
/*
 * wording.h - texts that several text formats have in common: command lines, frames, files, names.
 *
 * The caller frees all texts and arrays.
 */
#ifndef PL_WORDING_H
#define PL_WORDING_H

#include "export/flat.h"

/* The command line, with blanks between the arguments, on one line. */
char *pl_wording_command(const struct pl_profile *profile);

/*
 * A frame as valgrind prints it: "0x1095D3: main (src/main.c:12)", "0x2F10: ??? (in /usr/lib/libfoo.so)". A line that
 * is not code is printed as its name only. Names come unchanged from the program, so the caller must clean or quote the
 * text. `brief`: only the last part of the file's path.
 */
char *pl_wording_frame(const struct pl_flat *flat, uint32_t line, uint64_t address, bool brief);

/* For each line of `flat`: one of its addresses; 0 if it is not code. */
uint64_t *pl_wording_addresses(const struct pl_flat *flat);

/* For each function of `flat`: the first function in the same file. */
uint32_t *pl_wording_files(const struct pl_flat *flat);

/* The names of functions as a text format writes them: each cleaned once, when it is first needed, however many stacks
 * it is in. */
struct pl_wording_names {
    const struct pl_flat *flat;
    void (*tame)(char *name); /* replaces what the format cannot have in a clean name (label.h); NULL: nothing */
    char **name;              /* by function; NULL: not needed yet */
};

struct pl_wording_names pl_wording_names_new(const struct pl_flat *flat, void (*tame)(char *name));
void pl_wording_names_free(struct pl_wording_names *names);

/* The name of a line's function. */
const char *pl_wording_name(struct pl_wording_names *names, uint32_t line);

#endif
