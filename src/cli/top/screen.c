/* SPDX-License-Identifier: MIT */
/* screen.c - see screen.h. */
#include "cli/top/screen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "analysis/traits.h"
#include "cli/top/keys.h"
#include "reader/base/grow.h"
#include "reader/base/utf8.h"
#include "reader/describe.h"

#define GAP 1
#define HEAD_ROWS 4    /* a screen that has no more has no room for hints */
#define NAME_LEAST 20  /* columns: below that, other columns make room */
#define NAME_ROOM 48   /* columns: below that, details begin further left, and a line has the whole name of one row */
#define NARROW_ROWS 16 /* a narrow screen with fewer has no room for that line */
#define BAR_FROM 120   /* columns of a screen that has room for bars */
#define BAR_COLUMNS 12
#define CELL_BYTES (2 * PL_FIGURE_BYTES)

const char *const pl_screen_by[] = {"site", "function", "tag", "thread", NULL};
const char *const pl_screen_order[] = {"live", "change", "rate", "calls", "peak", "share", "name", NULL};

static const char *const tabs[PL_BY_COUNT] = {"Sites", "Functions", "Tags", "Threads"};

/* ---- cells ---- */

static void print_bytes(char out[CELL_BYTES], double value)
{
    char text[PL_FIGURE_BYTES];
    pl_figure_bytes(text, value);
    snprintf(out, CELL_BYTES, "%s", text);
}

static void print_change(char out[CELL_BYTES], double value)
{
    char text[PL_FIGURE_BYTES];
    pl_figure_bytes(text, fabs(value));
    snprintf(out, CELL_BYTES, "%s%s", value < 0 ? "−" : "+", text);
}

static void print_count(char out[CELL_BYTES], double value)
{
    char text[PL_FIGURE_BYTES];
    pl_figure_count(text, value < 10 ? value : round(value));
    snprintf(out, CELL_BYTES, "%s", text);
}

/* 188 k: rates need no more digits. */
static void print_often(char out[CELL_BYTES], double value)
{
    if (value >= 1e6)
        snprintf(out, CELL_BYTES, "%.*f M", value < 1e7 ? 1 : 0, value / 1e6);
    else if (value >= 1e4)
        snprintf(out, CELL_BYTES, "%.*f k", value < 1e5 ? 1 : 0, value / 1e3);
    else
        print_count(out, value);
}

static void print_share(char out[CELL_BYTES], double value)
{
    char text[PL_FIGURE_BYTES];
    pl_figure_percent(text, value);
    snprintf(out, CELL_BYTES, "%s", text);
}

/* The columns of the table, in their order. */
static const struct column {
    const char *title;
    int width;
    void (*print)(char out[CELL_BYTES], double value);
    enum pl_metric metric; /* whose unit the error has */
    int sacrifice;         /* on a narrow screen, the column with the largest number goes first; 0: it stays */
} columns[PL_COLUMN_NAME] = {
    [PL_COLUMN_LIVE] = {"LIVE", 9, print_bytes, PL_METRIC_INUSE_SPACE, 0},
    [PL_COLUMN_CHANGE] = {"CHANGE", 10, print_change, PL_METRIC_INUSE_SPACE, 0},
    [PL_COLUMN_RATE] = {"ALLOC/S", 9, print_bytes, PL_METRIC_ALLOC_SPACE, 0},
    [PL_COLUMN_CALLS] = {"CALLS/S", 8, print_often, PL_METRIC_ALLOC_OBJECTS, 1},
    [PL_COLUMN_PEAK] = {"PEAK", 9, print_bytes, PL_METRIC_PEAK_SPACE, 2},
    [PL_COLUMN_SHARE] = {"SHARE", 6, print_share, PL_METRIC_INUSE_SPACE, 0},
};
#define ERROR_WIDTH 11

/* Which columns this screen has room for. */
struct layout {
    bool shown[PL_COLUMN_NAME];
    bool errors; /* a column with the ± of the column that decides the order */
    bool bars;
    int name_at;
    int detail_at;
    bool narrow;
};

static bool has_errors(const struct pl_screen *screen)
{
    return pl_model_head(screen->model).estimated && screen->order < PL_COLUMN_SHARE;
}

