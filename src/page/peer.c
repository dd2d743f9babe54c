/* SPDX-License-Identifier: MIT */
/*
 * peer.c - whose process is at the other end of a connection on this machine, by /proc/net/tcp.
 *
 * A line of that has a socket's own address, the other one, the state (01: established) and, three words on, the user:
 *     12: 0100007F:B2F4 0100007F:9DC7 01 00000000:00000000 00:00000000 00000000  1000        0 1234567 ...
 * Addresses are words as they are in memory, ports are numbers.
 */
#include "peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ADDRESS_BYTES 40 /* of its text */
#define TRIES 3          /* a line may be missed while others come and go */

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
    uint32_t user = PL_PEER_UNKNOWN;
    FILE *in = fopen(table, "re");
    while (in && user == PL_PEER_UNKNOWN && fgets(line, sizeof line, in)) {
        const char *at = strstr(line, connection);
        if (at && sscanf(at + strlen(connection), "%*s %*s %*s %u", &user) != 1)
            user = PL_PEER_UNKNOWN;
    }
    if (in)
        fclose(in);
    return user;
}

uint32_t pl_peer_user(const struct sockaddr *peer, uint16_t port)
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
    uint32_t user = PL_PEER_UNKNOWN;
    for (int i = 0; i < TRIES && user == PL_PEER_UNKNOWN; i++)
        user = look_up(is_six ? "/proc/net/tcp6" : "/proc/net/tcp", connection);
    return user;
}
