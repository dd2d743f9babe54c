/* SPDX-License-Identifier: MIT */
/* The heap profiler inside malloc: what the rest of glibc sees of it.

   The profiler itself is Plimsoll's core, which malloc/plimsoll/ has a copy
   of, with its names moved into the implementation's name space.  It knows
   nothing of chunks and arenas; malloc_prof_calls.c, which is a part of
   malloc.c, does.  malloc_prof.c is all that connects the core with the
   rest of the library.

   None of these functions allocates, prints or changes errno.  Those about
   ends may wait for other threads, a little.  */

#ifndef _MALLOC_PROF_H
#define _MALLOC_PROF_H 1

#include <stdbool.h>
#include <stddef.h>

/* How a process ends; see __malloc_prof_end.  */
enum malloc_prof_end
{
  MALLOC_PROF_EXIT,		/* exit, or a return from main.  */
  MALLOC_PROF_QUICK		/* quick_exit or _exit.  */
};

/* The process begins.  Should it allocate before, then it has begun.  */
void __malloc_prof_start (void) attribute_hidden;

/* Before a stack is recorded: modules that went away took their unwind
   information with them.  The loader's own figures tell, before anything can
   be in their place.  */
void __malloc_prof_notice_unloads (void) attribute_hidden;

/* The process exits: what is freed from now on, exit handlers free.  */
void __malloc_prof_exiting (void) attribute_hidden;

/* The process is about to end; nothing of the program's will run.  */
void __malloc_prof_end (enum malloc_prof_end how, int status)
  attribute_hidden;

/* The process is about to become another program, PATH if that is known;
   and if it did not, with what __malloc_prof_exec returned.  */
bool __malloc_prof_exec (const char *path) attribute_hidden;
void __malloc_prof_exec_failed (bool copied) attribute_hidden;

/* In a new child, on the one thread that it has.  */
void __malloc_prof_forked (void) attribute_hidden;

/* The calling thread ends.  */
void __malloc_prof_thread_end (void) attribute_hidden;

/* The calling thread leaves by longjmp, perhaps out of a signal handler that
   interrupted the profiler.  ENV is the jump buffer.  */
void __malloc_prof_jump (const void *env) attribute_hidden;

/* The thread with the descriptor THREAD has a new name.  */
void __malloc_prof_renamed (const void *thread, const char *name)
  attribute_hidden;

/* Does the system call NUMBER, which may be prctl or seccomp.  The profiler
   has to know before it is confined.  Returns what the kernel returns.  */
long int __malloc_prof_syscall (long int number, long int a, long int b,
				long int c, long int d, long int e)
  attribute_hidden;

#endif /* malloc_prof.h */
