/* SPDX-License-Identifier: MIT */
/*
 * maths.h - the two functions the core needs from a maths library it may not call.
 */
#ifndef PL_MATHS_H
#define PL_MATHS_H

/* Natural logarithm of a positive, normal x; relative error below 1e-14. */
double pl_maths_log(double x);

/* 1 - exp(-x) for x >= 0, without cancellation near 0; relative error below 1e-14; 1 for large x. */
double pl_maths_one_minus_exp_neg(double x);

#endif