static int place_name(const struct layout *layout)
{
    int at = 0;
    for (int c = 0; c < PL_COLUMN_NAME; c++)
        at += layout->shown[c] ? columns[c].width + GAP : 0;
    return at + (layout->errors ? ERROR_WIDTH + GAP : 0) + (layout->bars ? BAR_COLUMNS + GAP : 0) + GAP;
}

static struct layout lay_out(const struct pl_screen *screen, int width)
{
    struct layout layout = {.errors = has_errors(screen), .bars = width >= BAR_FROM};
    for (int c = 0; c < PL_COLUMN_NAME; c++)
        layout.shown[c] = true;
    for (int number = 2; number > 0; number--)
        for (int c = 0; c < PL_COLUMN_NAME; c++)
            if (columns[c].sacrifice == number && c != (int) screen->order && width - place_name(&layout) < NAME_LEAST)
                layout.shown[c] = false;
    layout.name_at = place_name(&layout);
    layout.narrow = width - layout.name_at < NAME_ROOM;
    layout.detail_at = layout.narrow ? columns[PL_COLUMN_LIVE].width + GAP + 1 : layout.name_at;
    return layout;
}

/* ---- the head ---- */

static void print_cost(char out[CELL_BYTES], double cost)
{
    char share[PL_FIGURE_BYTES];
    pl_figure_percent(share, cost);
    snprintf(out, CELL_BYTES, cost < 0 ? "cost unknown" : "cost %s", share);
}

/* The directory of an absolute path says little, and its length depends on where a program is installed. */
static const char *without_directory(const char *command)
{
    const char *blank = strchr(command, ' '), *name = command;
    for (const char *at = command; *command == '/' && *at && at != blank; at++)
        if (*at == '/' && at[1])
            name = at + 1;
    return name;
}

static void draw_identity(const struct pl_screen *screen, struct pl_canvas *canvas, int row)
{
    const struct pl_profile *profile = pl_model_profile(screen->model);
    struct pl_model_head head = pl_model_head(screen->model);
    char now[128], cost[CELL_BYTES], up[PL_FIGURE_BYTES], facts[512];
    char *command = pl_traits_command(profile);
    pl_describe_now(&profile->header, now, sizeof now);
    print_cost(cost, head.cost);
    pl_figure_seconds(up, profile->duration_s);
    snprintf(facts, sizeof facts, "pid %d · %s · %s · %s", screen->pid, screen->ended ? screen->ended : up, now, cost);
    int width = (int) pl_utf8_width(facts), left = canvas->columns - width - 2;
    pl_canvas_put(canvas, row, 0, left > 8 ? left : 8, PL_STYLE_BOLD, without_directory(command));
    pl_canvas_right(canvas, row, left > 8 ? canvas->columns - width : 10, left > 8 ? width : canvas->columns - 10,
                    screen->ended ? PL_STYLE_WARN : PL_STYLE_PLAIN, facts);
    free(command);
}

/* A figure with its name, if there is room for it. */
static int put_fact(struct pl_canvas *canvas, int row, int column, const char *name, const char *value)
{
    int width = (int) (pl_utf8_width(name) + pl_utf8_width(value)) + 1;
    if (column + width > canvas->columns)
        return column;
    column = pl_canvas_put(canvas, row, column, width, PL_STYLE_DIM, name);
    column = pl_canvas_put(canvas, row, column + (*name != 0), width, PL_STYLE_BOLD, value);
    return column + 2;
}

static void draw_totals(const struct pl_screen *screen, struct pl_canvas *canvas, int row)
{
    struct pl_model_head head = pl_model_head(screen->model);
    char live[CELL_BYTES], text[CELL_BYTES], figure[CELL_BYTES];
    int column = 0;
    pl_figure_estimate(live, PL_METRIC_INUSE_SPACE, &head.live);
    column = put_fact(canvas, row, column, "live", live);
    print_bytes(text, head.rss_bytes);
    column = put_fact(canvas, row, column, "RSS", head.rss_bytes > 0 ? text : "unknown");
    if (!head.first) {
        print_bytes(figure, head.rate);
        snprintf(text, sizeof text, "%.40s/s", figure);
        column = put_fact(canvas, row, column, "alloc", text);
        print_often(figure, head.calls);
        snprintf(text, sizeof text, "%.40s/s", figure);
        column = put_fact(canvas, row, column, "calls", text);
        print_change(text, head.change);
        column = put_fact(canvas, row, column, "change", text);
    }
    pl_figure_estimate(text, PL_METRIC_PEAK_SPACE, &head.peak);
    column = put_fact(canvas, row, column, "peak", text);
    pl_figure_count(text, head.stacks);
    column = put_fact(canvas, row, column, "stacks", text);
    pl_figure_count(text, head.threads);
    put_fact(canvas, row, column, "threads", text);
}

