/* SPDX-License-Identifier: MIT */
/*
 * server.h - serves the page on loopback, to one user: http://127.0.0.1:PORT/TOKEN/.
 *
 * The server listens on the loopback address only, so other machines cannot connect. The token is 128 random bits, so
 * other users of this machine cannot guess it. Host must be exactly ours, and Sec-Fetch-Site, if sent, must not name
 * another site, so other pages in the same browser are refused. There are four resources, for GET and HEAD only.
 */
#ifndef PL_SERVER_H
#define PL_SERVER_H

#include <stdint.h>

#include "page/feed.h"

struct pl_server_options {
    uint16_t port;        /* 0: any free port */
    struct pl_feed *feed; /* must outlive the server */
    /* The server's thread calls this when another user presents the ticket; NULL: not called. PL_CLIENTS_UNKNOWN
     * (clients.h): the client's user could not be identified. */
    void (*turned_away)(uint32_t user);
};

/* The server runs in a thread of its own. 0 or a negative errno. */
struct pl_server;
int pl_server_start(const struct pl_server_options *options, struct pl_server **out);
void pl_server_stop(struct pl_server *server);

/* Contains the token: anybody who knows this address gets in. */
const char *pl_server_url(const struct pl_server *server);

/* Redirects to the url, but only once, and only a client of our own user. It is for the browser's command line, which
 * every user of the machine can read. */
const char *pl_server_ticket(const struct pl_server *server);
uint16_t pl_server_port(const struct pl_server *server);

#endif
