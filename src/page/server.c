/* SPDX-License-Identifier: MIT */
/*
 * server.c - serves the page on loopback with libmicrohttpd: one thread, which only sends data that is in memory.
 *
 * A request must pass all checks, in order; then its path must be the token and one of four names. Every answer, also a
 * refusal, has the same security headers. Paths are compared as sent: nothing is decoded, and no path reaches the file
 * system. libmicrohttpd itself answers a request that is malformed (too long, no Host, not HTTP), without our headers.
 */
#include "page/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "page/asset.h"
#include "page/clients.h"
#include "page/http.h"
#include "reader/base/grow.h"

#define TOKEN_BYTES 16u
#define TOKEN_LETTERS (2 * TOKEN_BYTES)
#define HOST_BYTES 32
#define URL_BYTES (HOST_BYTES + TOKEN_LETTERS + 16)
#define HTTP_PORT 80 /* browsers omit it from Host */

/* An idle connection, or one whose client stops reading, is closed after IDLE_S. Until then it keeps no other client
 * out (clients.h). */
#define IDLE_S 10u
#define CLIENTS_MAX 256u /* a browser opens six at most */
#define CONNECTIONS_MAX 960u
#define DESCRIPTORS_SPARE 64u
#define CONNECTION_BYTES (20u << 10) /* of memory for one: request line, headers and all */

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

/* --- answers --- */

