/* SPDX-License-Identifier: MIT */
/* find.c - see find.h. */
#include "core/unwind/find.h"

#include <link.h>

bool pl_find_module(uintptr_t pc, struct pl_found_module *out)
{
    struct dl_find_object object;
    if (_dl_find_object((void *) pc, &object) != 0)
        return false;
    out->start = (uintptr_t) object.dlfo_map_start;
    out->end = (uintptr_t) object.dlfo_map_end;
    out->bias = object.dlfo_link_map->l_addr;
    out->eh_frame_hdr = object.dlfo_eh_frame;
    out->map = (void *) object.dlfo_link_map; /* a cast, because inside glibc the type has another name */
    return true;
}
