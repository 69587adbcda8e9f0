/* Goal:   names, sides, types, casts and errors of binding, constant folding and the text of
 * explain are as expr.h says. Method: one small expression a case, bound against a fixed schema;
 * errors by code and by the words their detail must contain. */
#include "expr/expr.h"

#include "arena_fixture.h"
#include "expr_builder.h"

static struct arena_fixture fixture;
static struct expr_builder b;

static const struct exec_field fields[] = {
    {.name = "i8", .type = {.kind = EXEC_TYPE_INT8}},
    {.name = "i32", .type = {.kind = EXEC_TYPE_INT32}},
    {.name = "i64", .type = {.kind = EXEC_TYPE_INT64}},
    {.name = "u64", .type = {.kind = EXEC_TYPE_UINT64}},
    {.name = "f", .type = {.kind = EXEC_TYPE_FLOAT64}},
    {.name = "s", .type = {.kind = EXEC_TYPE_UTF8}},
    {.name = "d", .type = {.kind = EXEC_TYPE_DATE32}},
    {.name = "dec", .type = {.kind = EXEC_TYPE_DECIMAL128, .precision = 10, .scale = 2}},
    {.name = "b", .type = {.kind = EXEC_TYPE_BOOL}},
    {.name = "t", .type = {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_MILLI}},
};
static const struct exec_schema schema = {fields, sizeof fields / sizeof fields[0]};
static const struct exec_field right_fields[] = {
    {.name = "i64", .type = {.kind = EXEC_TYPE_INT64}},
    {.name = "r", .type = {.kind = EXEC_TYPE_UTF8}},
};
static const struct exec_schema right_schema = {right_fields, 2};
static const struct expr_scope scope = {{&schema, NULL}, 1};
static const struct expr_scope both = {{&schema, &right_schema}, 2};

static void init(void)
{
    arena_fixture_init(&fixture, UINT64_MAX);
    memset(&b, 0, sizeof b);
}
static void fini(void)
{
    arena_fixture_fini(&fixture);
}
TestSuite(expr_bind, .init = init, .fini = fini);

static struct expr *bound(uint32_t index)
{
    struct exec_error err;
    struct expr *expr = NULL;
    const enum exec_code code = expr_bind(&fixture.arena, &b.spec, index, &scope, &expr, &err);
    cr_assert_eq(code, EXEC_OK, "%s", err.detail);
    return expr;
}

static void refused(const struct expr_scope *in, uint32_t index, enum exec_code expected,
                    const char *words)
{
    struct exec_error err;
    struct expr *expr;
    const enum exec_code code = expr_bind(&fixture.arena, &b.spec, index, in, &expr, &err);
    cr_assert_eq(code, expected, "%s: %s", exec_code_name(code), err.detail);
    cr_assert_not_null(strstr(err.detail, words), "'%s' lacks '%s'", err.detail, words);
    cr_assert_neq(err.expr, 0);
}

static void check_type(uint32_t index, const char *expected)
{
    char text[EXEC_TYPE_TEXT_BYTES];
    exec_type_text(expr_type(bound(index)), text);
    cr_assert_str_eq(text, expected);
}

static void check_text(uint32_t index, const char *expected)
{
    char text[200];
    expr_text(bound(index), &schema, text, sizeof text);
    cr_assert_str_eq(text, expected);
}

Test(expr_bind, columns)
{
    uint32_t column;
    struct expr *expr;
    struct exec_error err;

    cr_assert(expr_is_column(bound(build_column(&b, "i64")), &column));
    cr_assert_eq(column, 2);
    cr_assert(expr_is_column(bound(build_index(&b, 1)), &column));
    cr_assert_eq(column, 0);
    refused(&scope, build_column(&b, "nope"), EXEC_COLUMN_NOT_FOUND,
            "no column 'nope'; there are: i8, i32");
    refused(&scope, build_index(&b, 11), EXEC_COLUMN_NOT_FOUND, "columns 1 to 10");
    refused(&scope, build_index(&b, 0), EXEC_COLUMN_NOT_FOUND, "no column 0");
    refused(&both, build_column(&b, "i64"), EXEC_COLUMN_NOT_FOUND, "ambiguous");

    const uint32_t right = build(
        &b, (struct exec_expr){.kind = EXEC_EXPR_COLUMN, .u.column = {.name = "i64", .side = 2}});
    cr_assert_eq(expr_bind(&fixture.arena, &b.spec, right, &both, &expr, &err), EXEC_OK);
    cr_assert(expr_is_column(expr, &column));
    cr_assert_eq(column, 10);
    const uint32_t second = build(
        &b, (struct exec_expr){.kind = EXEC_EXPR_COLUMN, .u.column = {.index = 2, .side = 2}});
    cr_assert_eq(expr_bind(&fixture.arena, &b.spec, second, &both, &expr, &err), EXEC_OK);
    cr_assert(expr_is_column(expr, &column));
    cr_assert_eq(column, 11);
    cr_assert_eq(expr_bind(&fixture.arena, &b.spec, build_index(&b, 12), &both, &expr, &err),
                 EXEC_OK);
    cr_assert(expr_is_column(expr, &column));
    cr_assert_eq(column, 11);
    refused(&scope, right, EXEC_BAD_SPEC, "side 2");
}

