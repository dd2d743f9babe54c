/* SPDX-License-Identifier: MIT */
/*
 * observe.c - reads the profile of a running process repeatedly.
 */
#include "cli/view/observe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/proc.h"

struct pl_observe {
    pid_t pid;
    int process; /* a pidfd */
    int file;
    char *path; /* /proc/self/fd/N, which stays valid when the file is moved */
    char *root; /* root directory of the process; NULL: the same as ours */
    struct pl_namecache *known;
    bool read; /* it has been read before */
};

/* The live profile and its process. The caller frees it. NULL: no such process is running, or it has no profile. */
static char *find_live(const char *typed, pid_t *pid)
{
    struct pl_header header;
    *pid = pl_subject_pid(typed);
    if (*pid >= 0)
        return pl_proc_profile(*pid);
    if (!pl_proc_header(typed, &header) || !pl_profile_process_runs(&header))
        return NULL;
    *pid = (pid_t) header.pid;
    return pl_say_print("%s", typed);
}

struct pl_observe *pl_observe_open(const char *typed)
{
    struct pl_observe *observe = pl_say_memory(calloc(1, sizeof *observe));
    char *live = find_live(typed, &observe->pid);
    observe->process = live ? (int) syscall(SYS_pidfd_open, observe->pid, 0) : -1;
    observe->file = live ? open(live, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    free(live);
    if (observe->process < 0 || observe->file < 0) {
        pl_observe_close(observe);
        return NULL;
    }
    observe->path = pl_say_print("/proc/self/fd/%d", observe->file);
    observe->root = pl_proc_root(observe->pid);
    observe->known = pl_namecache_new();
    return observe;
}

void pl_observe_close(struct pl_observe *observe)
{
    if (!observe)
        return;
    if (observe->process >= 0)
        close(observe->process);
    if (observe->file >= 0)
        close(observe->file);
    pl_namecache_free(observe->known);
    free(observe->root);
    free(observe->path);
    free(observe);
}

enum pl_exit pl_observe_read(struct pl_observe *observe, const struct pl_subject_options *options,
                             struct pl_profile **out)
{
    struct pl_subject_options how = *options;
    how.known = observe->known;
    how.again = how.names.quiet = observe->read;
    enum pl_exit status = pl_subject_read(&how, observe->path, observe->root, out);
    observe->read |= status == PL_EXIT_OK;
    return status;
}

pid_t pl_observe_pid(const struct pl_observe *observe)
{
    return observe->pid;
}

int pl_observe_end(const struct pl_observe *observe)
{
    return observe->process;
}
