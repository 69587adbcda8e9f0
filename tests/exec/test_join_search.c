/* Goal:   the join order found is the cheapest there is up to 12 inputs, a sound one beyond;
 * products without keys are made only where the keys leave the graph in parts. Method: seeded
 * random graphs; for few inputs every order without needless products is tried by recursion and its
 * cost compared; for many, the steps are checked for being a tree that follows the keys.
 */
#include "arena_fixture.h"
#include "plan/join_search.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

static uint64_t seed;

static uint64_t random_below(uint64_t bound)
{
    return test_random(&seed) % bound;
}

struct sample {
    struct join_input inputs[JOIN_INPUTS_MAX];
    struct join_edge edges[2 * JOIN_INPUTS_MAX];
    struct join_graph graph;
};

static void add_edge(struct sample *sample, uint32_t a, uint32_t b, bool is_key)
{
    sample->edges[sample->graph.edge_count++] =
        (struct join_edge){.left = UINT64_C(1) << a,
                           .right = UINT64_C(1) << b,
                           .selectivity = 1.0 / (double)(1 + random_below(100000)),
                           .is_key = is_key};
}

/* A random tree of keys over `count` inputs, and some edges more. */
static void make_sample(struct sample *sample, uint32_t count, uint32_t more)
{
    *sample = (struct sample){.graph = {.input_count = count}};
    sample->graph.inputs = sample->inputs;
    sample->graph.edges = sample->edges;
    for (uint32_t i = 0; i < count; i++) {
        sample->inputs[i] = (struct join_input){(double)(1 + random_below(1000000)),
                                                (double)(8 + random_below(100))};
        if (i > 0) {
            add_edge(sample, (uint32_t)random_below(i), i, true);
        }
    }
    for (uint32_t e = 0; e < more; e++) {
        const uint32_t a = (uint32_t)random_below(count - 1);
        add_edge(sample, a, a + 1 + (uint32_t)random_below(count - 1 - a), random_below(2) == 0);
    }
}

static bool follows_key(const struct join_graph *graph, uint64_t a, uint64_t b)
{
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        const struct join_edge *edge = &graph->edges[e];
        if (edge->is_key && (((edge->left & a) != 0 && (edge->right & b) != 0) ||
                             ((edge->left & b) != 0 && (edge->right & a) != 0))) {
            return true;
        }
    }
    return false;
}

/* Every order: any two parts that a key joins are joined next. */
static double least_cost(const struct join_graph *graph, struct join_step *steps, uint32_t done,
                         const uint64_t *masks, const uint32_t *numbers, uint32_t parts)
{
    double best = DBL_MAX;

    if (parts == 1) {
        return join_search_cost(graph, steps);
    }
    for (uint32_t a = 0; a < parts; a++) {
        for (uint32_t b = a + 1; b < parts; b++) {
            uint64_t next_masks[8];
            uint32_t next_numbers[8];
            if (!follows_key(graph, masks[a], masks[b])) {
                continue;
            }
            for (uint32_t p = 0; p < parts; p++) {
                next_masks[p] = masks[p];
                next_numbers[p] = numbers[p];
            }
            steps[done] = (struct join_step){numbers[a], numbers[b]};
            next_masks[a] |= masks[b];
            next_numbers[a] = graph->input_count + done;
            next_masks[b] = masks[parts - 1];
            next_numbers[b] = numbers[parts - 1];
            best =
                fmin(best, least_cost(graph, steps, done + 1, next_masks, next_numbers, parts - 1));
        }
    }
    return best;
}

/* Number of steps that follow no key; asserts that the steps are a tree over all inputs. */
static uint32_t products(const struct join_graph *graph, const struct join_step *steps)
{
    uint64_t masks[2 * JOIN_INPUTS_MAX];
    uint32_t count = 0;

    for (uint32_t i = 0; i < graph->input_count; i++) {
        masks[i] = UINT64_C(1) << i;
    }
    for (uint32_t k = 0; k + 1 < graph->input_count; k++) {
        const uint32_t left = steps[k].left, right = steps[k].right;
        cr_assert_lt(left, graph->input_count + k);
        cr_assert_lt(right, graph->input_count + k);
        cr_assert_eq(masks[left] & masks[right], 0);
        count += !follows_key(graph, masks[left], masks[right]);
        masks[graph->input_count + k] = masks[left] | masks[right];
    }
    cr_assert_eq(masks[2 * graph->input_count - 2],
                 graph->input_count == 64 ? UINT64_MAX : (UINT64_C(1) << graph->input_count) - 1);
    return count;
}

