/* SPDX-License-Identifier: MIT */
/*
 * http.c - loads libmicrohttpd.
 */
#include "page/http.h"

#include <dlfcn.h>

struct pl_http pl_http;

bool pl_http_load(void)
{
    /* Never closed: the libraries it loads do not expect to be unloaded. */
    void *library = dlopen(PL_HTTP_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return false;
#define RESOLVE(name)                                                                                                  \
    if (!(pl_http.name = (__typeof__(pl_http.name)) dlsym(library, "MHD_" #name)))                                     \
        return false;
    PL_HTTP_FUNCTIONS(RESOLVE)
#undef RESOLVE
    return true;
}
