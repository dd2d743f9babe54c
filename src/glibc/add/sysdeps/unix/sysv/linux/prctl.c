/* SPDX-License-Identifier: MIT */
/* prctl, by which a program may enter a sandbox or rename a thread.  */

#include <stdarg.h>
#include <sys/prctl.h>
#include <sysdep.h>
#include <malloc/malloc_prof.h>

/* OPTION determines how many arguments there are; the kernel ignores the
   others.  */
int
__prctl (int option, ...)
{
  unsigned long int rest[4];
  va_list ap;
  va_start (ap, option);
  for (int i = 0; i < 4; ++i)
    rest[i] = va_arg (ap, unsigned long int);
  va_end (ap);
#if IS_IN (rtld)
  /* The loader of some processors sets up memory tagging by it.  */
  long int result = INTERNAL_SYSCALL_CALL (prctl, option, rest[0], rest[1],
					   rest[2], rest[3]);
#else
  long int result = __malloc_prof_syscall (__NR_prctl, option, rest[0],
					   rest[1], rest[2], rest[3]);
#endif
  if (INTERNAL_SYSCALL_ERROR_P (result))
    return INLINE_SYSCALL_ERROR_RETURN_VALUE (INTERNAL_SYSCALL_ERRNO (result));
  return result;
}
libc_hidden_def (__prctl)
weak_alias (__prctl, prctl)
#if __TIMESIZE != 64
weak_alias (__prctl, __prctl_time64)
#endif
