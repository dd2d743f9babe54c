/* SPDX-License-Identifier: MIT */
/*
 * listener.h - what our servers share: sockets, and limits on connections.
 */
#ifndef PL_LISTENER_H
#define PL_LISTENER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "page/clients.h"

/* Each returns a descriptor that listens, or a negative errno. On loopback it is ::1 (`six`) if there is no 127.0.0.1.
 */
int pl_listener_bind(int family, const struct sockaddr *address, socklen_t bytes);
int pl_listener_loopback(uint16_t port, bool *six);
uint16_t pl_listener_port(int fd);

/* How a server runs: one thread, which must not wait. */
struct pl_listener {
    int fd;
    struct pl_clients *clients;
    MHD_AccessHandlerCallback serve;
    void *context;
    bool suspends;                 /* it suspends connections */
    const char *certificate, *key; /* PEM, for TLS; NULL: without */
};

/* Starts a server. NULL: it failed, with errno. */
struct MHD_Daemon *pl_listener_start(const struct pl_listener *listener);

#endif
