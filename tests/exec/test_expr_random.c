/* Goal:   the vectorised evaluation of expressions gives what evaluating them one row at a time
 * gives: values, nulls, errors and their codes, under selections, nulls and constant columns; and
 *         expr_select keeps exactly the rows that are true.
 * Method: seeded random well-typed expressions over random columns with extremes; every selected
 * row is computed by tests/oracle/expr_oracle.c as well. Branches of CASE, COALESCE, AND and OR
 * raise only where the oracle, which evaluates nothing in vain, raises too. */
#include "expr/expr.h"

#include "expr_builder.h"
#include "oracle/expr_oracle.h"
#include "random_vec.h"

enum { COLUMNS = 16, ROWS_MAX = 80 };

static struct arena_fixture fixture;
static struct expr_builder b;
static uint64_t state;
static struct exec_field fields[COLUMNS];
static const struct exec_schema schema = {fields, COLUMNS};

/* Two columns of each of these. */
static const uint8_t kinds[COLUMNS / 2] = {EXEC_TYPE_INT64,  EXEC_TYPE_INT32,   EXEC_TYPE_INT8,
                                           EXEC_TYPE_UINT64, EXEC_TYPE_FLOAT64, EXEC_TYPE_FLOAT32,
                                           EXEC_TYPE_UTF8,   EXEC_TYPE_BOOL};

static uint32_t dice(uint32_t sides)
{
    return (uint32_t)(test_random(&state) % sides);
}

/* Mostly small, so that whole batches pass; now and then what overflows. */
static int64_t some_integer(uint8_t kind)
{
    const bool extreme = dice(150) == 0;
    if (kind == EXEC_TYPE_UINT64) {
        return extreme ? -1 : (int64_t)dice(9);
    }
    return extreme ? random_integer(&state, (int)exec_type_width(kind) * 8) : (int64_t)dice(9) - 4;
}

static double some_real(void)
{
    static const double special[] = {(double)NAN, (double)INFINITY, -0.0,
                                     1e300,       -1e300,           9007199254740992.0};
    return dice(40) == 0 ? special[dice(6)] : (double)dice(17) / 2 - 4;
}

static const char *const words[] = {"", "a", "ab", "abc", "abcdefghijkl", "abcdefghijklm", "Zebra"};

/* ---- generating
 * ---------------------------------------------------------------------------------------- */

static uint32_t make(uint8_t kind, int depth);

static uint32_t make_leaf(uint8_t kind)
{
    struct exec_literal literal = {.type.kind = kind, .is_null = dice(8) == 0};
    uint32_t place = 0;

    while (kinds[place] != kind) {
        place++;
    }
    if (dice(3) != 0) {
        return build_index(&b, 2 * place + dice(2) + 1);
    }
    switch (kind) {
        case EXEC_TYPE_BOOL: literal.value.boolean = dice(2) != 0; break;
        case EXEC_TYPE_FLOAT32:
        case EXEC_TYPE_FLOAT64: literal.value.f64 = some_real(); break;
        case EXEC_TYPE_UTF8:
            literal.value.text.bytes = words[dice(7)];
            literal.value.text.size = strlen(literal.value.text.bytes);
            break;
        default: literal.value.i64 = some_integer(kind); break;
    }
    if (kind == EXEC_TYPE_FLOAT32) {
        literal.value.f64 = (double)(float)literal.value.f64;
    }
    return build_literal(&b, literal);
}

static uint32_t make_in_list(int depth)
{
    static struct exec_literal lists[1000][4];
    static uint32_t used;
    struct exec_literal *list = lists[used++ % 1000];
    const uint8_t kind = dice(2) ? EXEC_TYPE_INT32 : EXEC_TYPE_UTF8;
    const uint32_t count = 1 + dice(4);

    for (uint32_t i = 0; i < count; i++) {
        list[i] = (struct exec_literal){.type.kind = kind, .is_null = dice(6) == 0};
        if (kind == EXEC_TYPE_UTF8) {
            list[i].value.text.bytes = words[dice(7)];
            list[i].value.text.size = strlen(list[i].value.text.bytes);
        } else {
            list[i].type.kind = dice(2) ? EXEC_TYPE_INT64 : EXEC_TYPE_INT32;
            list[i].value.i64 = (int64_t)dice(9) - 4;
        }
    }
    return build_in(
        &b,
        make(kind == EXEC_TYPE_UTF8 ? kind : (uint8_t)(dice(2) ? EXEC_TYPE_INT8 : EXEC_TYPE_INT32),
             depth),
        list, count, dice(2) != 0);
}

