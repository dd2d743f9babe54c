/* SPDX-License-Identifier: MIT */
/*
 * curl.c - loads libcurl, in one of the flavours that Debian has.
 */
#include "cli/push/curl.h"

#include <dlfcn.h>
#include <stddef.h>

struct pl_curl pl_curl;

bool pl_curl_load(void)
{
    static const char *const flavours[] = {PL_CURL_LIBRARY, "libcurl-gnutls.so.4"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof flavours / sizeof *flavours && !library; i++)
        library = dlopen(flavours[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return false;
#define RESOLVE(name)                                                                                                  \
    if (!(pl_curl.name = (__typeof__(pl_curl.name)) dlsym(library, "curl_" #name)))                                    \
        return false;
    PL_CURL_FUNCTIONS(RESOLVE)
#undef RESOLVE
    return true;
}
