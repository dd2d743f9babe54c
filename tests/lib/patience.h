/* SPDX-License-Identifier: MIT */
/*
 * patience.h - how many seconds tests wait for other processes. See patience.py.
 *
 *     alarm(PATIENCE_S);     ends a program that its test might not be able to end
 */
#ifndef PATIENCE_H
#define PATIENCE_H

#define PATIENCE_S 240

#endif
