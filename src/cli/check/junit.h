/* SPDX-License-Identifier: MIT */
/*
 * junit.h - writes the results of `check` as JUnit XML, for CI servers: a suite for each profile, a case for each rule.
 */
#ifndef PL_JUNIT_H
#define PL_JUNIT_H

#include "cli/check/gate.h"

/* 0 or a negative errno. The file is replaced. */
int pl_junit_write(const char *path, const struct pl_suite *suite, uint32_t suites);

#endif
