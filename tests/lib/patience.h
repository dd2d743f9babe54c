/* SPDX-License-Identifier: MIT */
/*
 * patience.h - how many seconds tests wait for what others do: patience.py says more.
 *
 *     alarm(PATIENCE_S);     in a program that its test may have to leave behind
 */
#ifndef PATIENCE_H
#define PATIENCE_H

#define PATIENCE_S 240

#endif
