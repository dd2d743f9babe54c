/* SPDX-License-Identifier: MIT */
/*
 * endpoints.h - the HTTP side of `plimsoll serve`: who may ask what.
 *
 * The server's thread checks a request and puts it into a queue; the thread that owns the processes answers it. So only
 * one thread reads profiles, and a client that waits 30 seconds for a delta keeps nobody waiting.
 */
#ifndef PL_ENDPOINTS_H
#define PL_ENDPOINTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cli/serve/fleet.h"

struct pl_endpoints_options {
    struct sockaddr_storage address;
    socklen_t address_bytes;
    bool loopback;                 /* only clients of this machine */
    const char *token;             /* clients must send it; NULL: see endpoints.c */
    const char *certificate, *key; /* PEM; NULL: no TLS */
};

struct pl_endpoints;

/* 0 or a negative errno. */
int pl_endpoints_start(const struct pl_endpoints_options *options, struct pl_endpoints **out);
void pl_endpoints_stop(struct pl_endpoints *endpoints);

/* "http://127.0.0.1:9464", or the path of a socket. */
const char *pl_endpoints_url(const struct pl_endpoints *endpoints);

/* A descriptor that polls readable when there are requests. */
int pl_endpoints_event(const struct pl_endpoints *endpoints);

/* Answers what there is to answer. Returns how long to wait for more, in ms; -1: until the descriptor is readable. */
int pl_endpoints_work(struct pl_endpoints *endpoints, struct pl_fleet *fleet);

#endif
