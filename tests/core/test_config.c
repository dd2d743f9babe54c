/* SPDX-License-Identifier: MIT */
/* test_config.c - tests config.h: a value is accepted or ignored as a whole. */
#include "core_tests.h"

#include "core/config.h"
#include "format/settings.h"

#define FUZZ 200000

static struct pl_config config;

static void read_config(char *const *environment)
{
    memset(&config, 0, sizeof config);
    pl_config_read(&config, environment, PL_MODE_AUTO);
}

static void read_one(const char *word)
{
    char copy[PL_PATH_MAX * 2];
    snprintf(copy, sizeof copy, "%s", word);
    read_config((char *[]){copy, NULL});
}

static bool is_bad(enum pl_setting setting)
{
    return config.bad >> setting & 1;
}

static void without_settings_the_defaults_hold(void **state)
{
    (void) state;
    read_config((char *[]){NULL});
    assert_true(config.ready && !config.off && !config.seeded && config.bad == 0);
    assert_int_equal(config.mode, PL_MODE_AUTO);
    assert_int_equal(config.overhead_ppm, PL_OVERHEAD_DEFAULT_PPM);
    assert_int_equal(config.max_file_bytes, PL_MAX_FILE_DEFAULT);
    assert_string_equal(config.out, PL_OUT_DEFAULT);
    assert_string_equal(config.run_dir, "");
}

