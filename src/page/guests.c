/* SPDX-License-Identifier: MIT */
/*
 * guests.c - who is connected, oldest first.
 *
 * Whoever has to go has their connection shut down: libmicrohttpd then finds it at its end, closes it and says so.
 */
#include "guests.h"

#include <sys/socket.h>

#include "grow.h"

static void leave(struct pl_guests *guests, struct pl_guest *guest)
{
    *(guest->older ? &guest->older->newer : &guests->oldest) = guest->newer;
    *(guest->newer ? &guest->newer->older : &guests->newest) = guest->older;
    guests->count--;
}

static void enter(struct pl_guests *guests, struct pl_guest *guest)
{
    guest->older = guests->newest;
    guest->newer = NULL;
    *(guest->older ? &guest->older->newer : &guests->oldest) = guest;
    guests->newest = guest;
    guests->count++;
}

/* One that was sent away is no guest any more, and points to nobody, until it is gone. */
static void send_away(struct pl_guests *guests, struct pl_guest *guest)
{
    shutdown(guest->socket, SHUT_RDWR);
    leave(guests, guest);
    guest->socket = -1;
}

static void welcome(struct pl_guests *guests, struct MHD_Connection *connection, void **out)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info)
        return;
    struct pl_guest *guest = pl_grow_zeroed(1, sizeof *guest);
    guest->socket = info->connect_fd;
    enter(guests, guest);
    *out = guest;
    if (guests->count > guests->most)
        send_away(guests, guests->oldest);
}

static void see_off(struct pl_guests *guests, struct pl_guest *guest)
{
    if (guest && guest->socket >= 0)
        leave(guests, guest);
    free(guest);
}

void pl_guests_notify(void *context, struct MHD_Connection *connection, void **guest,
                      enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        welcome(context, connection, guest);
    else
        see_off(context, *guest);
}
