/* SPDX-License-Identifier: MIT */
/* The heap profiler inside malloc: connects Plimsoll's core with glibc.  */

#include <elf.h>
#include <fcntl.h>
#include <ldsodefs.h>
#include <libc-internal.h>
#include <pthreadP.h>
#include <stdlib/exit.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sysdep.h>
#include <unistd.h>
#define TUNABLE_NAMESPACE malloc
#include <elf/dl-tunables.h>

/* Inside libc.so, its own functions have other names: calls of them do not
   go through the PLT.  */
#ifdef SHARED
# define PL_ARCH_SETJMP "__GI__setjmp"
#endif

#include "malloc/plimsoll/core/cold.h"
#include "malloc/plimsoll/core/memory.h"
#include "malloc/plimsoll/core/process.h"
#include "malloc/plimsoll/core/sandbox.h"
#include "malloc/plimsoll/core/stats.h"
#include "malloc/plimsoll/core/sys.h"
#include "malloc/plimsoll/core/text.h"
#include "malloc_prof.h"

/* ---- tunables ---- */

#define TEXT_MAX PL_PATH_MAX

/* A text that is too long becomes an empty one, which no setting accepts.  */
static const char *
copy_text (const char *text, size_t length)
{
  static char room[TEXT_MAX];
  if (text == NULL || length == 0)
    return NULL;
  if (length >= TEXT_MAX)
    return "";
  __pl_memory_copy (room, text, length);
  room[length] = '\0';
  return room;
}

/* The text of a tunable, valid until the next call; NULL if it is not set.
   Newer releases do not terminate it.  */
#if __GLIBC_PREREQ (2, 39)
# define GET_TEXT(tunable)						      \
  ({									      \
    const struct tunable_str_t *text_					      \
      = TUNABLE_GET (tunable, struct tunable_str_t *, NULL);		      \
    copy_text (text_->str, text_->len);					      \
  })
#else
# define GET_TEXT(tunable)						      \
  ({									      \
    const char *text_ = TUNABLE_GET (tunable, const char *, NULL);	      \
    copy_text (text_, text_ != NULL ? __pl_text_bytes (text_) : 0);	      \
  })
#endif

/* Anything but "0" means yes.  */
static bool
is_set (const char *text)
{
  return text != NULL && !__pl_text_same (text, "0");
}

static bool stats_wanted;

/* Sets a setting of the core from a tunable.  */
static void
set (struct __pl_config *config, enum __pl_setting setting,
     enum __pl_glibc_setting tunable, const char *text)
{
  if (text != NULL && !__pl_config_set (config, setting, text))
    config->bad |= 1u << tunable;
}

/* The pattern for PREFIX.PID.plim.  A % in the prefix is escaped.  If the
   prefix is a directory, the default file name is appended to it.  */
static const char *
pattern_of (const char *prefix, char *room)
{
  struct __pl_text_line line = __pl_text_line_in (room, TEXT_MAX);
  const char *last = prefix;
  if (*prefix == '\0')
    return prefix;
  for (; *prefix != '\0'; ++prefix)
    {
      if (*prefix == '%')
	__pl_text_line_char (&line, '%');
      __pl_text_line_char (&line, *prefix);
      if (*prefix == '/')
	last = prefix + 1;
    }
  if (__pl_text_same (last, ".") || __pl_text_same (last, ".."))
    __pl_text_line_text (&line, "/plimsoll.%c");
  else if (*last == '\0')
    __pl_text_line_text (&line, "plimsoll.%c");
  __pl_text_line_text (&line, ".%p" PL_SUFFIX);
  return line.full ? "" : room;
}

static void
configure (struct __pl_config *config)
{
  static char pattern[TEXT_MAX];
  set (config, PL_SETTING_SAMPLE, PL_GLIBC_BYTES, GET_TEXT (prof_bytes));
  const char *prefix = GET_TEXT (prof_out);
  if (prefix != NULL)
    set (config, PL_SETTING_OUT, PL_GLIBC_OUT, pattern_of (prefix, pattern));
  stats_wanted = is_set (GET_TEXT (prof_stats));
}

/* ---- what the core needs ---- */

/* libc is initialized; see __malloc_prof_start.  */
static bool begun;

/* A second copy of libc, in a namespace of its own (dlmopen), leaves the
   process to the first one.  */
