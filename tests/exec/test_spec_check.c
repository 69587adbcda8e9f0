/* Goal:   a plan of wrong shape is refused with the relation or expression and the field that is
 * wrong; a copied plan shares no memory with its original. Method: each case spoils one thing in a
 * plan that passes, and states the code, the place and a part of the message. The copy is compared
 * after the original's strings have been overwritten. */
#include "plan/spec.h"
#include "spec_builder.h"

#include "numa/arena.h"

#include <criterion/criterion.h>
#include <string.h>

static struct spec_builder b;
static uint32_t scan, filtered, joined, grouped, sorted;

/* scan 1 -> filter 2, scan 3; join 4 of 2 and 3; aggregate 5; sort 6 */
static void make_good(void)
{
    spec_init(&b);
    scan = spec_generator(&b, "sequence", 1000, 0);
    const uint32_t column = spec_column(&b, "i"); /* expression 1 */
    const uint32_t ten = spec_i64(&b, 10);        /* expression 2 */
    filtered = spec_filter(&b, scan, spec_call2(&b, "lt", column, ten));
    const uint32_t other = spec_table(&b, "names");
    joined = spec_join(&b, EXEC_JOIN_INNER, filtered, other);
    const uint32_t left_key = spec_column(&b, "v");
    spec_on(&b, left_key, spec_column(&b, "id"));
    grouped = spec_group(&b, joined);
    spec_key(&b, "name", spec_column(&b, "name"));
    spec_measure(&b, EXEC_AGG_COUNT_STAR, 0, "n");
    spec_measure(&b, EXEC_AGG_SUM, spec_column(&b, "i"), "total");
    sorted = spec_sort(&b, grouped, -1);
    spec_order(&b, spec_column(&b, "n"), EXEC_DESC_NULLS_LAST);
}

