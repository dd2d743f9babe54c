/* SPDX-License-Identifier: MIT */
/*
 * debuginfod.c - debug files from the servers in DEBUGINFOD_URLS.
 *
 * libdebuginfod brings an HTTP client and all its libraries, so it is loaded only if a server is named. Its own output
 * is silenced, and its time is limited: a server has ten seconds to begin its answer, all waiting together ends after a
 * minute, and after a failure other than a missing file no server is asked again.
 */
#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "reader/base/grow.h"
#include "reader/symbols/symbolize_work.h"

#define ANSWER_MAX_S 10
#define WAIT_MAX_S 60

/* The functions of libdebuginfod that are used. */
#define FUNCTIONS(X)                                                                                                   \
    X(begin)                                                                                                           \
    X(end)                                                                                                             \
    X(find_debuginfo)                                                                                                  \
    X(set_progressfn)

#define DECLARE(name) static __typeof__(&debuginfod_##name) name;
FUNCTIONS(DECLARE)
#undef DECLARE

struct pl_debuginfod {
    debuginfod_client *client;
};

/* State of the client: there is one at a time, and its callback has no context. */
static time_t asked_s;
static time_t waited_s; /* for earlier files */
static bool given_up;   /* the library reports a transfer that we ended as a file not found */

static time_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Called about once a second; a result other than 0 ends the transfer. Setting it also silences the library's own
 * progress output. `all` is the size of the file, once a server has begun to send it. */
static int give_up(debuginfod_client *client, long done, long all)
{
    (void) client, (void) done;
    time_t waiting_s = now_s() - asked_s;
    given_up = waited_s + waiting_s >= WAIT_MAX_S || (all == 0 && waiting_s >= ANSWER_MAX_S);
    return given_up;
}

static bool resolve(void *library)
{
    if (!library)
        return false;
#define RESOLVE(name)                                                                                                  \
    if (!(name = (__typeof__(name)) dlsym(library, "debuginfod_" #name)))                                              \
        return false;
    FUNCTIONS(RESOLVE)
#undef RESOLVE
    return true;
}

struct pl_debuginfod *pl_debuginfod_new(void)
{
    const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
    if (!urls || !urls[0])
        return NULL;
    struct pl_debuginfod *server = pl_grow_zeroed(1, sizeof *server);
    /* Never closed: the libraries it loads do not expect to be unloaded. */
    if (resolve(dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) && (server->client = begin())) {
        set_progressfn(server->client, give_up);
        waited_s = 0;
        given_up = false;
        return server;
    }
    pl_debuginfod_free(server);
    return NULL;
}

int pl_debuginfod_find(struct pl_debuginfod *server, const char *build_id, struct pl_binary *out)
{
    if (given_up)
        return -ETIMEDOUT;
    asked_s = now_s();
    int fd = find_debuginfo(server->client, (const unsigned char *) build_id, 0, NULL);
    waited_s += now_s() - asked_s;
    if (fd >= 0)
        return pl_binary_open_fd(fd, out);
    given_up |= fd != -ENOENT;
    return fd;
}

void pl_debuginfod_free(struct pl_debuginfod *server)
{
    if (!server)
        return;
    if (server->client)
        end(server->client);
    free(server);
}
