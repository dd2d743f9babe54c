/* SPDX-License-Identifier: MIT */
/*
 * languages.h - stacks of Python programs as their authors think of them.
 *
 * A stack as it was recorded has every frame: those of Python code, those of the interpreter that executes it, and
 * those of libraries in C. Usually the interpreter's are left out where there is Python code; what is left reads like a
 * traceback that goes on into C.
 */
#ifndef PL_LANGUAGES_H
#define PL_LANGUAGES_H

#include "reader/profile.h"

enum pl_languages {
    PL_LANGUAGES_USUAL = 0, /* both, without the interpreter's frames */
    PL_LANGUAGES_PYTHON,    /* frames of Python code only. A stack that has none stays as it is */
    PL_LANGUAGES_NATIVE,    /* native frames only, with the interpreter's */
    PL_LANGUAGES_ALL,       /* as recorded */
};

/* Leaves out frames of a symbolized profile. No figure is lost. Pointers into the profile's frames, stacks and sites
 * are invalid afterwards. */
void pl_languages_choose(struct pl_profile *profile, enum pl_languages languages);

#endif