static bool
unwanted (void)
{
#ifdef SHARED
  if (begun && !__libc_initial)
    return true;
#endif
  return __libc_enable_secure || !is_set (GET_TEXT (prof));
}

#ifdef SHARED
/* The arguments are where the kernel put them, or where the loader moved
   them, followed by the environment.  libc sets its own pointers to both
   only after the first call of malloc.  */
static char **
arguments (void)
{
  return (char **) __libc_stack_end + 1;
}

/* IFUNC resolvers may allocate before libc is initialized, and before it
   knows in which namespace it is.  */
static char **
environment (void)
{
  if (!begun)
    return NULL;
  return arguments () + *(long int *) __libc_stack_end + 1;
}

/* If the kernel has loaded no interpreter, the loader was run as a program,
   with the program as its argument.  */
static bool
program (struct __pl_process_program *out)
{
  if (__getauxval (AT_BASE) != 0)
    return false;
  out->path = (const char *) __getauxval (AT_EXECFN);
  out->arguments = arguments ();
  return out->path != NULL;
}
#else
/* The startup code allocates while it sets up what the unwinder needs.  It
   registers the first exit handler itself, after that.  */
static char **
environment (void)
{
  return __new_exitfn_called != 0 ? __environ : NULL;
}

/* A static program has no loader.  */
static bool
program (struct __pl_process_program *out)
{
  return false;
}
#endif

/* In nearly every program the program headers follow the ELF header.  */
static uintptr_t
main_header (void)
{
  uintptr_t headers = __getauxval (AT_PHDR);
  return (headers % 4096 == sizeof (ElfW (Ehdr))
	  ? headers - sizeof (ElfW (Ehdr)) : 0);
}

static uint32_t
page_bytes (void)
{
  return GLRO (dl_pagesize);
}

/* Chunks are at least MINSIZE bytes apart.  */
static unsigned int
granule_shift (void)
{
  return 5;
}

static uintptr_t
allocator (void)
{
  return (uintptr_t) malloc;
}

/* ---- the summary ---- */

/* Buffered text for a file.  Keys are at most 1 KiB long.  */
static struct
{
  int fd;
  struct __pl_text_line line;
  char text[2 * TEXT_MAX];
} summary;

static void
flush (void)
{
  __pl_sys3 (__NR_write, summary.fd, (long int) summary.text,
	     summary.line.at - summary.text);
  summary.line = __pl_text_line_in (summary.text, sizeof summary.text);
}

/* Writes one figure, as a line.  */
static int
put_figure (void *unused, const char *key, uint64_t number)
{
  if (summary.line.room < TEXT_MAX)
    flush ();
  __pl_text_line_text (&summary.line, key);
  __pl_text_line_char (&summary.line, ' ');
  __pl_text_line_number (&summary.line, number);
  __pl_text_line_char (&summary.line, '\n');
  return 0;
}

static const char loss_keys[PL_LOSS_COUNT][32] =
  {
#define ROW(name, key, help) "lost." key,
    PL_LOSSES (ROW)
#undef ROW
  };

/* The path of the summary, beside the profile: FILE.stats for FILE.plim.  It
   always has the pid in its name, because several processes may have the
   same destination.  */
static bool
stats_path (const struct __pl_process *process, char room[TEXT_MAX])
{
  static char pid[24];
  struct __pl_text_line line = __pl_text_line_in (pid, sizeof pid);
  size_t length = __pl_text_bytes (process->destination);
  size_t suffix = sizeof PL_SUFFIX - 1;
  if (length > suffix
      && __pl_text_same (process->destination + length - suffix, PL_SUFFIX))
    length -= suffix;
  __pl_text_line_char (&line, '.');
  __pl_text_line_number (&line, process->pid);
  size_t digits = __pl_text_bytes (pid);
  line = __pl_text_line_in (room, TEXT_MAX);
  for (size_t i = 0; i < length; ++i)
    __pl_text_line_char (&line, process->destination[i]);
  if (length < digits || !__pl_text_same (room + length - digits, pid))
    __pl_text_line_text (&line, pid);
  __pl_text_line_text (&line, ".stats");
  return !line.full;
}

