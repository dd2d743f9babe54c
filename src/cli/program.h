/* SPDX-License-Identifier: MIT */
/*
 * program.h - which program a command line runs in the end: PATH, #! lines and env are followed as the system does.
 */
#ifndef PL_PROGRAM_H
#define PL_PROGRAM_H

struct pl_program {
    char *path;    /* the file that was asked for; NULL: not found */
    char *binary;  /* the same, or the interpreter if that is a script; NULL: exec will fail */
    char **argv;   /* what the binary is given, its name first; NULL at the end */
    char *called;  /* the file that exec is given last: the kernel calls a process by the last part of that, even
                      where it is a script */
    char *missing; /* an interpreter that a script asks for and that does not exist */
    int error;     /* errno with which exec will fail; 0: with none, as far as can be told from outside */
};

/* `argv` is a command line as execvp() takes it. */
struct pl_program pl_program_find(char *const *argv);
void pl_program_free(struct pl_program *program);

/* Command lines: lists that own their words, with NULL at the end. The first makes a copy of two, one behind the other.
 */
char **pl_program_join(char *const *front, char *const *rest);
void pl_program_free_words(char **words);

#endif
