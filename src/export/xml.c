/* SPDX-License-Identifier: MIT */
/*
 * xml.c - text in XML.
 */
#include "xml.h"

#include <string.h>

void pl_xml_text(FILE *out, const char *clean)
{
    static const char special[] = "&<>\"'";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (; *clean; clean++) {
        const char *at = strchr(special, *clean);
        if (at)
            fputs(entity[at - special], out);
        else
            fputc(*clean, out);
    }
}
