/* SPDX-License-Identifier: MIT */
/*
 * browser.h - shows an address to the user: in their browser, or as a command to type.
 */
#ifndef PL_BROWSER_H
#define PL_BROWSER_H

#include <stdbool.h>
#include <stdint.h>

/* Is there a display here to open a browser on? */
bool pl_browser_here(void);

/* Starts $BROWSER, or the desktop's default, detached and without output. Every user of the machine can see the address
 * in its command line, so it must be useless to others. */
void pl_browser_open(const char *url);

/* The command that forwards a port of this machine to the one that the user has logged in from: "ssh -L ..."; NULL: not
 * an SSH session. The caller frees it. */
char *pl_browser_tunnel(uint16_t port);

#endif