static double point_of(const struct pl_model_point *point, bool rss)
{
    return rss ? point->rss_bytes : point->live_bytes;
}

/* Each column is one refresh; the newest is the last. From 0 to the largest. */
static void draw_spark(const struct pl_screen *screen, struct pl_canvas *canvas, int row, int column, int width,
                       bool rss)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    struct pl_model_point point[PL_MODEL_HISTORY];
    char top[CELL_BYTES], label[2 * CELL_BYTES];
    double most = 0;
    int room = width - 18;
    if (room < 4)
        return;
    int count =
        (int) pl_model_history(screen->model, point, (uint32_t) (room < PL_MODEL_HISTORY ? room : PL_MODEL_HISTORY));
    for (int i = 0; i < count; i++)
        most = fmax(most, point_of(&point[i], rss));
    pl_canvas_put(canvas, row, column, 4, PL_STYLE_DIM, rss ? "RSS" : "live");
    for (int i = 0; i < count && most > 0; i++) {
        double value = point_of(&point[i], rss);
        int height = (int) (value / most * 8);
        if (value > 0) /* the RSS of a process that has ended is not known */
            pl_canvas_put(canvas, row, column + 5 + room - count + i, 1, PL_STYLE_BAR, blocks[height < 8 ? height : 7]);
    }
    print_bytes(top, most);
    snprintf(label, sizeof label, "≤ %s", top);
    pl_canvas_put(canvas, row, column + 6 + room, 12, PL_STYLE_DIM, label);
}

static void draw_sparks(const struct pl_screen *screen, struct pl_canvas *canvas, int row)
{
    int half = canvas->columns / 2;
    draw_spark(screen, canvas, row, 0, half, false);
    draw_spark(screen, canvas, row, half, canvas->columns - half, true);
}

/* What the user has chosen: "since 12 s ago · /foo · frozen". */
static void print_state(const struct pl_screen *screen, uint32_t hidden, char *out, size_t bytes)
{
    struct pl_model_head head = pl_model_head(screen->model);
    char figure[PL_FIGURE_BYTES], count[PL_FIGURE_BYTES];
    size_t used = 0;
    *out = 0;
    pl_figure_seconds(figure, head.elapsed_s);
    pl_figure_count(count, hidden);
    if (screen->frozen)
        used += (size_t) snprintf(out + used, bytes - used, "FROZEN · ");
    if (*screen->filter && !screen->typing)
        used += (size_t) snprintf(out + used, bytes - used, "/%.60s hides %s · ", screen->filter, count);
    if (pl_model_base(screen->model) > 0)
        used += (size_t) snprintf(out + used, bytes - used, "since r, %s ago", head.first ? "0 s" : figure);
    else if (!head.first)
        used += (size_t) snprintf(out + used, bytes - used, "in %s", figure);
}

static void draw_tabs(const struct pl_screen *screen, struct pl_canvas *canvas, int row, uint32_t hidden)
{
    char state[256];
    int column = 0;
    for (int by = 0; by < PL_BY_COUNT; by++) {
        char tab[32];
        snprintf(tab, sizeof tab, screen->plain ? "%s%s" : " %s%s ", tabs[by], "");
        if (screen->plain && by != (int) screen->by)
            continue;
        bool current = by == (int) screen->by;
        column =
            pl_canvas_put(canvas, row, column, 20, current ? PL_STYLE_HEAD | PL_INK_REVERSE : PL_STYLE_PLAIN, tab) + 1;
    }
    print_state(screen, hidden, state, sizeof state);
    int width = (int) pl_utf8_width(state);
    if (column + width <= canvas->columns)
        pl_canvas_right(canvas, row, canvas->columns - width, width, screen->frozen ? PL_STYLE_WARN : PL_STYLE_DIM,
                        state);
}