static void spoil_nothing(void)
{
}
static void spoil_forward_input(void)
{
    b.rels[filtered - 1].u.filter.input = 5;
}
static void spoil_self_input(void)
{
    b.rels[filtered - 1].u.filter.input = filtered;
}
static void spoil_missing_input(void)
{
    b.rels[sorted - 1].u.sort.input = 0;
}
static void spoil_asof(void)
{
    b.rels[joined - 1].u.join.kind = EXEC_JOIN_ASOF;
}
static void spoil_asof_kind(void)
{
    b.rels[joined - 1].u.join.asof.direction = EXEC_ASOF_FORWARD;
}
static void spoil_cross(void)
{
    b.rels[joined - 1].u.join.kind = EXEC_JOIN_CROSS;
}
static void spoil_unused(void)
{
    b.rels[sorted - 1].u.sort.input = joined;
    b.rels[grouped - 1] = b.rels[joined - 2]; /* another scan that nobody reads */
}
static void spoil_predicate_range(void)
{
    b.rels[filtered - 1].u.filter.predicate = 99;
}
static void spoil_forward_expr(void)
{
    const uint32_t args[] = {3, 3};
    memcpy((void *)(uintptr_t)b.exprs[2].u.call.args, args, sizeof args);
}
static void spoil_expr_kind(void)
{
    b.exprs[0].kind = (enum exec_expr_kind)77;
}
static void spoil_rel_kind(void)
{
    b.rels[0].kind = EXEC_REL_NONE;
}
static void spoil_empty_name(void)
{
    b.exprs[0].u.column.name = "";
}
static void spoil_column_without_name(void)
{
    b.exprs[0].u.column.name = NULL;
}
static void spoil_literal_type(void)
{
    b.exprs[1].u.literal.type.kind = 200;
}
static void spoil_join_kind(void)
{
    b.rels[joined - 1].u.join.kind = EXEC_JOIN_NONE;
}
static void make_window(uint32_t partition, enum exec_direction direction)
{
    spec_window(&b, sorted, -1);
    spec_partition(&b, partition);
    spec_window_order(&b, 1, direction);
    spec_number(&b, EXEC_WINDOW_RANK, "r");
}
static void spoil_no_window(void)
{
    make_window(1, EXEC_ASC_NULLS_LAST);
}
static void spoil_window_partition(void)
{
    make_window(99, EXEC_ASC_NULLS_LAST);
}
static void spoil_window_order(void)
{
    make_window(1, (enum exec_direction)0);
}
static void spoil_window_function(void)
{
    make_window(1, EXEC_ASC_NULLS_LAST);
    spec_number(&b, (enum exec_window_function)9, "odd");
}
static void spoil_window_functions(void)
{
    make_window(1, EXEC_ASC_NULLS_LAST);
    b.rels[sorted].u.window.function_count = 0;
}
static void spoil_window_limit(void)
{
    make_window(1, EXEC_ASC_NULLS_LAST);
    b.rels[sorted].u.window.limit = -2;
}
static void spoil_window_keys(void)
{
    make_window(1, EXEC_ASC_NULLS_LAST);
    b.rels[sorted].u.window.order_count = EXEC_KEYS_MAX;
}
static void spoil_keys(void)
{
    b.rels[joined - 1].u.join.key_count = EXEC_KEYS_MAX + 1;
}
static void spoil_measure_arguments(void)
{
    struct exec_measure *measures =
        (struct exec_measure *)(uintptr_t)b.rels[grouped - 1].u.aggregate.measures;
    measures[1].arg_count = 0;
}
static struct exec_measure *total(void)
{
    return (struct exec_measure *)(uintptr_t)&b.rels[grouped - 1].u.aggregate.measures[1];
}
static const struct exec_literal half = {.type = {.kind = EXEC_TYPE_FLOAT64}, .value.f64 = 0.5};
static const struct exec_sort_key no_direction = {.expr = 1};
static void spoil_measure_order(void)
{
    total()->order = &no_direction;
    total()->order_count = 1;
}
static void spoil_measure_order_range(void)
{
    static const struct exec_sort_key far = {.expr = 99, .direction = EXEC_ASC_NULLS_LAST};
    total()->function = EXEC_AGG_FIRST;
    total()->order = &far;
    total()->order_count = 1;
}
static void spoil_measure_direction(void)
{
    total()->function = EXEC_AGG_FIRST;
    spoil_measure_order();
}
static void spoil_measure_parameters(void)
{
    total()->parameters = &half;
    total()->parameter_count = 1;
}
static void spoil_measure_fraction(void)
{
    total()->function = EXEC_AGG_QUANTILE_CONT;
}
static void spoil_distinct_measure(void)
{
    struct exec_measure *measures =
        (struct exec_measure *)(uintptr_t)b.rels[grouped - 1].u.aggregate.measures;
    measures[0].distinct = true;
}
static void spoil_phase(void)
{
    b.rels[grouped - 1].u.aggregate.phase = EXEC_PHASE_FINAL;
}
static void spoil_direction(void)
{
    ((struct exec_sort_key *)(uintptr_t)b.rels[sorted - 1].u.sort.keys)[0].direction = 0;
}
static void spoil_rows(void)
{
    b.rels[0].u.scan.generator_rows = INT64_C(1000000000001);
}
static void spoil_inline(void)
{
    b.rels[0].u.scan.source = EXEC_SCAN_INLINE;
}
static void spoil_priority(void)
{
    b.job.options.priority = 11;
}
static void spoil_batch_bytes(void)
{
    b.job.options.batch_bytes = (16 << 20) + 1;
}
static void spoil_explain(void)
{
    b.job.options.explain = b.job.options.analyze = true;
}
static void spoil_into(void)
{
    b.job.into_table = "";
}
static void spoil_depth(void)
{
    uint32_t last = spec_bool(&b, true);
    for (int i = 0; i < 600; i++) {
        last = spec_call1(&b, "not", last);
    }
}
static void spoil_unfolding(void)
{
    uint32_t last = spec_i64(&b, 1);
    for (int i = 0; i < 40; i++) {
        last = spec_call2(&b, "add", last, last);
    }
}
static void spoil_count(void)
{
    while (b.rel_count < EXEC_RELS_MAX + 1) {
        spec_table(&b, "t");
    }
}

