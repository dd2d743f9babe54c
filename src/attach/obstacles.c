/* SPDX-License-Identifier: MIT */
/* obstacles.c - see obstacles.h. */
#include "attach/obstacles.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/arch.h"

#define STATUS_BYTES 8192
#define CAPABILITY_PTRACE 19

struct process {
    pid_t pid;
    char status[STATUS_BYTES]; /* /proc/PID/status */
    char *why;
};

/* ---- reading ---- */

static size_t read_file(pid_t pid, const char *name, char *to, size_t bytes)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    for (ssize_t got = 1; fd >= 0 && got > 0 && n + 1 < bytes; n += got > 0 ? (size_t) got : 0)
        got = read(fd, to + n, bytes - 1 - n);
    if (fd >= 0)
        close(fd);
    to[n] = 0;
    return n;
}

/* A number of a text like /proc/PID/status, in this base; -1: it is not there. */
static long number_in(const char *status, const char *field, int base)
{
    char key[64];
    snprintf(key, sizeof key, "\n%s:", field);
    const char *at = strstr(status, key);
    return at ? strtol(at + strlen(key), NULL, base) : -1;
}

static long number(const struct process *process, const char *field, int base)
{
    return number_in(process->status, field, base);
}

static bool say(const struct process *process, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(process->why, PL_OBSTACLES_BYTES, format, list);
    va_end(list);
    return true;
}

/* Is it so for one of the threads? */
static bool any_thread(const struct process *process, bool (*is)(const struct process *, pid_t tid))
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", process->pid);
    DIR *tasks = opendir(path);
    bool found = false;
    for (struct dirent *entry; tasks && !found && (entry = readdir(tasks));)
        found = atoi(entry->d_name) > 0 && is(process, (pid_t) atoi(entry->d_name));
    if (tasks)
        closedir(tasks);
    return found;
}

static bool has_capability(void)
{
    char text[STATUS_BYTES];
    read_file(getpid(), "status", text, sizeof text);
    const char *at = strstr(text, "\nCapEff:");
    return at && (strtoull(at + 8, NULL, 16) >> CAPABILITY_PTRACE & 1);
}

/* Root in a container often lacks it. */
static const char *as_root(void)
{
    return geteuid() ? "as root" : "with CAP_SYS_PTRACE, which root lacks here (a container: --cap-add=SYS_PTRACE)";
}

/* ---- obstacles: true if there is one ---- */

static bool is_gone(const struct process *process)
{
    return !process->status[0] && say(process, "there is no such process");
}

static bool is_thread(const struct process *process)
{
    long leader = number(process, "Tgid", 10);
    return leader != process->pid && say(process, "it is a thread of process %ld; attach to that", leader);
}

static char state_of(const struct process *process)
{
    const char *at = strstr(process->status, "\nState:");
    return at ? at[8] : '?';
}

static bool is_zombie(const struct process *process)
{
    if (!strchr("ZX", state_of(process)))
        return false;
    return number(process, "Threads", 10) > 1
               ? say(process, "its first thread has ended, so the kernel shows nothing of the others; start it with "
                              "`plimsoll run` instead")
               : say(process, "it has ended, and its parent has not noticed yet (a zombie)");
}

static bool is_kernel_thread(const struct process *process)
{
    return !strstr(process->status, "\nVmSize:") && say(process, "it is a thread of the kernel, which has no heap");
}

static bool is_ourselves(const struct process *process)
{
    return process->pid == getpid() && say(process, "that is this command itself");
}

static bool is_stopped(const struct process *process)
{
    return state_of(process) == 'T' &&
           say(process, "it is stopped (SIGSTOP, or Ctrl-Z in its shell); let it go on with `kill -CONT %d` first",
               process->pid);
}

static bool is_traced(const struct process *process)
{
    long tracer = number(process, "TracerPid", 10);
    return tracer > 0 && say(process, "process %ld traces it already (a debugger, strace); end that first", tracer);
}

static bool is_anothers(const struct process *process)
{
    long uid = number(process, "Uid", 10);
    return !has_capability() && uid >= 0 && (uid_t) uid != geteuid() &&
           say(process, "it belongs to user %ld; run this as that user, or %s", uid, as_root());
}

