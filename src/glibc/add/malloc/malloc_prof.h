/* SPDX-License-Identifier: MIT */
/* The heap profiler inside malloc: its interface to the rest of glibc.

   The profiler itself is Plimsoll's core.  malloc/plimsoll/ has a copy of
   it, with its names moved into the implementation's name space.  The core
   knows nothing about chunks and arenas; malloc_prof_calls.c, which is
   included in malloc.c, does.  malloc_prof.c connects the core with the
   rest of the library.

   None of these functions allocates, prints or changes errno.  Those for
   the end of the process, and for exec, may wait a little for other
   threads.  */

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

/* Starts the profiler.  libc calls this when it is initialized.  */
void __malloc_prof_start (void) attribute_hidden;

/* To be called before a stack is recorded: checks whether modules were
   unloaded, whose cached unwind rules are then invalid.  The loader's own
   counters show that before anything else can be loaded in their place.  */
void __malloc_prof_notice_unloads (void) attribute_hidden;

/* exit was called or main has returned: exit handlers free what is freed
   from now on.  */
void __malloc_prof_exiting (void) attribute_hidden;

/* The process is about to end; no more code of the program will run.  */
void __malloc_prof_end (enum malloc_prof_end how, int status)
  attribute_hidden;

/* Before an exec of PATH (NULL: not known), and after one that failed, with
   the result of __malloc_prof_exec.  */
bool __malloc_prof_exec (const char *path) attribute_hidden;
void __malloc_prof_exec_failed (bool copied) attribute_hidden;

/* In a new child, on its only thread.  */
void __malloc_prof_forked (void) attribute_hidden;

/* The calling thread ends.  */
void __malloc_prof_thread_end (void) attribute_hidden;

/* The calling thread leaves by longjmp, perhaps out of a signal handler that
   interrupted the profiler.  ENV is the jump buffer.  */
void __malloc_prof_jump (const void *env) attribute_hidden;

/* The thread with the descriptor THREAD has a new name.  */
void __malloc_prof_renamed (const void *thread, const char *name)
  attribute_hidden;

/* Makes the system call NUMBER, which may be prctl or seccomp.  The profiler
   has to know before the process enters a sandbox.  Returns what the kernel
   returns.  */
long int __malloc_prof_syscall (long int number, long int a, long int b,
				long int c, long int d, long int e)
  attribute_hidden;

/* The real functions; malloc_prof_mappings.c has those that programs
   call.  */
void *__malloc_prof_shmat (int shmid, const void *shmaddr, int shmflg)
  attribute_hidden;
int __malloc_prof_shmdt (const void *shmaddr) attribute_hidden;

#endif /* malloc_prof.h */
