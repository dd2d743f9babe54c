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

/* The kinds of settings: the type that reads their option, which takes a value unless it is a flag. */
#define PL_SETTING_VALUE(type_, takes_, fallback_) .type = &pl_type_##type_, .takes = takes_, .fallback = fallback_
#define PL_SETTING_KIND_SAMPLE(takes_, fallback_) PL_SETTING_VALUE(sample, takes_, fallback_)
#define PL_SETTING_KIND_PATTERN(takes_, fallback_) PL_SETTING_VALUE(pattern, takes_, fallback_)
#define PL_SETTING_KIND_NAMES(takes_, fallback_) PL_SETTING_VALUE(names, takes_, fallback_)
#define PL_SETTING_KIND_TEXT(takes_, fallback_) PL_SETTING_VALUE(text, takes_, fallback_)
#define PL_SETTING_KIND_SIZE(takes_, fallback_) PL_SETTING_VALUE(size, takes_, fallback_)
#define PL_SETTING_KIND_COUNT(takes_, fallback_) PL_SETTING_VALUE(count, takes_, fallback_)
#define PL_SETTING_KIND_TIME(takes_, fallback_) PL_SETTING_VALUE(time, takes_, fallback_)
#define PL_SETTING_KIND_BUDGET(takes_, fallback_) PL_SETTING_VALUE(budget, takes_, fallback_)
#define PL_SETTING_KIND_FLAG(takes_, fallback_) .type = &pl_type_flag

/* A row of a command's table of options. The command has a static `given` with `const char *setting[PL_SETTING_COUNT]`.
 * RUN is what we tell the runtime, and not for users. */
#define PL_SETTING_LETTER(setting) ((setting) == PL_SETTING_SAMPLE ? 's' : (setting) == PL_SETTING_OUT ? 'o' : 0)
#define PL_SETTING_ROW(setting_, variable_, option_, kind_, least_, most_, example_, takes_, fallback_, help_)         \
    {.name = option_,                                                                                                  \
     .letter = PL_SETTING_LETTER(PL_SETTING_##setting_),                                                               \
     .variable = variable_,                                                                                            \
     .help = help_,                                                                                                    \
     .raw = PL_SETTING_##setting_ == PL_SETTING_RUN ? NULL : &given.setting[PL_SETTING_##setting_],                    \
     .min = least_,                                                                                                    \
     .max = most_,                                                                                                     \
     .example = example_,                                                                                              \
     PL_SETTING_KIND_##kind_(takes_, fallback_)},

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
