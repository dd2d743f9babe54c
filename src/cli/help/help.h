/* SPDX-License-Identifier: MIT */
/*
 * help.h - help, printed from the tables of commands, options and topics.
 */
#ifndef PL_HELP_H
#define PL_HELP_H

#include <stdio.h>

#include "cli/option.h"

/* Help on what no single command explains. A row without a name ends the table. */
struct pl_topic {
    const char *name;
    const char *summary;
    const char *text;
};
extern const struct pl_topic pl_topics[];

/* A setting of the runtime, or of the profiler inside glibc, as in settings.h. */
struct pl_help_setting {
    const char *variable, *option, *tunable, *takes, *fallback, *help; /* option and tunable: or NULL */
};

/* The settings that a topic lists; a row without a variable ends them. NULL: the topic lists none. */
const struct pl_help_setting *pl_help_settings(const struct pl_topic *topic);

extern const char pl_help_about[];
extern const char pl_help_first_steps[];

void pl_help_overview(FILE *out);
void pl_help_command(const struct pl_command *command, FILE *out);

#endif