static uint32_t make_bool(int depth)
{
    static const char *const operators[] = {
        "eq", "ne", "lt", "le", "gt", "ge", "is_distinct_from", "is_not_distinct_from"};
    static const uint8_t numbers[] = {EXEC_TYPE_INT64,  EXEC_TYPE_INT32,   EXEC_TYPE_INT8,
                                      EXEC_TYPE_UINT64, EXEC_TYPE_FLOAT64, EXEC_TYPE_FLOAT32};
    const uint8_t kind = kinds[dice(COLUMNS / 2)];

    switch (dice(9)) {
        case 0:
            return BUILD_CALL(&b, "and", make(EXEC_TYPE_BOOL, depth), make(EXEC_TYPE_BOOL, depth),
                              make(EXEC_TYPE_BOOL, depth));
        case 1:
            return BUILD_CALL(&b, "or", make(EXEC_TYPE_BOOL, depth), make(EXEC_TYPE_BOOL, depth));
        case 2: return BUILD_CALL(&b, "not", make(EXEC_TYPE_BOOL, depth));
        case 3: return BUILD_CALL(&b, dice(2) ? "is_null" : "is_not_null", make(kind, depth));
        case 4: return make_in_list(depth);
        case 5:
            return BUILD_CALL(&b, "between", make(kind, depth), make(kind, depth),
                              make(kind, depth));
        case 6: /* of different types, by value */
            return BUILD_CALL(&b, operators[dice(8)], make(numbers[dice(6)], depth),
                              make(numbers[dice(6)], depth));
        case 7:
            return BUILD_CALL(&b, "starts_with", make(EXEC_TYPE_UTF8, depth),
                              make(EXEC_TYPE_UTF8, depth));
        default: return BUILD_CALL(&b, operators[dice(8)], make(kind, depth), make(kind, depth));
    }
}

static uint32_t make_number(uint8_t kind, int depth)
{
    static const char *const operators[] = {"add", "subtract", "multiply", "divide", "modulo"};
    const bool is_signed = kind != EXEC_TYPE_UINT64;

    switch (dice(is_signed ? 4 : 2)) {
        case 0: return BUILD_CALL(&b, operators[dice(5)], make(kind, depth), make(kind, depth));
        case 1:
            return BUILD_CALL(&b, dice(2) ? "greatest" : "least", make(kind, depth),
                              make(kind, depth), make(kind, depth));
        case 2: return BUILD_CALL(&b, dice(2) ? "negate" : "abs", make(kind, depth));
        default: break;
    }
    switch (kind) {
        case EXEC_TYPE_INT64:
            return dice(2) ? BUILD_CALL(&b, "length", make(EXEC_TYPE_UTF8, depth))
                           : build_cast(&b, make(EXEC_TYPE_FLOAT64, depth), "int64", dice(2) != 0);
        case EXEC_TYPE_INT32:
            return build_cast(&b, make(EXEC_TYPE_INT64, depth), "int32", dice(2) != 0);
        case EXEC_TYPE_INT8:
            return build_cast(&b, make(EXEC_TYPE_INT32, depth), "int8", dice(2) != 0);
        case EXEC_TYPE_FLOAT64:
            return build_cast(&b, make(dice(2) ? EXEC_TYPE_INT64 : EXEC_TYPE_FLOAT32, depth),
                              "float64", false);
        default: return make_leaf(kind);
    }
}

static uint32_t make(uint8_t kind, int depth)
{
    if (depth == 0 || dice(6) == 0) {
        return make_leaf(kind);
    }
    depth--;
    switch (dice(10)) {
        case 0:
            return BUILD_CALL(&b, "if", make(EXEC_TYPE_BOOL, depth), make(kind, depth),
                              make(kind, depth));
        case 1: return BUILD_CALL(&b, "coalesce", make(kind, depth), make(kind, depth));
        case 2: {
            const struct exec_when whens[] = {{make(EXEC_TYPE_BOOL, depth), make(kind, depth)},
                                              {make(EXEC_TYPE_BOOL, depth), make(kind, depth)}};
            return build_case(&b, whens, 2, dice(2) ? make(kind, depth) : 0);
        }
        default: break;
    }
    if (kind == EXEC_TYPE_BOOL) {
        return make_bool(depth);
    }
    if (kind == EXEC_TYPE_UTF8) {
        switch (dice(3)) {
            case 0: return BUILD_CALL(&b, "upper", make(kind, depth));
            case 1: return build_cast(&b, make(EXEC_TYPE_INT64, depth), "utf8", false);
            default: return BUILD_CALL(&b, "concat", make(kind, depth), make(kind, depth));
        }
    }
    return make_number(kind, depth);
}

/* ---- rows
 * -------------------------------------------------------------------------------------------------
 */

static struct oracle_value rows[ROWS_MAX][COLUMNS];
static struct vec vecs[COLUMNS];

