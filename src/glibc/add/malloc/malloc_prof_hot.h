/* SPDX-License-Identifier: MIT */
/* The heap profiler inside malloc: its hot path.  Part of malloc.c.

   Every allocation counts itself and takes its charge from the thread's
   countdown: four instructions, no atomics, no branch taken.  Every free
   looks at one more bit of a word that it looks at anyway.  Both cost the
   same whether the profiler is on or off.  */

#ifndef _MALLOC_PROF_HOT_H
#define _MALLOC_PROF_HOT_H 1

#include "malloc_prof.h"

/* The profiler's per-thread block also has the pointer to the tcache, so
   that one load of a thread-local offset finds both.  */
#define __pl_front_tls tcache_perthread_struct
#include "plimsoll/threads.h"
#include "plimsoll/settings.h"

/* Counts a call that asks for BYTES bytes.  True: the countdown has run out,
   and the call is to go the long way.  It is unsigned, and runs out by
   borrowing: no size is too large for it.  It is zero in a new thread.  */
static __always_inline bool
malloc_prof_charge (enum __pl_function function, size_t bytes)
{
  __pl_add (&__pl_tls.calls[function], 1);
  return __glibc_unlikely (__pl_take (&__pl_tls.charge_left,
				      bytes + PL_CALL_CHARGE));
}

#endif /* malloc_prof_hot.h */
