#ifndef EXEC_KERNEL_MOMENTS_H
#define EXEC_KERNEL_MOMENTS_H

#include "kernel/float_sum.h"
#include "kernel/product_sum.h"

#include <stdbool.h>

/* Variance, covariance and correlation out of sums that do not depend on the order of the values.
 *
 * With n values, n * sum(xy) - sum(x) * sum(y) is computed in integers, then divided by n * n or
 * n * (n - 1) and rounded once. Cancellation costs nothing, because nothing has been rounded:
 * where the values' exponents lie within 27 of each other both sums are exact, so the result is
 * the exact one rounded to nearest. Where they lie further apart, pieces below the windows were
 * dropped (2^-160 of the largest product, 2^-97 of the largest value), but then the variance is
 * at least 1 / 4n of the largest square: the relative error is below n^2 * 2^-93 (of a
 * covariance, relative to the largest |x| times the largest |y|). Squares do not overflow on the
 * way; the result may be infinite.
 *
 * Any NaN or infinity among the values: NaN. */
struct agg_moments { /* of one column */
    struct float_sum sum;
    struct product_sum squares;
};
struct agg_covariance { /* of rows where both columns are present */
    struct float_sum x, y;
    struct product_sum xy;
};
struct agg_correlation {
    struct float_sum x, y;
    struct product_sum xx, yy, xy;
};

/* less: 0 for the population, 1 for a sample. sum->count > less. */
double moments_covariance(const struct float_sum *x, const struct float_sum *y,
                          const struct product_sum *xy, uint32_t less);
double moments_variance(const struct agg_moments *moments, uint32_t less);

/* false: a variance is zero, there is no correlation. */
bool moments_correlation(const struct agg_correlation *state, double *out);

#endif
