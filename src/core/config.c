/* SPDX-License-Identifier: MIT */
/* config.c - see config.h. */
#include "core/config.h"

#include <stddef.h>

#include "core/memory.h"
#include "core/text.h"

/* ---- values ---- */

static bool parse_number(const char *text, uint64_t *out)
{
    uint64_t n = 0;
    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, (uint64_t) (*text - '0'), &n))
            return false;
    static const char units[] = "kKmMgG";
    for (unsigned i = 0; units[i] && *text; i++)
        if (*text == units[i] && text[1] == 0) {
            unsigned shift = 10 * (i / 2 + 1);
            if (n >> (64 - shift))
                return false;
            n <<= shift;
            text++;
        }
    *out = n;
    return *text == 0;
}

static bool parse_between(const char *text, uint64_t lo, uint64_t hi, uint64_t *out)
{
    uint64_t n;
    if (!parse_number(text, &n) || n < lo || n > hi)
        return false;
    *out = n;
    return true;
}

static bool parse_copy(const char *text, char *to, size_t bytes)
{
    size_t n = pl_text_bytes(text);
    if (n == 0 || n >= bytes)
        return false;
    pl_memory_copy(to, text, n + 1);
    return true;
}

/* ---- one function per setting ---- */

static bool set_sample(struct pl_config *c, const char *text)
{
    if (pl_text_same(text, "auto"))
        c->mode = PL_MODE_AUTO;
    else if (pl_text_same(text, "exact"))
        c->mode = PL_MODE_EXACT;
    else if (parse_between(text, PL_SAMPLE_MIN, PL_SAMPLE_MAX, &c->interval_bytes))
        c->mode = PL_MODE_SAMPLED;
    else
        return false;
    return true;
}

/* Percent, with up to four decimals, with or without the percent sign. 0.01% is 100 ppm. */
static bool set_overhead(struct pl_config *c, const char *text)
{
    uint64_t ppm = 0, scale = 10000;
    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9' && ppm <= PL_OVERHEAD_MAX_PPM; text++)
        ppm = ppm * 10 + (uint64_t) (*text - '0') * scale;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9' && scale >= 10; text++)
            ppm += (uint64_t) (*text - '0') * (scale /= 10);
    text += *text == '%';
    if (*text || ppm < PL_OVERHEAD_MIN_PPM || ppm > PL_OVERHEAD_MAX_PPM)
        return false;
    c->overhead_ppm = (uint32_t) ppm;
    return true;
}

static bool set_out(struct pl_config *c, const char *text)
{
    return parse_copy(text, c->out, sizeof c->out);
}

static bool set_only(struct pl_config *c, const char *text)
{
    return parse_copy(text, c->only, sizeof c->only);
}

static bool set_live_dir(struct pl_config *c, const char *text)
{
    return parse_copy(text, c->live_dir, sizeof c->live_dir);
}

static bool set_max_file(struct pl_config *c, const char *text)
{
    return parse_between(text, PL_MAX_FILE_MIN, PL_FILE_BYTES_MAX, &c->max_file_bytes);
}

static bool set_above(struct pl_config *c, const char *text)
{
    return parse_between(text, 0, UINT64_MAX, &c->size_from);
}

static bool set_below(struct pl_config *c, const char *text)
{
    return parse_between(text, 0, UINT64_MAX, &c->size_to);
}

static bool set_count(const char *text, uint64_t lo, uint64_t hi, uint32_t *out)
{
    uint64_t n;
    bool good = parse_between(text, lo, hi, &n);
    if (good)
        *out = (uint32_t) n;
    return good;
}

static bool set_max_tags(struct pl_config *c, const char *text)
{
    return set_count(text, PL_TAGS_MIN, PL_TAGS_MAX, &c->max_tags);
}

static bool set_max_threads(struct pl_config *c, const char *text)
{
    return set_count(text, PL_THREADS_OWN_MIN, PL_THREADS_OWN_MAX, &c->max_threads);
}

/* Seconds, or a number with ms, s, m or h. */
static bool parse_ms(const char *text, uint64_t lo, uint64_t hi, uint64_t *out)
{
    static const struct {
        char unit[3];
        uint32_t ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    uint64_t n = 0;
    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9' && n <= hi; text++)
        n = n * 10 + (uint64_t) (*text - '0');
    for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++) {
        uint64_t ms = n * units[i].ms;
        if (!pl_text_same(text, units[i].unit))
            continue;
        if (ms < lo || ms > hi)
            return false;
        *out = ms;
        return true;
    }
    return false;
}

static bool set_snapshot_every(struct pl_config *c, const char *text)
{
    uint64_t ms;
    bool good = parse_ms(text, PL_SNAPSHOT_EVERY_MIN_MS, PL_SNAPSHOT_EVERY_MAX_MS, &ms);
    if (good)
        c->snapshot_every_ns = ms * 1000000u;
    return good;
}

static bool set_credit(struct pl_config *c, const char *text)
{
    uint64_t ms;
    bool good = parse_ms(text, PL_CREDIT_MIN_MS, PL_CREDIT_MAX_MS, &ms);
    if (good)
        c->credit_ms = (uint32_t) ms;
    return good;
}

