/* SPDX-License-Identifier: MIT */
/*
 * server.c - serves the page on loopback with libmicrohttpd: one thread, which only sends data that is in memory.
 *
 * A request must pass all checks, in order; then its path must be the token and one of four names. Every answer, also a
 * refusal, has the same security headers. Paths are compared as sent: nothing is decoded, and no path reaches the file
 * system. libmicrohttpd itself answers a request that is malformed (too long, no Host, not HTTP), without our headers.
 */
#include "page/server.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "page/asset.h"
#include "page/clients.h"
#include "page/http.h"
#include "page/listener.h"
#include "page/reply.h"
#include "reader/base/grow.h"

#define TOKEN_BYTES 16u
#define TOKEN_LETTERS (2 * TOKEN_BYTES)
#define HOST_BYTES 32
#define URL_BYTES (HOST_BYTES + TOKEN_LETTERS + 16)
#define HTTP_PORT 80 /* browsers omit it from Host */

struct pl_server {
    struct MHD_Daemon *daemon;
    struct pl_clients clients;
    struct pl_feed *feed;
    uint16_t port;
    char host[2][HOST_BYTES]; /* the accepted values of Host */
    char token[TOKEN_LETTERS + 1];
    char once[TOKEN_LETTERS + 1]; /* valid for one request, which is redirected to the url; then "" */
    char url[URL_BYTES], ticket[URL_BYTES];
    void (*turned_away)(uint32_t user);
};

/* --- the token --- */

/* In constant time, so that response times reveal nothing about the token. */
static bool same_token(const char *a, const char *b)
{
    unsigned difference = 0;
    for (size_t i = 0; i < TOKEN_LETTERS; i++)
        difference |= (unsigned char) a[i] ^ (unsigned char) b[i];
    return difference == 0;
}

/* The rest of the path after "/TOKEN/"; NULL: another token, or none. */
static const char *behind_token(const char *path, const char token[TOKEN_LETTERS + 1])
{
    bool whole =
        strnlen(path, TOKEN_LETTERS + 2) == TOKEN_LETTERS + 2 && path[0] == '/' && path[TOKEN_LETTERS + 1] == '/';
    return whole && same_token(path + 1, token) ? path + TOKEN_LETTERS + 2 : NULL;
}

/* --- checks --- */

struct request {
    const struct pl_server *server;
    struct MHD_Connection *connection;
    const char *method, *path;
};

static bool has_our_host(const struct request *request)
{
    return pl_reply_says(request->connection, "Host", request->server->host[0]) ||
           pl_reply_says(request->connection, "Host", request->server->host[1]);
}

static bool comes_from_us(const struct request *request)
{
    return pl_reply_comes_from_us(request->connection);
}

static bool only_gets(const struct request *request)
{
    return pl_reply_only_gets(request->method);
}

static const struct check {
    bool (*passes)(const struct request *request);
    unsigned status;
    const char *why;
} checks[] = {
    {has_our_host, MHD_HTTP_FORBIDDEN,
     "This is plimsoll view. Open the address that it printed, with the same port number.\n"},
    {comes_from_us, MHD_HTTP_FORBIDDEN, "This is plimsoll view. It refuses requests from other sites.\n"},
    {only_gets, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD are allowed.\n"},
};

/* --- resources --- */

/* A response holds its reading until it has been sent, even if there is a newer one by then. */
struct loan {
    struct pl_feed *feed;
    struct pl_feed_reading *reading;
};

static void give_back(void *context)
{
    struct loan *loan = context;
    pl_feed_release(loan->feed, loan->reading);
    free(loan);
}

static struct MHD_Response *lend(struct pl_feed *feed, struct pl_feed_reading *reading)
{
    struct loan *loan = pl_grow_zeroed(1, sizeof *loan);
    *loan = (struct loan){feed, reading};
    struct MHD_Response *response =
        pl_http.create_response_from_buffer_with_free_callback_cls(reading->bytes, reading->data, give_back, loan);
    if (!response)
        give_back(loan);
    return response;
}

static bool has_it_already(struct MHD_Connection *connection, const char *tag)
{
    struct pl_reply_values known = pl_reply_header(connection, MHD_HTTP_HEADER_IF_NONE_MATCH);
    return known.count == 1 && !strcmp(known.value, tag);
}

/* The feed keeps data gzipped only: all browsers accept that, and a profile may be large. */
static enum MHD_Result send_data(const struct pl_server *server, struct MHD_Connection *connection)
{
    char tag[32];
    if (!pl_reply_takes_gzip(connection))
        return pl_reply_refuse(connection, MHD_HTTP_NOT_ACCEPTABLE,
                               "Data is served gzipped only: send Accept-Encoding: gzip (curl --compressed).\n");
    struct pl_feed_reading *reading = pl_feed_take(server->feed);
    if (!reading)
        return pl_reply_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "The profile has not been read yet.\n");
    snprintf(tag, sizeof tag, "\"%llu\"", (unsigned long long) reading->number);
    bool old = has_it_already(connection, tag);
    struct MHD_Response *response = old ? pl_reply_constant("", 0) : lend(server->feed, reading);
    if (old)
        pl_feed_release(server->feed, reading);
    if (response)
        pl_http.add_response_header(response, MHD_HTTP_HEADER_ETAG, tag);
    if (response && !old)
        pl_http.add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    return pl_reply(connection, old ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, old ? NULL : "application/octet-stream",
                    response);
}

/* All names that a path may have after the token. */
static const struct thing {
    const char *name;
    const char *type;
    const char *asset; /* NULL: the data */
} things[] = {
    {"", "text/html; charset=utf-8", "served.html"},
    {"page.js", "text/javascript; charset=utf-8", "page.js"},
    {"page.css", "text/css; charset=utf-8", "page.css"},
    {"data", NULL, NULL},
};

