/* SPDX-License-Identifier: MIT */
/*
 * cxxname.h - the grammar of demangled names, as far as one must know it to take them apart:
 *
 *   void  ns::Table  <int, std::allocator<int> >  ::add  (int const&) const  [clone .cold]
 *   ────  ──────────────────────────────────────────── ─────────────────────────────────
 *   type                    bare name                              the rest
 *
 * Brackets that belong to an operator are not brackets; those that nothing closes, or that are nested deeper than any
 * name a person wrote, are taken as they stand. Rust's names, and what is no name at all, go through the same doors.
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

/* Bytes of `operator` with its symbol ("operator<<") at the start of the text; 0: it does not start so. */
size_t pl_cxxname_operator(const char *text);

/* Bytes from an opening bracket to the one that closes it, both included; 0: nothing does. */
size_t pl_cxxname_bracket(const char *text);

/* The same for all brackets of a name in one pass: bytes[at] for each that opens at name + at. Other entries are not
 * written. The name has at most 65,535 bytes. */
void pl_cxxname_brackets(const char *name, uint16_t *bytes);

/* Bytes of the first of `bytes` bytes of template arguments: up to the comma that ends it, or all. The other one is
 * told how long its brackets are. */
size_t pl_cxxname_argument(const char *text, size_t bytes);
size_t pl_cxxname_argument_of(const char *text, size_t bytes, const uint16_t *brackets);

/* Bytes of " const", "&", " noexcept" at the start of what follows parameters. */
size_t pl_cxxname_qualifiers(const char *text);

/* Does the name end with the parameters at `text`, so many bytes with their brackets? Not with those of the function
 * around a lambda or a local class, nor with (anonymous namespace), decltype(auto) or Go's (*T). */
bool pl_cxxname_ends(const char *text, size_t bytes);

/* The name without return type, parameters and what follows them. Never empty, unless the text is. */
struct pl_cxxname_part {
    const char *text;
    size_t bytes;
};
struct pl_cxxname_part pl_cxxname_bare(const char *name);

#endif
