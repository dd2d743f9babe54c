/* SPDX-License-Identifier: MIT */
/* keys.c - see keys.h. */
#include "cli/top/keys.h"

#include <string.h>

#define INTERVAL_MIN_S 0.25
#define INTERVAL_MAX_S 60.0

static enum pl_wish move(struct pl_screen *screen, uint32_t code)
{
    int page = screen->page > 1 ? screen->page - 1 : 1;
    int rows = code == PL_KEY_UP || code == 'k'     ? -1
               : code == PL_KEY_DOWN || code == 'j' ? 1
               : code == PL_KEY_PAGE_UP             ? -page
               : code == PL_KEY_PAGE_DOWN           ? page
               : code == PL_KEY_HOME                ? -(1 << 30)
                                                    : 1 << 30;
    if (screen->model || screen->listing)
        pl_screen_move(screen, rows);
    return PL_WISH_NOTHING;
}

static void begin_table(struct pl_screen *screen)
{
    screen->first = 0;
    screen->cursor = PL_ATLAS_NONE;
}

static enum pl_wish group(struct pl_screen *screen, uint32_t code)
{
    unsigned step = code == PL_KEY_BACK_TAB ? PL_BY_COUNT - 1 : 1;
    screen->by = code >= '1' && code <= '4' ? (enum pl_model_by)(code - '1')
                                            : (enum pl_model_by)((screen->by + step) % PL_BY_COUNT);
    begin_table(screen);
    return PL_WISH_NOTHING;
}

static enum pl_wish order(struct pl_screen *screen, uint32_t code)
{
    unsigned step = code == PL_KEY_LEFT || code == '<' ? PL_COLUMN_COUNT - 1 : 1;
    screen->order = (enum pl_model_column)((screen->order + step) % PL_COLUMN_COUNT);
    screen->reversed = false;
    begin_table(screen);
    return PL_WISH_NOTHING;
}

static enum pl_wish reverse(struct pl_screen *screen, uint32_t code)
{
    (void) code;
    screen->reversed = !screen->reversed;
    begin_table(screen);
    return PL_WISH_NOTHING;
}

static enum pl_wish filter(struct pl_screen *screen, uint32_t code)
{
    (void) code;
    screen->typing = true;
    return PL_WISH_NOTHING;
}

static enum pl_wish enter(struct pl_screen *screen, uint32_t code)
{
    (void) code;
    if (screen->listing)
        return screen->listed_count ? PL_WISH_CHOOSE : PL_WISH_NOTHING;
    pl_screen_move(screen, 0); /* to the first row, if the table has not been drawn yet */
    pl_screen_toggle(screen);
    return PL_WISH_NOTHING;
}

static enum pl_wish freeze(struct pl_screen *screen, uint32_t code)
{
    (void) code;
    screen->frozen = !screen->frozen;
    return screen->frozen ? PL_WISH_NOTHING : PL_WISH_REFRESH;
}

static enum pl_wish set_base(struct pl_screen *screen, uint32_t code)
{
    pl_model_set_base(screen->model, code == 'r');
    screen->notice = code == 'r' ? "changes and rates count from now on; R compares with the last refresh again"
                                 : "changes and rates compare with the last refresh";
    return PL_WISH_NOTHING;
}

static enum pl_wish export(struct pl_screen *screen, uint32_t code) {
    (void) screen, (void) code; return PL_WISH_EXPORT;
}

static enum pl_wish list(struct pl_screen *screen, uint32_t code)
{
    (void) screen, (void) code;
    return PL_WISH_LIST;
}

static enum pl_wish pace(struct pl_screen *screen, uint32_t code)
{
    double interval = screen->interval_s * (code == '-' ? 2 : 0.5);
    screen->interval_s = interval < INTERVAL_MIN_S   ? INTERVAL_MIN_S
                         : interval > INTERVAL_MAX_S ? INTERVAL_MAX_S
                                                     : interval;
    return PL_WISH_REFRESH;
}

static enum pl_wish help(struct pl_screen *screen, uint32_t code)
{
    (void) code;
    screen->help = 1;
    return PL_WISH_NOTHING;
}

static enum pl_wish leave(struct pl_screen *screen, uint32_t code)
{
    if (code == 'q')
        return PL_WISH_QUIT;
    if (screen->listing && screen->model)
        screen->listing = false;
    screen->filter[0] = 0;
    return PL_WISH_NOTHING;
}

