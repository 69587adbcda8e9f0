/* Goal:   variance, covariance and correlation have the same bits for every order of the rows and
 *         every way to deal them out, and are right where naive sums are not.
 * Method: values that cancel, that overflow or underflow when squared and that lie far apart, with
 *         answers from __float128 in two passes; the same rows shuffled and combined from parts. */
#include "kernel/agg_moments.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { ROWS = 400 };

static uint64_t seed;

static uint64_t next(void)
{
    seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double unit(void)
{
    return (double)(next() >> 11) * 0x1p-53;
}

static double make(int shape)
{
    switch (shape) {
        case 0: return 1e9 + unit() * 1e-3;
        case 1: return (unit() - 0.5) * 1e200;
        case 2: return unit() * 1e-200;
        case 3: return ldexp(unit() - 0.5, (int)(next() % 120) - 60);
        case 4: return 1e15 + (double)(next() % 3);
        case 5: return 0x1p-1074 * (double)(next() % 5);
        default: return (double)(next() % 1000) / 4 - 100;
    }
}

static struct agg_correlation add(const double *x, const double *y, const int *order, int parts)
{
    struct agg_correlation states[8] = {0};
    const double *const pair[2] = {x, y};

    for (int i = 0; i < ROWS; i++) {
        unsigned char *row = (unsigned char *)&states[i % parts];
        const uint16_t source = (uint16_t)order[i];
        cr_assert(update_correlation(pair, &source, 1, &row, 0, NULL));
    }
    for (int p = 1; p < parts; p++) {
        unsigned char *into = (unsigned char *)&states[0];
        unsigned char *from = (unsigned char *)&states[p];
        cr_assert(combine_correlation(&into, &from, 1, 0, NULL));
    }
    return states[0];
}

struct answers {
    double var, covar, corr;
    bool has_corr;
};

static struct answers answer(const struct agg_correlation *state)
{
    struct answers out = {.var = moments_covariance(&state->x, &state->x, &state->xx, 1),
                          .covar = moments_covariance(&state->x, &state->y, &state->xy, 0)};
    out.has_corr = moments_correlation(state, &out.corr);
    return out;
}

static void check_close(double got, __float128 wanted, double relative, const char *what, int shape)
{
    const double rounded = (double)wanted;
    cr_expect(got == rounded || fabs(got - rounded) <= relative * fabs(rounded),
              "%s, shape %d: %.17g, wanted %.17g", what, shape, got, rounded);
}

static void check(const double *x, const double *y, const struct answers *got, int shape)
{
    __float128 x_mean = 0, y_mean = 0, xx = 0, yy = 0, xy = 0;

    for (int i = 0; i < ROWS; i++) {
        x_mean += (__float128)x[i] / ROWS;
        y_mean += (__float128)y[i] / ROWS;
    }
    for (int i = 0; i < ROWS; i++) {
        xx += (x[i] - x_mean) * (x[i] - x_mean);
        yy += (y[i] - y_mean) * (y[i] - y_mean);
        xy += (x[i] - x_mean) * (y[i] - y_mean);
    }
    check_close(got->var, xx / (ROWS - 1), 1e-15, "var_samp", shape);
    check_close(got->covar, xy / ROWS, 1e-13, "covar_pop", shape);
    cr_expect(got->has_corr);
    const double corr = (double)(xy / xx) * sqrt((double)(xx / yy));
    cr_expect(fabs(got->corr - corr) < 1e-15, "corr, shape %d: %.17g, wanted %.17g", shape,
              got->corr, corr);
}

Test(moments, right_and_the_same_in_any_order)
{
    static double x[ROWS], y[ROWS];
    static int order[ROWS];

    seed = 7;
    for (int shape = 0; shape < 7; shape++) {
        for (int i = 0; i < ROWS; i++) {
            x[i] = make(shape);
            y[i] = i % 3 == 0 ? make(shape) : make(shape) + x[i];
            order[i] = i;
        }
        const struct agg_correlation first = add(x, y, order, 1);
        const struct answers wanted = answer(&first);
        check(x, y, &wanted, shape);
        for (int parts = 1; parts <= 8; parts++) {
            for (int i = ROWS - 1; i > 0; i--) {
                const int other = (int)(next() % (uint64_t)(i + 1));
                const int kept = order[i];
                order[i] = order[other];
                order[other] = kept;
            }
            const struct agg_correlation state = add(x, y, order, parts);
            const struct answers got = answer(&state);
            cr_expect(got.var == wanted.var && got.covar == wanted.covar && got.corr == wanted.corr,
                      "shape %d, %d parts", shape, parts);
        }
    }
}

Test(moments, a_line_correlates_by_one)
{
    static double x[ROWS], y[ROWS];
    static int order[ROWS];
    struct answers got;

    seed = 3;
    for (int i = 0; i < ROWS; i++) {
        x[i] = make(6);
        y[i] = -4 * x[i];
        order[i] = i;
    }
    struct agg_correlation state = add(x, y, order, 2);
    got = answer(&state);
    cr_assert_eq(got.corr, -1);
    for (int i = 0; i < ROWS; i++) {
        y[i] = 0.1;
    }
    state = add(x, y, order, 2);
    got = answer(&state);
    cr_assert_not(got.has_corr);
    cr_assert_eq(got.covar, 0);
}

Test(moments, specials_are_nan)
{
    const double values[] = {1, INFINITY, 3};
    const uint16_t source[] = {0, 1, 2};
    struct agg_moments state = {0};
    unsigned char *rows[] = {(unsigned char *)&state, (unsigned char *)&state,
                             (unsigned char *)&state};

    cr_assert(update_moments(values, source, 3, rows, 0, NULL));
    cr_assert(isnan(moments_variance(&state, 0)));
}
