#include "oracle/expr_oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_real(uint8_t kind)
{
    return kind == EXEC_TYPE_FLOAT32 || kind == EXEC_TYPE_FLOAT64;
}

static bool fits(uint8_t kind, __int128 value)
{
    switch (kind) {
        case EXEC_TYPE_INT8: return value >= INT8_MIN && value <= INT8_MAX;
        case EXEC_TYPE_INT16: return value >= INT16_MIN && value <= INT16_MAX;
        case EXEC_TYPE_INT32:
        case EXEC_TYPE_DATE32: return value >= INT32_MIN && value <= INT32_MAX;
        case EXEC_TYPE_INT64: return value >= INT64_MIN && value <= INT64_MAX;
        case EXEC_TYPE_UINT8: return value >= 0 && value <= UINT8_MAX;
        case EXEC_TYPE_UINT16: return value >= 0 && value <= UINT16_MAX;
        case EXEC_TYPE_UINT32: return value >= 0 && value <= UINT32_MAX;
        case EXEC_TYPE_UINT64: return value >= 0 && value <= UINT64_MAX;
        default: return true;
    }
}

/* An integer (unscaled at `scale`) against a double, digit by digit exact: doubles below 2^100 are
 * a 128-bit integer and a fraction. */
static int compare_whole_real(__int128 integer, int scale, double real)
{
    if (isnan(real) || real > 1e30) {
        return -1;
    }
    if (real < -1e30) {
        return 1;
    }
    for (int i = 0; i < scale; i++) {
        real *= 10; /* the test's decimals and reals are small enough for this to be exact */
    }
    const double below = floor(real);
    const __int128 whole = (__int128)below;
    if (integer != whole) {
        return integer < whole ? -1 : 1;
    }
    return real > below ? -1 : 0;
}

int expr_oracle_compare(const struct oracle_value *a, const struct oracle_value *b)
{
    if (a->type.kind == EXEC_TYPE_UTF8) {
        const uint32_t shorter = a->text_bytes < b->text_bytes ? a->text_bytes : b->text_bytes;
        const int order = memcmp(a->text, b->text, shorter);
        return order != 0 ? order
                          : (a->text_bytes > b->text_bytes) - (a->text_bytes < b->text_bytes);
    }
    if (is_real(a->type.kind) && is_real(b->type.kind)) {
        if (isnan(a->real) || isnan(b->real)) {
            return (isnan(a->real) != 0) - (isnan(b->real) != 0);
        }
        return (a->real > b->real) - (a->real < b->real);
    }
    if (is_real(b->type.kind)) {
        return compare_whole_real(a->integer, a->type.scale, b->real);
    }
    if (is_real(a->type.kind)) {
        return -compare_whole_real(b->integer, b->type.scale, a->real);
    }
    __int128 x = a->integer;
    __int128 y = b->integer;
    for (int i = a->type.scale; i < b->type.scale; i++) {
        x *= 10;
    }
    for (int i = b->type.scale; i < a->type.scale; i++) {
        y *= 10;
    }
    return (x > y) - (x < y);
}

static void set_bool(struct oracle_value *out, bool value)
{
    *out = (struct oracle_value){.type.kind = EXEC_TYPE_BOOL, .integer = value};
}

static void set_null(struct oracle_value *out, const struct exec_type *type)
{
    *out = (struct oracle_value){.type = *type, .null = true};
}

static bool is_true(const struct oracle_value *value)
{
    return !value->null && value->integer != 0;
}

/* ---- functions of values
 * --------------------------------------------------------------------------------- */

