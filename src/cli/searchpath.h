/* SPDX-License-Identifier: MIT */
/*
 * searchpath.h - which file a command name stands for, by the rules of execvp().
 */
#ifndef PL_SEARCHPATH_H
#define PL_SEARCHPATH_H

/* Whether exec would take this file: 0, or the errno with which it would fail. */
int pl_searchpath_check(const char *path);

/*
 * A name with a slash is a path; others are searched for in PATH. Sets `error` to 0, or to the errno with which exec
 * would fail. The file, which the caller frees; NULL if there is none. A path that may not be executed is returned with
 * EACCES.
 */
char *pl_searchpath_find(const char *name, int *error);

#endif
