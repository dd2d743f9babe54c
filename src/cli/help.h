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

void pl_help_overview(FILE *out);
void pl_help_command(const struct pl_command *command, FILE *out);

#endif
