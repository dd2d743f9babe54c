/* SPDX-License-Identifier: MIT */
/*
 * terminal.c - see terminal.h. The only file that knows ncurses.
 *
 * ncurses is not made for signal handlers. So the texts that restore the terminal are looked up when it is opened, and
 * a handler writes them itself.
 */
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <locale.h>
#include <langinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

/* term.h of ncurses defines words that others use. */
#undef columns
#undef lines
#undef tab

#include "cli/top/keys.h"
#include "cli/top/terminal.h"

static struct {
    SCREEN *screen; /* NULL: closed */
    bool colour;
    struct termios before;
    char restore[256];
    size_t restore_bytes;
} terminal;

/* ---- how it ends ---- */

/* Asynchronous-signal-safe. */
static void restore(int signal)
{
    if (terminal.screen) {
        ssize_t written = write(STDOUT_FILENO, terminal.restore, terminal.restore_bytes);
        (void) written;
        tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
    }
    raise(signal); /* the handler was reset, so this ends the process */
}

static void add_text(const char *capability)
{
    const char *text = tigetstr((char *) (uintptr_t) capability);
    size_t bytes = text && text != (char *) -1 ? strlen(text) : 0;
    if (bytes && terminal.restore_bytes + bytes <= sizeof terminal.restore) {
        memcpy(terminal.restore + terminal.restore_bytes, text, bytes);
        terminal.restore_bytes += bytes;
    }
}

/* The command itself handles SIGTERM, SIGINT and SIGHUP. */
static void restore_on_crashes(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT, SIGPIPE, SIGXCPU};
    struct sigaction action = {.sa_handler = restore, .sa_flags = (int) SA_RESETHAND | SA_NODEFER};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &action, NULL);
}

void pl_terminal_close(void)
{
    if (!terminal.screen)
        return;
    endwin();
    delscreen(terminal.screen);
    terminal.screen = NULL;
}

/* ---- how it begins ---- */

/* Names are UTF-8 everywhere, so the terminal must take it; LC_NUMERIC stays as it is. */
static void use_utf8(void)
{
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8"))
        setlocale(LC_CTYPE, "C.UTF-8");
}

static void begin_colours(void)
{
    start_color();
    use_default_colors();
    init_pair(PL_STYLE_BAR, COLOR_CYAN, -1);
    init_pair(PL_STYLE_WARN, COLOR_YELLOW, -1);
    init_pair(PL_STYLE_HEAD, COLOR_GREEN, -1);
}

bool pl_terminal_open(bool colour)
{
    use_utf8();
    tcgetattr(STDIN_FILENO, &terminal.before);
    terminal.screen = newterm(NULL, stdout, stdin);
    if (!terminal.screen)
        return false;
    set_term(terminal.screen);
    add_text("sgr0");
    add_text("cnorm");
    add_text("rmkx");
    add_text("rmcup");
    restore_on_crashes();
    atexit(pl_terminal_close);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    curs_set(0);
    terminal.colour = colour && has_colors();
    if (terminal.colour)
        begin_colours();
    return true;
}

void pl_terminal_size(int *rows, int *columns)
{
    getmaxyx(stdscr, *rows, *columns);
}

void pl_terminal_resized(void)
{
    struct winsize size;
    if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
        resizeterm(size.ws_row, size.ws_col);
    clearok(stdscr, TRUE);
}

/* ---- showing ---- */

static attr_t attributes_of(unsigned ink)
{
    static const attr_t of_style[PL_STYLE_COUNT] = {
        [PL_STYLE_BOLD] = A_BOLD, [PL_STYLE_DIM] = A_DIM, [PL_STYLE_HEAD] = A_BOLD, [PL_STYLE_WARN] = A_BOLD};
    unsigned style = ink & ~PL_INK_REVERSE;
    return (style < PL_STYLE_COUNT ? of_style[style] : A_NORMAL) | (ink & PL_INK_REVERSE ? A_REVERSE : A_NORMAL);
}

static short pair_of(unsigned ink)
{
    unsigned style = ink & ~PL_INK_REVERSE;
    bool paired = style == PL_STYLE_BAR || style == PL_STYLE_WARN || style == PL_STYLE_HEAD;
    return terminal.colour && paired ? (short) style : 0;
}

void pl_terminal_show(const struct pl_canvas *canvas)
{
    erase();
    for (int row = 0; row < canvas->rows; row++)
        for (int column = 0; column < canvas->columns; column++) {
            const struct pl_cell *cell = &canvas->cell[row * canvas->columns + column];
            const wchar_t text[] = {(wchar_t) cell->character, 0};
            cchar_t shown;
            if (!cell->character || (cell->character == ' ' && !cell->ink))
                continue;
            setcchar(&shown, text, attributes_of(cell->ink), pair_of(cell->ink), NULL);
            mvadd_wch(row, column, &shown);
        }
    refresh();
}

/* ---- keys ---- */

static const struct {
    wint_t theirs;
    uint32_t ours;
} codes[] = {
    {KEY_UP, PL_KEY_UP},         {KEY_DOWN, PL_KEY_DOWN},
    {KEY_LEFT, PL_KEY_LEFT},     {KEY_RIGHT, PL_KEY_RIGHT},
    {KEY_PPAGE, PL_KEY_PAGE_UP}, {KEY_NPAGE, PL_KEY_PAGE_DOWN},
    {KEY_HOME, PL_KEY_HOME},     {KEY_END, PL_KEY_END},
    {KEY_ENTER, PL_KEY_ENTER},   {KEY_BACKSPACE, PL_KEY_BACKSPACE},
    {KEY_BTAB, PL_KEY_BACK_TAB},
};

uint32_t pl_terminal_key(void)
{
    wint_t key;
    for (int kind; (kind = get_wch(&key)) != ERR;) {
        if (kind == OK)
            return key == '\r' ? PL_KEY_ENTER : key == 0x7f || key == '\b' ? PL_KEY_BACKSPACE : (uint32_t) key;
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
            if (codes[i].theirs == key)
                return codes[i].ours;
    }
    return 0;
}
