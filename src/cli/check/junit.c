/* SPDX-License-Identifier: MIT */
/*
 * junit.c - writes the results of `check` as JUnit XML.
 *
 * Readers differ in what they accept; these elements and attributes are known to all of them. An unsure rule is no
 * failure; the output of its case says `unsure`.
 */
#include "cli/check/junit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/label.h"

static void put_text(FILE *out, const char *text)
{
    char *clean = pl_label_clean(text);
    pl_label_xml(out, *text ? clean : "");
    free(clean);
}

static void put_attribute(FILE *out, const char *name, const char *value)
{
    fprintf(out, " %s=\"", name);
    put_text(out, value);
    fputc('"', out);
}

/* The finding as in the table of `check`. */
static char *print_line(const struct pl_finding *finding)
{
    return pl_say_print("%s%s%s%s%s%s%s", finding->label, *finding->figure ? " " : "", finding->figure,
                        *finding->limit ? " " : "", finding->limit, *finding->words ? ": " : "", finding->words);
}

static void put_case(FILE *out, const struct pl_suite *suite, const struct pl_finding *finding)
{
    static const char *const elements[PL_OUTCOMES] = {
        [PL_OUTCOME_OK] = "system-out", [PL_OUTCOME_UNSURE] = "system-out", [PL_OUTCOME_FAIL] = "failure"};
    const char *element = finding->rule ? elements[finding->outcome] : "error";
    bool failed = !finding->rule || finding->outcome == PL_OUTCOME_FAIL;
    char *line = print_line(finding);
    fputs("    <testcase", out);
    put_attribute(out, "classname", suite->subject);
    put_attribute(out, "name", finding->rule ? finding->rule->text : finding->label);
    fprintf(out, " time=\"0\">\n      <%s", element);
    if (failed)
        put_attribute(out, "message", line);
    if (failed)
        put_attribute(out, "type", finding->rule ? pl_checkrules_info[finding->rule->kind].word : finding->label);
    fprintf(out, ">%s", finding->outcome == PL_OUTCOME_UNSURE ? "unsure: " : "");
    put_text(out, line);
    fprintf(out, "</%s>\n    </testcase>\n", element);
    free(line);
}

/* 1 if the profile of the suite could not be read, else 0. */
static uint32_t count_errors(const struct pl_suite *suite)
{
    return suite->findings == 1 && !suite->finding[0].rule;
}

static void put_suite(FILE *out, const struct pl_suite *suite)
{
    uint32_t errors = count_errors(suite);
    char *notes = pl_gate_notes(suite, "plimsoll");
    fputs("  <testsuite", out);
    put_attribute(out, "name", suite->subject);
    fprintf(out, " tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"0\" time=\"0\">\n", suite->findings,
            suite->failed - errors, errors);
    for (uint32_t i = 0; i < suite->findings; i++)
        put_case(out, suite, &suite->finding[i]);
    if (*notes) {
        fputs("    <system-out>", out);
        put_text(out, notes);
        fputs("</system-out>\n", out);
    }
    free(notes);
    fputs("  </testsuite>\n", out);
}

static void put_suites(FILE *out, const struct pl_suite *suite, uint32_t suites)
{
    uint32_t tests = 0, failures = 0, errors = 0;
    for (uint32_t i = 0; i < suites; i++) {
        tests += suite[i].findings;
        errors += count_errors(&suite[i]);
        failures += suite[i].failed - count_errors(&suite[i]);
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
    fprintf(out, "<testsuites name=\"plimsoll check\" tests=\"%u\" failures=\"%u\" errors=\"%u\" time=\"0\">\n", tests,
            failures, errors);
    for (uint32_t i = 0; i < suites; i++)
        put_suite(out, &suite[i]);
    fputs("</testsuites>\n", out);
}

int pl_junit_write(const char *path, const struct pl_suite *suite, uint32_t suites)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return -errno;
    put_suites(out, suite, suites);
    int failed = fflush(out) || ferror(out) ? errno : 0;
    if (fclose(out) && !failed)
        failed = errno;
    return -failed;
}