static void arithmetic(const char *name, const struct oracle_value *x, const struct oracle_value *y,
                       struct oracle_value *out)
{
    out->type = x->type;
    if (is_real(x->type.kind)) {
        const bool single = x->type.kind == EXEC_TYPE_FLOAT32;
        switch (name[0]) {
            case 'a': out->real = x->real + y->real; break;
            case 's': out->real = x->real - y->real; break;
            case 'd': out->real = x->real / y->real; break;
            default: out->real = name[1] == 'u' ? x->real * y->real : fmod(x->real, y->real); break;
        }
        out->real = single ? (double)(float)out->real : out->real;
        return;
    }
    const bool divides = name[0] == 'd' || name[1] == 'o';
    if (divides && y->integer == 0) {
        out->failed = EXEC_BAD_ARGUMENT;
        return;
    }
    switch (name[0]) {
        case 'a': out->integer = x->integer + y->integer; break;
        case 's': out->integer = x->integer - y->integer; break;
        case 'd': out->integer = x->integer / y->integer; break;
        default:
            if (name[1] == 'o') {
                out->integer = x->integer % y->integer;
            } else if (__builtin_mul_overflow(x->integer, y->integer, &out->integer)) {
                out->failed = EXEC_OVERFLOW; /* uint64 times uint64 */
            }
            break;
    }
    if (!fits(out->type.kind, out->integer)) {
        out->failed = EXEC_OVERFLOW;
    }
}

static void sign(bool is_abs, const struct oracle_value *x, struct oracle_value *out)
{
    *out = *x;
    if (is_real(x->type.kind)) {
        out->real = is_abs ? fabs(x->real) : -x->real;
        return;
    }
    out->integer = is_abs && x->integer >= 0 ? x->integer : -x->integer;
    if (!fits(out->type.kind, out->integer)) {
        out->failed = EXEC_OVERFLOW;
    }
}

static bool comparison(const char *name, const struct oracle_value *x, const struct oracle_value *y)
{
    const int order = expr_oracle_compare(x, y);
    if (strcmp(name, "eq") == 0) {
        return order == 0;
    }
    if (strcmp(name, "ne") == 0) {
        return order != 0;
    }
    if (name[0] == 'l') {
        return name[1] == 't' ? order < 0 : order <= 0;
    }
    return name[1] == 't' ? order > 0 : order >= 0;
}

static void text_function(const char *name, const struct oracle_value *args, uint32_t arg_count,
                          struct oracle_value *out)
{
    out->type.kind = EXEC_TYPE_UTF8;
    if (strcmp(name, "length") == 0) {
        *out = (struct oracle_value){.type.kind = EXEC_TYPE_INT64, .integer = args[0].text_bytes};
    } else if (strcmp(name, "starts_with") == 0) {
        set_bool(out, args[0].text_bytes >= args[1].text_bytes &&
                          memcmp(args[0].text, args[1].text, args[1].text_bytes) == 0);
    } else if (strcmp(name, "concat") == 0) {
        for (uint32_t i = 0; i < arg_count; i++) {
            memcpy(out->text + out->text_bytes, args[i].text, args[i].text_bytes);
            out->text_bytes += args[i].text_bytes;
        }
    } else { /* upper, ASCII */
        out->text_bytes = args[0].text_bytes;
        for (uint32_t i = 0; i < out->text_bytes; i++) {
            const char c = args[0].text[i];
            out->text[i] = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
        }
    }
}

/* ---- expressions
 * ------------------------------------------------------------------------------------------- */

static void chain(const struct exec_job_spec *spec, const struct exec_expr *expr,
                  const struct oracle_value *columns, bool decisive, struct oracle_value *out)
{
    bool any_null = false;

    for (uint32_t i = 0; i < expr->u.call.arg_count; i++) {
        expr_oracle(spec, expr->u.call.args[i], columns, out);
        if (out->failed != EXEC_OK || (!out->null && (out->integer != 0) == decisive)) {
            return;
        }
        any_null |= out->null;
    }
    set_bool(out, !decisive);
    out->null = any_null;
}

static void coalesce(const struct exec_job_spec *spec, const struct exec_expr *expr,
                     const struct oracle_value *columns, struct oracle_value *out)
{
    for (uint32_t i = 0; i < expr->u.call.arg_count; i++) {
        expr_oracle(spec, expr->u.call.args[i], columns, out);
        if (out->failed != EXEC_OK || !out->null) {
            return;
        }
    }
}

static void strict(const char *name, const struct oracle_value *args, uint32_t arg_count,
                   struct oracle_value *out)
{
    const struct exec_type boolean = {.kind = EXEC_TYPE_BOOL};

