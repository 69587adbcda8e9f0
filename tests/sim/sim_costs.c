#include "sim_core.h"

/* Printed by build/release/bin/bench_costs (and bench_sched for dispatch_ns) on a 2-core virtual
 * machine, AMD EPYC, and rounded up. Three are not what it printed. line_near_ns: 24 there, of two
 * cores that share a cache; a node of 16 cores has several. line_far_ns and remote_row_per_cent:
 * that machine has one node; a line from another socket is taken to cost about twice one from the
 * same, and a row of another node 30 per cent more time (bench_costs measures both where there are
 * two nodes). wake_max_ns is the median on the machine under load. */
const struct sim_costs sim_measured_costs = {.load_ns = 1,
                                             .store_ns = 1,
                                             .exchange_ns = 2,
                                             .line_near_ns = 60,
                                             .line_far_ns = 130,
                                             .clock_ns = 10,
                                             .pause_ns = 25,
                                             .give_way_ns = 505,
                                             .wake_call_ns = 1320,
                                             .sleep_call_ns = 1320,
                                             .wake_min_ns = 7300,
                                             .wake_max_ns = 22000,
                                             .dispatch_ns = 20,
                                             .remote_row_per_cent = 130};
