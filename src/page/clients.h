/* SPDX-License-Identifier: MIT */
/*
 * clients.h - the connections of the server: how many there may be, and whose they are.
 *
 * A new connection is always accepted, and if there are too many, the oldest is dropped. So connections that
 * send nothing, or a byte now and then, cannot lock others out, however many there are.
 *
 * The kernel records the owner of every socket and publishes it in /proc/net/tcp, so a client cannot lie about it.
 */
#ifndef PL_CLIENTS_H
#define PL_CLIENTS_H

#include <microhttpd.h>
#include <stdint.h>
#include <sys/socket.h>

/* A list, oldest first. Only the server's thread uses it. */
struct pl_client {
    struct pl_client *older, *newer;
    int socket;
};
struct pl_clients {
    struct pl_client *oldest, *newest;
    unsigned count, most;
};

/* libmicrohttpd calls this when a connection begins or ends; `clients` is a struct pl_clients. */
void pl_clients_notify(void *clients, struct MHD_Connection *connection, void **client,
                       enum MHD_ConnectionNotificationCode what);

#define PL_CLIENTS_UNKNOWN UINT32_MAX

/* The uid of the process that connected from the loopback address `peer` to our `port`, or PL_CLIENTS_UNKNOWN. */
uint32_t pl_clients_user(const struct sockaddr *peer, uint16_t port);

#endif