/* Every answer has these. */
static const struct header {
    const char *name, *value;
} headers[] = {
    {"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                                "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

/* Queues the response and releases it. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        pl_http.add_response_header(response, headers[i].name, headers[i].value);
    if (type)
        pl_http.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    enum MHD_Result result = pl_http.queue_response(connection, status, response);
    pl_http.destroy_response(response);
    return result;
}

static struct MHD_Response *constant(const char *data, size_t bytes)
{
    return pl_http.create_response_from_buffer(bytes, (void *) data, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
    struct MHD_Response *response = constant(why, strlen(why));
    if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        pl_http.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    return answer(connection, status, "text/plain; charset=utf-8", response);
}

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

/* The last value of a header, and how many there are. */
struct values {
    const char *name;
    const char *value;
    unsigned count;
};

static enum MHD_Result look_at_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct values *values = context;
    (void) kind;
    if (!strcasecmp(name, values->name)) {
        values->value = value ? value : "";
        values->count++;
    }
    return MHD_YES;
}

static struct values header_of(struct MHD_Connection *connection, const char *name)
{
    struct values values = {.name = name};
    pl_http.get_connection_values(connection, MHD_HEADER_KIND, look_at_header, &values);
    return values;
}

static bool says(const struct request *request, const char *name, const char *wanted)
{
    struct values found = header_of(request->connection, name);
    return found.count == 1 && !strcmp(found.value, wanted);
}

static bool has_our_host(const struct request *request)
{
    return says(request, "Host", request->server->host[0]) || says(request, "Host", request->server->host[1]);
}

/* Sec-Fetch-Site says which site caused the request. "none": the user typed the address, or opened it from another
 * program. No such header: not a browser, or an old one. */
static bool comes_from_us(const struct request *request)
{
    return header_of(request->connection, "Sec-Fetch-Site").count == 0 ||
           says(request, "Sec-Fetch-Site", "same-origin") || says(request, "Sec-Fetch-Site", "none");
}

static bool only_gets(const struct request *request)
{
    return !strcmp(request->method, "GET") || !strcmp(request->method, "HEAD");
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

/* "gzip", "br, gzip;q=0.5", "*"; but not "gzip;q=0". */
static bool takes_gzip(struct MHD_Connection *connection)
{
    struct values accepted = header_of(connection, "Accept-Encoding");
    const char *at = accepted.value ? strcasestr(accepted.value, "gzip") : NULL;
    at = at || !accepted.value ? at : strchr(accepted.value, '*');
    if (!at)
        return false;
    at += *at == '*' ? 1 : strlen("gzip");
    at += strspn(at, " \t");
    const char *quality = *at == ';' ? at + 1 + strspn(at + 1, " \t") : "";
    return strncasecmp(quality, "q=", 2) != 0 || strtod(quality + 2, NULL) > 0;
}

static bool has_it_already(struct MHD_Connection *connection, const char *tag)
{
    struct values known = header_of(connection, MHD_HTTP_HEADER_IF_NONE_MATCH);
    return known.count == 1 && !strcmp(known.value, tag);
}

/* The feed keeps data gzipped only: all browsers accept that, and a profile may be large. */
static enum MHD_Result send_data(const struct pl_server *server, struct MHD_Connection *connection)
{
    char tag[32];
    if (!takes_gzip(connection))
        return refuse(connection, MHD_HTTP_NOT_ACCEPTABLE,
                      "Data is served gzipped only: send Accept-Encoding: gzip (curl --compressed).\n");
    struct pl_feed_reading *reading = pl_feed_take(server->feed);
    if (!reading)
        return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "The profile has not been read yet.\n");
    snprintf(tag, sizeof tag, "\"%llu\"", (unsigned long long) reading->number);
    bool old = has_it_already(connection, tag);
    struct MHD_Response *response = old ? constant("", 0) : lend(server->feed, reading);
    if (old)
        pl_feed_release(server->feed, reading);
    if (response)
        pl_http.add_response_header(response, MHD_HTTP_HEADER_ETAG, tag);
    if (response && !old)
        pl_http.add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    return answer(connection, old ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, old ? NULL : "application/octet-stream",
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
    struct MHD_Response *response = constant("", 0);
    if (response)
        pl_http.add_response_header(response, MHD_HTTP_HEADER_LOCATION, request->server->url);
    return answer(request->connection, MHD_HTTP_SEE_OTHER, NULL, response);
}

static enum MHD_Result give(struct pl_server *server, const struct request *request)
{
    if (takes_ticket(server, request))
        return lead_in(request);
    const struct thing *thing = find_thing(request->server, request->path);
    if (!thing)
        return refuse(request->connection, MHD_HTTP_NOT_FOUND, "Not found.\n");
    if (!thing->asset)
        return send_data(request->server, request->connection);
    const struct pl_asset *asset = pl_asset_find(thing->asset);
    return answer(request->connection, MHD_HTTP_OK, thing->type, constant(asset->data, asset->bytes));
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
            return refuse(connection, checks[i].status, checks[i].why);
    *state = server;
    if (first)
        return MHD_YES;
    return *upload_bytes ? MHD_NO : give(server, &request);
}

/* Keeps %2e and the like as they are: none of our names needs an escape. */
static size_t keep_escaped(void *context, struct MHD_Connection *connection, char *text)
{
    (void) context, (void) connection;
    return strlen(text);
}

/* --- address --- */

static int bind_to(int family, const struct sockaddr *address, socklen_t bytes)
{
    int one = 1, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (!bind(fd, address, bytes) && !listen(fd, SOMAXCONN))
        return fd;
    int error = errno;
    close(fd);
    return -error;
}

/* Binds to loopback only: to ::1 if there is no 127.0.0.1. Returns a descriptor, or a negative errno. */
static int open_socket(uint16_t port, bool *six)
{
    struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 other = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};
    int fd = bind_to(AF_INET, (const struct sockaddr *) &four, sizeof four);
    *six = fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL;
    return *six ? bind_to(AF_INET6, (const struct sockaddr *) &other, sizeof other) : fd;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_in6 address = {0}; /* both families have the port at the same offset */
    socklen_t bytes = sizeof address;
    getsockname(fd, (struct sockaddr *) &address, &bytes);
    return ntohs(address.sin6_port);
}

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
    server->port = port_of(fd);
    name_host(server->host[0], six ? "[::1]" : "127.0.0.1", server->port);
    name_host(server->host[1], "localhost", server->port);
    snprintf(server->url, sizeof server->url, "http://%s/%s/", server->host[0], server->token);
    snprintf(server->ticket, sizeof server->ticket, "http://%s/%s/", server->host[0], server->once);
    return error;
}

/* --- start and stop --- */

/*
 * How many connections RLIMIT_NOFILE leaves room for, each being a descriptor. We do not raise the limit: a browser
 * that we start would inherit it. A dropped client remains a connection until libmicrohttpd has closed it, so there is
 * room for more connections than clients.
 */
static unsigned connections_allowed(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > CONNECTIONS_MAX + DESCRIPTORS_SPARE)
        return CONNECTIONS_MAX;
    return limit.rlim_cur > 2 * DESCRIPTORS_SPARE ? (unsigned) limit.rlim_cur - DESCRIPTORS_SPARE : DESCRIPTORS_SPARE;
}

static int listen_on(struct pl_server *server, int fd)
{
    unsigned room = connections_allowed();
    server->clients.most = room / 2 < CLIENTS_MAX ? room / 2 : CLIENTS_MAX;
    server->daemon = pl_http.start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, serve, server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, room, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t) CONNECTION_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, keep_escaped, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, pl_clients_notify, &server->clients, MHD_OPTION_END);
    return server->daemon ? 0 : errno ? -errno : -EIO;
}

int pl_server_start(const struct pl_server_options *options, struct pl_server **out)
{
    bool six;
    if (!pl_http_load())
        return -ELIBACC;
    int fd = open_socket(options->port, &six);
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
