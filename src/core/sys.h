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
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "core/arch.h"

INLINE long pl_sys3(long number, long a, long b, long c)
{
    return pl_arch_syscall(number, a, b, c, 0, 0, 0);
}

INLINE long pl_sys_open(const char *path, int flags, int mode)
{
    return pl_arch_syscall(__NR_openat, AT_FDCWD, (long) path, flags, mode, 0, 0);
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
    return pl_arch_syscall(__NR_pread64, fd, (long) to, (long) bytes, (long) offset, 0, 0);
}

INLINE long pl_sys_pwrite(int fd, const void *from, size_t bytes, uint64_t offset)
{
    return pl_arch_syscall(__NR_pwrite64, fd, (long) from, (long) bytes, (long) offset, 0, 0);
}

INLINE long pl_sys_fallocate(int fd, uint64_t offset, uint64_t bytes)
{
    return pl_arch_syscall(__NR_fallocate, fd, 0, (long) offset, (long) bytes, 0, 0);
}

/* A store into a hole of a mapped file, or beyond its end, can raise SIGBUS: see core/records/file.h. */
INLINE long pl_sys_truncate(int fd, uint64_t bytes)
{
    return pl_sys3(__NR_ftruncate, fd, (long) bytes, 0);
}

INLINE long pl_sys_unlink(const char *path)
{
    return pl_sys3(__NR_unlinkat, AT_FDCWD, (long) path, 0);
}

INLINE long pl_sys_symlink(const char *target, const char *path)
{
    return pl_sys3(__NR_symlinkat, (long) target, AT_FDCWD, (long) path);
}

INLINE long pl_sys_access(const char *path, int mode)
{
    return pl_sys3(__NR_faccessat, AT_FDCWD, (long) path, mode);
}

INLINE long pl_sys_statfs(const char *path, struct statfs *out)
{
    return pl_sys3(__NR_statfs, (long) path, (long) out, 0);
}

INLINE long pl_sys_statfs_fd(int fd, struct statfs *out)
{
    return pl_sys3(__NR_fstatfs, fd, (long) out, 0);
}

INLINE long pl_sys_readlink(const char *path, char *to, size_t bytes)
{
    return pl_arch_syscall(__NR_readlinkat, AT_FDCWD, (long) path, (long) to, (long) bytes, 0, 0);
}

INLINE long pl_sys_getcwd(char *to, size_t bytes)
{
    return pl_sys3(__NR_getcwd, (long) to, (long) bytes, 0);
}

INLINE long pl_sys_stat_fd(int fd, struct statx *out)
{
    return pl_arch_syscall(__NR_statx, fd, (long) "", AT_EMPTY_PATH, STATX_INO | STATX_SIZE, (long) out, 0);
}

INLINE void *pl_sys_mmap(void *at, size_t bytes, int flags, int fd)
{
    long p = pl_arch_syscall(__NR_mmap, (long) at, (long) bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    return (unsigned long) p > -4096ul ? NULL : (void *) p;
}

INLINE long pl_sys_munmap(void *at, size_t bytes)
{
    return pl_sys3(__NR_munmap, (long) at, (long) bytes, 0);
}

INLINE void *pl_sys_mremap(void *at, size_t bytes, size_t new_bytes)
{
    long p = pl_arch_syscall(__NR_mremap, (long) at, (long) bytes, (long) new_bytes, 1 /* MREMAP_MAYMOVE */, 0, 0);
    return (unsigned long) p > -4096ul ? NULL : (void *) p;
}

/* Extends a mapping without moving it. */
INLINE long pl_sys_stretch(void *at, size_t bytes, size_t new_bytes)
{
    return pl_arch_syscall(__NR_mremap, (long) at, (long) bytes, (long) new_bytes, 0, 0, 0);
}

/* Allocates pages, as stores into them would, but fails where a store would raise a signal (Linux 5.14). */
INLINE long pl_sys_populate(void *at, size_t bytes)
{
    return pl_sys3(__NR_madvise, (long) at, (long) bytes, 23 /* MADV_POPULATE_WRITE */);
}

/* The same for one page, on every kernel: FUTEX_WAKE_OP adds 0 to a word of it, and wakes nobody at `word`. */
INLINE long pl_sys_touch(uint32_t *word, void *at)
{
    return pl_arch_syscall(__NR_futex, (long) word, 5 | 128 /* FUTEX_WAKE_OP_PRIVATE */, 0, 0, (long) at,
                           1 << 28 /* ADD */);
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

/* Does reading the processor's clock fault (PR_TSC_SIGSEGV)? Fork and exec keep this setting. */
INLINE bool pl_sys_clock_is_forbidden(void)
{
    int how = 0;
    return pl_sys3(__NR_prctl, 25 /* PR_GET_TSC */, (long) &how, 0) == 0 && how == 2;
}

/* Sleeps, by waiting for a futex that nobody wakes: a sandbox that allows malloc also allows futex. */
INLINE void pl_sys_doze(long ns)
{
    static const uint32_t never = 0;
    struct timespec bound = {0, ns};
    pl_arch_syscall(__NR_futex, (long) &never, 128 /* FUTEX_WAIT_PRIVATE */, 0, (long) &bound, 0, 0);
}

/* Blocks the calling thread's signals; returns what was blocked before, for the second. */
INLINE uint64_t pl_sys_block_signals(void)
{
    uint64_t all = ~0ull, before = 0;
    pl_arch_syscall(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, (long) &all, (long) &before, sizeof all, 0, 0);
    return before;
}

INLINE void pl_sys_unblock_signals(uint64_t before)
{
    pl_arch_syscall(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, (long) &before, 0, sizeof before, 0, 0);
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
    return pl_arch_syscall(__NR_prlimit64, 0, resource, 0, (long) out, 0, 0);
}

/* Copies from this process's own memory, and fails instead of faulting if it is unmapped. */
INLINE long pl_sys_peek(uint32_t pid, void *to, const void *from, size_t bytes)
{
    struct iovec local = {to, bytes};
    struct iovec remote = {(void *) from, bytes};
    return pl_arch_syscall(__NR_process_vm_readv, pid, (long) &local, 1, (long) &remote, 1, 0);
}

#endif
