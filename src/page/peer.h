/* SPDX-License-Identifier: MIT */
/*
 * peer.h - whose process is at the other end of a connection on this machine.
 *
 * The kernel keeps the user with every socket, and tells everybody in a table of connections: a process cannot lie
 * about itself.
 */
#ifndef PL_PEER_H
#define PL_PEER_H

#include <stdint.h>
#include <sys/socket.h>

#define PL_PEER_UNKNOWN UINT32_MAX

/* The user id of who has connected from `peer`, an address of loopback, to `port` of loopback. */
uint32_t pl_peer_user(const struct sockaddr *peer, uint16_t port);

#endif