/* ---- the table ---- */

static const char *name_title(enum pl_model_by by)
{
    static const char *const titles[PL_BY_COUNT] = {"SITE", "FUNCTION, TOTAL", "TAG", "THREAD"};
    return titles[by];
}

static void draw_titles(const struct pl_screen *screen, struct pl_canvas *canvas, int row, const struct layout *layout)
{
    int at = 0;
    for (int c = 0; c < PL_COLUMN_NAME; c++) {
        if (!layout->shown[c])
            continue;
        bool chosen = c == (int) screen->order;
        char title[32];
        snprintf(title, sizeof title, "%s%s", columns[c].title, !chosen ? "" : screen->reversed ? "▲" : "▼");
        pl_canvas_right(canvas, row, at, columns[c].width, chosen ? PL_STYLE_HEAD : PL_STYLE_DIM, title);
        at += columns[c].width + GAP;
        if (chosen && layout->errors) {
            pl_canvas_right(canvas, row, at, ERROR_WIDTH, PL_STYLE_DIM, "±");
            at += ERROR_WIDTH + GAP;
        }
    }
    pl_canvas_put(canvas, row, layout->name_at, canvas->columns,
                  screen->order == PL_COLUMN_NAME ? PL_STYLE_HEAD : PL_STYLE_DIM, name_title(screen->by));
}

static bool is_nothing(enum pl_model_column column, double value)
{
    return column == PL_COLUMN_CALLS ? value < 0.05 : fabs(value) < 0.5 && column != PL_COLUMN_SHARE;
}

static unsigned ink_of(enum pl_model_column column, double value, enum pl_model_column order)
{
    if (column == PL_COLUMN_CHANGE && value > 0)
        return PL_STYLE_WARN;
    return column == order ? PL_STYLE_BOLD : PL_STYLE_PLAIN;
}

/* Other figures that are estimates are marked with ~; the one that decides the order has its ± beside it. */
static void draw_cell(const struct pl_screen *screen, struct pl_canvas *canvas, int row, int at,
                      const struct pl_model_row *line, enum pl_model_column column)
{
    char text[CELL_BYTES], marked[CELL_BYTES + 1];
    double value = line->value[column];
    if (is_nothing(column, value)) {
        pl_canvas_right(canvas, row, at, columns[column].width, PL_STYLE_DIM, "·");
        return;
    }
    columns[column].print(text, value);
    bool estimate = column != screen->order && pl_model_error(screen->model, line, column) > 0;
    snprintf(marked, sizeof marked, "~%s", text);
    bool room = (int) pl_utf8_width(marked) <= columns[column].width;
    pl_canvas_right(canvas, row, at, columns[column].width, ink_of(column, value, screen->order),
                    estimate && room ? marked : text);
}

static void draw_error(const struct pl_screen *screen, struct pl_canvas *canvas, int row, int at,
                       const struct pl_model_row *line)
{
    char text[PL_FIGURE_BYTES];
    double error = pl_model_error(screen->model, line, screen->order), value = fabs(line->value[screen->order]);
    const struct pl_estimate estimate = {.value = value, .error = error, .low = value - error, .high = value + error};
    pl_figure_error(text, columns[screen->order].metric, &estimate);
    pl_canvas_right(canvas, row, at, ERROR_WIDTH, PL_STYLE_DIM, text);
}

static void draw_bar(struct pl_canvas *canvas, int row, int at, double share)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighths = (int) (fmin(share, 1) * BAR_COLUMNS * 8 + 0.5);
    for (int i = 0; i < eighths / 8; i++)
        pl_canvas_put(canvas, row, at + i, 1, PL_STYLE_BAR, "█");
    pl_canvas_put(canvas, row, at + eighths / 8, 1, PL_STYLE_BAR, parts[eighths % 8]);
}

static unsigned ink_of_role(enum pl_role role)
{
    return role == PL_ROLE_OWN ? PL_STYLE_BOLD : PL_STYLE_PLAIN;
}

