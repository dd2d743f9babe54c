/* SPDX-License-Identifier: MIT */
/*
 * grammar.h - checks whether a text follows its format.
 */
#ifndef PL_FUZZ_GRAMMAR_H
#define PL_FUZZ_GRAMMAR_H

#include <stdbool.h>

/* One JSON value in UTF-8, strictly by RFC 8259. */
bool fuzz_is_json(const char *text);

/* XML without a DTD: nested elements, quoted attributes, the five entities, allowed characters. */
bool fuzz_is_xml(const char *text);

#endif
