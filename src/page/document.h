/* SPDX-License-Identifier: MIT */
/*
 * document.h - the page and a profile in one HTML file that needs no network, no server and no other file.
 *
 * The document's Content-Security-Policy forbids all network access, and every script except the one whose hash it
 * names. The profile is in it as base64 only, so no name in a profile can become markup or code.
 */
#ifndef PL_DOCUMENT_H
#define PL_DOCUMENT_H

#include <stdio.h>

/* Writes page data (docs/page-data.md) to the stream. The stream keeps the error state (ferror). */
typedef void pl_document_function(void *context, FILE *out);

/* Streams its output: it keeps no copy of the profile in memory. */
void pl_document_write(pl_document_function *profile, void *context, FILE *out);

#endif