    *out = (struct oracle_value){.type = args[0].type};
    for (uint32_t i = 0; i < arg_count; i++) {
        if (args[i].null) {
            set_null(out, strlen(name) == 2 ? &boolean : &args[0].type);
            return;
        }
    }
    if (strcmp(name, "not") == 0) {
        set_bool(out, args[0].integer == 0);
    } else if (strlen(name) == 2) {
        set_bool(out, comparison(name, &args[0], &args[1]));
    } else if (strcmp(name, "negate") == 0 || strcmp(name, "abs") == 0) {
        sign(name[0] == 'a', &args[0], out);
    } else if (strcmp(name, "greatest") == 0 || strcmp(name, "least") == 0) {
        *out = args[0];
        for (uint32_t i = 1; i < arg_count; i++) {
            const int order = expr_oracle_compare(&args[i], out);
            if (name[0] == 'g' ? order > 0 : order < 0) {
                *out = args[i];
            }
        }
    } else if (args[0].type.kind == EXEC_TYPE_UTF8) {
        text_function(name, args, arg_count, out);
    } else {
        arithmetic(name, &args[0], &args[1], out);
    }
}

/* x >= low and x <= high: high is not looked at where the first is false. */
static void between(const struct exec_job_spec *spec, const struct exec_expr *expr,
                    const struct oracle_value *columns, struct oracle_value *out)
{
    struct oracle_value *args = calloc(3, sizeof *args);
    bool is_false = false;
    bool any_null = false;

    for (uint32_t i = 0; i < 3 && !is_false; i++) {
        expr_oracle(spec, expr->u.call.args[i], columns, &args[i]);
        if (args[i].failed != EXEC_OK) {
            *out = args[i];
            free(args);
            return;
        }
        const bool known = !args[0].null && !args[i].null;
        is_false = i > 0 && known && !comparison(i == 1 ? "ge" : "le", &args[0], &args[i]);
        any_null |= !known;
    }
    set_bool(out, !is_false);
    out->null = !is_false && any_null;
    free(args);
}

static void call(const struct exec_job_spec *spec, const struct exec_expr *expr,
                 const struct oracle_value *columns, struct oracle_value *out)
{
    const char *name = expr->u.call.function;
    const uint32_t *indices = expr->u.call.args;
    const uint32_t arg_count = expr->u.call.arg_count;
    struct oracle_value *args;

    if (strcmp(name, "and") == 0 || strcmp(name, "or") == 0) {
        chain(spec, expr, columns, name[0] == 'o', out);
        return;
    }
    if (strcmp(name, "coalesce") == 0) {
        coalesce(spec, expr, columns, out);
        return;
    }
    if (strcmp(name, "if") == 0) {
        expr_oracle(spec, indices[0], columns, out);
        if (out->failed == EXEC_OK) {
            expr_oracle(spec, indices[is_true(out) ? 1 : 2], columns, out);
        }
        return;
    }
    if (strcmp(name, "between") == 0) {
        between(spec, expr, columns, out);
        return;
    }
    args = calloc(arg_count, sizeof *args);
    for (uint32_t i = 0; i < arg_count; i++) {
        expr_oracle(spec, indices[i], columns, &args[i]);
        if (args[i].failed != EXEC_OK) {
            *out = args[i];
            free(args);
            return;
        }
    }
    if (strncmp(name, "is_", 3) == 0) {
        const bool x = args[0].null;
        if (strstr(name, "distinct") != NULL) {
            const bool same =
                x == args[1].null && (x || expr_oracle_compare(&args[0], &args[1]) == 0);
            set_bool(out, same == (strstr(name, "not") != NULL));
        } else {
            set_bool(out, x == (strcmp(name, "is_null") == 0));
        }
    } else {
        strict(name, args, arg_count, out);
    }
    free(args);
}

static void cast(const struct exec_expr *expr, const struct oracle_value *arg,
                 struct oracle_value *out)
{
    const struct exec_type *to = &expr->u.cast.to;

