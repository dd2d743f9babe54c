/* SPDX-License-Identifier: MIT */
/*
 * fuzz_profile.c - reads changed profiles: whatever they contain, an opened profile fulfils profile.h.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/groups.h"
#include "analysis/tags/tagtree.h"
#include "fuzz.h"
#include "reader/describe.h"
#include "reader/profile.h"
#include "reader/site.h"

static uint64_t touched;

/* Reads every byte of every string, so that a sanitizer sees an invalid one. */
static void touch(const char *text)
{
    touched += strlen(text);
}

static void touch_all(const struct pl_profile *profile)
{
    char words[256];
    pl_describe_ending(profile, words, sizeof words);
    touch(words);
    pl_describe_method(profile, words, sizeof words);
    touch(words);
    touch(profile->comm);
    touch(profile->executable);
    touch(profile->directory);
    touch(profile->destination);
    for (const char **word = profile->argv; *word; word++)
        touch(*word);
    if (profile->snapshot_name)
        touch(profile->snapshot_name);
    for (uint32_t i = 0; i < profile->modules; i++)
        touch(profile->module[i].path);
    for (uint32_t i = 0; i < profile->tags; i++) {
        touch(profile->tag[i].name);
        touch(profile->tag[i].path);
    }
    for (uint32_t i = 0; i < profile->frames; i++) {
        for (uint32_t p = 0; p < profile->frame[i].places; p++) {
            touch(profile->frame[i].place[p].function);
            touch(profile->frame[i].place[p].linkage);
            touch(profile->frame[i].place[p].file);
        }
    }
}

static void check_metrics(const struct pl_estimate metric[PL_METRIC_COUNT])
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        if (!(metric[m].value >= 0) || !(metric[m].error >= 0) || !(metric[m].low <= metric[m].value) ||
            !(metric[m].value <= metric[m].high))
            abort();
}

static void check_figures(const struct pl_profile *profile)
{
    struct pl_estimate metric[PL_METRIC_COUNT];
    for (uint32_t i = 0; i < profile->sites; i++) {
        pl_site_estimate(&profile->site[i], metric);
        check_metrics(metric);
    }
    check_metrics(profile->total);
}

static void check_forest(const struct pl_profile *profile)
{
    struct pl_groups groups;
    struct pl_tag_forest forest;
    char why[PL_WHY_BYTES];
    if (pl_groups_make(profile, PL_GROUP_NAME, &(struct pl_choice){.merge = "w.*"}, &groups, why) != 0)
        abort();
    pl_tagtree_grow(profile, &groups, PL_METRIC_INUSE_SPACE, &forest);
    for (uint32_t t = 0; t < forest.trees; t++) {
        for (uint32_t i = 0; i < forest.tree[t].nodes; i++) {
            const struct pl_tag_node *node = &forest.tree[t].node[i];
            if (node->tag >= profile->tags || node->parent > i || i + node->below >= forest.tree[t].nodes)
                abort();
            check_metrics(node->self.metric);
            check_metrics(node->total.metric);
        }
    }
    pl_tagtree_free(&forest);
    pl_groups_free(&groups);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct pl_profile *profile = NULL;
    char why[PL_WHY_BYTES] = "";
    if (pl_profile_load(data, bytes, &profile, why) != 0) {
        if (profile || !why[0])
            abort();
        return 0;
    }
    if (!pl_profile_valid(profile))
        abort();
    check_figures(profile);
    check_forest(profile);
    touch_all(profile);
    pl_profile_close(profile);
    return 0;
}
