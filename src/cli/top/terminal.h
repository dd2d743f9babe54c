/* SPDX-License-Identifier: MIT */
/*
 * terminal.h - shows a canvas on a terminal and reads keys, by ncurses.
 *
 * However the process ends, the terminal is as it was: the command calls pl_terminal_close(), exit() does, and so do
 * signals that end the process, crashes included.
 */
#ifndef PL_TERMINAL_H
#define PL_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/top/canvas.h"

/* False: the terminal cannot do it. */
bool pl_terminal_open(bool colour);
void pl_terminal_close(void);

void pl_terminal_size(int *rows, int *columns);
void pl_terminal_resized(void); /* after SIGWINCH */
void pl_terminal_show(const struct pl_canvas *canvas);

/* The next key, as keys.h names them; 0: there is none. */
uint32_t pl_terminal_key(void);

#endif