/* NULL: the token is wrong, or the name is unknown. The client cannot tell which. */
static const struct thing *find_thing(const struct pl_server *server, const char *path)
{
    const char *name = behind_token(path, server->token);
    for (size_t i = 0; name && i < sizeof things / sizeof *things; i++)
        if (!strcmp(things[i].name, name))
            return &things[i];
    return NULL;
}

/* The uid of the client's process. */
static uint32_t user_of(const struct request *request)
{
    const union MHD_ConnectionInfo *info =
        pl_http.get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? pl_clients_user(info->client_addr, request->server->port) : PL_CLIENTS_UNKNOWN;
}

/* Other users can read the ticket in the browser's command line, so it counts only from a process of our own user. Once
 * the server runs, only its thread uses `once`. */
static bool takes_ticket(struct pl_server *server, const struct request *request)
{
    const char *name =
        *server->once && !strcmp(request->method, "GET") ? behind_token(request->path, server->once) : NULL;
    if (!name || *name)
        return false;
    uint32_t user = user_of(request);
    bool ours = user == geteuid();
    if (ours)
        *server->once = 0;
    else if (server->turned_away)
        server->turned_away(user);
    return ours;
}

static enum MHD_Result lead_in(const struct request *request)
{
    struct MHD_Response *response = pl_reply_constant("", 0);
    if (response)
        pl_http.add_response_header(response, MHD_HTTP_HEADER_LOCATION, request->server->url);
    return pl_reply(request->connection, MHD_HTTP_SEE_OTHER, NULL, response);
}

static enum MHD_Result give(struct pl_server *server, const struct request *request)
{
    if (takes_ticket(server, request))
        return lead_in(request);
    const struct thing *thing = find_thing(request->server, request->path);
    if (!thing)
        return pl_reply_refuse(request->connection, MHD_HTTP_NOT_FOUND, "Not found.\n");
    if (!thing->asset)
        return send_data(request->server, request->connection);
    const struct pl_asset *asset = pl_asset_find(thing->asset);
    return pl_reply(request->connection, MHD_HTTP_OK, thing->type, pl_reply_constant(asset->data, asset->bytes));
}

/*
 * libmicrohttpd calls this with the headers of a request, then with each piece of its body, then at its end. `state` is
 * NULL the first time. A request that fails a check is answered at once, without reading its body; if another one has a
 * body, the connection is closed.
 */
static enum MHD_Result serve(void *context, struct MHD_Connection *connection, const char *path, const char *method,
                             const char *version, const char *upload, size_t *upload_bytes, void **state)
{
    struct pl_server *server = context;
    struct request request = {server, connection, method, path};
    bool first = !*state;
    (void) version, (void) upload;
    for (size_t i = 0; i < sizeof checks / sizeof *checks && first; i++)
        if (!checks[i].passes(&request))
            return pl_reply_refuse(connection, checks[i].status, checks[i].why);
    *state = server;
    if (first)
        return MHD_YES;
    return *upload_bytes ? MHD_NO : give(server, &request);
}

/* --- address --- */

static void name_host(char out[HOST_BYTES], const char *name, uint16_t port)
{
    if (port == HTTP_PORT)
        snprintf(out, HOST_BYTES, "%s", name);
    else
        snprintf(out, HOST_BYTES, "%s:%u", name, port);
}

static int make_token(char out[TOKEN_LETTERS + 1])
{
    unsigned char byte[TOKEN_BYTES];
    if (getrandom(byte, sizeof byte, 0) != (ssize_t) sizeof byte)
        return -EIO;
    for (size_t i = 0; i < TOKEN_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", byte[i]);
    return 0;
}

static int name_server(struct pl_server *server, int fd, bool six)
{
    int error = make_token(server->token) ? -EIO : make_token(server->once);
    server->port = pl_listener_port(fd);
    name_host(server->host[0], six ? "[::1]" : "127.0.0.1", server->port);
    name_host(server->host[1], "localhost", server->port);
    snprintf(server->url, sizeof server->url, "http://%s/%s/", server->host[0], server->token);
    snprintf(server->ticket, sizeof server->ticket, "http://%s/%s/", server->host[0], server->once);
    return error;
}

/* --- start and stop --- */

static int listen_on(struct pl_server *server, int fd)
{
    struct pl_listener listener = {.fd = fd, .clients = &server->clients, .serve = serve, .context = server};
    server->daemon = pl_listener_start(&listener);
    return server->daemon ? 0 : errno ? -errno : -EIO;
}

int pl_server_start(const struct pl_server_options *options, struct pl_server **out)
{
    bool six;
    if (!pl_http_load())
        return -ELIBACC;
    int fd = pl_listener_loopback(options->port, &six);
    if (fd < 0)
        return fd;
    struct pl_server *server = pl_grow_zeroed(1, sizeof *server);
    server->feed = options->feed;
    server->turned_away = options->turned_away;
    int error = name_server(server, fd, six);
    error = error ? error : listen_on(server, fd);
    if (!error) {
        *out = server;
        return 0;
    }
    close(fd);
    free(server);
    return error;
}

void pl_server_stop(struct pl_server *server)
{
    pl_http.stop_daemon(server->daemon);
    free(server);
}

const char *pl_server_url(const struct pl_server *server)
{
    return server->url;
}

const char *pl_server_ticket(const struct pl_server *server)
{
    return server->ticket;
}

uint16_t pl_server_port(const struct pl_server *server)
{
    return server->port;
}