/* Name and place; the place is what is cut first. */
static void draw_name(const struct pl_screen *screen, struct pl_canvas *canvas, int row, int at, uint32_t subject)
{
    const struct pl_subject_name *name = pl_model_name(screen->model, subject);
    int room = canvas->columns - at;
    at = pl_canvas_put(canvas, row, at, room, ink_of_role(name->role), name->name) + 2;
    if (*name->where && canvas->columns - at >= 6)
        pl_canvas_put(canvas, row, at, canvas->columns - at, PL_STYLE_DIM, name->where);
}

static void draw_row(const struct pl_screen *screen, struct pl_canvas *canvas, int row, const struct layout *layout,
                     const struct pl_model_row *line)
{
    int at = 0;
    for (int c = 0; c < PL_COLUMN_NAME; c++) {
        if (!layout->shown[c])
            continue;
        draw_cell(screen, canvas, row, at, line, c);
        at += columns[c].width + GAP;
        if (c == (int) screen->order && layout->errors) {
            draw_error(screen, canvas, row, at, line);
            at += ERROR_WIDTH + GAP;
        }
    }
    if (layout->bars)
        draw_bar(canvas, row, at + GAP, line->value[PL_COLUMN_SHARE]);
    draw_name(screen, canvas, row, layout->name_at, line->subject);
}

/* ---- details ---- */

static void draw_detail_line(const struct pl_screen *screen, struct pl_canvas *canvas, int row,
                             const struct layout *layout, const struct pl_model_detail *detail, uint32_t i)
{
    char value[CELL_BYTES];
    bool last = i + 1 == detail->count;
    if (!detail->stack) {
        print_bytes(value, detail->value[i]);
        pl_canvas_right(canvas, row, 0, columns[PL_COLUMN_LIVE].width, PL_STYLE_DIM, value);
    }
    pl_canvas_put(canvas, row, layout->detail_at, 2, PL_STYLE_DIM, detail->stack || last ? "└" : "├");
    draw_name(screen, canvas, row, layout->detail_at + 2, detail->subject[i]);
}

/* Returns the number of lines. */
static int draw_detail(const struct pl_screen *screen, struct pl_canvas *canvas, int row, int rows,
                       const struct layout *layout, uint32_t subject)
{
    struct pl_model_detail detail;
    char words[128], share[PL_FIGURE_BYTES];
    int lines = 0;
    pl_model_detail(screen->model, screen->by, subject, screen->order, &detail);
    for (uint32_t i = 0; i < detail.count && lines < rows; i++, lines++)
        draw_detail_line(screen, canvas, row + lines, layout, &detail, i);
    pl_figure_percent(share, detail.share);
    if (detail.stack && !detail.count && lines < rows)
        pl_canvas_put(canvas, row + lines++, layout->detail_at, canvas->columns, PL_STYLE_DIM,
                      "└ no callers in the program itself");
    if (detail.stack && detail.stacks > 1)
        snprintf(words, sizeof words, "  heaviest of %u stacks: %s of it", detail.stacks, share);
    else if (!detail.stack && detail.stacks > detail.count)
        snprintf(words, sizeof words, "  and %u more sites", detail.stacks - detail.count);
    else
        return lines;
    if (lines < rows)
        pl_canvas_put(canvas, row + lines++, layout->detail_at, canvas->columns, PL_STYLE_DIM, words);
    return lines;
}

bool pl_screen_is_expanded(const struct pl_screen *screen, uint32_t subject)
{
    for (uint32_t i = 0; i < screen->expansions; i++)
        if (screen->expanded[i] == subject)
            return true;
    return false;
}

static void draw_rows(struct pl_screen *screen, struct pl_canvas *canvas, int row, int rows,
                      const struct pl_model_rows *lines, const struct layout *layout)
{
    screen->page = 0;
    for (uint32_t i = (uint32_t) screen->first; i < lines->count && rows > 0; i++) {
        const struct pl_model_row *line = &lines->row[i];
        draw_row(screen, canvas, row, layout, line);
        if (line->subject == screen->cursor && !screen->plain)
            pl_canvas_ink(canvas, row, PL_INK_REVERSE);
        row++, rows--, screen->page++;
        if (pl_screen_is_expanded(screen, line->subject)) {
            int used = draw_detail(screen, canvas, row, rows, layout, line->subject);
            row += used, rows -= used;
        }
    }
}

