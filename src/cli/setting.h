/* SPDX-License-Identifier: MIT */
/*
 * setting.h - the settings of the runtime as options of `run` and as environment variables.
 *
 * Both are read by the same types, so what the command line accepts the environment accepts. The runtime ignores what
 * it does not understand, and may not print; whoever typed it hears of it here.
 */
#ifndef PL_SETTING_H
#define PL_SETTING_H

#include "option.h"
#include "settings.h"

/* A variable for the CLI alone: the runtime library to preload. */
#define PL_LIBRARY_VARIABLE "PLIMSOLL_LIBRARY"

/* Another one: the directory of the glibc with the profiler inside. */
#define PL_GLIBC_VARIABLE "PLIMSOLL_GLIBC"

/* What each setting was given as: by option, else by environment; NULL: not at all. */
struct pl_setting_values {
    const char *raw[PL_SETTING_COUNT];
    uint64_t number[PL_SETTING_COUNT]; /* for sizes and numbers; not for words */
};

/* Takes over from the environment what no option has set, and warns of variables that are not understood. */
void pl_setting_read_environment(const struct pl_option *options);

/* Puts one setting into the environment of the program to be, in the plainest spelling; NULL removes it. */
void pl_setting_export(enum pl_setting setting, const char *text);

/* The same for a variable of the profiler inside glibc. A tunable that means the same would win, so it goes. */
void pl_setting_export_glibc(enum pl_glibc_setting setting, const char *text);

const char *pl_setting_variable(enum pl_setting setting);

#endif