static void put_value(uint8_t kind, uint32_t row, void *data, struct oracle_value *value)
{
    const size_t width = exec_type_width(kind);
    const float single = (float)value->real;
    const int64_t integer = (int64_t)value->integer;
    const struct string_view view = string_view_make(value->text, value->text_bytes);
    void *at = (unsigned char *)data + row * width;

    switch (kind) {
        case EXEC_TYPE_FLOAT64: memcpy(at, &value->real, width); break;
        case EXEC_TYPE_FLOAT32: memcpy(at, &single, width); break;
        case EXEC_TYPE_UTF8: memcpy(at, &view, width); break;
        default: memcpy(at, &integer, width); break;
    }
}

static void fill_value(uint8_t kind, struct oracle_value *value)
{
    *value = (struct oracle_value){.type.kind = kind};
    if (kind == EXEC_TYPE_FLOAT64 || kind == EXEC_TYPE_FLOAT32) {
        value->real = some_real();
        if (kind == EXEC_TYPE_FLOAT32) {
            value->real = (double)(float)value->real;
        }
    } else if (kind == EXEC_TYPE_UTF8) {
        strcpy(value->text, words[dice(7)]);
        value->text_bytes = (uint32_t)strlen(value->text);
    } else if (kind == EXEC_TYPE_BOOL) {
        value->integer = dice(2);
    } else {
        const int64_t integer = some_integer(kind);
        value->integer = kind == EXEC_TYPE_UINT64 ? (__int128)(uint64_t)integer : integer;
    }
}

/* Values under cleared bits are garbage on purpose (but for views). */
static void fill_columns(uint32_t row_count)
{
    for (uint32_t c = 0; c < COLUMNS; c++) {
        const uint8_t kind = kinds[c / 2];
        const uint32_t null_percent = dice(2) * 20;
        const bool constant = dice(8) == 0;
        uint64_t *valid = nu_arena_calloc(&fixture.arena, BATCH_WORDS * 8, 8);
        void *data;
        cr_assert(vec_alloc(kind, row_count, &fixture.arena, &vecs[c], &data));
        for (uint32_t row = 0; row < row_count; row++) {
            struct oracle_value *value = &rows[row][c];
            if (constant && row != 0) {
                *value = rows[0][c];
                continue;
            }
            fill_value(kind, value);
            value->null = dice(100) < null_percent;
            if (value->null && kind == EXEC_TYPE_UTF8) {
                value->text_bytes = 0;
            }
            put_value(kind, row, data, value);
            valid[row / 64] |= (uint64_t)!value->null << row % 64;
        }
        vecs[c].constant = constant;
        vecs[c].valid = null_percent == 0 ? NULL : valid;
    }
}

static bool same_value(const struct vec *vec, uint32_t row, const struct oracle_value *wanted)
{
    const size_t width = exec_type_width(vec->kind);
    const unsigned char *at = (const unsigned char *)vec->data + (vec->constant ? 0 : row) * width;
    struct oracle_value got = {.type.kind = vec->kind};
    float single;
    struct string_view view;
    int64_t integer = 0;

    if (!vec_is_valid(vec, row) || wanted->null) {
        return vec_is_valid(vec, row) == !wanted->null;
    }
    switch (vec->kind) {
        case EXEC_TYPE_FLOAT64: memcpy(&got.real, at, width); break;
        case EXEC_TYPE_FLOAT32:
            memcpy(&single, at, width);
            got.real = (double)single;
            break;
        case EXEC_TYPE_UTF8:
            memcpy(&view, at, width);
            return view.size == wanted->text_bytes &&
                   memcmp(string_view_bytes(&view), wanted->text, view.size) == 0;
        default:
            memcpy(&integer, at, width);
            if (vec->kind != EXEC_TYPE_BOOL && vec->kind != EXEC_TYPE_UINT64 && width < 8) {
                integer = (int64_t)((uint64_t)integer << (64 - 8 * width)) >> (64 - 8 * width);
            }
            got.integer = vec->kind == EXEC_TYPE_UINT64 ? (__int128)(uint64_t)integer : integer;
            break;
    }
    return got.type.kind == EXEC_TYPE_FLOAT64 || got.type.kind == EXEC_TYPE_FLOAT32
               ? expr_oracle_compare(&got, wanted) == 0 &&
                     (isnan(got.real) || !signbit(got.real) == !signbit(wanted->real))
               : got.integer == wanted->integer;
}

/* ---- rounds
 * --------------------------------------------------------------------------------------------------
 */

static struct {
    uint32_t passed, failed, kept, poor;
} figures;

static void check_select(const struct expr *expr, const struct batch *batch,
                         const struct oracle_value *wanted)
{
    uint16_t sel[BATCH_ROWS];
    uint32_t count;
    uint32_t at = 0;
    struct exec_error err;

    cr_assert_eq(expr_select(expr, batch, &fixture.scratch, sel, &count, &err), EXEC_OK);
    for (uint32_t p = 0; p < batch->sel_count; p++) {
        if (!wanted[p].null && wanted[p].integer != 0) {
            cr_assert_lt(at, count);
            cr_assert_eq(sel[at++], batch_row(batch, p));
        }
    }
    cr_assert_eq(at, count);
    figures.kept += count;
}