/* ---- the cursor ---- */

static int find_cursor(const struct pl_screen *screen, const struct pl_model_rows *lines)
{
    for (uint32_t i = 0; i < lines->count; i++)
        if (lines->row[i].subject == screen->cursor)
            return (int) i;
    return 0;
}

static struct pl_model_rows rows_of(const struct pl_screen *screen)
{
    return pl_model_rows(screen->model, screen->by, screen->order, screen->reversed, screen->filter);
}

static void keep_visible(struct pl_screen *screen, const struct pl_model_rows *lines, int rows)
{
    int at = find_cursor(screen, lines);
    screen->cursor = lines->count ? lines->row[at].subject : PL_ATLAS_NONE;
    if (at < screen->first)
        screen->first = at;
    if (at >= screen->first + rows)
        screen->first = at - rows + 1;
    if (screen->whole || screen->first < 0)
        screen->first = 0;
}

void pl_screen_move(struct pl_screen *screen, int rows)
{
    if (screen->listing) {
        long at = (long) screen->listed_at + rows, most = (long) screen->listed_count - 1;
        screen->listed_at = (size_t) (at > most ? most < 0 ? 0 : most : at < 0 ? 0 : at);
        return;
    }
    struct pl_model_rows lines = rows_of(screen);
    int at = find_cursor(screen, &lines) + rows, most = (int) lines.count - 1;
    at = at > most ? most : at;
    if (lines.count)
        screen->cursor = lines.row[at < 0 ? 0 : at].subject;
}

void pl_screen_toggle(struct pl_screen *screen)
{
    for (uint32_t i = 0; i < screen->expansions; i++)
        if (screen->expanded[i] == screen->cursor) {
            screen->expanded[i] = screen->expanded[--screen->expansions];
            return;
        }
    size_t wanted = screen->expansions + 1u;
    screen->expanded = pl_grow_check(reallocarray(screen->expanded, wanted, sizeof(uint32_t)), wanted, 4);
    screen->expanded[screen->expansions++] = screen->cursor;
}

/* ---- the last line ---- */

static int width_of_hint(const struct pl_key *key)
{
    return (int) (pl_utf8_width(key->shown) + pl_utf8_width(key->hint)) + 1;
}

static int draw_hint(struct pl_canvas *canvas, int row, int column, const struct pl_key *key)
{
    column = pl_canvas_put(canvas, row, column, canvas->columns, PL_STYLE_BOLD, key->shown);
    return pl_canvas_put(canvas, row, column + 1, canvas->columns, PL_STYLE_DIM, key->hint) + 2;
}

/* Those that a lost user needs are always there, at the right end; the others as far as there is room. */
static void draw_hints(const struct pl_screen *screen, struct pl_canvas *canvas, int row)
{
    int column = 0, end = canvas->columns;
    unsigned where = screen->listing ? PL_KEY_IN_LIST : PL_KEY_IN_TABLE;
    for (const struct pl_key *key = pl_keys; key->help; key++)
        if (key->hint && key->where & PL_KEY_ALWAYS && end >= width_of_hint(key)) {
            end -= width_of_hint(key) + 2;
            draw_hint(canvas, row, end + 2, key);
        }
    for (const struct pl_key *key = pl_keys; key->help; key++)
        if (key->hint && key->where & where && !(key->where & PL_KEY_ALWAYS) && column + width_of_hint(key) <= end)
            column = draw_hint(canvas, row, column, key);
}

static void draw_foot(const struct pl_screen *screen, struct pl_canvas *canvas)
{
    int row = canvas->rows - 1;
    char prompt[PL_FILTER_BYTES + 64];
    if (screen->plain || row < HEAD_ROWS)
        return;
    snprintf(prompt, sizeof prompt, "/%s▏  Enter keeps the filter, Esc clears it", screen->filter);
    if (screen->typing)
        pl_canvas_put(canvas, row, 0, canvas->columns, PL_STYLE_BOLD, prompt);
    else if (screen->notice)
        pl_canvas_put(canvas, row, 0, canvas->columns, PL_STYLE_WARN, screen->notice);
    else
        draw_hints(screen, canvas, row);
}

