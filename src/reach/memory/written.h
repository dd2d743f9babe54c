/* SPDX-License-Identifier: MIT */
/*
 * written.h - which pages a process writes to, from now on.
 *
 * The kernel can note the first write to each page in two ways:
 *
 *   soft-dirty         a bit of each page; /proc/PID/clear_refs clears all of them. Kernels with CONFIG_MEM_SOFT_DIRTY
 *   write protection   userfaultfd without a handler (UFFD_FEATURE_WP_ASYNC): Linux 6.7 and later, x86-64
 *
 * The first needs a right only. For the second, a thread of the process is borrowed for two system calls, because a
 * userfaultfd belongs to the memory of the process that made it. From then on the descriptor is ours alone: however we
 * end, the kernel closes it and takes the protection away. In both cases the process pays a fault in the kernel for the
 * first write to each page, and nobody waits for us. Either way pagemap says which pages were written.
 */
#ifndef PL_WRITTEN_H
#define PL_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum pl_written_by {
    PL_WRITTEN_UNKNOWN,
    PL_WRITTEN_SOFT_DIRTY,
    PL_WRITTEN_PROTECTED,
};

struct pl_written {
    enum pl_written_by by;
    int fd;            /* the userfaultfd; -1: none */
    uint64_t still_ns; /* how long the process stood still for it */
    char problem[512]; /* after a failure, for people */
};

/* Only private memory of no file is watched: where malloc's blocks are. False: see `problem`. */
bool pl_written_begin(struct pl_written *written, pid_t pid);
void pl_written_end(struct pl_written *written);

/* Can pl_written_begin() do it in this way, as far as the kernel is concerned? */
bool pl_written_can(enum pl_written_by by);

#endif
