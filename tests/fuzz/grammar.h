/* SPDX-License-Identifier: MIT */
/*
 * grammar.h - is a text what its format says it is?
 */
#ifndef PL_FUZZ_GRAMMAR_H
#define PL_FUZZ_GRAMMAR_H

#include <stdbool.h>

/* One JSON value, as strictly as RFC 8259 has it, in UTF-8. */
bool fuzz_is_json(const char *text);

/* XML without a DTD's help: elements that nest, attributes in quotes, the five entities, characters that are allowed.
 */
bool fuzz_is_xml(const char *text);

#endif