/* ---- other screens ---- */

static void draw_listed(struct pl_canvas *canvas, int row, const struct pl_listed *listed)
{
    char text[CELL_BYTES], up[PL_FIGURE_BYTES];
    const struct pl_estimate live = {.value = listed->live_bytes,
                                     .error = listed->live_error,
                                     .low = listed->live_bytes - listed->live_error,
                                     .high = listed->live_bytes + listed->live_error};
    snprintf(text, sizeof text, "%d", listed->pid);
    pl_canvas_right(canvas, row, 0, 8, PL_STYLE_PLAIN, text);
    pl_figure_estimate(text, PL_METRIC_INUSE_SPACE, &live);
    pl_canvas_right(canvas, row, 9, 21, PL_STYLE_BOLD, text);
    print_bytes(text, listed->rss_bytes);
    pl_canvas_right(canvas, row, 31, 9, PL_STYLE_PLAIN, text);
    pl_figure_seconds(up, listed->up_s);
    pl_canvas_right(canvas, row, 41, 11, PL_STYLE_DIM, up);
    int at = pl_canvas_put(canvas, row, 54, canvas->columns - 54, PL_STYLE_BOLD, listed->command) + 2;
    if (at < canvas->columns - 6)
        pl_canvas_put(canvas, row, at, canvas->columns - at, PL_STYLE_DIM, listed->method);
}

static void draw_list(const struct pl_screen *screen, struct pl_canvas *canvas)
{
    int rows = canvas->rows - 3, first = (int) screen->listed_at >= rows ? (int) screen->listed_at - rows + 1 : 0;
    pl_canvas_put(canvas, 0, 0, canvas->columns, PL_STYLE_HEAD, "Processes that are being profiled");
    pl_canvas_put(canvas, 1, 0, canvas->columns, PL_STYLE_DIM,
                  "     PID                  LIVE       RSS          UP  COMMAND");
    for (int i = 0; i < rows && first + i < (int) screen->listed_count; i++) {
        draw_listed(canvas, 2 + i, &screen->listed[first + i]);
        if (first + i == (int) screen->listed_at && !screen->plain)
            pl_canvas_ink(canvas, 2 + i, PL_INK_REVERSE);
    }
    if (!screen->listed_count)
        pl_canvas_put(canvas, 3, 2, canvas->columns, PL_STYLE_PLAIN,
                      "none; start one with `plimsoll run -- PROGRAM`, or `plimsoll attach PID`: it appears here");
}

/* ---- the whole ---- */

static void draw_table(struct pl_screen *screen, struct pl_canvas *canvas)
{
    struct pl_model_rows lines = rows_of(screen);
    struct layout layout = lay_out(screen, canvas->columns);
    bool name = layout.narrow && !screen->plain && canvas->rows >= NARROW_ROWS && lines.count;
    int row = 0, foot = screen->plain ? 0 : name ? 2 : 1;
    draw_identity(screen, canvas, row++);
    draw_totals(screen, canvas, row++);
    if (canvas->rows >= 12)
        draw_sparks(screen, canvas, row++);
    draw_tabs(screen, canvas, row++, lines.hidden);
    draw_titles(screen, canvas, row++, &layout);
    keep_visible(screen, &lines, canvas->rows - row - foot);
    draw_rows(screen, canvas, row, canvas->rows - row - foot, &lines, &layout);
    if (name)
        draw_name(screen, canvas, canvas->rows - 2, 0, screen->cursor);
    if (!lines.count)
        pl_canvas_put(canvas, row + 1, 2, canvas->columns, PL_STYLE_PLAIN,
                      *screen->filter ? "no name contains the filter" : "nothing was recorded yet");
}

void pl_screen_draw(struct pl_screen *screen, struct pl_canvas *canvas)
{
    if (canvas->rows < 1 || canvas->columns < 1)
        return;
    if (screen->help)
        pl_screen_draw_help(screen, canvas);
    else if (screen->listing || !screen->model)
        draw_list(screen, canvas);
    else
        draw_table(screen, canvas);
    if (!screen->help)
        draw_foot(screen, canvas);
}
