/* SPDX-License-Identifier: MIT */
/*
 * http.h - the functions of libmicrohttpd that the server uses, loaded when it starts.
 *
 * The library brings TLS and eight other libraries. Linked in, they would cost every command, `run` too, two
 * milliseconds at its start, and only `view` and `serve` need it.
 */
#ifndef PL_HTTP_H
#define PL_HTTP_H

#include <microhttpd.h>
#include <stdbool.h>

#define PL_HTTP_FUNCTIONS(X)                                                                                           \
    X(add_response_header)                                                                                             \
    X(create_response_from_buffer)                                                                                     \
    X(create_response_from_buffer_with_free_callback_cls)                                                              \
    X(destroy_response)                                                                                                \
    X(get_connection_info)                                                                                             \
    X(get_connection_values)                                                                                           \
    X(queue_response)                                                                                                  \
    X(resume_connection)                                                                                               \
    X(start_daemon)                                                                                                    \
    X(stop_daemon)                                                                                                     \
    X(suspend_connection)

#define PL_HTTP_MEMBER(name) __typeof__(&MHD_##name) name;
extern struct pl_http {
    PL_HTTP_FUNCTIONS(PL_HTTP_MEMBER)
} pl_http;
#undef PL_HTTP_MEMBER

/* Before any of the functions is called. False: the library, or a function of it, is missing. */
bool pl_http_load(void);
#define PL_HTTP_LIBRARY "libmicrohttpd.so.12"

#endif
