/* SPDX-License-Identifier: MIT */
/*
 * server.h - the page on loopback, for one person: http://127.0.0.1:PORT/TOKEN/.
 *
 * Nothing but the loopback address is listened to, so that nobody comes from outside. The token is 128 random bits, so
 * that no other user of this machine gets in. The Host of a request must be exactly ours, and a browser's word on where
 * it comes from must be good, so that no other page in the same browser gets in either. There are four things to GET.
 */
#ifndef PL_SERVER_H
#define PL_SERVER_H

#include <stdint.h>

#include "feed.h"

struct pl_server_options {
    uint16_t port;        /* 0: whichever is free */
    struct pl_feed *feed; /* outlives the server */
    /* Called by the server's thread when another user comes with the ticket; NULL: nobody is told. PL_PEER_UNKNOWN
     * (peer.h): whose process that was could not be found out. */
    void (*turned_away)(uint32_t user);
};

/* It serves in a thread of its own. 0 or a negative errno. */
struct pl_server;
int pl_server_start(const struct pl_server_options *options, struct pl_server **out);
void pl_server_stop(struct pl_server *server);

/* Token included: whoever has it is let in. */
const char *pl_server_url(const struct pl_server *server);

/* Leads there, but only once, and only who is of our own user: for a browser's command line, which everybody on the
 * machine can read. */
const char *pl_server_ticket(const struct pl_server *server);
uint16_t pl_server_port(const struct pl_server *server);

#endif
