/* SPDX-License-Identifier: MIT */
/*
 * maths.c - logarithm and exponential for code that may not call libm.
 *
 * Both take the power of two out of the argument first; what is left is so close to the centre of a Taylor series that
 * a dozen terms exhaust a double. The coefficients are the plain ones of the textbook: there are no fitted constants to
 * trust. Called once or twice per sample, never on the hot path.
 */
#include <stdint.h>

#include "core/maths.h"

/* ln 2 in two parts: the first has 16 zero bits at its end, so that an exponent times it is exact. */
#define LN2_HIGH 0x1.62e42fefap-1
#define LN2_LOW 0x1.cf79abc9e3b3ap-40
#define LN2_RECIPROCAL 0x1.71547652b82fep+0

#define FRACTION_BITS 52
#define EXPONENT_BIAS 1023
#define FRACTION_OF_SQRT2 0x6a09e667f3bcdull

/* Beyond this, 1 - exp(-x) is 1: exp(-38) is under a quarter of the last bit. */
#define EXP_NEGLIGIBLE 38.0

static const double atanh_series[] = {
    1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3,
};

static const double expm1_series[] = {
    1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
    1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      1.0 / 2,
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The series without its leading 1, highest power first: x*c[n-1] + x^2*c[n-2] + ... */
static double sum_series(const double *coefficient, unsigned terms, double x)
{
    double sum = 0.0;
    for (unsigned i = 0; i < terms; i++)
        sum = x * (coefficient[i] + sum);
    return sum;
}

static double from_bits(uint64_t bits)
{
    union {
        uint64_t bits;
        double value;
    } word = {.bits = bits};
    return word.value;
}

static uint64_t to_bits(double value)
{
    union {
        double value;
        uint64_t bits;
    } word = {.value = value};
    return word.bits;
}

/*
 * x = 2^k m with m in [sqrt 1/2, sqrt 2), and log m = 2 atanh s with s = (m-1)/(m+1), |s| < 0.172. The first term left
 * out is s^22/23, below 1e-17 of the first. With m centred on 1, k log 2 and log m never cancel by more than half.
 */
double pl_maths_log(double x)
{
    uint64_t bits = to_bits(x);
    uint64_t fraction = bits & ((1ull << FRACTION_BITS) - 1);
    int64_t halve = fraction >= FRACTION_OF_SQRT2;
    double m = from_bits(fraction | (uint64_t) (EXPONENT_BIAS - halve) << FRACTION_BITS);
    double k = (double) ((int64_t) (bits >> FRACTION_BITS) - EXPONENT_BIAS + halve);

    double s = (m - 1.0) / (m + 1.0);
    double log_m = 2.0 * s + 2.0 * s * sum_series(atanh_series, COUNT(atanh_series), s * s);
    return k * LN2_HIGH + (k * LN2_LOW + log_m);
}

/*
 * x = k log 2 + r with |r| < 0.35, so 1 - exp(-x) = (1 - 2^-k) - 2^-k (exp(-r) - 1). The bracket on the left is exact
 * and 0 or at least 1/2; the one on the right comes from the series of expm1, which knows no cancellation.
 */
double pl_maths_one_minus_exp_neg(double x)
{
    if (x >= EXP_NEGLIGIBLE)
        return 1.0;
    int64_t k = (int64_t) (x * LN2_RECIPROCAL + 0.5);
    double r = (x - (double) k * LN2_HIGH) - (double) k * LN2_LOW;
    double expm1 = -r - r * sum_series(expm1_series, COUNT(expm1_series), -r);
    double scale = from_bits((uint64_t) (EXPONENT_BIAS - k) << FRACTION_BITS);
    return (1.0 - scale) - scale * expm1;
}
