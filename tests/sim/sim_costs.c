#include "sim_core.h"

/* Measured by build/release/bin/bench_costs on a 2-core virtual machine (AMD EPYC, Zen 4, 2.6 GHz).
 * It has one node: line_far_ns and remote_row_per_cent are assumptions, taken high: a line comes
 * from another socket in twice the time of the same socket, and a probe of another node's memory
 * takes 30 per cent longer (bench_costs measures both where there are two nodes). */
const struct sim_costs sim_measured_costs = {.load_ns = 1,
                                             .store_ns = 1,
                                             .exchange_ns = 8,
                                             .line_near_ns = 60,
                                             .line_far_ns = 130,
                                             .clock_ns = 25,
                                             .pause_ns = 20,
                                             .give_way_ns = 500,
                                             .wake_call_ns = 1200,
                                             .sleep_call_ns = 1200,
                                             .wake_min_ns = 4000,
                                             .wake_max_ns = 9000,
                                             .dispatch_ns = 20,
                                             .remote_row_per_cent = 130};