    *out = (struct oracle_value){.type = *to, .null = arg->null, .integer = arg->integer};
    if (arg->null) {
        return;
    }
    if (to->kind == EXEC_TYPE_UTF8) { /* of integers only */
        out->text_bytes =
            (uint32_t)snprintf(out->text, sizeof out->text, "%lld", (long long)arg->integer);
    } else if (is_real(to->kind)) {
        out->real = is_real(arg->type.kind) ? arg->real : (double)arg->integer;
    } else if (is_real(arg->type.kind)) {
        const double rounded = nearbyint(arg->real);
        if (!(fabs(rounded) < 1e30) || !fits(to->kind, (__int128)rounded)) { /* NaN too */
            out->failed = EXEC_OVERFLOW;
        } else {
            out->integer = (__int128)rounded;
        }
    } else if (!fits(to->kind, arg->integer)) {
        out->failed = EXEC_OVERFLOW;
    }
    if (out->failed != EXEC_OK && expr->u.cast.null_on_failure) {
        set_null(out, to);
    }
}

static void literal(const struct exec_literal *from, struct oracle_value *out)
{
    *out = (struct oracle_value){.type = from->type, .null = from->is_null};
    if (from->is_null) {
        return;
    }
    switch (from->type.kind) {
        case EXEC_TYPE_BOOL: out->integer = from->value.boolean; break;
        case EXEC_TYPE_FLOAT32: out->real = (double)(float)from->value.f64; break;
        case EXEC_TYPE_FLOAT64: out->real = from->value.f64; break;
        case EXEC_TYPE_UTF8:
            out->text_bytes = (uint32_t)from->value.text.size;
            memcpy(out->text, from->value.text.bytes, from->value.text.size);
            break;
        case EXEC_TYPE_UINT64: out->integer = from->value.u64; break;
        default: out->integer = from->value.i64; break;
    }
}

static void in_list(const struct exec_expr *expr, const struct oracle_value *arg,
                    struct oracle_value *out)
{
    bool any_null = false;
    bool found = false;

    for (uint32_t i = 0; i < expr->u.in_list.value_count; i++) {
        struct oracle_value value;
        literal(&expr->u.in_list.values[i], &value);
        any_null |= value.null;
        found |= !value.null && expr_oracle_compare(arg, &value) == 0;
    }
    set_bool(out, found != expr->u.in_list.negated);
    out->null = arg->null || (!found && any_null);
}

void expr_oracle(const struct exec_job_spec *spec, uint32_t index,
                 const struct oracle_value *columns, struct oracle_value *out)
{
    const struct exec_expr *expr = &spec->exprs[index - 1];
    struct oracle_value *arg;

    switch (expr->kind) {
        case EXEC_EXPR_COLUMN: *out = columns[expr->u.column.index - 1]; return;
        case EXEC_EXPR_LITERAL: literal(&expr->u.literal, out); return;
        case EXEC_EXPR_CALL: call(spec, expr, columns, out); return;
        case EXEC_EXPR_CASE:
            for (uint32_t i = 0; i < expr->u.case_when.branch_count; i++) {
                expr_oracle(spec, expr->u.case_when.branches[i].when, columns, out);
                if (out->failed != EXEC_OK) {
                    return;
                }
                if (is_true(out)) {
                    expr_oracle(spec, expr->u.case_when.branches[i].then, columns, out);
                    return;
                }
            }
            if (expr->u.case_when.otherwise == 0) {
                out->null = true;
                return;
            }
            expr_oracle(spec, expr->u.case_when.otherwise, columns, out);
            return;
        default: break;
    }
    arg = malloc(sizeof *arg);
    expr_oracle(spec, expr->kind == EXEC_EXPR_CAST ? expr->u.cast.arg : expr->u.in_list.arg,
                columns, arg);
    if (arg->failed != EXEC_OK) {
        *out = *arg;
    } else if (expr->kind == EXEC_EXPR_CAST) {
        cast(expr, arg, out);
    } else {
        in_list(expr, arg, out);
    }
    free(arg);
}