static void the_credit_is_larger_where_a_person_waits(void **state)
{
    (void) state;
    read_config((char *[]){NULL});
    assert_int_equal(config.credit_ms, 100);
    read_config((char *[]){"PLIMSOLL_RUN=/run/live", NULL});
    assert_int_equal(config.credit_ms, 500);
    static const struct {
        char *word;
        uint32_t ms;
    } cases[] = {{"PLIMSOLL_CREDIT=2", 2000}, {"PLIMSOLL_CREDIT=30ms", 30}, {"PLIMSOLL_CREDIT=1m", 60000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_config((char *[]){"PLIMSOLL_RUN=/run/live", cases[i].word, NULL});
        assert_int_equal(config.credit_ms, cases[i].ms);
    }
    static char *const wrong[] = {"PLIMSOLL_CREDIT=0", "PLIMSOLL_CREDIT=2h", "PLIMSOLL_CREDIT=much",
                                  "PLIMSOLL_CREDIT=99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        read_config((char *[]){wrong[i], NULL});
        assert_int_equal(config.credit_ms, 100);
        assert_true(is_bad(PL_SETTING_CREDIT));
    }
}

static void an_empty_setting_counts_as_unset(void **state)
{
    (void) state;
    read_config((char *[]){"PLIMSOLL_SAMPLE=", "PLIMSOLL_OUT=", "PLIMSOLL_OFF=", NULL});
    assert_int_equal(config.bad, 0);
    assert_int_equal(config.mode, PL_MODE_AUTO);
    assert_string_equal(config.out, PL_OUT_DEFAULT);
}

static void sizes_have_units(void **state)
{
    (void) state;
    static const struct {
        const char *word;
        uint64_t bytes;
    } cases[] = {
        {"PLIMSOLL_SAMPLE=1", 1},
        {"PLIMSOLL_SAMPLE=00017", 17},
        {"PLIMSOLL_SAMPLE=512k", 512 << 10},
        {"PLIMSOLL_SAMPLE=3K", 3 << 10},
        {"PLIMSOLL_SAMPLE=2m", 2 << 20},
        {"PLIMSOLL_SAMPLE=2M", 2 << 20},
        {"PLIMSOLL_SAMPLE=4g", 4ull << 30},
        {"PLIMSOLL_SAMPLE=1024G", 1ull << 40},
        {"PLIMSOLL_SAMPLE=1099511627776", 1ull << 40},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_one(cases[i].word);
        assert_int_equal(config.mode, PL_MODE_SAMPLED);
        assert_int_equal(config.interval_bytes, cases[i].bytes);
        assert_int_equal(config.bad, 0);
    }
}

static void modes_have_names(void **state)
{
    (void) state;
    read_one("PLIMSOLL_SAMPLE=exact");
    assert_true(config.mode == PL_MODE_EXACT && config.bad == 0);
    read_one("PLIMSOLL_SAMPLE=auto");
    assert_true(config.mode == PL_MODE_AUTO && config.bad == 0);
    read_one("PLIMSOLL_SAMPLE=exactly");
    assert_true(config.mode == PL_MODE_AUTO && is_bad(PL_SETTING_SAMPLE));
}

static void an_overhead_is_a_percentage(void **state)
{
    (void) state;
    static const struct {
        const char *word;
        uint32_t ppm; /* 0: invalid */
    } cases[] = {
        {"PLIMSOLL_OVERHEAD=2%", 20000},
        {"PLIMSOLL_OVERHEAD=2", 20000},
        {"PLIMSOLL_OVERHEAD=0.5%", 5000},
        {"PLIMSOLL_OVERHEAD=0.01", 100},
        {"PLIMSOLL_OVERHEAD=12.25%", 122500},
        {"PLIMSOLL_OVERHEAD=100%", 1000000},
        {"PLIMSOLL_OVERHEAD=0.0099", 0},
        {"PLIMSOLL_OVERHEAD=0", 0},
        {"PLIMSOLL_OVERHEAD=101%", 0},
        {"PLIMSOLL_OVERHEAD=-1", 0},
        {"PLIMSOLL_OVERHEAD=%", 0},
        {"PLIMSOLL_OVERHEAD=2%%", 0},
        {"PLIMSOLL_OVERHEAD=2 %", 0},
        {"PLIMSOLL_OVERHEAD=2x", 0},
        {"PLIMSOLL_OVERHEAD=99999999999999999999", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_one(cases[i].word);
        assert_int_equal(config.overhead_ppm, cases[i].ppm ? cases[i].ppm : PL_OVERHEAD_DEFAULT_PPM);
        assert_int_equal(is_bad(PL_SETTING_OVERHEAD), cases[i].ppm == 0);
    }
}

static void invalid_values_are_ignored_and_recorded(void **state)
{
    (void) state;
    static const char *const rubbish[] = {
        "0",
        "-1",
        "+1",
        "1.5",
        "K",
        "1KB",
        "1KK",
        "K1",
        " 1",
        "1 ",
        "0x10",
        "1e6",
        "１",
        "1\n",
        "1,",
        "1025G",
        "2048G",
        "99999999999999999999",
        "18446744073709551615",
        "18014398509481984K",
        "17179869184G",
    };
    for (size_t i = 0; i < sizeof rubbish / sizeof *rubbish; i++) {
        char word[100];
        snprintf(word, sizeof word, "PLIMSOLL_SAMPLE=%s", rubbish[i]);
        read_one(word);
        assert_true(is_bad(PL_SETTING_SAMPLE));
        assert_int_equal(config.mode, PL_MODE_AUTO);
    }
}

static void a_switch_is_0_or_1_and_invalid_values_do_not_change_it(void **state)
{
    (void) state;
    read_one("PLIMSOLL_OFF=1");
    assert_true(config.off && config.bad == 0);
    read_one("PLIMSOLL_OFF=0");
    assert_true(!config.off && config.bad == 0);
    static const char *const rubbish[] = {"PLIMSOLL_OFF=10", "PLIMSOLL_OFF=1x", "PLIMSOLL_OFF=yes", "PLIMSOLL_OFF=01"};
    for (size_t i = 0; i < sizeof rubbish / sizeof *rubbish; i++) {
        read_one(rubbish[i]);
        assert_true(is_bad(PL_SETTING_OFF));
        assert_false(config.off);
    }
}

static void a_seed_may_be_any_number_including_0(void **state)
{
    (void) state;
    read_one("PLIMSOLL_SEED=0");
    assert_true(config.seeded && config.seed == 0);
    read_one("PLIMSOLL_SEED=18446744073709551615");
    assert_true(config.seeded && config.seed == UINT64_MAX);
    read_one("PLIMSOLL_SEED=18446744073709551616");
    assert_true(!config.seeded && is_bad(PL_SETTING_SEED));
}

static void the_file_size_has_a_lower_and_an_upper_limit(void **state)
{
    (void) state;
    read_one("PLIMSOLL_MAX_FILE=256K");
    assert_int_equal(config.max_file_bytes, 256 << 10);
    read_one("PLIMSOLL_MAX_FILE=255K");
    assert_true(is_bad(PL_SETTING_MAX_FILE));
    read_one("PLIMSOLL_MAX_FILE=1G");
    assert_int_equal(config.max_file_bytes, 1ull << 30);
    read_one("PLIMSOLL_MAX_FILE=2G");
    assert_true(is_bad(PL_SETTING_MAX_FILE));
    assert_int_equal(config.max_file_bytes, PL_MAX_FILE_DEFAULT);
}

static void a_text_that_is_too_long_is_ignored(void **state)
{
    (void) state;
    static char word[2 * PL_PATH_MAX];
    memset(word, 'x', sizeof word - 1);
    memcpy(word, "PLIMSOLL_OUT=", 13);
    read_one(word);
    assert_true(is_bad(PL_SETTING_OUT));
    assert_string_equal(config.out, PL_OUT_DEFAULT);
    word[13 + PL_PATH_MAX - 1] = 0;
    read_one(word);
    assert_false(is_bad(PL_SETTING_OUT));
    assert_int_equal(strlen(config.out), PL_PATH_MAX - 1);
}

static void a_variable_is_recognised_only_by_its_whole_name(void **state)
{
    (void) state;
    read_config((char *[]){"PLIMSOLL_SAMPLES=1", "XPLIMSOLL_SAMPLE=2", "PLIMSOLL_SAMPL=3", "plimsoll_sample=4",
                           "PLIMSOLL_SAMPLE", "=", "", "PLIMSOLL_SAMPLE=5", "PLIMSOLL_SAMPLE=6", NULL});
    assert_int_equal(config.interval_bytes, 5);
}

static void only_matches_whole_names_of_at_most_15_characters(void **state)
{
    (void) state;
    static const struct {
        const char *only, *comm;
        bool chosen;
    } cases[] = {
        {"", "anything", true},
        {"sh", "sh", true},
        {"sh", "bash", false},
        {"bash", "sh", false},
        {"sh,bash", "bash", true},
        {"sh,bash", "ash", false},
        {"sh,,bash", "bash", true},
        {",", "x", false},
        {"a-very-long-name-indeed", "a-very-long-nam", true},
        {"a-very-long-name-indeed", "a-very-long-na", false},
        {"a-very-long-nam", "a-very-long-nam", true},
        {"x,a-very-long-name-indeed,y", "a-very-long-nam", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(&config, 0, sizeof config);
        snprintf(config.only, sizeof config.only, "%s", cases[i].only);
        assert_int_equal(pl_config_chooses(&config, cases[i].comm), cases[i].chosen);
    }
}

/* Values that a careless script might set. Every resulting setting is within its limits or the default. */
static void any_value_leaves_a_valid_configuration(void **state)
{
    (void) state;
    static const char alphabet[] = "0123456789kKmMgG.,-+ %/ptch\\\n\x80\xff=";
    static const char *const variables[] = {
#define PL_VARIABLE(name, variable, ...) variable,
        PL_SETTINGS(PL_VARIABLE)
#undef PL_VARIABLE
    };
    uint64_t random = 1;
    for (int i = 0; i < FUZZ; i++) {
        char word[64];
        int n = snprintf(word, sizeof word, "%s=", variables[draw(&random, PL_SETTING_COUNT)]);
        for (uint64_t more = draw(&random, 24); more; more--)
            word[n++] = alphabet[draw(&random, sizeof alphabet - 1)];
        word[n] = 0;
        read_one(word);
        if (config.mode == PL_MODE_SAMPLED)
            assert_in_range(config.interval_bytes, PL_SAMPLE_MIN, PL_SAMPLE_MAX);
        assert_in_range(config.overhead_ppm, PL_OVERHEAD_MIN_PPM, PL_OVERHEAD_MAX_PPM);
        assert_in_range(config.max_file_bytes, PL_MAX_FILE_MIN, PL_FILE_BYTES_MAX);
        assert_true(config.ready && config.out[0] && config.bad < 1u << PL_SETTING_COUNT);
        pl_config_chooses(&config, "some-command");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_settings_the_defaults_hold),
        cmocka_unit_test(the_credit_is_larger_where_a_person_waits),
        cmocka_unit_test(an_empty_setting_counts_as_unset),
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(modes_have_names),
        cmocka_unit_test(an_overhead_is_a_percentage),
        cmocka_unit_test(invalid_values_are_ignored_and_recorded),
        cmocka_unit_test(a_switch_is_0_or_1_and_invalid_values_do_not_change_it),
        cmocka_unit_test(a_seed_may_be_any_number_including_0),
        cmocka_unit_test(the_file_size_has_a_lower_and_an_upper_limit),
        cmocka_unit_test(a_text_that_is_too_long_is_ignored),
        cmocka_unit_test(a_variable_is_recognised_only_by_its_whole_name),
        cmocka_unit_test(only_matches_whole_names_of_at_most_15_characters),
        cmocka_unit_test(any_value_leaves_a_valid_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