static bool set_flag(bool *flag, const char *text)
{
    if ((text[0] != '0' && text[0] != '1') || text[1])
        return false;
    *flag = text[0] == '1';
    return true;
}

static bool set_off(struct pl_config *c, const char *text)
{
    return set_flag(&c->off, text);
}

static bool set_python_objects(struct pl_config *c, const char *text)
{
    return set_flag(&c->python_objects, text);
}

static bool set_no_mappings(struct pl_config *c, const char *text)
{
    return set_flag(&c->no_mappings, text);
}

static bool set_seed(struct pl_config *c, const char *text)
{
    return c->seeded = parse_between(text, 0, UINT64_MAX, &c->seed);
}

static bool set_run(struct pl_config *c, const char *text)
{
    return parse_copy(text, c->run_dir, sizeof c->run_dir);
}

/* ---- the environment ---- */

static const char *value_of(char *const *environment, const char *variable)
{
    size_t n = pl_text_bytes(variable);
    for (; environment && *environment; environment++) {
        size_t i = 0;
        while (i < n && (*environment)[i] == variable[i])
            i++;
        if (i == n && (*environment)[n] == '=')
            return *environment + n + 1;
    }
    return NULL;
}

bool pl_config_set(struct pl_config *config, enum pl_setting setting, const char *text)
{
    bool (*const set[PL_SETTING_COUNT])(struct pl_config *, const char *) = {
        [PL_SETTING_SAMPLE] = set_sample,
        [PL_SETTING_OUT] = set_out,
        [PL_SETTING_ONLY] = set_only,
        [PL_SETTING_LIVE_DIR] = set_live_dir,
        [PL_SETTING_MAX_FILE] = set_max_file,
        [PL_SETTING_OFF] = set_off,
        [PL_SETTING_OVERHEAD] = set_overhead,
        [PL_SETTING_SEED] = set_seed,
        [PL_SETTING_RUN] = set_run,
        [PL_SETTING_ABOVE] = set_above,
        [PL_SETTING_BELOW] = set_below,
        [PL_SETTING_MAX_TAGS] = set_max_tags,
        [PL_SETTING_MAX_THREADS] = set_max_threads,
        [PL_SETTING_SNAPSHOT_EVERY] = set_snapshot_every,
        [PL_SETTING_CREDIT] = set_credit,
        [PL_SETTING_NO_MAPPINGS] = set_no_mappings,
        [PL_SETTING_PYTHON_OBJECTS] = set_python_objects,
    };
    return set[setting] && set[setting](config, text); /* without a setter, no value is understood */
}

void pl_config_read(struct pl_config *config, char *const *environment, enum pl_mode mode)
{
    const char *const variable[PL_SETTING_COUNT] = {
#define PL_VARIABLE(name, variable, ...) variable,
        PL_SETTINGS(PL_VARIABLE)
#undef PL_VARIABLE
    };
    config->mode = mode;
    config->overhead_ppm = PL_OVERHEAD_DEFAULT_PPM;
    config->max_file_bytes = PL_MAX_FILE_DEFAULT;
    config->size_to = UINT64_MAX;
    config->max_tags = PL_TAGS_DEFAULT;
    config->max_threads = PL_THREADS_OWN_DEFAULT;
    parse_copy(PL_OUT_DEFAULT, config->out, sizeof config->out);
    for (int i = 0; i < PL_SETTING_COUNT; i++) {
        const char *text = value_of(environment, variable[i]);
        if (text && *text && !pl_config_set(config, (enum pl_setting) i, text)) /* set but empty: as if unset */
            config->bad |= 1u << i;
    }
    if (config->python_objects && mode == PL_MODE_AUTO && !value_of(environment, variable[PL_SETTING_SAMPLE]))
        set_sample(config, PL_SAMPLE_USUAL_TEXT); /* there are too many objects to count them all */
    if (!config->credit_ms)
        config->credit_ms = config->run_dir[0] ? PL_CREDIT_RUN_MS : PL_CREDIT_PRELOAD_MS;
    if (config->size_from > config->size_to) { /* no allocation would match */
        config->size_from = 0;
        config->size_to = UINT64_MAX;
        config->bad |= 1u << PL_SETTING_ABOVE | 1u << PL_SETTING_BELOW;
    }
    const char *runtime_dir = value_of(environment, "XDG_RUNTIME_DIR");
    if (runtime_dir)
        parse_copy(runtime_dir, config->runtime_dir, sizeof config->runtime_dir);
    config->contained = value_of(environment, PL_CONTAINER_VARIABLE) || value_of(environment, PL_KUBERNETES_VARIABLE);
    config->ready = true;
}

bool pl_config_chooses(const struct pl_config *config, const char *comm)
{
    const char *at = config->only;
    if (!*at)
        return true;
    while (*at) {
        const char *c = comm;
        while (*at && *at != ',' && *at == *c)
            at++, c++;
        if ((!*at || *at == ',' || c - comm == 15) && !*c) /* the kernel keeps 15 characters */
            return true;
        while (*at && *at != ',')
            at++;
        at += *at == ',';
    }
    return false;
}
