/* SPDX-License-Identifier: MIT */
/*
 * advise.h - `report --advice`: what could be done, with the evidence and what it would gain.
 */
#ifndef PL_CLI_ADVISE_H
#define PL_CLI_ADVISE_H

#include "view.h"

void pl_advise_print(const struct pl_view *view);

#endif
