/* SPDX-License-Identifier: MIT */
/*
 * sys.h - system calls, raw: nothing here touches errno, takes a lock or can be interposed.
 *
 * Each returns what the kernel returned: a negative errno on failure.
 */
#ifndef PL_SYS_H
#define PL_SYS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "arch.h"

INLINE long pl_sys3(long number, long a, long b, long c)
{
    return pl_syscall(number, a, b, c, 0, 0, 0);
}

INLINE long pl_sys_open(const char *path, int flags, int mode)
{
    return pl_syscall(__NR_openat, AT_FDCWD, (long) path, flags, mode, 0, 0);
}

INLINE long pl_sys_close(int fd)
{
    return pl_sys3(__NR_close, fd, 0, 0);
}

INLINE long pl_sys_read(int fd, void *to, size_t bytes)
{
    return pl_sys3(__NR_read, fd, (long) to, (long) bytes);
}

INLINE long pl_sys_pread(int fd, void *to, size_t bytes, uint64_t offset)
{
    return pl_syscall(__NR_pread64, fd, (long) to, (long) bytes, (long) offset, 0, 0);
}

INLINE long pl_sys_pwrite(int fd, const void *from, size_t bytes, uint64_t offset)
{
    return pl_syscall(__NR_pwrite64, fd, (long) from, (long) bytes, (long) offset, 0, 0);
}

INLINE long pl_sys_fallocate(int fd, uint64_t offset, uint64_t bytes)
{
    return pl_syscall(__NR_fallocate, fd, 0, (long) offset, (long) bytes, 0, 0);
}

/* For files that nobody maps: a hole in one that is mapped is a fault to come. */
INLINE long pl_sys_truncate(int fd, uint64_t bytes)
{
    return pl_sys3(__NR_ftruncate, fd, (long) bytes, 0);
}

INLINE long pl_sys_unlink(const char *path)
{
    return pl_sys3(__NR_unlinkat, AT_FDCWD, (long) path, 0);
}

INLINE long pl_sys_access(const char *path, int mode)
{
    return pl_sys3(__NR_faccessat, AT_FDCWD, (long) path, mode);
}

INLINE long pl_sys_readlink(const char *path, char *to, size_t bytes)
{
    return pl_syscall(__NR_readlinkat, AT_FDCWD, (long) path, (long) to, (long) bytes, 0, 0);
}

INLINE long pl_sys_getcwd(char *to, size_t bytes)
{
    return pl_sys3(__NR_getcwd, (long) to, (long) bytes, 0);
}

INLINE long pl_sys_stat_fd(int fd, struct statx *out)
{
    return pl_syscall(__NR_statx, fd, (long) "", AT_EMPTY_PATH, STATX_INO, (long) out, 0);
}

/* The same file at a descriptor number of at least `at_least`, where the program is unlikely to look. */
/* Where descriptors of ours go: out of the way of programs that count theirs from below. */
#define PL_FD_AT_LEAST 700
INLINE long pl_sys_dup_above(int fd, int at_least)
{
    return pl_sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, at_least);
}

INLINE void *pl_sys_mmap(void *at, size_t bytes, int flags, int fd)
{
    long p = pl_syscall(__NR_mmap, (long) at, (long) bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    return (unsigned long) p > -4096ul ? NULL : (void *) p;
}

INLINE long pl_sys_munmap(void *at, size_t bytes)
{
    return pl_sys3(__NR_munmap, (long) at, (long) bytes, 0);
}

INLINE void *pl_sys_mremap(void *at, size_t bytes, size_t new_bytes)
{
    long p = pl_syscall(__NR_mremap, (long) at, (long) bytes, (long) new_bytes, 1 /* MREMAP_MAYMOVE */, 0, 0);
    return (unsigned long) p > -4096ul ? NULL : (void *) p;
}

INLINE long pl_sys_munlock(void *at, size_t bytes)
{
    return pl_sys3(__NR_munlock, (long) at, (long) bytes, 0);
}

INLINE long pl_sys_madvise(void *at, size_t bytes, int advice)
{
    return pl_sys3(__NR_madvise, (long) at, (long) bytes, advice);
}

INLINE uint32_t pl_sys_getpid(void)
{
    return (uint32_t) pl_sys3(__NR_getpid, 0, 0, 0);
}

INLINE uint32_t pl_sys_getppid(void)
{
    return (uint32_t) pl_sys3(__NR_getppid, 0, 0, 0);
}

INLINE uint32_t pl_sys_gettid(void)
{
    return (uint32_t) pl_sys3(__NR_gettid, 0, 0, 0);
}

INLINE uint32_t pl_sys_getuid(void)
{
    return (uint32_t) pl_sys3(__NR_getuid, 0, 0, 0);
}

INLINE bool pl_sys_on_signal_stack(void)
{
    struct {
        void *base;
        int flags;
        size_t bytes;
    } now = {NULL, 0, 0};
    return pl_sys3(__NR_sigaltstack, 0, (long) &now, 0) != 0 || now.flags & 1 /* SS_ONSTACK */;
}

INLINE uint64_t pl_sys_clock_ns(int clock)
{
    struct timespec now = {0, 0};
    pl_sys3(__NR_clock_gettime, clock, (long) &now, 0);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

/* Has somebody set PR_SET_TSC to PR_TSC_SIGSEGV? Fork and exec keep it. */
INLINE bool pl_sys_clock_is_forbidden(void)
{
    int how = 0;
    return pl_sys3(__NR_prctl, 25 /* PR_GET_TSC */, (long) &how, 0) == 0 && how == 2;
}

/* Sleeps by waiting for what never happens: a sandbox that allows malloc allows futex. */
/* Sleeps by waiting for what never happens: a sandbox that allows malloc allows futex. */
INLINE void pl_sys_doze(long ns)
{
    static const uint32_t never = 0;
    struct timespec bound = {0, ns};
    pl_syscall(__NR_futex, (long) &never, 128 /* FUTEX_WAIT_PRIVATE */, 0, (long) &bound, 0, 0);
}

INLINE long pl_sys_getrandom(void *to, size_t bytes)
{
    return pl_sys3(__NR_getrandom, (long) to, (long) bytes, 1 /* GRND_NONBLOCK */);
}

INLINE long pl_sys_thread_name(char name[16])
{
    return pl_sys3(__NR_prctl, 16 /* PR_GET_NAME */, (long) name, 0);
}

struct pl_limit {
    uint64_t soft;
    uint64_t hard;
};

#define PL_LIMIT_FSIZE 1
#define PL_LIMIT_AS 9
INLINE long pl_sys_limit(int resource, struct pl_limit *out)
{
    return pl_syscall(__NR_prlimit64, 0, resource, 0, (long) out, 0, 0);
}

/* Copies from this process's own memory, and fails instead of faulting when it is gone. */
INLINE long pl_sys_peek(uint32_t pid, void *to, const void *from, size_t bytes)
{
    struct iovec local = {to, bytes};
    struct iovec remote = {(void *) from, bytes};
    return pl_syscall(__NR_process_vm_readv, pid, (long) &local, 1, (long) &remote, 1, 0);
}

#endif