/* ptrace_scope: 1 allows only descendants, 2 only root, 3 nobody. */
static bool is_restricted(const struct process *process)
{
    char text[16] = "0";
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    int scope = got > 0 ? atoi(text) : 0;
    if (scope == 3)
        return say(process, "kernel.yama.ptrace_scope is 3: nobody may trace a process until the next boot");
    return scope > 0 && !has_capability() &&
           say(process,
               "kernel.yama.ptrace_scope is %d, so only root may trace it; run this %s, or `sudo sysctl "
               "kernel.yama.ptrace_scope=0`",
               scope, as_root());
}

/* Its memory can be opened exactly if it may be traced: a process that has dropped privileges, or is not dumpable. */
static bool is_protected(const struct process *process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", process->pid);
    int fd = open(path, O_RDWR | O_CLOEXEC), error = errno;
    if (fd >= 0)
        close(fd);
    return fd < 0 && (error == EACCES || error == EPERM) &&
           say(process,
               "the kernel protects it: it has privileges that we lack, or has asked not to be traced "
               "(PR_SET_DUMPABLE); run this %s",
               as_root());
}

/* Each thread has a filter of its own. */
static bool is_filtered(const struct process *process, pid_t tid)
{
    char name[64], status[STATUS_BYTES];
    snprintf(name, sizeof name, "task/%d/status", tid);
    read_file(process->pid, name, status, sizeof status);
    return number_in(status, "Seccomp", 10) > 0;
}

static bool is_sandboxed(const struct process *process)
{
    return any_thread(process, is_filtered) &&
           say(process, "it is in a seccomp sandbox, where a system call of the profiler might kill it");
}

static bool is_confined(const struct process *process)
{
    return any_thread(process, is_filtered) &&
           say(process, "it is in a seccomp sandbox, where a system call of the profiler might kill it; start it with "
                        "`plimsoll run` instead");
}

static bool has_shadow_stack(const struct process *process)
{
    return strstr(process->status, "\nx86_Thread_features:") &&
           strstr(strstr(process->status, "\nx86_Thread_features:"), "shstk") &&
           say(process, "it uses a shadow stack, which does not allow us to make it call a function");
}

static bool shares_memory(const struct process *process)
{
    long parent = number(process, "PPid", 10);
    return parent > 0 && syscall(SYS_kcmp, process->pid, (pid_t) parent, KCMP_VM, 0, 0) == 0 &&
           say(process,
               "it shares its memory with its parent, process %ld (a vfork child); try again when it has called "
               "exec",
               parent);
}

/* A child that was made by clone(CLONE_VM) is no thread, so nobody stops it while code changes. A vfork child is waited
 * for: as long as it shares the memory, the thread that has made it waits in the kernel. */
static bool has_sharing_child(const struct process *process, pid_t tid)
{
    char name[64], children[4096], status[STATUS_BYTES], *at = children, *end;
    snprintf(name, sizeof name, "task/%d/children", tid);
    read_file(process->pid, name, children, sizeof children);
    for (long child; (child = strtol(at, &end, 10)) > 0; at = end) {
        if (syscall(SYS_kcmp, process->pid, (pid_t) child, KCMP_VM, 0, 0) != 0)
            continue;
        snprintf(name, sizeof name, "task/%d/status", tid);
        read_file(process->pid, name, status, sizeof status);
        const char *state = strstr(status, "\nState:");
        if (state && state[8] != 'D' && syscall(SYS_kcmp, process->pid, (pid_t) child, KCMP_VM, 0, 0) == 0)
            return say(process, "process %ld shares its memory (clone with CLONE_VM) and cannot be stopped with it",
                       child);
    }
    return false;
}

static bool lends_memory(const struct process *process)
{
    return any_thread(process, has_sharing_child);
}

/* ---- obstacles in its executable ---- */

struct executable {
    Elf64_Ehdr elf;
    char interpreter[256];
    bool readable;
};

static void read_executable(pid_t pid, struct executable *out)
{
    char path[64];
    Elf64_Phdr header;
    *out = (struct executable){.readable = false};
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    out->readable = fd >= 0 && pread(fd, &out->elf, sizeof out->elf, 0) == sizeof out->elf;
    for (unsigned i = 0; out->readable && out->elf.e_ident[EI_CLASS] == ELFCLASS64 && i < out->elf.e_phnum; i++)
        if (pread(fd, &header, sizeof header, (off_t) (out->elf.e_phoff + i * sizeof header)) == sizeof header &&
            header.p_type == PT_INTERP && header.p_filesz < sizeof out->interpreter)
            if (pread(fd, out->interpreter, header.p_filesz, (off_t) header.p_offset) < 0)
                out->interpreter[0] = 0;
    if (fd >= 0)
        close(fd);
}

