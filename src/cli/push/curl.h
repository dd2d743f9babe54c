/* SPDX-License-Identifier: MIT */
/*
 * curl.h - the functions of libcurl that `plimsoll push` uses, loaded when it starts: the library brings TLS and many
 * other libraries, which no other command needs.
 */
#ifndef PL_CURL_H
#define PL_CURL_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdbool.h>

#undef curl_easy_setopt /* macros, where types are checked */
#undef curl_easy_getinfo

#define PL_CURL_FUNCTIONS(X)                                                                                           \
    X(easy_cleanup)                                                                                                    \
    X(easy_getinfo)                                                                                                    \
    X(easy_init)                                                                                                       \
    X(easy_perform)                                                                                                    \
    X(easy_reset)                                                                                                      \
    X(easy_setopt)                                                                                                     \
    X(easy_strerror)                                                                                                   \
    X(slist_append)                                                                                                    \
    X(slist_free_all)

#define PL_CURL_MEMBER(name) __typeof__(&curl_##name) name;
extern struct pl_curl {
    PL_CURL_FUNCTIONS(PL_CURL_MEMBER)
} pl_curl;
#undef PL_CURL_MEMBER

/* Before any of the functions is called. False: the library is missing. */
bool pl_curl_load(void);
#define PL_CURL_LIBRARY "libcurl.so.4"

#endif
