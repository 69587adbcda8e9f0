#ifndef EXEC_KERNEL_AGG_PLAIN_H
#define EXEC_KERNEL_AGG_PLAIN_H

#include "kernel/agg.h"

/* Sums and averages of floats added as they come, for who wants no more (float_sum=plain): rounded
 * after each value, so that the last digits depend on the order of rows and on the workers. NULL:
 * not a sum or an average of floats. The state needs no more room than that of agg_kernel(). */
const struct agg_kernel *agg_plain_sum(enum exec_aggregate_function function,
                                       enum vec_storage storage);

#endif
