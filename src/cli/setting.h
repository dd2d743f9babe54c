/* SPDX-License-Identifier: MIT */
/*
 * setting.h - the settings of the runtime as options of `run` and as environment variables.
 *
 * Both use the same types, so the environment accepts what the command line accepts. The runtime ignores values that it
 * does not understand and may not print anything; so `run` warns of them.
 */
#ifndef PL_SETTING_H
#define PL_SETTING_H

#include "cli/option.h"
#include "format/settings.h"

/* A variable that only the CLI reads: the runtime library to preload. */
#define PL_LIBRARY_VARIABLE "PLIMSOLL_LIBRARY"

/* Another one: the directory of the glibc that contains the profiler. */
#define PL_GLIBC_VARIABLE "PLIMSOLL_GLIBC"

/* Reads settings that no option has set from the environment, and warns of values and variables that it does not
 * understand. */
void pl_setting_read_environment(const struct pl_option *options);

/* The value that a valid text has for an option whose type is a number. */
uint64_t pl_setting_number(const struct pl_option *option, const char *text);

/* Puts one setting into the environment of the program that will run; NULL removes it. export_number: sizes, times and
 * counts in the unit that the runtime reads, everything else as it was typed. */
void pl_setting_export(enum pl_setting setting, const char *text);
void pl_setting_export_number(enum pl_setting setting, const struct pl_option *option, const char *text);

/* The same for a variable of the profiler inside glibc. Removes the tunable of the same meaning, which would override
 * it. */
void pl_setting_export_glibc(enum pl_glibc_setting setting, const char *text);

#endif
