/* SPDX-License-Identifier: MIT */
/*
 * say.h - what Plimsoll says to a person, always on stderr, one line at a time, behind `plimsoll: `.
 *
 * stdout is for data alone. Text from profiles and from the file system goes through here unchanged by callers: control
 * characters in it are made visible, so that no name can command the terminal.
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

/* The same, for the way out: `return pl_say_failure(...)`. */
enum pl_exit pl_say_failure(const char *format, ...) PL_PRINTF(1, 2);
enum pl_exit pl_say_usage(const char *format, ...) PL_PRINTF(1, 2);

/*
 * The command that the user types to start us, ready to be pasted into a shell: a hint gives it in front of what to
 * type next. It is "plimsoll" where $PATH has it, and build/plimsoll where that was typed. What programs read (JSON,
 * JUnit) must not depend on it, and says plimsoll.
 */
const char *pl_say_self(void);
void pl_say_typed_as(const char *typed); /* main() knows: argv[0] */

/* From now on this thread says nothing, or all again: for what is tried again and again, and has been said once. */
void pl_say_hush(bool hushed);

/* Sends what was printed to stdout on its way. 0, or the errno with which that first failed: later calls of anything
 * have an errno of their own. */
int pl_say_flush(void);

/* A copy in which control characters and bytes that are not UTF-8 read \xNN. The caller frees it. */
char *pl_say_clean(const char *text);

/* The text as a shell takes it for one word: quoted where it has to be. The caller frees it. */
char *pl_say_quote(const char *text);

/* asprintf, vasprintf and strdup that cannot fail: a reader without memory has nothing left to say. */
char *pl_say_print(const char *format, ...) PL_PRINTF(1, 2);
char *pl_say_vprint(const char *format, va_list arguments) PL_PRINTF(1, 0);
void *pl_say_memory(void *memory);

#endif
