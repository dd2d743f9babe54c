/* SPDX-License-Identifier: MIT */
/*
 * term.c - text for a terminal: columns, colours and its width.
 */
#include "cli/term.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "cli/pager.h"
#include "reader/base/utf8.h"

#define PIPE_WIDTH 120 /* the width without a terminal */
#define LEAST_WIDTH 40

const char *const pl_term_colours[] = {"auto", "always", "never", NULL};

static const char *const sgr[PL_STYLE_COUNT] = {
    [PL_STYLE_PLAIN] = "",         [PL_STYLE_BOLD] = "\033[1m", [PL_STYLE_DIM] = "\033[2m",
    [PL_STYLE_HEAD] = "\033[1;4m", [PL_STYLE_BAR] = "\033[34m", [PL_STYLE_WARN] = "\033[33m",
};

static bool is_shown(FILE *out)
{
    return isatty(fileno(out)) || (out == stdout && pl_pager_running());
}

/* NO_COLOR counts when it is present and not empty (no-color.org). */
static bool wants_colour(FILE *out, enum pl_colour colour)
{
    const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");
    if (colour != PL_COLOUR_AUTO)
        return colour == PL_COLOUR_ALWAYS;
    return is_shown(out) && !(no_colour && *no_colour) && !(kind && !strcmp(kind, "dumb"));
}

static size_t find_width(FILE *out)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    size_t width = columns ? strtoul(columns, NULL, 10) : 0;
    if (!width && isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    if (!width || width > 10000)
        width = PIPE_WIDTH;
    return width < LEAST_WIDTH ? LEAST_WIDTH : width;
}

struct pl_term pl_term_open(FILE *out, enum pl_colour colour)
{
    if (out == stdout)
        pl_pager_start();
    return (struct pl_term){.out = out, .colour = wants_colour(out, colour), .width = find_width(out)};
}

bool pl_term_shown(const struct pl_term *term)
{
    return is_shown(term->out);
}

static void put_clean(struct pl_term *term, enum pl_style style, const char *text)
{
    bool styled = term->colour && *sgr[style] && *text;
    fprintf(term->out, "%s%s%s", styled ? sgr[style] : "", text, styled ? "\033[0m" : "");
    term->column += pl_utf8_width(text);
}

void pl_term_put(struct pl_term *term, enum pl_style style, const char *text)
{
    char *clean = pl_say_clean(text);
    put_clean(term, style, clean);
    free(clean);
}

void pl_term_print(struct pl_term *term, enum pl_style style, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = pl_say_vprint(format, arguments);
    va_end(arguments);
    pl_term_put(term, style, text);
    free(text);
}

/* The bytes of `text` that fit into so many columns. */
static size_t fitting(const char *text, size_t columns)
{
    uint32_t character;
    size_t at = 0;
    for (size_t step, used = 0; text[at]; at += step) {
        step = pl_utf8_decode(text + at, &character);
        used += pl_utf8_columns(character);
        if (used > columns)
            break;
    }
    return at;
}

void pl_term_cut(struct pl_term *term, enum pl_style style, const char *text, size_t columns)
{
    char *clean = pl_say_clean(text);
    if (term->whole || pl_utf8_width(clean) <= columns) {
        put_clean(term, style, clean);
    } else if (columns) {
        clean[fitting(clean, columns - 1)] = 0;
        put_clean(term, style, clean);
        put_clean(term, style, "…");
    }
    free(clean);
}

void pl_term_pad(struct pl_term *term, size_t column)
{
    for (; term->column < column; term->column++)
        fputc(' ', term->out);
}

void pl_term_right(struct pl_term *term, enum pl_style style, const char *text, size_t columns)
{
    size_t width = pl_utf8_width(text);
    if (width < columns)
        pl_term_pad(term, term->column + columns - width);
    pl_term_put(term, style, text);
}

void pl_term_end(struct pl_term *term)
{
    fputc('\n', term->out);
    term->column = 0;
}

void pl_term_room(struct pl_term *term, size_t gap, size_t columns, size_t indent)
{
    if (term->column <= indent)
        gap = 0;
    else if (term->column + gap + columns > term->width) {
        pl_term_end(term);
        gap = indent;
    }
    pl_term_pad(term, term->column + gap);
}

/* The bytes of a word; of a number with its unit, so that "12.4 MiB" stays on one line. */
static size_t word_bytes(const char *text)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "ns", "µs", "ms", "s", "min", "h", "d", "M"};
    size_t bytes = strcspn(text, " ");
    if (!bytes || !strchr("0123456789", text[bytes - 1]) || text[bytes] != ' ')
        return bytes;
    const char *behind = text + bytes + 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t unit = strlen(units[i]);
        if (!strncmp(behind, units[i], unit) && strchr(" ,.;:/)", behind[unit]))
            return bytes + 1 + strcspn(behind, " ");
    }
    return bytes;
}

