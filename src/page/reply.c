/* SPDX-License-Identifier: MIT */
/*
 * reply.c - headers of requests, and answers.
 */
#include "page/reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "page/http.h"

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

enum MHD_Result pl_reply(struct MHD_Connection *connection, unsigned status, const char *type,
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

struct MHD_Response *pl_reply_constant(const char *data, size_t bytes)
{
    return pl_http.create_response_from_buffer(bytes, (void *) data, MHD_RESPMEM_PERSISTENT);
}

enum MHD_Result pl_reply_refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
    struct MHD_Response *response = pl_reply_constant(why, strlen(why));
    if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        pl_http.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (response && status == MHD_HTTP_UNAUTHORIZED)
        pl_http.add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    return pl_reply(connection, status, "text/plain; charset=utf-8", response);
}

static enum MHD_Result look_at_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct pl_reply_values *values = context;
    (void) kind;
    if (!strcasecmp(name, values->name)) {
        values->value = value ? value : "";
        values->count++;
    }
    return MHD_YES;
}

struct pl_reply_values pl_reply_header(struct MHD_Connection *connection, const char *name)
{
    struct pl_reply_values values = {.name = name};
    pl_http.get_connection_values(connection, MHD_HEADER_KIND, look_at_header, &values);
    return values;
}

bool pl_reply_says(struct MHD_Connection *connection, const char *name, const char *wanted)
{
    struct pl_reply_values found = pl_reply_header(connection, name);
    return found.count == 1 && !strcmp(found.value, wanted);
}

bool pl_reply_comes_from_us(struct MHD_Connection *connection)
{
    return pl_reply_header(connection, "Sec-Fetch-Site").count == 0 ||
           pl_reply_says(connection, "Sec-Fetch-Site", "same-origin") ||
           pl_reply_says(connection, "Sec-Fetch-Site", "none");
}

bool pl_reply_only_gets(const char *method)
{
    return !strcmp(method, "GET") || !strcmp(method, "HEAD");
}

/* "gzip", "br, gzip;q=0.5", "*"; but not "gzip;q=0". */
bool pl_reply_takes_gzip(struct MHD_Connection *connection)
{
    struct pl_reply_values accepted = pl_reply_header(connection, "Accept-Encoding");
    const char *at = accepted.value ? strcasestr(accepted.value, "gzip") : NULL;
    at = at || !accepted.value ? at : strchr(accepted.value, '*');
    if (!at)
        return false;
    at += *at == '*' ? 1 : strlen("gzip");
    at += strspn(at, " \t");
    const char *quality = *at == ';' ? at + 1 + strspn(at + 1, " \t") : "";
    return strncasecmp(quality, "q=", 2) != 0 || strtod(quality + 2, NULL) > 0;
}