Test(expr_bind, result_types)
{
    check_type(BUILD_CALL(&b, "add", build_column(&b, "i8"), build_column(&b, "i32")), "int32");
    check_type(BUILD_CALL(&b, "add", build_column(&b, "i32"), build_int(&b, 1)), "int64");
    check_type(BUILD_CALL(&b, "add", build_column(&b, "u64"), build_column(&b, "i8")),
               "decimal128(21,0)");
    check_type(BUILD_CALL(&b, "multiply", build_column(&b, "f"), build_column(&b, "i8")),
               "float64");
    check_type(BUILD_CALL(&b, "multiply", build_column(&b, "dec"), build_column(&b, "dec")),
               "decimal128(20,4)");
    check_type(BUILD_CALL(&b, "add", build_column(&b, "dec"), build_column(&b, "i64")),
               "decimal128(22,2)");
    check_type(BUILD_CALL(&b, "divide", build_column(&b, "dec"), build_column(&b, "i64")),
               "decimal128(38,12)");
    check_type(BUILD_CALL(&b, "subtract", build_column(&b, "d"), build_column(&b, "d")), "int32");
    check_type(BUILD_CALL(&b, "add", build_column(&b, "d"), build_int(&b, 3)), "date32");
    check_type(BUILD_CALL(&b, "negate", build_column(&b, "u64")), "decimal128(20,0)");
    check_type(BUILD_CALL(&b, "lt", build_column(&b, "d"), build_column(&b, "t")), "bool");
    check_type(BUILD_CALL(&b, "coalesce", build_column(&b, "i8"), build_column(&b, "i32")),
               "int32");
    check_type(BUILD_CALL(&b, "date_trunc", build_text(&b, "month"), build_column(&b, "t")),
               "timestamp[ms]");
    check_type(BUILD_CALL(&b, "greatest", build_column(&b, "i8"), build_column(&b, "i32"),
                          build_column(&b, "f")),
               "float64");
}

Test(expr_bind, refusals)
{
    refused(&scope, BUILD_CALL(&b, "add", build_column(&b, "s"), build_int(&b, 1)),
            EXEC_TYPE_MISMATCH, "add does not take (utf8, int64)");
    refused(&scope, BUILD_CALL(&b, "eq", build_column(&b, "s"), build_int(&b, 1)),
            EXEC_TYPE_MISMATCH, "eq");
    refused(&scope, BUILD_CALL(&b, "and", build_column(&b, "i8"), build_column(&b, "b")),
            EXEC_TYPE_MISMATCH, "and does not take (int8, bool)");
    refused(&scope, BUILD_CALL(&b, "frobnicate", build_int(&b, 1)), EXEC_NOT_IMPLEMENTED,
            "function 'frobnicate'");
    refused(&scope, BUILD_CALL(&b, "add", build_int(&b, 1)), EXEC_BAD_SPEC,
            "takes 2 arguments, not 1");
    refused(&scope, build_cast(&b, build_column(&b, "d"), "int32", false), EXEC_TYPE_MISMATCH,
            "no cast from date32 to int32");
    refused(&scope, build_cast(&b, build_column(&b, "t"), "timestamp[ms, Europe/Berlin]", false),
            EXEC_BAD_ARGUMENT, "no time zone 'Europe/Berlin'"); /* nobody has read it */
    refused(&scope, 3999, EXEC_BAD_SPEC, "expression 3999 of");
    refused(&scope,
            build_literal(&b, (struct exec_literal){.type.kind = EXEC_TYPE_INT8, .value.i64 = 200}),
            EXEC_BAD_SPEC, "int8");
    refused(&scope, BUILD_CALL(&b, "date_trunc", build_text(&b, "eon"), build_column(&b, "t")),
            EXEC_BAD_SPEC, "no part 'eon'");
    const struct exec_when when = {build_int(&b, 1), build_int(&b, 1)};
    refused(&scope, build_case(&b, &when, 1, 0), EXEC_TYPE_MISMATCH, "case");
}

