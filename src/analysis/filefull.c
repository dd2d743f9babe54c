/* SPDX-License-Identifier: MIT */
/* filefull.c - see filefull.h. */
#include "analysis/filefull.h"

#include <stdio.h>
#include <string.h>

#include "analysis/figure.h"
#include "format/settings.h"

#define MIB (1ull << 20)
#define LIMIT_MOST (PL_FILE_BYTES_MAX / MIB * MIB) /* the largest round value of --max-file */

/* How to get more room. Sampling, which needs less, is added to each. */
enum help { BY_LIMIT, BY_SPACE, BY_FILE_LIMIT, BY_ADDRESSES, BY_SAMPLING };

/* The limit in the text, if any, is header.limit_bytes. */
static const struct {
    const char *cause;
    enum help help;
} reasons[PL_FULL_COUNT] = {
    [PL_FULL_NOT] = {"the profile was full", BY_LIMIT},
    [PL_FULL_BOUND] = {"the profile reached its limit of %s (--max-file)", BY_LIMIT},
    [PL_FULL_FILE_LIMIT] = {"the profile reached the limit on file sizes, %s (ulimit -f)", BY_FILE_LIMIT},
    [PL_FULL_DEVICE] = {"the file system of the live profile was full", BY_SPACE},
    [PL_FULL_ADDRESSES] = {"the profile found no more address space (ulimit -v)", BY_ADDRESSES},
    [PL_FULL_SANDBOX] = {"the profile could not grow in a seccomp sandbox", BY_SAMPLING},
    [PL_FULL_FORMAT] = {"a profile cannot have more records of one kind", BY_SAMPLING},
    [PL_FULL_ERROR] = {"the profile could not grow", BY_SAMPLING},
};

static enum pl_full reason_of(const struct pl_header *header)
{
    return header->full < PL_FULL_COUNT ? (enum pl_full) header->full : PL_FULL_NOT;
}

bool pl_filefull_lost(const struct pl_header *header)
{
    return header->losses[PL_LOSS_FILE_FULL] || header->losses[PL_LOSS_SANDBOX];
}

void pl_filefull_cause(const struct pl_header *header, char out[PL_FILEFULL_BYTES])
{
    char limit[PL_FIGURE_BYTES];
    enum pl_full reason = reason_of(header);
    const char *cause = reasons[reason].cause, *hole = strstr(cause, "%s");
    pl_figure_setting(limit, header->limit_bytes);
    if (hole)
        snprintf(out, PL_FILEFULL_BYTES, "%.*s%s%s", (int) (hole - cause), cause, limit, hole + 2);
    else if (reason == PL_FULL_ERROR)
        snprintf(out, PL_FILEFULL_BYTES, "%s (%s)", cause, strerror((int) header->full_errno));
    else
        snprintf(out, PL_FILEFULL_BYTES, "%s", cause);
}

/* Four times what there was. Never less than the limit in force. */
static void print_limit(uint64_t limit_bytes, char out[PL_FIGURE_BYTES])
{
    uint64_t more = PL_MAX_FILE_MIN;
    while (more < 4 * limit_bytes && more < LIMIT_MOST)
        more *= 2;
    more = more < LIMIT_MOST ? more : LIMIT_MOST;
    snprintf(out, PL_FIGURE_BYTES, "%llu%s", (unsigned long long) (more >= MIB ? more / MIB : more >> 10),
             more >= MIB ? "M" : "K");
}

void pl_filefull_remedy(const struct pl_header *header, uint64_t file_bytes, const char *self,
                        char out[PL_FILEFULL_BYTES])
{
    enum help help = reasons[reason_of(header)].help;
    uint64_t limit = header->limit_bytes ? header->limit_bytes : file_bytes;
    bool coarse = header->mode == PL_MODE_SAMPLED && header->interval_bytes >= PL_SAMPLE_USUAL;
    const char *less = coarse ? "" : ", --sample " PL_SAMPLE_USUAL_TEXT " needs less";
    char more[PL_FIGURE_BYTES];
    print_limit(limit, more);
    if (help == BY_LIMIT && limit < LIMIT_MOST)
        snprintf(out, PL_FILEFULL_BYTES, "%s run --max-file %s allows more%s", self, more, less);
    else if (help == BY_SPACE)
        snprintf(out, PL_FILEFULL_BYTES, "%s run --live-dir DIRECTORY uses another one%s", self, less);
    else if (help == BY_FILE_LIMIT)
        snprintf(out, PL_FILEFULL_BYTES, "ulimit -f unlimited removes it");
    else if (help == BY_ADDRESSES)
        snprintf(out, PL_FILEFULL_BYTES, "raise the limit, if there is one%s%s%s", *less ? "; " : "", *less ? self : "",
                 *less ? " run --sample " PL_SAMPLE_USUAL_TEXT " needs less" : "");
    else
        snprintf(out, PL_FILEFULL_BYTES, "%s run --sample %s needs less", self, coarse ? "4M" : PL_SAMPLE_USUAL_TEXT);
}
