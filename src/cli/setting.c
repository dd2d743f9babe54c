/* SPDX-License-Identifier: MIT */
/*
 * setting.c - the settings of the runtime as environment variables.
 */
#include "cli/setting.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cache.h"
#include "cli/nearest.h"

#define PREFIX "PLIMSOLL_"
#define TUNABLES "GLIBC_TUNABLES"

static const char *const variables[PL_SETTING_COUNT] = {
#define ROW(name, variable, ...) [PL_SETTING_##name] = variable,
    PL_SETTINGS(ROW)
#undef ROW
};

static const char *const glibc_variables[] = {
#define ROW(name, variable, ...) [PL_GLIBC_##name - PL_GLIBC_FIRST] = variable,
    PL_GLIBC_SETTINGS(ROW)
#undef ROW
};

static const char *const glibc_tunables[] = {
#define ROW(name, variable, tunable, ...) [PL_GLIBC_##name - PL_GLIBC_FIRST] = tunable,
    PL_GLIBC_SETTINGS(ROW)
#undef ROW
};

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

uint64_t pl_setting_number(const struct pl_option *option, const char *text)
{
    uint64_t number = 0;
    struct pl_option copy = *option;
    copy.into = &number;
    copy.type->read(&copy, text);
    return number;
}

void pl_setting_export_number(enum pl_setting setting, const struct pl_option *option, const char *text)
{
    static const struct {
        const struct pl_type *type;
        const char *unit;
        uint64_t in_unit;
    } numbers[] = {
        {&pl_type_sample, "", 1}, {&pl_type_size, "", 1}, {&pl_type_count, "", 1}, {&pl_type_time, "ms", 1000000}};
    char *plain = NULL;
    bool word = text && (*text < '0' || *text > '9'); /* exact, auto */
    for (size_t i = 0; text && !word && i < sizeof numbers / sizeof *numbers; i++)
        if (option->type == numbers[i].type)
            plain = pl_say_print("%llu%s", (unsigned long long) (pl_setting_number(option, text) / numbers[i].in_unit),
                                 numbers[i].unit);
    export(variables[setting], plain ? plain : text);
    free(plain);
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
    for (char *entry; (entry = strsep(&rest, ":"));)
        if (!is_about(entry, tunable))
            pl_say_append(&left, ":", entry);
    export(TUNABLES, *left ? left : NULL);
    free(left);
    free(copy);
}

void pl_setting_export_glibc(enum pl_glibc_setting setting, const char *text)
{
    export(glibc_variables[(int) setting - PL_GLIBC_FIRST], text);
    drop_tunable(glibc_tunables[(int) setting - PL_GLIBC_FIRST]);
}

/* Removes the variable: the runtime would ignore the value as well, and the report would warn of it again. */
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
    if (!text || !*text || !option->raw || *option->raw) /* an empty variable counts as unset */
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
    return !strcmp(name, PL_LIBRARY_VARIABLE) || !strcmp(name, PL_GLIBC_VARIABLE) || !strcmp(name, PL_CACHE_VARIABLE);
}

/* Ignores names that are not similar to any of ours: other programs may use them. */
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
