/* SPDX-License-Identifier: MIT */
/*
 * setting.c - the settings of the runtime as environment variables.
 */
#include "setting.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nearest.h"

#define PREFIX "PLIMSOLL_"
#define TUNABLES "GLIBC_TUNABLES"

static const char *const variables[PL_SETTING_COUNT] = {
#define ROW(name, variable, option, takes, fallback, help) [PL_SETTING_##name] = variable,
    PL_SETTINGS(ROW)
#undef ROW
};

static const char *const glibc_variables[] = {
#define ROW(name, variable, tunable, takes, fallback, help) [PL_GLIBC_##name - PL_SETTING_COUNT] = variable,
    PL_GLIBC_SETTINGS(ROW)
#undef ROW
};

static const char *const glibc_tunables[] = {
#define ROW(name, variable, tunable, takes, fallback, help) [PL_GLIBC_##name - PL_SETTING_COUNT] = tunable,
    PL_GLIBC_SETTINGS(ROW)
#undef ROW
};

const char *pl_setting_variable(enum pl_setting setting)
{
    return variables[setting];
}

static void export(const char *variable, const char *text)
{
    if (!text)
        unsetenv(variable);
    else
        pl_say_memory(setenv(variable, text, 1) ? NULL : (void *) text);
}

void pl_setting_export(enum pl_setting setting, const char *text)
{
    export(variables[setting], text);
}

static bool is_about(const char *entry, const char *tunable)
{
    size_t bytes = strlen(tunable);
    return !strncmp(entry, tunable, bytes) && (entry[bytes] == '=' || !entry[bytes]);
}

/* "glibc.malloc.prof=0:glibc.malloc.check=1" → "glibc.malloc.check=1" */
static void drop_tunable(const char *tunable)
{
    const char *list = getenv(TUNABLES);
    if (!list || !strstr(list, tunable))
        return;
    char *copy = pl_say_print("%s", list), *left = pl_say_print("%s", ""), *rest = copy;
    for (char *entry; (entry = strsep(&rest, ":"));) {
        if (is_about(entry, tunable))
            continue;
        char *longer = pl_say_print("%s%s%s", left, *left ? ":" : "", entry);
        free(left);
        left = longer;
    }
    export(TUNABLES, *left ? left : NULL);
    free(left);
    free(copy);
}

void pl_setting_export_glibc(enum pl_glibc_setting setting, const char *text)
{
    export(glibc_variables[(int) setting - PL_SETTING_COUNT], text);
    drop_tunable(glibc_tunables[(int) setting - PL_SETTING_COUNT]);
}

/* A value that is not understood goes no further: the runtime would only ignore it a second time. */
static void refuse_value(const struct pl_option *option, const char *text, enum pl_verdict verdict)
{
    char *complaint = pl_option_complaint(option, "", verdict);
    pl_say("%s=%s in the environment: %s; ignored", option->variable, text, complaint);
    free(complaint);
    unsetenv(option->variable);
}

static void read_variable(const struct pl_option *option)
{
    const char *text = option->variable ? getenv(option->variable) : NULL;
    if (!text || !*text || !option->raw || *option->raw) /* set but empty is as good as unset */
        return;
    enum pl_verdict verdict = option->type->read(option, text);
    if (verdict == PL_VALUE_OK)
        *option->raw = text;
    else
        refuse_value(option, text, verdict);
}

static bool known(const char *name)
{
    for (size_t i = 0; i < PL_SETTING_COUNT; i++)
        if (!strcmp(variables[i], name))
            return true;
    return !strcmp(name, PL_LIBRARY_VARIABLE) || !strcmp(name, PL_GLIBC_VARIABLE);
}

/* A name that comes near none of ours is somebody else's business. */
static void warn_typo(const char *name)
{
    struct pl_nearest nearest = {.word = name + strlen(PREFIX)};
    for (size_t i = 0; i < PL_SETTING_COUNT; i++)
        pl_nearest_offer(&nearest, variables[i] + strlen(PREFIX));
    if (nearest.best)
        pl_say("%s in the environment is not a setting; did you mean %s%s?", name, PREFIX, nearest.best);
}

void pl_setting_read_environment(const struct pl_option *options)
{
    for (const struct pl_option *option = options; option->help; option++)
        read_variable(option);
    for (char **entry = environ; *entry; entry++) {
        if (strncmp(*entry, PREFIX, strlen(PREFIX)))
            continue;
        char *name = pl_say_print("%.*s", (int) strcspn(*entry, "="), *entry);
        if (!known(name))
            warn_typo(name);
        free(name);
    }
}