#define TABLE PL_KEY_IN_TABLE
#define LIST PL_KEY_IN_LIST
const struct pl_key pl_keys[] = {
    {"1-4", {'1', '2', '3', '4'}, "group", "sites, functions, tags or threads; Tab shows the next", TABLE, group},
    {"Tab", {'\t', PL_KEY_BACK_TAB}, NULL, "the next of these; Shift-Tab the previous", TABLE, group},
    {"←→", {PL_KEY_LEFT, PL_KEY_RIGHT, '<', '>'}, "sort", "sort by the column on the left or right", TABLE, order},
    {"i", {'i'}, NULL, "reverse the order", TABLE, reverse},
    {"/", {'/'}, "filter", "show only names that contain what you type; Esc ends the filter", TABLE, filter},
    {"Enter", {PL_KEY_ENTER, ' '}, "expand", "show the stack below a row, or its sites; again: fold it", TABLE, enter},
    {"Enter", {PL_KEY_ENTER, ' '}, "watch", "in the list: watch this process", LIST, enter},
    {"f", {'f'}, "freeze", "stop refreshing, or go on", TABLE, freeze},
    {"r", {'r', 'R'}, "since", "changes and rates count from now on; R: since the last refresh", TABLE, set_base},
    {"x", {'x'}, "export", "write what is seen, all rows of it, to a file", TABLE, export},
    {"p", {'p'}, "list", "the list of processes, to watch another one", TABLE, list},
    {"+ -", {'+', '-'}, NULL, "refresh twice as often, or half as often", TABLE | LIST, pace},
    {"↑ ↓", {PL_KEY_UP, PL_KEY_DOWN, 'k', 'j'}, NULL, "move; also PgUp, PgDn, Home and End", TABLE | LIST, move},
    {"PgUp PgDn", {PL_KEY_PAGE_UP, PL_KEY_PAGE_DOWN}, NULL, "move by a page", TABLE | LIST, move},
    {"Home End", {PL_KEY_HOME, PL_KEY_END}, NULL, "the first and the last row", TABLE | LIST, move},
    {"?", {'?', 'h'}, "help", "this help; any key ends it", TABLE | LIST | PL_KEY_ALWAYS, help},
    {"Esc", {PL_KEY_ESCAPE}, NULL, "end the filter; in the list: back to the process", TABLE | LIST, leave},
    {"q", {'q'}, "quit", "quit", TABLE | LIST | PL_KEY_ALWAYS, leave},
    {0},
};

/* ---- the filter ---- */

static void remove_last(char *text)
{
    size_t bytes = strlen(text);
    while (bytes && ((unsigned char) text[bytes - 1] & 0xc0) == 0x80)
        bytes--;
    text[bytes ? bytes - 1 : 0] = 0;
}

static void append(char *text, uint32_t code)
{
    size_t bytes = strlen(text);
    if (code >= 0x110000 || bytes + 5 > PL_FILTER_BYTES)
        return;
    if (code < 0x80) {
        text[bytes++] = (char) code;
    } else if (code < 0x800) {
        text[bytes++] = (char) (0xc0 | code >> 6);
        text[bytes++] = (char) (0x80 | (code & 63));
    } else {
        text[bytes++] = (char) (0xe0 | (code >> 12 & 15));
        text[bytes++] = (char) (0x80 | (code >> 6 & 63));
        text[bytes++] = (char) (0x80 | (code & 63));
    }
    text[bytes] = 0;
}

static void type(struct pl_screen *screen, uint32_t code)
{
    begin_table(screen);
    if (code == PL_KEY_ESCAPE)
        screen->filter[0] = 0;
    if (code == PL_KEY_ESCAPE || code == PL_KEY_ENTER)
        screen->typing = false;
    else if (code == PL_KEY_BACKSPACE)
        remove_last(screen->filter);
    else if (code >= ' ')
        append(screen->filter, code);
}

/* ---- pressing ---- */

static bool has_code(const struct pl_key *key, uint32_t code)
{
    for (int i = 0; i < 4 && key->code[i]; i++)
        if (key->code[i] == code)
            return true;
    return false;
}

enum pl_wish pl_keys_press(struct pl_screen *screen, uint32_t code)
{
    screen->notice = NULL;
    if (screen->help) {
        screen->help = screen->more_help && code != 'q' && code != PL_KEY_ESCAPE ? screen->help + 1 : 0;
        return PL_WISH_NOTHING;
    }
    if (screen->typing) {
        type(screen, code);
        return PL_WISH_NOTHING;
    }
    for (const struct pl_key *key = pl_keys; key->help; key++)
        if (key->where & (screen->listing ? LIST : TABLE) && has_code(key, code))
            return key->press(screen, code);
    return PL_WISH_NOTHING;
}
