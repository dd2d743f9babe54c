/* SPDX-License-Identifier: MIT */
/*
 * document.h - the page and a profile in one file, which needs nothing else: no network, no program, no other file.
 *
 * Its own policy forbids it any network, and any script but the one whose hash it names. What comes from the profile is
 * in it as letters of base64 only, so that no name in a profile can be anything else than data.
 */
#ifndef PL_DOCUMENT_H
#define PL_DOCUMENT_H

#include <stdio.h>

/* Writes page data (docs/page-data.md) to the stream. Errors stay with the stream. */
typedef void pl_document_function(void *context, FILE *out);

/* Writes as it goes: nothing the size of the profile is in memory. */
void pl_document_write(pl_document_function *profile, void *context, FILE *out);

#endif
