/* SPDX-License-Identifier: MIT */
/*
 * say.c - messages to the user.
 */
#include "cli/say.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/base/utf8.h"

void *pl_say_memory(void *memory)
{
    static const char message[] = "plimsoll: out of memory\n";
    if (memory)
        return memory;
    ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
    (void) ignored;
    _exit(PL_EXIT_FAILURE);
}

char *pl_say_vprint(const char *format, va_list arguments)
{
    char *text;
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    return pl_say_memory(text);
}

char *pl_say_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = pl_say_vprint(format, arguments);
    va_end(arguments);
    return text;
}

/* C0, DEL and C1: the characters a terminal obeys instead of showing. */
static bool commands_terminal(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character <= 0x9f) || character == PL_UTF8_BAD;
}

char *pl_say_clean(const char *text)
{
    char *clean = pl_say_memory(malloc(4 * strlen(text) + 1)), *to = clean;
    uint32_t character;
    for (size_t step; *text; text += step) {
        step = pl_utf8_decode(text, &character);
        for (size_t i = 0; i < step; i++) {
            if (commands_terminal(character))
                to += sprintf(to, "\\x%02x", (unsigned char) text[i]);
            else
                *to++ = text[i];
        }
    }
    *to = 0;
    return clean;
}

char *pl_say_quote(const char *text)
{
    static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:,@%";
    if (text[strspn(text, harmless)] == 0)
        return pl_say_print("%s", text);
    char *quoted = pl_say_memory(malloc(4 * strlen(text) + 3)), *to = quoted;
    *to++ = '\'';
    for (; *text; text++)
        to = *text == '\'' ? stpcpy(to, "'\\''") : (*to = *text, to + 1);
    strcpy(to, "'");
    return quoted;
}

static char *self; /* NULL: unknown; set once, before there are threads */

const char *pl_say_self(void)
{
    return self ? self : "plimsoll";
}

void pl_say_typed_as(const char *typed)
{
    free(self);
    self = *typed ? pl_say_quote(typed) : NULL;
}

static _Thread_local bool is_hushed; /* other threads still print */

void pl_say_hush(bool hushed)
{
    is_hushed = hushed;
}

/* One write per line, so that lines of several processes on one terminal do not mix. Preserves errno. */
static void say(const char *format, va_list arguments)
{
    int error = errno;
    if (is_hushed)
        return;
    char *text = pl_say_vprint(format, arguments);
    char *clean = pl_say_clean(text);
    fprintf(stderr, "plimsoll: %s\n", clean);
    free(clean);
    free(text);
    errno = error;
}

void pl_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

int pl_say_flush(void)
{
    static int failed;
    errno = 0;
    bool wrong = fflush(stdout) || ferror(stdout);
    if (wrong && !failed)
        failed = errno ? errno : EIO;
    return failed;
}

enum pl_exit pl_say_failure(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    return PL_EXIT_FAILURE;
}

enum pl_exit pl_say_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    return PL_EXIT_USAGE;
}

void pl_say_append(char **list, const char *separator, const char *word)
{
    char *longer = pl_say_print("%s%s%s", *list, **list ? separator : "", word);
    free(*list);
    *list = longer;
}