Test(expr_bind, text_literals_take_the_type_of_the_other_side)
{
    check_text(BUILD_CALL(&b, "gt", build_column(&b, "d"), build_text(&b, "2024-01-31")),
               "(d > 2024-01-31)");
    check_text(BUILD_CALL(&b, "le", build_text(&b, "-17"), build_column(&b, "i32")),
               "(-17 <= i32)");
    check_type(BUILD_CALL(&b, "between", build_column(&b, "d"), build_text(&b, "2024-01-01"),
                          build_text(&b, "2024-12-31")),
               "bool");
    check_type(BUILD_CALL(&b, "eq", build_column(&b, "t"), build_text(&b, "2024-01-01 12:30:00")),
               "bool");
    check_type(BUILD_CALL(&b, "eq", build_column(&b, "t"), build_text(&b, "2024-01-01")), "bool");
    check_type(BUILD_CALL(&b, "eq", build_column(&b, "f"), build_text(&b, "1e3")), "bool");
    check_type(BUILD_CALL(&b, "eq", build_column(&b, "dec"), build_text(&b, "1.25")), "bool");
    check_type(BUILD_CALL(&b, "eq", build_column(&b, "s"), build_text(&b, "x")), "bool");

    refused(&scope, BUILD_CALL(&b, "gt", build_column(&b, "d"), build_text(&b, "2024-02-30")),
            EXEC_TYPE_MISMATCH, "the text '2024-02-30' stands beside date32");
    refused(&scope, BUILD_CALL(&b, "eq", build_column(&b, "i64"), build_text(&b, "1.5")),
            EXEC_TYPE_MISMATCH, "the text '1.5' stands beside int64");
    refused(&scope, BUILD_CALL(&b, "eq", build_column(&b, "i8"), build_text(&b, "300")),
            EXEC_TYPE_MISMATCH, "the text '300' stands beside int8");
    /* A column of texts is not read as dates. */
    refused(&scope, BUILD_CALL(&b, "gt", build_column(&b, "d"), build_column(&b, "s")),
            EXEC_TYPE_MISMATCH, "gt does not take (date32, utf8)");
    refused(&scope, BUILD_CALL(&b, "add", build_column(&b, "i64"), build_column(&b, "s")),
            EXEC_TYPE_MISMATCH, "add does not take (int64, utf8)");
    check_type(BUILD_CALL(&b, "add", build_column(&b, "i64"), build_text(&b, "1")), "int64");
    check_type(BUILD_CALL(&b, "coalesce", build_column(&b, "d"), build_text(&b, "2024-01-01")),
               "date32");
    check_type(BUILD_CALL(&b, "greatest", build_text(&b, "7"), build_column(&b, "i8")), "int8");
    const struct exec_when when = {BUILD_CALL(&b, "is_null", build_column(&b, "s")),
                                   build_text(&b, "1.5")};
    check_type(build_case(&b, &when, 1, build_column(&b, "f")), "float64");
}

Test(expr_bind, depth_and_size_have_limits)
{
    uint32_t deep = build_column(&b, "i64");
    for (int i = 0; i < 600; i++) {
        deep = BUILD_CALL(&b, "negate", deep);
    }
    refused(&scope, deep, EXEC_BAD_SPEC, "deeper");
    uint32_t wide = build_column(&b, "i64");
    for (int i = 0; i < 40; i++) {
        wide = BUILD_CALL(&b, "add", wide, wide);
    }
    refused(&scope, wide, EXEC_BAD_SPEC, "nodes");
}

Test(expr_bind, folding)
{
    const uint32_t folded =
        BUILD_CALL(&b, "add", build_int(&b, 2),
                   BUILD_CALL(&b, "multiply", build_int(&b, 3), build_int(&b, 4)));
    check_text(folded, "14");
    const uint32_t raising = BUILD_CALL(&b, "divide", build_int(&b, 1), build_int(&b, 0));
    check_text(raising, "(1 / 0)");
    cr_assert(expr_can_raise(bound(raising)));
    cr_assert(!expr_can_raise(bound(folded)));
    check_text(BUILD_CALL(&b, "upper", build_text(&b, "a longer text than twelve")),
               "'A LONGER TEXT THAN TWELVE'");
    check_text(
        BUILD_CALL(&b, "and", build_null(&b, EXEC_TYPE_BOOL), build_null(&b, EXEC_TYPE_BOOL)),
        "null");
}

