/* SPDX-License-Identifier: MIT */
/*
 * help.h - help, printed from the tables of commands, options and topics.
 */
#ifndef PL_HELP_H
#define PL_HELP_H

#include <stdio.h>

#include "option.h"

/* Prose on what no single command explains. A row without a name ends the table. */
struct pl_topic {
    const char *name;
    const char *summary;
    const char *text;
};
extern const struct pl_topic pl_topics[];

/* The settings of the runtime, as in settings.h: PL_SETTING_COUNT of them. */
struct pl_help_setting {
    const char *variable, *option, *tunable, *takes, *fallback, *help; /* option and tunable: or NULL */
};

/* The variables that a topic lists, to one without a name; NULL: it is not about any. */
const struct pl_help_setting *pl_help_settings(const struct pl_topic *topic);

extern const char pl_help_about[];
extern const char pl_help_first_steps[];

void pl_help_overview(FILE *out);
void pl_help_command(const struct pl_command *command, FILE *out);

#endif
