/* SPDX-License-Identifier: MIT */
/*
 * absent.c - stands in for the page where it was not built: there are no files, and nothing is served.
 */
#include <errno.h>

#include "assets.h"
#include "server.h"

const struct pl_asset pl_assets[] = {{0}};
const char *const pl_assets_absent = PL_PAGE_ABSENT;

int pl_server_start(const struct pl_server_options *options, struct pl_server **out)
{
    (void) options, (void) out;
    return -ENOSYS;
}

const char *pl_server_url(const struct pl_server *server)
{
    (void) server;
    return "";
}

const char *pl_server_ticket(const struct pl_server *server)
{
    (void) server;
    return "";
}

void pl_server_stop(struct pl_server *server)
{
    (void) server;
}

uint16_t pl_server_port(const struct pl_server *server)
{
    (void) server;
    return 0;
}