Test(join_search, few_inputs_get_the_cheapest_order)
{
    struct arena_fixture fixture;

    arena_fixture_init(&fixture, UINT64_MAX);
    for (uint64_t round = 1; round <= 40; round++) {
        struct sample sample;
        struct join_step steps[JOIN_INPUTS_MAX], tried[JOIN_INPUTS_MAX];
        uint64_t masks[8];
        uint32_t numbers[8];

        seed = round;
        make_sample(&sample, 3 + (uint32_t)random_below(4), (uint32_t)random_below(4));
        for (uint32_t i = 0; i < sample.graph.input_count; i++) {
            masks[i] = UINT64_C(1) << i;
            numbers[i] = i;
        }
        cr_assert(join_search_run(&sample.graph, &fixture.arena, steps));
        cr_expect_eq(products(&sample.graph, steps), 0);
        const double cost = join_search_cost(&sample.graph, steps);
        const double least =
            least_cost(&sample.graph, tried, 0, masks, numbers, sample.graph.input_count);
        cr_expect_leq(cost, least * (1 + 1e-9), "%g against %g", cost, least);
    }
    arena_fixture_fini(&fixture);
}

Test(join_search, many_inputs_follow_the_keys)
{
    struct arena_fixture fixture;

    arena_fixture_init(&fixture, UINT64_MAX);
    for (uint32_t count = 8; count <= JOIN_INPUTS_MAX; count += 4) {
        struct sample sample;
        struct join_step steps[JOIN_INPUTS_MAX];

        seed = count;
        make_sample(&sample, count, count / 2);
        cr_assert(join_search_run(&sample.graph, &fixture.arena, steps));
        cr_expect_eq(products(&sample.graph, steps), 0);
    }
    arena_fixture_fini(&fixture);
}

/* Estimates beyond any table, and conditions that let nothing through. */
Test(join_search, figures_of_any_size)
{
    struct arena_fixture fixture;

    arena_fixture_init(&fixture, UINT64_MAX);
    for (uint32_t count = 2; count <= 24; count += 2) {
        struct sample sample;
        struct join_step steps[JOIN_INPUTS_MAX];

        seed = count;
        make_sample(&sample, count, 0);
        for (uint32_t i = 0; i < count; i++) {
            sample.inputs[i].rows = i % 2 == 0 ? 1e100 : 0;
            sample.edges[i].selectivity = i % 3 == 0 ? 0 : 1;
        }
        cr_assert(join_search_run(&sample.graph, &fixture.arena, steps));
        cr_expect_eq(products(&sample.graph, steps), 0);
        for (uint32_t i = 0; i < count; i++) {
            sample.inputs[i].rows = 1e100;
            sample.edges[i].selectivity = 1;
        }
        cr_assert(join_search_run(&sample.graph, &fixture.arena, steps));
        cr_expect_eq(products(&sample.graph, steps), 0);
        cr_expect(isfinite(join_search_cost(&sample.graph, steps)));
    }
    arena_fixture_fini(&fixture);
}

Test(join_search, parts_without_keys_are_multiplied_once)
{
    struct arena_fixture fixture;
    struct sample sample = {.graph = {.input_count = 4}};
    struct join_step steps[JOIN_INPUTS_MAX];

    arena_fixture_init(&fixture, UINT64_MAX);
    sample.graph.inputs = sample.inputs;
    sample.graph.edges = sample.edges;
    for (uint32_t i = 0; i < 4; i++) {
        sample.inputs[i] = (struct join_input){1000, 16};
    }
    add_edge(&sample, 0, 2, true);
    add_edge(&sample, 1, 3, true);
    cr_assert(join_search_run(&sample.graph, &fixture.arena, steps));
    cr_expect_eq(products(&sample.graph, steps), 1);
    arena_fixture_fini(&fixture);
}