static const struct {
    void (*spoil)(void);
    enum exec_code code;
    uint32_t rel, expr;
    const char *part;
} cases[] = {
    {spoil_nothing, EXEC_OK, 0, 0, ""},
    {spoil_forward_input, EXEC_BAD_SPEC, 2, 0, "filter.input refers to relation 5"},
    {spoil_self_input, EXEC_BAD_SPEC, 2, 0, "filter.input refers to relation 2"},
    {spoil_missing_input, EXEC_BAD_SPEC, 6, 0, "sort.input is missing"},
    {spoil_asof, EXEC_BAD_SPEC, 4, 0, "join.asof.direction is missing"},
    {spoil_asof_kind, EXEC_BAD_SPEC, 4, 0, "join.asof is for joins of kind ASOF"},
    {spoil_cross, EXEC_BAD_SPEC, 4, 0, "a cross join has none"},
    {spoil_unused, EXEC_BAD_SPEC, 5, 0, "is not used"},
    {spoil_predicate_range, EXEC_BAD_SPEC, 2, 0, "filter.predicate refers to expression 99"},
    {spoil_forward_expr, EXEC_BAD_SPEC, 0, 3, "call.args refers to expression 3"},
    {spoil_expr_kind, EXEC_BAD_SPEC, 0, 1, "no such kind of expression"},
    {spoil_rel_kind, EXEC_BAD_SPEC, 1, 0, "no such kind of relation"},
    {spoil_empty_name, EXEC_BAD_SPEC, 0, 1, "column.name is empty"},
    {spoil_column_without_name, EXEC_BAD_SPEC, 0, 1, "neither a name nor an index"},
    {spoil_literal_type, EXEC_BAD_SPEC, 0, 2, "no such type"},
    {spoil_join_kind, EXEC_BAD_SPEC, 4, 0, "join.kind is missing"},
    {spoil_keys, EXEC_BAD_SPEC, 4, 0, "join.keys has 33 entries"},
    {spoil_measure_arguments, EXEC_BAD_SPEC, 5, 0, "'total' has 0 arguments"},
    {spoil_measure_order, EXEC_BAD_SPEC, 5, 0, "'total': sum takes no order"},
    {spoil_measure_order_range, EXEC_BAD_SPEC, 5, 0,
     "aggregate.measures.order refers to expression 99"},
    {spoil_measure_direction, EXEC_BAD_SPEC, 5, 0, "aggregate.measures.order has no direction"},
    {spoil_measure_parameters, EXEC_BAD_SPEC, 5, 0, "'total' has 1 parameters, sum takes none"},
    {spoil_measure_fraction, EXEC_BAD_SPEC, 5, 0, "0 parameters, quantile_cont takes a fraction"},
    {spoil_distinct_measure, EXEC_BAD_SPEC, 5, 0, "'n': count_star takes no distinct"},
    {spoil_phase, EXEC_BAD_SPEC, 5, 0, "FINAL takes one argument"},
    {spoil_direction, EXEC_BAD_SPEC, 6, 0, "sort.keys has no direction"},
    {spoil_no_window, EXEC_OK, 0, 0, ""},
    {spoil_window_partition, EXEC_BAD_SPEC, 7, 0, "window.partition_by refers to expression 99"},
    {spoil_window_order, EXEC_BAD_SPEC, 7, 0, "window.order_by has no direction"},
    {spoil_window_function, EXEC_BAD_SPEC, 7, 0, "'odd': no such function"},
    {spoil_window_functions, EXEC_BAD_SPEC, 7, 0, "window.functions has 0 entries"},
    {spoil_window_limit, EXEC_BAD_SPEC, 7, 0, "window.limit is -2"},
    {spoil_window_keys, EXEC_BAD_SPEC, 7, 0, "window.order_by (with partition_by) has 32 entries"},
    {spoil_rows, EXEC_BAD_SPEC, 1, 0, "scan.generator_rows"},
    {spoil_inline, EXEC_NOT_IMPLEMENTED, 1, 0, "scan.inline_stream"},
    {spoil_priority, EXEC_BAD_SPEC, 0, 0, "options.priority is 11"},
    {spoil_batch_bytes, EXEC_BAD_SPEC, 0, 0, "options.batch_bytes"},
    {spoil_explain, EXEC_BAD_SPEC, 0, 0, "options.explain and options.analyze"},
    {spoil_into, EXEC_BAD_SPEC, 0, 0, "name"},
    {spoil_depth, EXEC_BAD_SPEC, 0, 0, "nested deeper than 512"},
    {spoil_unfolding, EXEC_BAD_SPEC, 0, 0, "unfolds to more than 65536"},
    {spoil_count, EXEC_BAD_SPEC, 0, 0, "257 relations"},
};

