/* SPDX-License-Identifier: MIT */
/*
 * guests.h - who is connected: a new one always gets in, and where there are too many the oldest has to go.
 *
 * So nobody is locked out by connections that say nothing, or a byte now and then, however many there are.
 */
#ifndef PL_GUESTS_H
#define PL_GUESTS_H

#include <microhttpd.h>

/* All of them, oldest first. One thread only: that of the server. */
struct pl_guest {
    struct pl_guest *older, *newer;
    int socket;
};
struct pl_guests {
    struct pl_guest *oldest, *newest;
    unsigned count, most;
};

/* To be called by libmicrohttpd when somebody comes or goes; `guests` is a struct pl_guests. */
void pl_guests_notify(void *guests, struct MHD_Connection *connection, void **guest,
                      enum MHD_ConnectionNotificationCode what);

#endif
