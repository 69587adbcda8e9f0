#ifndef EXEC_KERNEL_AGG_MOMENTS_H
#define EXEC_KERNEL_AGG_MOMENTS_H

#include "kernel/agg.h"
#include "kernel/moments.h"

/* The kernels of variance, covariance and correlation, for agg.def. */
agg_update_fn update_moments, update_covariance, update_correlation;
agg_combine_fn combine_moments, combine_covariance, combine_correlation;
agg_finish_fn finish_var_samp, finish_var_pop, finish_stddev_samp, finish_stddev_pop;
agg_finish_fn finish_covar_samp, finish_covar_pop, finish_corr;

#endif
