/* SPDX-License-Identifier: MIT */
/*
 * program.h - finds the binary that a command line finally runs: follows PATH, #! lines and env as the system does.
 */
#ifndef PL_PROGRAM_H
#define PL_PROGRAM_H

struct pl_program_command {
    char *path;    /* the file of the command; NULL: not found */
    char *binary;  /* the same, or the interpreter if that is a script; NULL: exec will fail */
    char **argv;   /* arguments of the binary, its name first; NULL at the end */
    char *called;  /* the file of the last exec call, which may be a script: the kernel names the process after its
                      last part */
    char *missing; /* the interpreter of a script, if it does not exist */
    int error;     /* the errno with which exec will fail; 0: it will probably succeed */
};

/* `argv` is a command line as execvp() takes it. */
struct pl_program_command pl_program_find(char *const *argv);
void pl_program_free(struct pl_program_command *program);

/* Command lines: lists that own their words, with NULL at the end. pl_program_join() copies two lists into one. */
char **pl_program_join(char *const *front, char *const *rest);
void pl_program_free_words(char **words);

#endif
