#ifndef EXEC_PLAN_JOIN_SEARCH_H
#define EXEC_PLAN_JOIN_SEARCH_H

#include "numa/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* In which order to join: numbers in, steps out. Inputs are bits of a mask. */

enum {
    JOIN_INPUTS_MAX = 64,
    JOIN_DYNAMIC_MAX = 12, /* inputs up to which every order is looked at: 3^12 pairs of subsets */
};

struct join_input {
    double rows, row_bytes;
};

/* A condition between inputs. A key can be looked up where its sides are apart; anything else is
 * evaluated as soon as all its inputs (left | right) are there. */
struct join_edge {
    uint64_t left, right;
    double selectivity; /* of the pairs of rows */
    bool is_key;
};

struct join_graph {
    const struct join_input *inputs;
    uint32_t input_count; /* 2..JOIN_INPUTS_MAX */
    const struct join_edge *edges;
    uint32_t edge_count;
};

/* Input i is node i, the k-th step makes node input_count + k. The last step joins everything. */
struct join_step {
    uint32_t left, right;
};

/* The best order found: dynamic programming up to JOIN_DYNAMIC_MAX inputs, greedy beyond. Products
 * without a key are made only where the keys leave the graph in parts. steps_out has room for
 * input_count - 1. false: out of memory. */
bool join_search_run(const struct join_graph *graph, struct nu_arena *arena,
                     struct join_step *steps_out);

/* What an order costs, in rows touched; the measure join_search_run minimises. */
double join_search_cost(const struct join_graph *graph, const struct join_step *steps);

/* Estimated rows of the join of these inputs. */
double join_search_rows(const struct join_graph *graph, uint64_t inputs);

#endif
