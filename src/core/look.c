/* SPDX-License-Identifier: MIT */
/*
 * look.c - see look.h.
 *
 * Where Yama restricts ptrace to ancestors, we name the other side: SO_PEERCRED gives its pid as we see it. The program
 * is about to end, so it will not miss a tracer that it has named itself.
 */
#include "core/look.h"

#include <errno.h>

#include "core/config.h"
#include "core/sys.h"
#include "core/text.h"

#define UNIX 1
#define STREAM (1 | O_CLOEXEC)
#define NO_SIGNAL 0x4000 /* MSG_NOSIGNAL */
#define SOCKET_LEVEL 1
#define PEER_CREDENTIALS 17
#define SET_PTRACER 0x59616d61

struct address {
    uint16_t family;
    char path[108];
};

static void name_tracer(int fd)
{
    uint32_t credentials[3];
    uint32_t bytes = sizeof credentials;
    if (pl_arch_syscall(__NR_getsockopt, fd, SOCKET_LEVEL, PEER_CREDENTIALS, (long) credentials, (long) &bytes, 0) == 0)
        pl_sys3(__NR_prctl, SET_PTRACER, (long) credentials[0], 0);
}

/* A signal handler may run while we wait. */
static void wait_for_the_end(int fd)
{
    char byte;
    long got;
    do
        got = pl_sys_read(fd, &byte, 1);
    while (got > 0 || got == -EINTR);
}

void pl_look_await(const struct pl_process *process)
{
    struct address address;
    struct pl_text_line line = pl_text_line_in(address.path, sizeof address.path);
    if (!pl_config.run_dir[0] || !process->file.base)
        return;
    address.family = UNIX;
    pl_text_line_text(&line, pl_config.run_dir);
    pl_text_line_text(&line, "/.look");
    if (line.full || pl_sys_access(address.path, 0) != 0)
        return;
    long fd = pl_sys3(__NR_socket, UNIX, STREAM, 0);
    if (fd < 0)
        return;
    const char *path = process->file.path;
    long bytes = (long) (offsetof(struct address, path) + pl_text_bytes(address.path) + 1);
    if (pl_sys3(__NR_connect, fd, (long) &address, bytes) == 0) {
        name_tracer((int) fd);
        pl_arch_syscall(__NR_sendto, fd, (long) path, (long) pl_text_bytes(path) + 1, NO_SIGNAL, 0, 0);
        wait_for_the_end((int) fd);
    }
    pl_sys_close((int) fd);
}
