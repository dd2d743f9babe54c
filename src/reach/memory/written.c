/* SPDX-License-Identifier: MIT */
/* written.c - see written.h. */
#include "reach/memory/written.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "attach/obstacles.h"
#include "attach/remote.h"
#include "reach/memory/scan.h"
#include "reach/memory/space.h"

#define PAGE_SOFT_DIRTY (1ull << 55)
#define BORROW_NS 2000000000ull

/* Newer than the kernel headers of Debian 12. */
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static bool fail(struct pl_written *written, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(written->problem, sizeof written->problem, format, list);
    va_end(list);
    return false;
}

/* ---- what the kernel has ---- */

/* A new page is soft-dirty. Kernels without it never set the bit. */
static bool has_soft_dirty(void)
{
    uint64_t entry = 0;
    const uint64_t size = pl_space_page();
    int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    volatile char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool good = page != MAP_FAILED && file >= 0;
    if (good) {
        *page = 1;
        good = pread(file, &entry, sizeof entry, (off_t) ((uintptr_t) page / size * sizeof entry)) == sizeof entry;
    }
    if (page != MAP_FAILED)
        munmap((void *) page, size);
    if (file >= 0)
        close(file);
    return good && entry & PAGE_SOFT_DIRTY;
}

static bool set_up(int fd)
{
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_WP_ASYNC};
    return ioctl(fd, UFFDIO_API, &api) == 0;
}

static bool has_protection(void)
{
    int fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    bool good = fd >= 0 && set_up(fd);
    if (fd >= 0)
        close(fd);
    return good;
}

bool pl_written_can(enum pl_written_by by)
{
    return by == PL_WRITTEN_SOFT_DIRTY ? has_soft_dirty() : by == PL_WRITTEN_PROTECTED && has_protection();
}

/* ---- soft-dirty ---- */

static bool clear_bits(struct pl_written *written, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/clear_refs", pid);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool good = file >= 0 && write(file, "4", 1) == 1;
    int error = errno;
    if (file >= 0)
        close(file);
    return good || fail(written, "%s: %s%s", path, strerror(error), error == EACCES ? "; run this as root" : "");
}

/* ---- write protection ---- */

/* Makes the descriptor there, takes a copy of it, and closes it there. All threads of the process stand still. */
static bool make_there(struct pl_written *written, struct pl_remote *remote, pid_t pid)
{
    const uint64_t make[6] = {O_CLOEXEC | UFFD_USER_MODE_ONLY};
    uint64_t there, closed;
    if (!pl_remote_system_call(remote, SYS_userfaultfd, make, &there))
        return fail(written, "%s", remote->problem);
    if ((int64_t) there < 0)
        return fail(written, "the kernel does not let it make a userfaultfd (%s)", strerror((int) -(int64_t) there));
    int process = (int) syscall(SYS_pidfd_open, pid, 0);
    written->fd = process >= 0 ? (int) syscall(SYS_pidfd_getfd, process, (int) there, 0) : -1;
    int error = errno;
    if (process >= 0)
        close(process);
    pl_remote_system_call(remote, SYS_close, (const uint64_t[6]){there}, &closed);
    if (written->fd < 0)
        return fail(written, "its userfaultfd cannot be taken over: %s", strerror(error));
    fcntl(written->fd, F_SETFD, FD_CLOEXEC);
    return set_up(written->fd) || fail(written, "its userfaultfd cannot be set up: %s", strerror(errno));
}

static bool borrow(struct pl_written *written, pid_t pid)
{
    struct pl_remote remote;
    sigset_t before;
    pl_remote_hold_interrupts(&before); /* the descriptor must not be left behind */
    bool good = pl_remote_open(&remote, pid) && pl_remote_borrow(&remote, PL_NEED_CALLS, BORROW_NS);
    good = good ? make_there(written, &remote, pid) : fail(written, "%s", remote.problem);
    pl_remote_go(&remote);
    pl_remote_give_back(&remote);
    written->still_ns = remote.tracee.still_ns;
    pl_remote_close(&remote);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return good;
}

static bool is_watched(const struct pl_space_part *part)
{
    return part->anonymous && part->readable && part->writable && !part->shared && !part->ours && !part->hugetlb &&
           (!*part->name || !strcmp(part->name, "[heap]") || !strncmp(part->name, "[anon:", 6));
}

/* Only pages that are there: those that come later count as written. A mapping that is gone meanwhile has none. */
static void protect(const struct pl_written *written, int pagemap, const struct pl_space_part *part)
{
    struct uffdio_register range = {.range = {part->from, part->to - part->from}, .mode = UFFDIO_REGISTER_MODE_WP};
    struct pl_scan scan = {.size = sizeof scan,
                           .flags = PL_SCAN_PROTECTS,
                           .start = part->from,
                           .end = part->to,
                           .any = PL_SCAN_PRESENT | PL_SCAN_SWAPPED};
    if (ioctl(written->fd, UFFDIO_REGISTER, &range) == 0)
        ioctl(pagemap, PL_SCAN, &scan);
}

static bool protect_all(struct pl_written *written, pid_t pid)
{
    struct pl_space space;
    bool good = pl_space_open(&space, pid);
    for (size_t i = 0; i < space.count && good; i++)
        if (is_watched(&space.part[i]))
            protect(written, space.pagemap, &space.part[i]);
    pl_space_close(&space);
    return good || fail(written, "its mappings cannot be read");
}

/* ---- */

static bool refuse(struct pl_written *written)
{
    struct utsname system = {.release = "?"};
    uname(&system);
    return fail(
        written,
        "this kernel (Linux %s) does not note which pages are written: it has neither soft-dirty bits "
        "(CONFIG_MEM_SOFT_DIRTY) nor asynchronous write protection by userfaultfd (x86-64, Linux 6.7 and later)",
        system.release);
}

bool pl_written_begin(struct pl_written *written, pid_t pid)
{
    *written = (struct pl_written){.fd = -1};
    enum pl_written_by by = has_soft_dirty()   ? PL_WRITTEN_SOFT_DIRTY
                            : has_protection() ? PL_WRITTEN_PROTECTED
                                               : PL_WRITTEN_UNKNOWN;
    bool good;
    if (by == PL_WRITTEN_SOFT_DIRTY)
        good = clear_bits(written, pid);
    else if (by == PL_WRITTEN_PROTECTED)
        good = !pl_obstacles_to_visit(pid, written->problem) && borrow(written, pid) && protect_all(written, pid);
    else
        good = refuse(written);
    written->by = good ? by : PL_WRITTEN_UNKNOWN;
    if (!good)
        pl_written_end(written);
    return good;
}

void pl_written_end(struct pl_written *written)
{
    if (written->fd >= 0)
        close(written->fd);
    written->fd = -1;
}
