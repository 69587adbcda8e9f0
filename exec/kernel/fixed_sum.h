#ifndef EXEC_KERNEL_FIXED_SUM_H
#define EXEC_KERNEL_FIXED_SUM_H

#include <stdint.h>

/* Fixed-point numbers value * 2^exponent as doubles, rounded once, to nearest: what float_sum.h
 * makes of the same sum. For values whose result is a normal number: exponents of -1000 to 900. */
double fixed_sum_total(__int128 value, int32_t exponent);
double fixed_sum_average(__int128 value, uint64_t count, int32_t exponent); /* count > 0 */

#endif