void pl_term_words(struct pl_term *term, enum pl_style style, const char *text, size_t indent)
{
    while (*text) {
        size_t gap = strspn(text, " "), bytes = word_bytes(text + gap);
        char *word = pl_say_print("%.*s", (int) bytes, text + gap);
        pl_term_room(term, gap, pl_utf8_width(word), indent);
        pl_term_put(term, style, word);
        free(word);
        text += gap + bytes;
    }
}

void pl_term_bar(struct pl_term *term, double fraction, size_t columns)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    char bar[4 * 64] = "";
    if (columns > 60)
        columns = 60;
    fraction = fraction > 1 ? 1 : fraction > 0 ? fraction : 0; /* NaN becomes 0 */
    unsigned filled = (unsigned) (fraction * (double) columns * 8 + 0.5);
    for (unsigned i = 0; i < filled / 8; i++)
        strcat(bar, "█");
    strcat(bar, eighths[filled % 8]);
    put_clean(term, PL_STYLE_BAR, bar);
}

static const char *fill_line(struct pl_term *term, const char *text, size_t indent)
{
    pl_term_pad(term, indent);
    for (bool first = true; *text && *text != '\n'; first = false) {
        size_t bytes = strcspn(text, " \n");
        char *word = pl_say_print("%.*s", (int) bytes, text);
        bool fits = first || term->column + 1 + pl_utf8_width(word) <= term->width;
        if (fits)
            pl_term_print(term, PL_STYLE_PLAIN, "%s%s", first ? "" : " ", word);
        free(word);
        if (!fits)
            break;
        text += bytes;
        text += *text == ' ';
    }
    return text;
}

void pl_term_fill(struct pl_term *term, const char *text, size_t indent)
{
    while (*text) {
        if (*text == '\n') { /* an empty line: the newline that ends the paragraph before it was skipped below */
            pl_term_end(term);
            text++;
            continue;
        }
        text = fill_line(term, text, indent);
        pl_term_end(term);
        text += *text == '\n';
    }
}

/* --- progress --- */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

void pl_term_progress(void *what, double fraction)
{
    static double start_s, last_s;
    static bool shown;
    if (!isatty(STDERR_FILENO))
        return;
    double now = now_s();
    if (start_s == 0)
        start_s = now;
    if (fraction >= 1) {
        if (shown)
            fputs("\r\033[K", stderr);
        start_s = 0;
        shown = false;
    } else if (now - start_s > 0.3 && now - last_s > 0.05) {
        struct pl_term term = {.out = stderr, .width = 80};
        fprintf(stderr, "\r%s ", (const char *) what);
        pl_term_bar(&term, fraction, 30);
        fprintf(stderr, " %.0f%%\033[K", fraction * 100);
        fflush(stderr);
        last_s = now;
        shown = true;
    }
}

/* --- work without a known length --- */

#define BUSY_AFTER_MS 700
#define BUSY_EVERY_MS 100

static struct {
    const char *what;
    size_t bytes;
    double start_s;
    bool shown;
} busy;

/* A signal handler: it uses no stdio and preserves errno. */
static void show_busy(int signal)
{
    int error = errno;
    unsigned tenths = (unsigned) ((now_s() - busy.start_s) * 10);
    char figure[16], *at = figure + sizeof figure;
    *--at = 's';
    *--at = ' ';
    *--at = (char) ('0' + tenths % 10);
    *--at = '.';
    for (unsigned seconds = tenths / 10, first = 1; (first || seconds) && at > figure; seconds /= 10, first = 0)
        *--at = (char) ('0' + seconds % 10);
    struct iovec parts[] = {{(void *) (uintptr_t) "\r", 1},
                            {(void *) (uintptr_t) busy.what, busy.bytes},
                            {(void *) (uintptr_t) " … ", strlen(" … ")},
                            {at, (size_t) (figure + sizeof figure - at)},
                            {(void *) (uintptr_t) "\033[K", 3}};
    busy.shown = writev(STDERR_FILENO, parts, sizeof parts / sizeof *parts) > 0;
    (void) signal;
    errno = error;
}

static void set_timer(long first_ms, long every_ms)
{
    struct itimerval timer = {{0, every_ms * 1000}, {0, first_ms * 1000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

void pl_term_busy(const char *what)
{
    struct sigaction action = {.sa_handler = what ? show_busy : SIG_DFL, .sa_flags = SA_RESTART};
    if (!isatty(STDERR_FILENO) || (!what && !busy.what))
        return;
    fflush(stdout); /* which may be the same terminal */
    if (!what)
        set_timer(0, 0);
    if (!what && busy.shown)
        fputs("\r\033[K", stderr);
    busy.what = what;
    busy.bytes = what ? strlen(what) : 0;
    busy.start_s = now_s();
    busy.shown = false;
    sigaction(SIGALRM, &action, NULL);
    if (what)
        set_timer(BUSY_AFTER_MS, BUSY_EVERY_MS);
}
