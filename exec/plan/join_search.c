#include "plan/join_search.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double ROWS_MAX = 1e100;
static const double BUILD_WEIGHT = 2;  /* a row built against a row probed */
static const double PAIR_WEIGHT = 0.5; /* a pair of a nested loop */

double join_search_rows(const struct join_graph *graph, uint64_t inputs)
{
    double rows = 1;

    for (uint32_t i = 0; i < graph->input_count; i++) {
        rows *= (inputs >> i & 1) != 0 ? graph->inputs[i].rows : 1;
    }
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        const struct join_edge *edge = &graph->edges[e];
        rows *= ((edge->left | edge->right) & ~inputs) == 0 ? edge->selectivity : 1;
    }
    /* Not so many that sums and products of two of them leave the range of a double. */
    return rows >= 1 ? fmin(rows, ROWS_MAX) : 1;
}

static double row_bytes(const struct join_graph *graph, uint64_t inputs)
{
    double bytes = 0;

    for (uint32_t i = 0; i < graph->input_count; i++) {
        bytes += (inputs >> i & 1) != 0 ? graph->inputs[i].row_bytes : 0;
    }
    return bytes;
}

static bool are_connected(const struct join_graph *graph, uint64_t a, uint64_t b)
{
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        const struct join_edge *edge = &graph->edges[e];
        if (edge->is_key && (((edge->left & ~a) == 0 && (edge->right & ~b) == 0) ||
                             ((edge->left & ~b) == 0 && (edge->right & ~a) == 0))) {
            return true;
        }
    }
    return false;
}

struct join_node {
    uint64_t inputs;
    double rows, bytes; /* bytes of all rows */
};

static struct join_node node_of(const struct join_graph *graph, uint64_t inputs)
{
    const double rows = join_search_rows(graph, inputs);

    return (struct join_node){inputs, rows, rows * row_bytes(graph, inputs)};
}

/* The join itself, without what its sides have cost. */
static double step_cost(const struct join_node *a, const struct join_node *b, double rows_out,
                        bool connected)
{
    if (!connected) {
        return a->rows * b->rows * PAIR_WEIGHT + rows_out;
    }
    const struct join_node *build = a->bytes < b->bytes ? a : b;
    const struct join_node *probe = build == a ? b : a;
    return build->rows * BUILD_WEIGHT + probe->rows + rows_out;
}

double join_search_cost(const struct join_graph *graph, const struct join_step *steps)
{
    struct join_node nodes[2 * JOIN_INPUTS_MAX];
    double cost = 0;

    for (uint32_t i = 0; i < graph->input_count; i++) {
        nodes[i] = node_of(graph, UINT64_C(1) << i);
    }
    for (uint32_t k = 0; k + 1 < graph->input_count; k++) {
        const struct join_node *a = &nodes[steps[k].left], *b = &nodes[steps[k].right];
        const struct join_node joined = node_of(graph, a->inputs | b->inputs);
        cost += step_cost(a, b, joined.rows, are_connected(graph, a->inputs, b->inputs));
        nodes[graph->input_count + k] = joined;
    }
    return cost;
}

/* ---- every order
 * -------------------------------------------------------------------------------------------- */

struct subset {
    struct join_node node;
    double cost;   /* DBL_MAX: no order found */
    uint32_t left; /* the side with the lowest input; 0: a single input */
};

static void try_split(const struct join_graph *graph, struct subset *subsets, uint32_t whole,
                      uint32_t left, bool products)
{
    const struct subset *a = &subsets[left], *b = &subsets[whole & ~left];
    struct subset *out = &subsets[whole];

    if (a->cost == DBL_MAX || b->cost == DBL_MAX) {
        return;
    }
    const bool connected = are_connected(graph, left, whole & ~left);
    if (!connected && !products) {
        return;
    }
    const double cost =
        a->cost + b->cost + step_cost(&a->node, &b->node, out->node.rows, connected);
    if (cost < out->cost) {
        out->cost = cost;
        out->left = left;
    }
}

/* Whether there is an order. Sides that hold the lowest input stand for both ways round. */
static bool fill_subsets(const struct join_graph *graph, struct subset *subsets, bool products)
{
    const uint32_t all = (UINT32_C(1) << graph->input_count) - 1;

    for (uint32_t whole = 1; whole <= all; whole++) {
        const uint32_t lowest = whole & (~whole + 1);
        const uint32_t rest = whole & ~lowest;
        subsets[whole] = (struct subset){
            .node = node_of(graph, whole), .cost = rest == 0 ? 0 : DBL_MAX, .left = 0};
        if (rest == 0) {
            continue;
        }
        for (uint32_t part = (rest - 1) & rest;; part = (part - 1) & rest) {
            try_split(graph, subsets, whole, lowest | part, products);
            if (part == 0) {
                break;
            }
        }
    }
    return subsets[all].cost != DBL_MAX;
}

static uint32_t write_steps(const struct join_graph *graph, const struct subset *subsets,
                            uint32_t whole, struct join_step *steps, uint32_t *step_count)
{
    if (subsets[whole].left == 0) {
        return (uint32_t)__builtin_ctz(whole);
    }
    struct join_step step;
    step.left = write_steps(graph, subsets, subsets[whole].left, steps, step_count);
    step.right = write_steps(graph, subsets, whole & ~subsets[whole].left, steps, step_count);
    steps[*step_count] = step;
    return graph->input_count + (*step_count)++;
}

/* ---- greedy
 * --------------------------------------------------------------------------------------------- */

/* Joins the two parts whose join is smallest, connected ones first, until one is left. */
static void run_greedy(const struct join_graph *graph, struct join_step *steps_out)
{
    struct join_node parts[JOIN_INPUTS_MAX];
    uint32_t numbers[JOIN_INPUTS_MAX];
    uint32_t count = graph->input_count;

    for (uint32_t i = 0; i < count; i++) {
        parts[i] = node_of(graph, UINT64_C(1) << i);
        numbers[i] = i;
    }
    for (uint32_t k = 0; count > 1; k++) {
        uint32_t best_a = 0, best_b = 1;
        double best_rows = DBL_MAX;
        bool best_connected = false;
        for (uint32_t a = 0; a < count; a++) {
            for (uint32_t b = a + 1; b < count; b++) {
                const bool connected = are_connected(graph, parts[a].inputs, parts[b].inputs);
                const double rows = join_search_rows(graph, parts[a].inputs | parts[b].inputs);
                if (connected == best_connected ? rows < best_rows : connected) {
                    best_a = a;
                    best_b = b;
                    best_rows = rows;
                    best_connected = connected;
                }
            }
        }
        steps_out[k] = (struct join_step){numbers[best_a], numbers[best_b]};
        parts[best_a] = node_of(graph, parts[best_a].inputs | parts[best_b].inputs);
        numbers[best_a] = graph->input_count + k;
        count--;
        parts[best_b] = parts[count];
        numbers[best_b] = numbers[count];
    }
}

bool join_search_run(const struct join_graph *graph, struct nu_arena *arena,
                     struct join_step *steps_out)
{
    uint32_t step_count = 0;

    if (graph->input_count > JOIN_DYNAMIC_MAX) {
        run_greedy(graph, steps_out);
        return true;
    }
    struct subset *subsets =
        nu_arena_alloc(arena, sizeof *subsets << graph->input_count, _Alignof(struct subset));
    if (subsets == NULL) {
        return false;
    }
    if (!fill_subsets(graph, subsets, false)) {
        fill_subsets(graph, subsets, true);
    }
    write_steps(graph, subsets, (UINT32_C(1) << graph->input_count) - 1, steps_out, &step_count);
    return true;
}