static void check_round(uint32_t root, const struct expr *expr, const struct batch *batch)
{
    static struct oracle_value wanted[ROWS_MAX];
    bool may_fail[EXEC_CODE_COUNT] = {false};
    bool fails = false;
    struct vec got;
    struct exec_error err = {0};
    char text[2000];
    const enum exec_code code = expr_eval(expr, batch, &fixture.scratch, &got, &err);

    expr_text(expr, NULL, text, sizeof text);
    for (uint32_t p = 0; p < batch->sel_count; p++) {
        expr_oracle(&b.spec, root, rows[batch_row(batch, p)], &wanted[p]);
        may_fail[wanted[p].failed] = true;
        fails |= wanted[p].failed != EXEC_OK;
    }
    if (fails || code != EXEC_OK) {
        cr_assert_neq(code, EXEC_OK, "%s: should have failed", text);
        cr_assert(may_fail[code], "%s: failed: %s", text, err.detail);
        cr_assert_neq(err.expr, 0, "%s", text);
        cr_assert(expr_can_raise(expr), "%s: failed: %s", text, err.detail);
        figures.failed++;
        return;
    }
    for (uint32_t p = 0; p < batch->sel_count; p++) {
        cr_assert(same_value(&got, batch_row(batch, p), &wanted[p]), "%s: row %u", text,
                  batch_row(batch, p));
    }
    if (expr_type(expr)->kind == EXEC_TYPE_BOOL) {
        check_select(expr, batch, wanted);
    }
    figures.passed++;
}

/* With every budget too small for it, evaluation and binding end in an error and nothing else. */
static void check_poor(uint32_t root, const struct expr *expr, const struct batch *batch)
{
    const struct expr_scope scope = {{&schema, NULL}, 1};

    for (uint64_t limit = 0; limit <= 4 * NU_PAGE_BYTES; limit += NU_PAGE_BYTES) {
        struct nu_budget budget;
        struct nu_arena poor;
        struct exec_error err = {0};
        struct expr *again;
        struct vec got;
        nu_budget_init(&budget, "poor", limit, NULL);
        nu_arena_init(&poor, fixture.pool, 0, &budget);
        (void)expr_eval(expr, batch, &poor, &got, &err);
        if (err.code == EXEC_MEMORY_BUDGET) {
            cr_assert_not_null(strstr(err.detail, "poor"), "%s", err.detail);
            figures.poor++;
        }
        nu_arena_reset(&poor);
        const enum exec_code code = expr_bind(&poor, &b.spec, root, &scope, &again, &err);
        cr_assert(code == EXEC_OK || code == EXEC_MEMORY_BUDGET, "%s", err.detail);
        nu_arena_destroy(&poor);
        cr_assert_eq(nu_budget_used(&budget), 0);
    }
}

Test(expr_random, as_one_row_at_a_time)
{
    uint16_t sel[ROWS_MAX];
    const struct expr_scope scope = {{&schema, NULL}, 1};

    state = 12345;
    arena_fixture_init(&fixture, UINT64_MAX);
    for (uint32_t c = 0; c < COLUMNS; c++) {
        fields[c] = (struct exec_field){.name = "c", .type.kind = kinds[c / 2]};
    }
    for (int n = 0; n < 3000; n++) {
        const uint8_t kind = kinds[dice(COLUMNS / 2)];
        struct expr *expr;
        struct exec_error err;
        b.spec.expr_count = 0;
        b.when_count = 0;
        const uint32_t root = make(kind, 1 + n % 4);
        cr_assert_eq(expr_bind(&fixture.arena, &b.spec, root, &scope, &expr, &err), EXEC_OK, "%s",
                     err.detail);
        for (int round = 0; round < 2; round++) {
            struct batch batch = {
                .row_count = 1 + dice(ROWS_MAX), .columns = vecs, .column_count = COLUMNS};
            fill_columns(batch.row_count);
            batch.sel_count = batch.row_count;
            if (dice(2)) {
                batch.sel = sel;
                batch.sel_count = random_sel(&state, batch.row_count, dice(2) ? 15 : 70, sel);
            }
            check_round(root, expr, &batch);
            if (n % 16 == 0) {
                check_poor(root, expr, &batch);
            }
            nu_arena_reset(&fixture.scratch);
        }
        nu_arena_reset(&fixture.arena);
    }
    /* Both kinds of answer have been seen often. */
    cr_assert_gt(figures.passed, 3000);
    cr_assert_gt(figures.failed, 300);
    cr_assert_gt(figures.kept, 1000);
    cr_assert_gt(figures.poor, 100);
    arena_fixture_fini(&fixture);
}
