/* SPDX-License-Identifier: MIT */
/*
 * xml.h - text in XML: for SVG, and for whatever else is XML.
 */
#ifndef PL_XML_H
#define PL_XML_H

#include <stdio.h>

/* As content or as the value of an attribute. XML has no way to say control characters, and parsers refuse what is not
 * UTF-8: the text must be clean (pl_label_clean()), but for the ends of lines. */
void pl_xml_text(FILE *out, const char *clean);

#endif
