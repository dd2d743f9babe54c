/* SPDX-License-Identifier: MIT */
/*
 * say.h - messages to the user: on stderr, one line each, after `plimsoll: `.
 *
 * stdout is for data only. Callers pass text from profiles and from the file system unchanged: control characters are
 * made visible here, so that no name can control the terminal.
 */
#ifndef PL_SAY_H
#define PL_SAY_H

#include <stdarg.h>
#include <stdbool.h>

enum pl_exit {
    PL_EXIT_OK = 0,
    PL_EXIT_FAILURE = 1,
    PL_EXIT_USAGE = 2,
};

#define PL_PRINTF(string, first) __attribute__((format(printf, string, first)))

void pl_say(const char *format, ...) PL_PRINTF(1, 2);

/* The same, and return the exit status: `return pl_say_failure(...)`. */
enum pl_exit pl_say_failure(const char *format, ...) PL_PRINTF(1, 2);
enum pl_exit pl_say_usage(const char *format, ...) PL_PRINTF(1, 2);

/*
 * Our command as the user typed it, quoted for a shell: messages that tell the user what to type next begin with it. It
 * is "plimsoll", or for example build/plimsoll. Output for programs (JSON, JUnit) must not depend on it, and says
 * plimsoll.
 */
const char *pl_say_self(void);
void pl_say_typed_as(const char *typed); /* for main(), with argv[0] */

/* Suppresses the messages of this thread, or stops suppressing them. For retries whose error has been printed. */
void pl_say_hush(bool hushed);

/* Flushes stdout. Returns 0, or the errno of the first write that failed. */
int pl_say_flush(void);

/* A copy in which control characters and bytes that are not UTF-8 become \xNN. The caller frees it. */
char *pl_say_clean(const char *text);

/* The text as one word for a shell, quoted if necessary. The caller frees it. */
char *pl_say_quote(const char *text);

/* asprintf and vasprintf that cannot fail: without memory they end the process, and so does pl_say_memory(NULL). */
char *pl_say_print(const char *format, ...) PL_PRINTF(1, 2);
char *pl_say_vprint(const char *format, va_list arguments) PL_PRINTF(1, 0);
void *pl_say_memory(void *memory);

/* Appends a word to a list of words: `list` becomes "list:word", or "word" if it was empty. Frees the old list. */
void pl_say_append(char **list, const char *separator, const char *word);

#endif
