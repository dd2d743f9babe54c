/* SPDX-License-Identifier: MIT */
/*
 * output.h - where --output says that a profile goes. What is returned is the caller's to free.
 */
#ifndef PL_OUTPUT_H
#define PL_OUTPUT_H

/* An absolute pattern, because the program may have, or take, another working directory. In a directory the default
 * name is used. */
char *pl_output_absolute(const char *pattern);

/* The directory of an absolute pattern; NULL if it differs between processes. */
char *pl_output_directory(const char *absolute);

/* Says so if nothing can be written there (NULL: it is not known), and what the consequence is. */
void pl_output_check(const char *directory, const char *consequence);

#endif
