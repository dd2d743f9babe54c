/* SPDX-License-Identifier: MIT */
/*
 * document.c - writes the document from its template: replaces @STYLE@, @PROFILE@ and @SCRIPT@.
 */
#include "page/document.h"

#include <string.h>

#include "export/gzip.h"
#include "page/asset.h"
#include "page/base64.h"

struct document {
    pl_document_function *profile;
    void *context;
};

static void write_asset(const char *name, FILE *out)
{
    const struct pl_asset *asset = pl_asset_find(name);
    fwrite(asset->data, 1, asset->bytes, out);
}

static void write_style(const struct document *document, FILE *out)
{
    (void) document;
    write_asset("page.css", out);
}

static void write_script(const struct document *document, FILE *out)
{
    (void) document;
    write_asset("page.js", out);
}

static void write_profile(const struct document *document, FILE *out)
{
    FILE *letters = pl_base64_open(out);
    FILE *packed = pl_gzip_open(letters);
    document->profile(document->context, packed);
    fclose(packed);
    fclose(letters);
}

static const struct blank {
    const char *marker;
    void (*write)(const struct document *document, FILE *out);
} blanks[] = {{"@STYLE@", write_style}, {"@PROFILE@", write_profile}, {"@SCRIPT@", write_script}};

/* The blank whose marker `text` begins with, or NULL. */
static const struct blank *blank_at(const char *text)
{
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (!strncmp(text, blanks[i].marker, strlen(blanks[i].marker)))
            return &blanks[i];
    return NULL;
}

void pl_document_write(pl_document_function *profile, void *context, FILE *out)
{
    struct document document = {profile, context};
    for (const char *text = pl_asset_find("standalone.html")->data; *text;) {
        const struct blank *blank = blank_at(text);
        size_t plain = blank ? 0 : 1 + strcspn(text + 1, "@");
        fwrite(text, 1, plain, out);
        if (blank)
            blank->write(&document, out);
        text += blank ? strlen(blank->marker) : plain;
    }
}
