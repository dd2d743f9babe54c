/* SPDX-License-Identifier: MIT */
/*
 * keys.h - what the keys of `plimsoll top` do: one table, from which help and the hints in the last line come, too.
 *
 * A key changes the screen's state, or asks for something that only the command itself can do.
 */
#ifndef PL_KEYS_H
#define PL_KEYS_H

#include "cli/top/screen.h"

/* Keys besides characters, as the terminal reports them to pl_keys_press(). */
enum pl_key_code {
    PL_KEY_UP = 0x110000,
    PL_KEY_DOWN,
    PL_KEY_LEFT,
    PL_KEY_RIGHT,
    PL_KEY_PAGE_UP,
    PL_KEY_PAGE_DOWN,
    PL_KEY_HOME,
    PL_KEY_END,
    PL_KEY_BACKSPACE,
    PL_KEY_BACK_TAB,
};
#define PL_KEY_ESCAPE 0x1bu
#define PL_KEY_ENTER '\n'

/* What the command is asked to do. */
enum pl_wish { PL_WISH_NOTHING, PL_WISH_QUIT, PL_WISH_REFRESH, PL_WISH_EXPORT, PL_WISH_LIST, PL_WISH_CHOOSE };

#define PL_KEY_IN_TABLE 1u
#define PL_KEY_IN_LIST 2u
#define PL_KEY_ALWAYS 4u /* its hint is always shown */

struct pl_key {
    const char *shown; /* "↑ ↓" */
    uint32_t code[4];  /* 0 ends it */
    const char *hint;  /* in the last line; NULL: only in help */
    const char *help;  /* NULL ends the table */
    unsigned where;
    enum pl_wish (*press)(struct pl_screen *screen, uint32_t code);
};
extern const struct pl_key pl_keys[];

enum pl_wish pl_keys_press(struct pl_screen *screen, uint32_t code);

#endif