Test(expr_bind, texts)
{
    const struct exec_literal values[] = {
        {.type.kind = EXEC_TYPE_INT64, .value.i64 = 7},
        {.type.kind = EXEC_TYPE_INT64, .value.i64 = 3},
        {.type.kind = EXEC_TYPE_INT64, .value.i64 = 300},
        {.type.kind = EXEC_TYPE_INT64, .is_null = true},
    };
    check_text(BUILD_CALL(&b, "and",
                          BUILD_CALL(&b, "gt", build_column(&b, "i32"), build_int(&b, 10)),
                          BUILD_CALL(&b, "eq", build_column(&b, "s"), build_text(&b, "JFK"))),
               "((i32 > 10) and (s = 'JFK'))");
    check_text(BUILD_CALL(&b, "lt", build_float(&b, 2.5), build_column(&b, "i64")), "(i64 > 2.5)");
    check_text(build_in(&b, build_column(&b, "i8"), values, 4, true), "i8 not in (3, 7, null)");
    check_text(BUILD_CALL(&b, "is_null", build_column(&b, "d")), "d is null");
    check_text(build_cast(&b, build_column(&b, "s"), "date32", true), "try_cast(s as date32)");
    check_text(BUILD_CALL(&b, "if", build_column(&b, "b"), build_int(&b, 1), build_int(&b, 2)),
               "case when b then 1 else 2 end");
    char small[12];
    expr_text(bound(BUILD_CALL(&b, "add", build_column(&b, "i64"), build_column(&b, "i64"))),
              &schema, small, sizeof small);
    cr_assert_str_eq(small, "(i64 + i...");
}

Test(expr_bind, columns_move)
{
    bool used[10] = {false};
    const uint32_t map[10] = {[2] = 0, [5] = 1};
    struct expr *expr = bound(BUILD_CALL(&b, "eq", BUILD_CALL(&b, "length", build_column(&b, "s")),
                                         build_column(&b, "i64")));
    expr_mark_columns(expr, used);
    for (int c = 0; c < 10; c++) {
        cr_assert_eq(used[c], c == 2 || c == 5);
    }
    bool moved[10] = {false};
    expr_mark_columns(expr_remap(&fixture.arena, expr, map), moved);
    cr_assert(moved[0] && moved[1] && !moved[2] && !moved[5]);
    expr_mark_columns(expr, used);
    cr_assert(!used[0]);
}

Test(expr_bind, common_types)
{
    static const struct {
        const char *a, *b, *common; /* NULL: none */
    } cases[] = {
        {"int8", "uint8", "int16"},
        {"int64", "uint32", "int64"},
        {"int64", "uint64", "decimal128(20,0)"},
        {"uint16", "uint64", "uint64"},
        {"int32", "float32", "float64"},
        {"float32", "float32", "float32"},
        {"decimal(10,2)", "decimal(12,4)", "decimal128(12,4)"},
        {"decimal(38,10)", "int64", "decimal128(38,10)"},
        {"decimal(5,1)", "float32", "float64"},
        {"date32", "timestamp[ns]", "timestamp[ns]"},
        {"timestamp[ms]", "timestamp[us]", "timestamp[us]"},
        {"timestamp[ms, UTC]", "timestamp[us]", NULL},
        {"utf8", "binary", NULL},
        {"utf8", "int8", NULL},
        {"bool", "int8", NULL},
        {"bool", "bool", "bool"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct exec_type x;
        struct exec_type y;
        struct exec_type common;
        char text[EXEC_TYPE_TEXT_BYTES];
        cr_assert(exec_type_parse(cases[i].a, &x) && exec_type_parse(cases[i].b, &y));
        for (int turn = 0; turn < 2; turn++) {
            const bool found = expr_common_type(turn ? &y : &x, turn ? &x : &y, &common);
            cr_assert_eq(found, cases[i].common != NULL, "%s and %s", cases[i].a, cases[i].b);
            if (found) {
                cr_assert_str_eq(exec_type_text(&common, text), cases[i].common);
            }
        }
    }
}
