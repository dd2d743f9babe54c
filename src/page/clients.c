/* SPDX-License-Identifier: MIT */
/*
 * clients.c - the list of connections, oldest first, and the user at the other end of each.
 *
 * To drop a connection, we shut its socket down. libmicrohttpd then reads end of file, closes it and notifies us.
 *
 * /proc/net/tcp says which user owns a socket. A line has the socket's own address, its peer's address, the state (01:
 * established) and, three words later, the uid:
 *     12: 0100007F:B2F4 0100007F:9DC7 01 00000000:00000000 00:00000000 00000000  1000        0 1234567 ...
 * Addresses are printed as the 32-bit words in memory (here of a little-endian machine), ports as numbers.
 */
#include "page/clients.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "page/http.h"
#include "reader/base/grow.h"

#define ADDRESS_BYTES 40 /* as text */
#define TRIES 3          /* a pass may miss a line while other connections come and go */

/* --- how many --- */

static void leave(struct pl_clients *clients, struct pl_client *client)
{
    *(client->older ? &client->older->newer : &clients->oldest) = client->newer;
    *(client->newer ? &client->newer->older : &clients->newest) = client->older;
    clients->count--;
}

static void enter(struct pl_clients *clients, struct pl_client *client)
{
    client->older = clients->newest;
    client->newer = NULL;
    *(client->older ? &client->older->newer : &clients->oldest) = client;
    clients->newest = client;
    clients->count++;
}

/* Unlinks the client at once. It is freed when libmicrohttpd has closed the connection; until then, socket is -1. */
static void send_away(struct pl_clients *clients, struct pl_client *client)
{
    shutdown(client->socket, SHUT_RDWR);
    leave(clients, client);
    client->socket = -1;
}

static void welcome(struct pl_clients *clients, struct MHD_Connection *connection, void **out)
{
    const union MHD_ConnectionInfo *info = pl_http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info)
        return;
    struct pl_client *client = pl_grow_zeroed(1, sizeof *client);
    client->socket = info->connect_fd;
    enter(clients, client);
    *out = client;
    if (clients->count > clients->most)
        send_away(clients, clients->oldest);
}

static void see_off(struct pl_clients *clients, struct pl_client *client)
{
    if (client && client->socket >= 0)
        leave(clients, client);
    free(client);
}

void pl_clients_notify(void *context, struct MHD_Connection *connection, void **client,
                       enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        welcome(context, connection, client);
    else
        see_off(context, *client);
}

/* --- whose --- */

static void print_address(char out[ADDRESS_BYTES], const void *address, size_t bytes, uint16_t port)
{
    int used = 0;
    for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, (const char *) address + i, sizeof word);
        used += snprintf(out + used, ADDRESS_BYTES - (size_t) used, "%08X", word);
    }
    snprintf(out + used, ADDRESS_BYTES - (size_t) used, ":%04X", port);
}

static uint32_t look_up(const char *table, const char *connection)
{
    char line[512];
    uint32_t user = PL_CLIENTS_UNKNOWN;
    FILE *in = fopen(table, "re");
    while (in && user == PL_CLIENTS_UNKNOWN && fgets(line, sizeof line, in)) {
        const char *at = strstr(line, connection);
        if (at && sscanf(at + strlen(connection), "%*s %*s %*s %u", &user) != 1)
            user = PL_CLIENTS_UNKNOWN;
    }
    if (in)
        fclose(in);
    return user;
}

uint32_t pl_clients_user(const struct sockaddr *peer, uint16_t port)
{
    char from[ADDRESS_BYTES], to[ADDRESS_BYTES], connection[2 * ADDRESS_BYTES + 8];
    const struct sockaddr_in *four = (const struct sockaddr_in *) peer;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *) peer;
    const struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
    bool is_six = peer->sa_family == AF_INET6;
    if (is_six) {
        print_address(from, &six->sin6_addr, sizeof six->sin6_addr, ntohs(six->sin6_port));
        print_address(to, &in6addr_loopback, sizeof in6addr_loopback, port);
    } else {
        print_address(from, &four->sin_addr, sizeof four->sin_addr, ntohs(four->sin_port));
        print_address(to, &loopback, sizeof loopback, port);
    }
    snprintf(connection, sizeof connection, ": %s %s 01 ", from, to);
    uint32_t user = PL_CLIENTS_UNKNOWN;
    for (int i = 0; i < TRIES && user == PL_CLIENTS_UNKNOWN; i++)
        user = look_up(is_six ? "/proc/net/tcp6" : "/proc/net/tcp", connection);
    return user;
}
