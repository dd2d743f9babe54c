/* SPDX-License-Identifier: MIT */
/*
 * listener.c - starts libmicrohttpd with limits that keep slow and silent clients from locking others out.
 */
#include "page/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "page/http.h"

/* An idle connection, or one whose client stops reading, is closed after IDLE_S. Until then it keeps no other client
 * out (clients.h). */
#define IDLE_S 10u
#define CLIENTS_MAX 256u /* a browser opens six at most */
#define CONNECTIONS_MAX 960u
#define DESCRIPTORS_SPARE 64u
#define CONNECTION_BYTES (20u << 10) /* of memory for one: request line, headers and all */

int pl_listener_bind(int family, const struct sockaddr *address, socklen_t bytes)
{
    int one = 1, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (!bind(fd, address, bytes) && !listen(fd, SOMAXCONN))
        return fd;
    int error = errno;
    close(fd);
    return -error;
}

int pl_listener_loopback(uint16_t port, bool *six)
{
    struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 other = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};
    int fd = pl_listener_bind(AF_INET, (const struct sockaddr *) &four, sizeof four);
    *six = fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL;
    return *six ? pl_listener_bind(AF_INET6, (const struct sockaddr *) &other, sizeof other) : fd;
}

uint16_t pl_listener_port(int fd)
{
    struct sockaddr_in6 address = {0}; /* both families have the port at the same offset */
    socklen_t bytes = sizeof address;
    getsockname(fd, (struct sockaddr *) &address, &bytes);
    return ntohs(address.sin6_port);
}

/*
 * How many connections RLIMIT_NOFILE leaves room for, each being a descriptor. We do not raise the limit: a browser
 * that we start would inherit it. A dropped client remains a connection until libmicrohttpd has closed it, so there is
 * room for more connections than clients.
 */
static unsigned connections_allowed(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > CONNECTIONS_MAX + DESCRIPTORS_SPARE)
        return CONNECTIONS_MAX;
    return limit.rlim_cur > 2 * DESCRIPTORS_SPARE ? (unsigned) limit.rlim_cur - DESCRIPTORS_SPARE : DESCRIPTORS_SPARE;
}

/* Keeps %2e and the like as they are: none of our names needs an escape. */
static size_t keep_escaped(void *context, struct MHD_Connection *connection, char *text)
{
    (void) context, (void) connection;
    return strlen(text);
}

struct MHD_Daemon *pl_listener_start(const struct pl_listener *listener)
{
    unsigned room = connections_allowed(), flags = MHD_USE_EPOLL_INTERNAL_THREAD;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *) listener->certificate},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *) listener->key},
                                   {MHD_OPTION_END, 0, NULL}};
    flags |= listener->suspends ? MHD_ALLOW_SUSPEND_RESUME : 0;
    flags |= listener->certificate ? MHD_USE_TLS : 0;
    listener->clients->most = room / 2 < CLIENTS_MAX ? room / 2 : CLIENTS_MAX;
    return pl_http.start_daemon(flags, 0, NULL, NULL, listener->serve, listener->context, MHD_OPTION_LISTEN_SOCKET,
                                listener->fd, MHD_OPTION_CONNECTION_LIMIT, room, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
                                MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) CONNECTION_BYTES,
                                MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, keep_escaped, NULL,
                                MHD_OPTION_NOTIFY_CONNECTION, pl_clients_notify, listener->clients, MHD_OPTION_ARRAY,
                                listener->certificate ? tls : tls + 2, MHD_OPTION_END);
}