Test(spec_check, names_what_is_wrong)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct exec_error err = {0};

        make_good();
        cases[i].spoil();
        const enum exec_code code = spec_check(spec_job(&b), &err);
        cr_expect_eq(code, cases[i].code, "case %zu: %s (%s)", i, exec_code_name(code), err.detail);
        cr_expect(cases[i].rel == 0 || err.rel == cases[i].rel, "case %zu: relation %u", i,
                  err.rel);
        cr_expect(cases[i].expr == 0 || err.expr == cases[i].expr, "case %zu: expression %u", i,
                  err.expr);
        if (code != EXEC_OK) {
            cr_expect_not_null(strstr(err.detail, cases[i].part), "case %zu: '%s'", i, err.detail);
        }
        spec_fini(&b);
    }
}

/* Each relation joins the one before with itself: 2^n copies of the first. */
Test(spec_check, unfolded_trees_are_bounded)
{
    struct exec_error err = {0};
    enum exec_code code = EXEC_OK;

    spec_init(&b);
    spec_generator(&b, "sequence", 1, 0);
    for (uint32_t doublings = 1; doublings <= 40; doublings++) {
        spec_join(&b, EXEC_JOIN_CROSS, doublings, doublings);
        code = spec_check(spec_job(&b), &err);
        cr_expect_eq(code, doublings < 10 ? EXEC_OK : EXEC_BAD_SPEC, "%u", doublings);
    }
    cr_expect_not_null(strstr(err.detail, "unfolds to more than 1024"), "%s", err.detail);
    spec_fini(&b);
}

Test(spec_copy, shares_nothing)
{
    struct nu_topology topology;
    struct nu_page_pool *pool;
    struct nu_budget budget;
    struct nu_arena arena;
    char why[256];

    cr_assert_eq(nu_topology_read(&topology, NULL, why, sizeof why), 0);
    cr_assert_eq(nu_page_pool_create(&topology, 0, &pool), 0);
    nu_budget_init(&budget, "test", UINT64_MAX, NULL);
    nu_arena_init(&arena, pool, 0, &budget);
    make_good();
    spec_text(&b, "text of a literal");
    const struct exec_job_spec *copy = spec_copy(spec_job(&b), &arena);
    cr_assert_not_null(copy);
    for (uint32_t i = 0; i < b.block_count; i++) {
        memset(b.blocks[i], 0xee, 1); /* every copied block has at least one byte */
    }
    memset(b.rels, 0xee, sizeof b.rels);
    cr_expect_eq(copy->rel_count, 6);
    cr_expect_str_eq(copy->rels[0].u.scan.generator, "sequence");
    cr_expect_str_eq(copy->rels[2].u.scan.table, "names");
    cr_expect_str_eq(copy->exprs[0].u.column.name, "i");
    cr_expect_str_eq(copy->exprs[2].u.call.function, "lt");
    cr_expect_eq(copy->exprs[2].u.call.args[0], 1);
    cr_expect_str_eq(copy->rels[4].u.aggregate.measures[1].name, "total");
    cr_expect_eq(copy->rels[5].u.sort.keys[0].direction, EXEC_DESC_NULLS_LAST);
    cr_expect_eq(memcmp(copy->exprs[copy->expr_count - 1].u.literal.value.text.bytes,
                        "text of a literal", 17),
                 0);
    nu_arena_destroy(&arena);
    nu_page_pool_destroy(pool);
    spec_fini(&b);
}
