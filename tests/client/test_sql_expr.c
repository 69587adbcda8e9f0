/* Goal:   SQL expressions become the right plan expressions, and wrong ones an error that names the
 *         byte.
 * Method: one table of texts and the expected expression written out by hand, over two inputs with
 * a column of the same name on both; a second table of wrong texts with code and byte. The texts go
 * through the real morsel-sqlparse. */
#include "client/plan_print.h"
#include "sql/sql_list.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

static const struct exec_field left_fields[] = {
    {.name = "id"}, {.name = "a"}, {.name = "b"}, {.name = "Mixed Case"}};
static const struct exec_field right_fields[] = {{.name = "id"}, {.name = "c"}, {.name = "d"}};

static void scope_make(struct sql_scope *scope, struct plan_builder *plan)
{
    const struct exec_schema left = {left_fields, 4}, right = {right_fields, 3};
    const struct sql_input l = {.qualifiers = {"l", "orders"}}, r = {.qualifiers = {"r"}};

    sql_scope_init(scope, plan);
    sql_scope_add_schema(scope, &l, &left, 1);
    sql_scope_add_schema(scope, &r, &right, 5);
}

static uint32_t lower(struct plan_builder *plan, const char *sql, struct exec_error *err)
{
    const struct sql_text text = {"--where", SQL_SELECT_PREFIX, sql};
    struct sql_scope scope;

    plan_builder_init(plan);
    scope_make(&scope, plan);
    struct sql_lowering lowering = {.plan = plan, .scope = &scope, .text = &text, .err = err};
    return sql_lower_text(&lowering);
}

