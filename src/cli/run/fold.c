/* SPDX-License-Identifier: MIT */
/*
 * fold.c - one profile for each program of a tree.
 *
 * A program is known by its executable: a build has hundreds of compilers and shells, a server hundreds of workers. The
 * sums stay in memory, because each is added to again and again. They are saved, too: if somebody kills us, they are as
 * safe as the files that they replace.
 */
#include "cli/run/fold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/say.h"
#include "format/settings.h"
#include "reader/write/save.h"

static struct pl_fold_program *add_program(struct pl_fold *fold, const char *executable, const char *name,
                                           const char *destination)
{
    fold->program = pl_say_memory(realloc(fold->program, (fold->count + 1) * sizeof *fold->program));
    struct pl_fold_program *program = &fold->program[fold->count];
    *program = (struct pl_fold_program){
        .executable = pl_say_print("%s", executable),
        .path = pl_say_print("%s/" PL_FOLD_PREFIX "%zu" PL_SUFFIX, fold->directory, fold->count),
        .destination = pl_say_print("%s", destination),
        .first_ns = UINT64_MAX,
    };
    snprintf(program->name, sizeof program->name, "%s", name);
    fold->count++;
    return program;
}

static struct pl_fold_program *find_program(struct pl_fold *fold, const struct pl_profile *profile)
{
    const char *executable = fold->count < PL_FOLD_PROGRAMS_MAX - 1 ? profile->executable : "";
    for (size_t i = 0; i < fold->count; i++)
        if (!strcmp(fold->program[i].executable, profile->executable))
            return &fold->program[i];
    if (fold->count == PL_FOLD_PROGRAMS_MAX)
        return &fold->program[PL_FOLD_PROGRAMS_MAX - 1];
    const char *name = *profile->executable ? basename(profile->executable) : profile->comm;
    return add_program(fold, executable, *executable ? name : "others", profile->destination);
}

void pl_fold_add(struct pl_fold *fold, struct pl_profile *profile)
{
    struct pl_fold_program *program = find_program(fold, profile);
    program->processes += profile->header.end != PL_END_EXEC;
    if (profile->header.start_monotonic_ns < program->first_ns)
        program->first_ns = profile->header.start_monotonic_ns;
    program->peak_largest = fmax(program->peak_largest, profile->total[PL_METRIC_PEAK_SPACE].value);
    program->changed = true;
    pl_sum_add(&program->sum, profile);
}

void pl_fold_save(struct pl_fold *fold)
{
    for (size_t i = 0; i < fold->count; i++) {
        struct pl_fold_program *program = &fold->program[i];
        char why[PL_WHY_BYTES];
        if (!program->changed)
            continue;
        program->changed = false;
        int error = pl_save(pl_sum_total(&program->sum), program->path, why);
        if (error && !fold->failed)
            pl_say("%s; the sums of ended processes are in memory until the program ends", why);
        fold->failed |= error != 0;
    }
}

void pl_fold_free(struct pl_fold *fold)
{
    for (size_t i = 0; i < fold->count; i++) {
        pl_sum_close(&fold->program[i].sum);
        free(fold->program[i].executable);
        free(fold->program[i].path);
        free(fold->program[i].destination);
    }
    free(fold->program);
}
