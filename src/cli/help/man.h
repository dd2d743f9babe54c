/* SPDX-License-Identifier: MIT */
/*
 * man.h - manual pages, printed from the tables of commands, options and topics, for scdoc.
 */
#ifndef PL_MAN_H
#define PL_MAN_H

#include "cli/option.h"

/* The page of a command, plimsoll-COMMAND(1), on stdout; NULL: plimsoll(1). */
void pl_man_print(const struct pl_command *command);

#endif
