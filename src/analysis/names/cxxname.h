/* SPDX-License-Identifier: MIT */
/*
 * cxxname.h - the grammar of demangled names, as far as it takes to split them:
 *
 *   void  ns::Table  <int, std::allocator<int> >  ::add  (int const&) const  [clone .cold]
 *   ────  ──────────────────────────────────────────── ─────────────────────────────────
 *   type                    bare name                              the rest
 *
 * Brackets that are part of an operator's symbol do not count as brackets. Brackets that are not closed, or nested
 * deeper than in any name that a person wrote, are plain characters. Rust's names, and texts that are not names, are
 * treated the same way.
 */
#ifndef PL_CXXNAME_H
#define PL_CXXNAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PL_CXXNAME_NESTING 32 /* deeper brackets are left alone */

static inline bool pl_cxxname_opens(char character)
{
    return character == '<' || character == '(' || character == '{' || character == '[';
}

/* Bytes of `operator` with its symbol ("operator<<") at the start of the text; 0 if the text does not start with
 * one. */
size_t pl_cxxname_operator(const char *text);

/* Bytes from an opening bracket to the one that closes it, both included; 0 if none does. */
size_t pl_cxxname_bracket(const char *text);

/* The same for all brackets of a name in one pass: bytes[at] for each that opens at name + at. Other entries are not
 * written. The name has at most 65,535 bytes. */
void pl_cxxname_brackets(const char *name, uint16_t *bytes);

/* Bytes of the first argument in `bytes` bytes of template arguments: up to its comma, or all. The second function gets
 * the lengths of brackets from pl_cxxname_brackets(). */
size_t pl_cxxname_argument(const char *text, size_t bytes);
size_t pl_cxxname_argument_of(const char *text, size_t bytes, const uint16_t *brackets);

/* Bytes of qualifiers (" const", "&", " noexcept") at the start of the text, which follows the parameters. */
size_t pl_cxxname_qualifiers(const char *text);

/* True: the text starts with a note of the compiler, "[abi:cxx11]" or "[clone .cold]", and not with an array's size. */
bool pl_cxxname_note(const char *text);

/* True: the bracket at `text`, `bytes` long, has the function's own parameters, so the name ends before it. False for
 * the parameters of the function around a lambda or a local class, for (anonymous namespace), decltype(auto) and Go's
 * (*T). */
bool pl_cxxname_ends(const char *text, size_t bytes);

/* The name without return type, parameters and what follows them. Never empty, unless the text is. */
struct pl_cxxname_part {
    const char *text;
    size_t bytes;
};
struct pl_cxxname_part pl_cxxname_bare(const char *name);

#endif
