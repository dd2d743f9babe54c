/* SPDX-License-Identifier: MIT */
/* execve, which tells the heap profiler before the program is replaced.  */

#include <sysdep.h>
#include <unistd.h>
#include <malloc/malloc_prof.h>

int
__execve (const char *path, char *const argv[], char *const envp[])
{
  bool copied = __malloc_prof_exec (path);
  int result = INLINE_SYSCALL_CALL (execve, path, argv, envp);
  __malloc_prof_exec_failed (copied);
  return result;
}
weak_alias (__execve, execve)
