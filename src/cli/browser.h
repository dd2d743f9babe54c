/* SPDX-License-Identifier: MIT */
/*
 * browser.h - how a person gets to see an address: in their browser, or by what they have to type.
 */
#ifndef PL_BROWSER_H
#define PL_BROWSER_H

#include <stdbool.h>
#include <stdint.h>

/* There is a screen here to open a browser on. */
bool pl_browser_here(void);

/* Starts $BROWSER, or what the desktop has for it. It goes on by itself, and what it says is thrown away. Everybody on
 * the machine can read the address: it must be of no use to others. */
void pl_browser_open(const char *url);

/* The command that brings a port of this machine to the one that somebody has logged in from: "ssh -L ..."; NULL:
 * nobody has. The caller frees it. */
char *pl_browser_tunnel(uint16_t port);

#endif