Test(sql_expr, becomes_a_plan_expression)
{
    static const struct {
        const char *sql, *expected;
    } cases[] = {
        {"a", "#2"},
        {"orders.b", "#3"},
        {"l.id = r.id", "(eq #1 #5)"},
        {"\"Mixed Case\"", "#4"},
        {"1 + 2 * 3", "(add 1 (multiply 2 3))"},
        {"(1 + 2) * 3", "(multiply (add 1 2) 3)"},
        {"a - b - c", "(subtract (subtract #2 #3) #6)"},
        {"a < 1 and b > 2 or not c", "(or (and (lt #2 1) (gt #3 2)) (not #6))"},
        {"a and b and c", "(and #2 #3 #6)"},
        {"-a", "(negate #2)"},
        {"-5", "-5"},
        {"a - -7", "(subtract #2 -7)"},
        {"- ( 8 )", "-8"},
        {"-0", "0"},
        {"-2147483648", "-2147483648"},
        {"a in (-1, 0, 1)", "(in #2 -1 0 1)"},
        {"-1.5", "-1.5f"},
        {"0", "0"},
        {"false", "false"},
        {"''", "''"},
        {"'it''s'", "'it's'"},
        {"3000000000", "3000000000"},
        {"1.5", "1.5f"},
        {"1e3", "1000f"},
        {"a <> 1", "(ne #2 1)"},
        {"a != 1", "(ne #2 1)"},
        {"a is null", "(is_null #2)"},
        {"a is not null", "(is_not_null #2)"},
        {"a is true", "(coalesce #2 false)"},
        {"a is not false", "(coalesce #2 true)"},
        {"a is false", "(not (coalesce #2 true))"},
        {"a is distinct from b", "(is_distinct_from #2 #3)"},
        {"a in (1, 2)", "(in #2 1 2)"},
        {"a not in ('x')", "(not_in #2 'x')"},
        {"a in (1, b)", "(or (eq #2 1) (eq #2 #3))"},
        {"a between 1 and 2", "(and (ge #2 1) (le #2 2))"},
        {"a not between 1 and 2", "(not (and (ge #2 1) (le #2 2)))"},
        {"a like 'x%'", "(like #2 'x%')"},
        {"a not like 'x%'", "(not (like #2 'x%'))"},
        {"case when a then 1 else 2 end", "(case #2 1 else 2)"},
        {"case a when 1 then 'x' end", "(case (eq #2 1) 'x')"},
        {"coalesce(a, 0)", "(coalesce #2 0)"},
        {"coalesce(null, a, null)", "(coalesce null #2 null)"},
        {"cast(null as int)", "null"},
        {"case when a then 1 else null end", "(case #2 1)"},
        {"a in (1, null)", "(in #2 1 null)"},
        {"least(a, b)", "(least #2 #3)"},
        {"lower(d)", "(lower #7)"},
        {"d || 'x'", "(concat #7 'x')"},
        {"extract(year from d)", "(year #7)"},
        {"trim(d)", "(trim #7)"},
        {"a::int", "(cast #2 int32)"},
        {"cast(a as decimal(10, 2))", "(cast #2 decimal128(10,2))"},
        {"a = null", "(eq #2 null)"},
        {"a or b or c", "(or #2 #3 #6)"},
        {"(a, b) = (1, 2)", "(and (eq #2 1) (eq #3 2))"},
        {"(a, b) < (1, 2)", "(or (lt #2 1) (and (eq #2 1) (lt #3 2)))"},
        {"d ~* 'x'", "(regexp_matches #7 'x' 'i')"},
        {"d not like 'x#%' escape '#'", "(not (like #7 'x#%' '#'))"},
        {"d similar to 'x%'", "(similar_to #7 'x%')"},
        {"d + interval '1 month 2 days' * a",
         "(add_days (add_months #7 (multiply #2 1)) (multiply #2 2))"},
        {"d - interval '1:30'", "(add_microseconds #7 -5400000000)"},
        {"try_cast(d as int)", "(trycast #7 int32)"},
        {"d = 'try_cast(' and try_cast('1' as int) = 1",
         "(and (eq #7 'try_cast(') (eq (trycast '1' int32) 1))"},
        {"extract(dow from d)", "(modulo (day_of_week #7) 7)"},
        {"date '2013-01-02'", "date 15707"},
        {"a::float64", "(cast #2 float64)"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan_builder plan;
        struct exec_error err = {0};
        char text[512] = "";
        const uint32_t expr = lower(&plan, cases[i].sql, &err);
        cr_assert_neq(expr, 0, "%s: %s", cases[i].sql, err.detail);
        plan_print_expr(&plan, expr, text, sizeof text);
        cr_expect_str_eq(text, cases[i].expected, "%s became %s", cases[i].sql, text);
        plan_builder_fini(&plan);
    }
}

Test(sql_expr, refuses_with_the_byte)
{
    static const struct {
        const char *sql;
        enum exec_code code;
        uint32_t byte; /* 1-based; 0: not looked at */
        const char *word;
    } cases[] = {
        {"a +", EXEC_BAD_SPEC, 4, "syntax error"},
        {"d = 'é' +", EXEC_BAD_SPEC, 11, "syntax error"},
        {"a + zz", EXEC_COLUMN_NOT_FOUND, 5, "'zz'"},
        {"1 + id", EXEC_BAD_SPEC, 5, "ambiguous"},
        {"x.id", EXEC_COLUMN_NOT_FOUND, 1, "'x'"},
        {"r.a", EXEC_COLUMN_NOT_FOUND, 1, "'a'"},
        {"sum(a)", EXEC_BAD_SPEC, 1, "not allowed"},
        {"a, b", EXEC_BAD_SPEC, 4, "one expression"},
        {"a from t", EXEC_BAD_SPEC, 0, "fromClause"},
        {"1; drop table t", EXEC_BAD_SPEC, 0, "one statement"},
        {"(select 1)", EXEC_NOT_IMPLEMENTED, 1, "SubLink"},
        {"a::nosuch", EXEC_BAD_SPEC, 4, "nosuch"},
        {"a = date '2020-13-01'", EXEC_BAD_SPEC, 10, "'2020-13-01' is not a date32"},
        {"cast('x' as int)", EXEC_BAD_SPEC, 6, "'x' is not a int32"},
        {"d = interval '1 day'", EXEC_NOT_IMPLEMENTED, 3, "interval"},
        {"d + interval '1 fortnight'", EXEC_BAD_SPEC, 14, "not an interval"},
        {"(a, b) = (c, d, 1)", EXEC_BAD_SPEC, 8, "2 and 3 here"},
        {"a @@ b", EXEC_NOT_IMPLEMENTED, 3, "@@"},
        {"", EXEC_BAD_SPEC, 0, "missing"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan_builder plan;
        struct exec_error err = {0};
        const uint32_t expr = lower(&plan, cases[i].sql, &err);
        cr_expect_eq(expr, 0, "%s was taken", cases[i].sql);
        cr_expect_eq(err.code, cases[i].code, "%s: code %d (%s)", cases[i].sql, err.code,
                     err.detail);
        cr_expect_not_null(strstr(err.detail, cases[i].word), "%s: %s", cases[i].sql, err.detail);
        if (cases[i].byte != 0) {
            cr_expect_eq(err.column, cases[i].byte, "%s: byte %u (%s)", cases[i].sql, err.column,
                         err.detail);
        }
        plan_builder_fini(&plan);
    }
}

/* Sums nest to the left as deep as they are long: 1000 terms exceed our own limit, 16,000 end the
 * parser (or its answer), and both are errors. */
Test(sql_expr, survives_depth)
{
    static const size_t terms[] = {1000, 16000};

    for (int t = 0; t < 2; t++) {
        struct plan_builder plan;
        struct exec_error err = {0};
        char *sql = malloc(2 * terms[t] + 1);
        for (size_t i = 0; i < terms[t]; i++) {
            memcpy(sql + 2 * i, i + 1 < terms[t] ? "1+" : "1", 2);
        }
        sql[2 * terms[t] - 1] = '\0';
        cr_expect_eq(lower(&plan, sql, &err), 0);
        cr_expect_eq(err.code, EXEC_LIMIT, "%s", err.detail);
        plan_builder_fini(&plan);
        free(sql);
    }
}

Test(sql_expr, points_back_at_its_text)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    const uint32_t expr = lower(&plan, "a + b * c", &err);

    cr_assert_neq(expr, 0);
    cr_expect_eq(plan.origins[expr - 1].offset, 2);
    cr_expect_str_eq(plan.origins[expr - 1].option, "--where");
    plan_builder_fini(&plan);
}

Test(sql_expr, sort_keys)
{
    const struct sql_text text = {"--order", SQL_ORDER_PREFIX, "a, -b, c desc, d desc nulls last"};
    struct plan_builder plan;
    struct sql_scope scope;
    struct exec_error err = {0};
    struct exec_sort_key *keys = NULL;
    uint32_t count = 0;

    plan_builder_init(&plan);
    scope_make(&scope, &plan);
    struct sql_lowering lowering = {.plan = &plan, .scope = &scope, .text = &text, .err = &err};
    cr_assert_eq(sql_lower_order(&lowering, &keys, &count), EXEC_OK, "%s", err.detail);
    cr_assert_eq(count, 4);
    cr_expect_eq(keys[0].direction, EXEC_ASC_NULLS_LAST);
    cr_expect_eq(keys[1].direction, EXEC_DESC_NULLS_LAST);
    cr_expect_eq(keys[2].direction, EXEC_DESC_NULLS_FIRST);
    cr_expect_eq(keys[3].direction, EXEC_DESC_NULLS_LAST);
    plan_builder_fini(&plan);
}