/* `ld.so PROGRAM`: the kernel has loaded the loader, and tells only of that. */
static bool is_loader(pid_t pid)
{
    char path[64], target[4096];
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t bytes = readlink(path, target, sizeof target - 1);
    target[bytes > 0 ? bytes : 0] = 0;
    const char *slash = strrchr(target, '/');
    return slash && (!strncmp(slash, "/ld-", 4) || !strncmp(slash, "/ld.so", 6) || !strncmp(slash, "/ld64.so", 8));
}

static bool is_foreign(const struct process *process)
{
    struct executable executable;
    read_executable(process->pid, &executable);
    if (!executable.readable)
        return false; /* what is mapped will tell */
    if (executable.elf.e_ident[EI_CLASS] != ELFCLASS64)
        return say(process, "it is a 32-bit process, and this is a 64-bit profiler");
    if (executable.elf.e_machine != PL_ARCH_MACHINE)
        return say(process, "it is a program for another processor");
    if (strstr(executable.interpreter, "ld-musl"))
        return say(process, "its C library is musl, and attaching needs glibc; start it with `plimsoll run` instead");
    if (!executable.interpreter[0] && is_loader(process->pid))
        return say(process, "it was started by calling the loader itself (ld.so PROGRAM), so the kernel does not know "
                            "its program; start it with `plimsoll run` instead");
    return !executable.interpreter[0] &&
           say(process, "it is statically linked, so it has no loader that could load the profiler; build it with "
                        "-lplimsoll: see `plimsoll help static`");
}

/* A library of ours that was preloaded, or a glibc with the profiler inside. */
static bool is_profiled(const struct process *process)
{
    char path[64], line[4352];
    bool preloaded = false, attached = false, profile = false;
    snprintf(path, sizeof path, "/proc/%d/maps", process->pid);
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        preloaded |= strstr(line, "/libplimsoll.so") || strstr(line, "/libplimsoll-cxx.so");
        attached |= strstr(line, "/libplimsoll-attach") != NULL; /* its desk says whether it is on */
        profile |= strstr(line, ".plim\n") != NULL;
    }
    if (maps)
        fclose(maps);
    return (preloaded || (profile && !attached)) &&
           say(process, "it is being profiled already; `plimsoll report %d` shows what there is", process->pid);
}

static bool (*const obstacles[])(const struct process *process) = {
    is_gone,   is_thread,  is_zombie,     is_kernel_thread, is_ourselves, is_anothers, is_restricted, is_protected,
    is_traced, is_stopped, shares_memory, lends_memory,     is_foreign,   is_profiled, is_confined,   has_shadow_stack,
};

static struct process *open_process(pid_t pid, char *why)
{
    static struct process process;
    process.pid = pid;
    process.why = why;
    why[0] = 0;
    read_file(pid, "status", process.status, sizeof process.status);
    return &process;
}

bool pl_obstacles_find(pid_t pid, char why[PL_OBSTACLES_BYTES])
{
    const struct process *process = open_process(pid, why);
    for (size_t i = 0; i < sizeof obstacles / sizeof *obstacles; i++)
        if (obstacles[i](process))
            return true;
    return false;
}

bool pl_obstacles_to_detach(pid_t pid, char why[PL_OBSTACLES_BYTES])
{
    const struct process *process = open_process(pid, why);
    return is_gone(process) || is_zombie(process) || is_anothers(process) || is_protected(process) ||
           is_traced(process) || is_stopped(process);
}

bool pl_obstacles_to_visit(pid_t pid, char why[PL_OBSTACLES_BYTES])
{
    const struct process *process = open_process(pid, why);
    return is_gone(process) || is_zombie(process) || is_anothers(process) || is_restricted(process) ||
           is_protected(process) || is_traced(process) || is_stopped(process) || shares_memory(process) ||
           is_sandboxed(process) || has_shadow_stack(process);
}

char *pl_obstacles_environment(pid_t pid, const char *name)
{
    size_t room = 1u << 20, bytes = strlen(name);
    char *all = malloc(room), *found = NULL;
    size_t n = all ? read_file(pid, "environ", all, room) : 0;
    for (size_t at = 0; at < n && !found; at += strlen(all + at) + 1)
        if (!strncmp(all + at, name, bytes) && all[at + bytes] == '=')
            found = strdup(all + at + bytes + 1);
    free(all);
    return found;
}