/* At the end of the process.  Not on a signal stack, which may be small.  */
static void
write_stats (struct __pl_process *process)
{
  static char path[TEXT_MAX];
  if (!stats_wanted || __pl_sys_on_signal_stack ()
      || !stats_path (process, path))
    return;
  summary.fd = __pl_sys_open (path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW
			      | O_CLOEXEC, 0600);
  if (summary.fd < 0)
    return;
  summary.line = __pl_text_line_in (summary.text, sizeof summary.text);
  __pl_stats_pairs (process, put_figure, NULL);
  const struct __pl_header *header = __pl_file_header (&process->file);
  if (header->mode == PL_MODE_SAMPLED)
    put_figure (NULL, "process.sample_bytes", header->interval_bytes);
  for (int i = 0; i < PL_LOSS_COUNT; ++i)
    if (header->losses[i] != 0)
      put_figure (NULL, loss_keys[i], header->losses[i]);
  flush ();
  __pl_sys_close (summary.fd);
}

/* For frames of Python code: which thread this is, and what it has stored
   under a key.  */
static uintptr_t
self (void)
{
  return (uintptr_t) THREAD_SELF;
}

static void *
specific (uint32_t key)
{
  return __pthread_getspecific (key);
}

const struct __pl_front __pl_front =
  {
    .mode = PL_MODE_SAMPLED,
    .environment = environment,
    .unwanted = unwanted,
    .configure = configure,
    .program = program,
    .main_header = main_header,
    .page_bytes = page_bytes,
    .granule_shift = granule_shift,
    .allocator = allocator,
    .self = self,
    .specific = specific,
    .ending = write_stats,
  };

/* ---- what glibc calls ---- */

void
__malloc_prof_start (void)
{
  begun = true;
  __pl_process_start (__pl_process);
}

void
__malloc_prof_notice_unloads (void)
{
  static unsigned long long int seen;
  unsigned long long int unloads = GL (dl_load_adds);
  for (size_t ns = 0; ns < GL (dl_nns); ++ns)
    unloads -= GL (dl_ns)[ns]._ns_nloaded;
  if (__glibc_unlikely (load_relaxed (&seen) != unloads))
    {
      store_relaxed (&seen, unloads);
      __pl_process_unloaded (__pl_process);
    }
}

void
__malloc_prof_exiting (void)
{
  __pl_process_exiting (__pl_process);
}

void
__malloc_prof_end (enum malloc_prof_end how, int status)
{
  static const enum __pl_end ends[] =
    {
      [MALLOC_PROF_EXIT] = PL_END_EXIT,
      [MALLOC_PROF_QUICK] = PL_END_QUICK,
    };
  __pl_process_end (__pl_process, ends[how], status);
}

bool
__malloc_prof_exec (const char *path)
{
  return __pl_process_exec (__pl_process, path);
}

void
__malloc_prof_exec_failed (bool copied)
{
  __pl_process_exec_failed (__pl_process, copied);
}

void
__malloc_prof_forked (void)
{
  __pl_process_forked (__pl_process, &__pl_tls);
}

void
__malloc_prof_thread_end (void)
{
  __pl_thread_goodbye (__pl_process, &__pl_tls);
}

void
__malloc_prof_jump (const void *env)
{
  __pl_cold_thrown (__pl_arch_jump_target (env));
}

void
__malloc_prof_renamed (const void *thread, const char *name)
{
  __pl_thread_renamed (__pl_process,
		       (uintptr_t) thread - (uintptr_t) THREAD_SELF, name);
}

long int
__malloc_prof_syscall (long int number, long int a, long int b, long int c,
		       long int d, long int e)
{
  struct __pl_confining confining = __pl_sandbox_before (number, a, b);
  long int result = __pl_arch_syscall (number, a, b, c, d, e, 0);
  __pl_sandbox_after (confining, result < 0);
  if (number == __NR_prctl && a == PR_SET_NAME && result == 0)
    __malloc_prof_renamed (THREAD_SELF, (const char *) b);
  return result;
}

/* ---- static programs ---- */

#ifndef SHARED
/* Programs refer to the API by weak symbols, for which the linker takes no
   member from an archive.  This reference makes it take the API.  */
extern void plimsoll_push (const char *name);
static void (*const api) (const char *) __attribute__ ((used)) = plimsoll_push;
#endif

/* ---- the mark of this library ---- */

/* This note identifies static programs that contain the profiler.  */
static const struct
{
  ElfW (Nhdr) head;
  char name[12];
  uint32_t version;
} note __attribute__ ((section (".note.plimsoll"), aligned (4), used)) =
  {
    .head = { .n_namesz = sizeof "Plimsoll", .n_descsz = 4, .n_type = 1 },
    .name = "Plimsoll",
    .version = 1,
  };
