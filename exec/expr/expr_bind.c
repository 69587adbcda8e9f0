#include "expr/cast.h"
#include "expr/compare.h"
#include "expr/fold.h"
#include "expr/function_rules.h"
#include "expr/in_list.h"

#include <stdio.h>
#include <string.h>

/* From the spec's flat expressions to trees of typed nodes. Operands come before their users, so
 * that there is no cycle; an operand with two users becomes two nodes, which is why nodes are
 * counted. */

struct binder {
    struct nu_arena *arena;
    const struct exec_job_spec *spec;
    const struct expr_scope *scope;
    uint32_t nodes_left;
    uint32_t depth;
};

static enum exec_code bind(struct binder *binder, uint32_t index, struct expr **expr_out,
                           struct exec_error *err);

/* ---- columns
 * --------------------------------------------------------------------------------------------- */

static enum exec_code eval_column(const struct expr *expr, const struct batch *in,
                                  struct nu_arena *scratch, struct vec *out, struct exec_error *err)
{
    (void)scratch;
    (void)err;
    *out = in->columns[expr->column];
    return EXEC_OK;
}

struct expr *expr_column(struct nu_arena *arena, uint32_t column, const struct exec_type *type)
{
    struct expr *node = nu_arena_alloc(arena, sizeof *node, _Alignof(struct expr));

    if (node != NULL) {
        *node = (struct expr){
            .kind = EXPR_COLUMN, .type = *type, .column = column, .eval = eval_column};
    }
    return node;
}

/* "a, b, c" of the inputs in question, cut to fit. */
static void list_names(const struct expr_scope *scope, uint32_t side, char *text, size_t bytes)
{
    size_t at = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < scope->input_count; i++) {
        if (side != 0 && side != i + 1) {
            continue;
        }
        for (uint32_t f = 0; f < scope->inputs[i]->field_count; f++) {
            const char *name = scope->inputs[i]->fields[f].name;
            if (at + strlen(name) + 8 > bytes) {
                snprintf(text + at, bytes - at, ", ...");
                return;
            }
            at += (size_t)snprintf(text + at, bytes - at, "%s%s", at == 0 ? "" : ", ", name);
        }
    }
}

static enum exec_code find_name(const struct expr_scope *scope, const char *name, uint32_t side,
                                uint32_t *column_out, const struct exec_type **type_out,
                                struct exec_error *err)
{
    uint32_t before = 0;
    uint32_t found = 0;

    for (uint32_t i = 0; i < scope->input_count; i++) {
        const struct exec_schema *input = scope->inputs[i];
        for (uint32_t f = 0; (side == 0 || side == i + 1) && f < input->field_count; f++) {
            if (strcmp(input->fields[f].name, name) == 0) {
                *column_out = before + f;
                *type_out = &input->fields[f].type;
                found++;
            }
        }
        before += input->field_count;
    }
    if (found == 0) {
        char names[240];
        list_names(scope, side, names, sizeof names);
        return EXEC_FAIL(err, EXEC_COLUMN_NOT_FOUND, "no column '%.100s'; there are: %s", name,
                         names);
    }
    if (found > 1) {
        return EXEC_FAIL(err, EXEC_COLUMN_NOT_FOUND,
                         "column '%.100s' is ambiguous: %u columns have this name; refer to it by "
                         "index%s",
                         name, found, scope->input_count == 2 && side == 0 ? " or side" : "");
    }
    return EXEC_OK;
}

/* Without a side, numbers run through the left input and on into the right one. */
static enum exec_code find_index(const struct expr_scope *scope, uint32_t index, uint32_t side,
                                 uint32_t *column_out, const struct exec_type **type_out,
                                 struct exec_error *err)
{
    uint32_t before = 0;
    uint32_t last = 0;

    for (uint32_t i = 0; i < scope->input_count; i++) {
        const struct exec_schema *input = scope->inputs[i];
        const uint32_t from = side == i + 1 ? 0 : before;
        if ((side == 0 || side == i + 1) && index > from && index - from <= input->field_count) {
            *column_out = before + index - from - 1;
            *type_out = &input->fields[index - from - 1].type;
            return EXEC_OK;
        }
        before += input->field_count;
        last = side == 0 ? before : side == i + 1 ? input->field_count : last;
    }
    return EXEC_FAIL(err, EXEC_COLUMN_NOT_FOUND, "no column %u; there are columns 1 to %u", index,
                     last);
}

static enum exec_code bind_column(struct binder *binder, const struct exec_expr *from,
                                  struct expr **expr_out, struct exec_error *err)
{
    const struct expr_scope *scope = binder->scope;
    const struct exec_type *type = NULL;
    uint32_t column = 0;
    enum exec_code code;

    if (from->u.column.side > scope->input_count) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "column side %u of %u inputs", from->u.column.side,
                         scope->input_count);
    }
    code = from->u.column.name != NULL
               ? find_name(scope, from->u.column.name, from->u.column.side, &column, &type, err)
               : find_index(scope, from->u.column.index, from->u.column.side, &column, &type, err);
    if (code != EXEC_OK) {
        return code;
    }
    *expr_out = expr_column(binder->arena, column, type);
    return *expr_out == NULL ? expr_no_memory(binder->arena, err) : EXEC_OK;
}

/* ---- literals
 * -------------------------------------------------------------------------------------------- */

static enum exec_code literal_does_not_fit(const struct exec_literal *literal,
                                           struct exec_error *err)
{
    char type[EXEC_TYPE_TEXT_BYTES];
    return EXEC_FAIL(err, EXEC_BAD_SPEC, "a literal does not fit its type %s",
                     exec_type_text(&literal->type, type));
}

/* The value in the form it has in a vec; texts are copied. */
static enum exec_code literal_value(struct nu_arena *arena, const struct exec_literal *literal,
                                    void *value_out, struct exec_error *err)
{
    const float single = (float)literal->value.f64;
    struct string_view view;
    vec_decimal decimal;
    char *bytes;

    switch (vec_storage(literal->type.kind)) {
#define VEC_INTEGER(TAG, tag, c_type)                                                             \
    case VEC_##TAG: {                                                                             \
        const bool is_signed = (c_type)-1 < (c_type)1;                                            \
        const c_type typed = is_signed ? (c_type)literal->value.i64 : (c_type)literal->value.u64; \
        memcpy(value_out, &typed, sizeof typed);                                                  \
        if (literal->type.kind == EXEC_TYPE_BOOL || literal->type.kind == EXEC_TYPE_DECIMAL128) { \
            break;                                                                                \
        }                                                                                         \
        if (is_signed ? (int64_t)typed != literal->value.i64                                      \
                      : (uint64_t)typed != literal->value.u64) {                                  \
            return literal_does_not_fit(literal, err);                                            \
        }                                                                                         \
        break;                                                                                    \
    }
#include "vec/vec_types.def"
        case VEC_F32: memcpy(value_out, &single, sizeof single); break;
        case VEC_F64: memcpy(value_out, &literal->value.f64, sizeof(double)); break;
        case VEC_VIEW:
            if (literal->value.text.size > INT32_MAX) {
                return literal_does_not_fit(literal, err);
            }
            bytes = nu_arena_alloc(arena, literal->value.text.size + 1, 1);
            if (bytes == NULL) {
                return expr_no_memory(arena, err);
            }
            if (literal->value.text.size != 0) {
                memcpy(bytes, literal->value.text.bytes, literal->value.text.size);
            }
            view = string_view_make(bytes, (uint32_t)literal->value.text.size);
            memcpy(value_out, &view, sizeof view);
            break;
        default: return EXEC_FAIL(err, EXEC_BAD_SPEC, "a literal without a type");
    }
    if (literal->type.kind == EXEC_TYPE_BOOL) {
        *(uint8_t *)value_out = literal->value.boolean;
    }
    if (literal->type.kind == EXEC_TYPE_DECIMAL128) {
        decimal = (vec_decimal)(((vec_decimal_bits)literal->value.decimal.high << 64) |
                                literal->value.decimal.low);
        memcpy(value_out, &decimal, sizeof decimal);
    }
    return EXEC_OK;
}

static enum exec_code make_literal(struct binder *binder, const struct exec_literal *from,
                                   uint32_t index, struct expr **expr_out, struct exec_error *err)
{
    _Alignas(16) unsigned char value[16] = {0};

    if (vec_storage(from->type.kind) == VEC_NONE) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "a literal without a type");
    }
    if (!from->is_null) {
        const enum exec_code code = literal_value(binder->arena, from, value, err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    *expr_out = fold_literal(binder->arena, &from->type, from->is_null ? NULL : value, index);
    return *expr_out == NULL ? expr_no_memory(binder->arena, err) : EXEC_OK;
}

/* ---- calls, casts, CASE
 * ------------------------------------------------------------------------------------ */

static enum exec_code bind_args(struct binder *binder, const uint32_t *indices, uint32_t count,
                                struct expr ***args_out, struct exec_error *err)
{
    struct expr **args = nu_arena_alloc(binder->arena, (count + 1) * sizeof *args, sizeof(void *));

    if (args == NULL) {
        return expr_no_memory(binder->arena, err);
    }
    for (uint32_t i = 0; i < count; i++) {
        const enum exec_code code = bind(binder, indices[i], &args[i], err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    *args_out = args;
    return EXEC_OK;
}

static enum exec_code bind_call(struct binder *binder, const struct exec_expr *from, uint32_t index,
                                struct expr **expr_out, struct exec_error *err)
{
    const char *name = from->u.call.function;
    const struct expr_function *function = name == NULL ? NULL : function_find(name);
    struct expr **args = NULL;
    enum exec_code code;

    if (function == NULL) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "function '%.100s'", name == NULL ? "" : name);
    }
    code = bind_args(binder, from->u.call.args, from->u.call.arg_count, &args, err);
    if (code != EXEC_OK) {
        return code;
    }
    return function_call(binder->arena, function, args, from->u.call.arg_count, index, expr_out,
                         err);
}

enum exec_code expr_call(struct nu_arena *arena, const char *function, struct expr *const *args,
                         uint32_t arg_count, struct expr **expr_out, struct exec_error *err)
{
    const struct expr_function *found = function_find(function);
    struct expr **kept = nu_arena_alloc(arena, (arg_count + 1) * sizeof *kept, sizeof(void *));

    if (kept == NULL) {
        return expr_no_memory(arena, err);
    }
    memcpy(kept, args, arg_count * sizeof *kept);
    return function_call(arena, found, kept, arg_count, 0, expr_out, err);
}

static enum exec_code bind_cast(struct binder *binder, const struct exec_expr *from, uint32_t index,
                                struct expr **expr_out, struct exec_error *err)
{
    struct expr *arg;
    const enum exec_code code = bind(binder, from->u.cast.arg, &arg, err);

    if (code != EXEC_OK) {
        return code;
    }
    if (vec_storage(from->u.cast.to.kind) == VEC_NONE) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "a cast without a type");
    }
    return cast_make(binder->arena, arg, &from->u.cast.to, from->u.cast.null_on_failure, index,
                     expr_out, err);
}

static enum exec_code bind_case(struct binder *binder, const struct exec_expr *from, uint32_t index,
                                struct expr **expr_out, struct exec_error *err)
{
    const uint32_t branches = from->u.case_when.branch_count;
    struct expr **args =
        nu_arena_alloc(binder->arena, (2 * branches + 1) * sizeof *args, sizeof(void *));
    enum exec_code code = EXEC_OK;

    if (args == NULL) {
        return expr_no_memory(binder->arena, err);
    }
    if (branches == 0) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "case without a branch");
    }
    for (uint32_t i = 0; i < branches; i++) {
        code = bind(binder, from->u.case_when.branches[i].when, &args[2 * i], err);
        if (code != EXEC_OK) {
            return code;
        }
        code = bind(binder, from->u.case_when.branches[i].then, &args[2 * i + 1], err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    args[2 * branches] = NULL;
    if (from->u.case_when.otherwise != 0) {
        code = bind(binder, from->u.case_when.otherwise, &args[2 * branches], err);
    }
    return code != EXEC_OK
               ? code
               : function_case(binder->arena, args, 2 * branches + 1, index, expr_out, err);
}

/* ---- IN
 * ------------------------------------------------------------------------------------------------------
 */

/* An integer list value against an integer argument it does not fit: it never matches. */
static bool never_in(const struct expr *arg, const struct expr *value, const struct expr *narrow)
{
    return narrow == NULL && exec_type_is_integer(arg->type.kind) &&
           (exec_type_is_integer(value->type.kind) || value->type.kind == EXEC_TYPE_FLOAT64 ||
            value->type.kind == EXEC_TYPE_FLOAT32);
}

/* Literal nodes of the values that can match; widens *arg where a value needs it. */
static enum exec_code list_values(struct binder *binder, const struct exec_expr *from,
                                  struct expr *node, struct expr **values, struct exec_error *err)
{
    struct nu_arena *arena = binder->arena;

    for (uint32_t i = 0; i < from->u.in_list.value_count; i++) {
        struct exec_type common;
        struct expr *value;
        struct expr *narrow;
        enum exec_code code =
            make_literal(binder, &from->u.in_list.values[i], node->index, &value, err);
        if (code == EXEC_OK) {
            code = function_text_literal(arena, &value, &node->args[0]->type, err);
        }
        if (code != EXEC_OK) {
            return code;
        }
        if (!expr_common_type(&node->args[0]->type, &value->type, &common)) {
            return EXEC_FAIL(err, EXEC_TYPE_MISMATCH,
                             "in_list: value %u does not compare with the "
                             "argument",
                             i + 1);
        }
        if (!vec_is_valid(&value->literal, 0)) {
            node->list_has_null = true;
            continue;
        }
        narrow = function_narrow_literal(arena, value, &node->args[0]->type);
        if (never_in(node->args[0], value, narrow)) {
            continue;
        }
        values[node->list_count++] = narrow != NULL ? narrow : value;
        if (narrow == NULL) {
            code = expr_cast(arena, node->args[0], &common, &node->args[0], err);
            if (code != EXEC_OK) {
                return code;
            }
        }
    }
    return EXEC_OK;
}

static enum exec_code bind_in_list(struct binder *binder, const struct exec_expr *from,
                                   uint32_t index, struct expr **expr_out, struct exec_error *err)
{
    struct nu_arena *arena = binder->arena;
    const uint32_t count = from->u.in_list.value_count;
    struct expr *node = nu_arena_calloc(arena, sizeof *node, _Alignof(struct expr));
    struct expr **values = nu_arena_alloc(arena, (count + 1) * sizeof *values, sizeof(void *));
    struct expr **args = NULL;
    unsigned char *list;
    enum exec_code code = bind_args(binder, &from->u.in_list.arg, 1, &args, err);

    if (code != EXEC_OK) {
        return code;
    }
    if (node == NULL || values == NULL) {
        return expr_no_memory(arena, err);
    }
    *node = (struct expr){.kind = EXPR_IN_LIST,
                          .index = index,
                          .type = function_bool,
                          .eval = expr_eval_strict,
                          .kernel = in_list_find,
                          .args = args,
                          .arg_count = 1,
                          .negated = from->u.in_list.negated};
    code = list_values(binder, from, node, values, err);
    if (code != EXEC_OK) {
        return code;
    }
    const size_t width = exec_type_width(args[0]->type.kind);
    list = nu_arena_alloc(arena, (node->list_count + 1) * width, 16);
    if (list == NULL) {
        return expr_no_memory(arena, err);
    }
    for (uint32_t i = 0; i < node->list_count; i++) {
        code = expr_cast(arena, values[i], &args[0]->type, &values[i], err);
        if (code != EXEC_OK) {
            return code;
        }
        if (values[i]->kind != EXPR_LITERAL) {
            return EXEC_FAIL(err, EXEC_TYPE_MISMATCH, "in_list: value %u does not fit", i + 1);
        }
        memcpy(list + i * width, values[i]->literal.data, width);
    }
    in_list_sort(args[0]->type.kind, list, node->list_count);
    node->list = list;
    node->can_raise = args[0]->can_raise;
    *expr_out = node;
    return fold_expr(arena, expr_out, err);
}

/* ---- one expression
 * ---------------------------------------------------------------------------------------------- */

static enum exec_code bind_kind(struct binder *binder, uint32_t index, struct expr **expr_out,
                                struct exec_error *err)
{
    const struct exec_expr *from = &binder->spec->exprs[index - 1];

    switch (from->kind) {
        case EXEC_EXPR_COLUMN: return bind_column(binder, from, expr_out, err);
        case EXEC_EXPR_LITERAL: return make_literal(binder, &from->u.literal, index, expr_out, err);
        case EXEC_EXPR_CALL: return bind_call(binder, from, index, expr_out, err);
        case EXEC_EXPR_CAST: return bind_cast(binder, from, index, expr_out, err);
        case EXEC_EXPR_IN_LIST: return bind_in_list(binder, from, index, expr_out, err);
        case EXEC_EXPR_CASE: return bind_case(binder, from, index, expr_out, err);
        default: return EXEC_FAIL(err, EXEC_BAD_SPEC, "expression %u has no kind", index);
    }
}

static enum exec_code check_limits(const struct binder *binder, uint32_t index,
                                   struct exec_error *err)
{
    if (index == 0 || index > binder->spec->expr_count) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "expression %u of %u", index,
                         binder->spec->expr_count);
    }
    if (binder->depth == EXPR_DEPTH_MAX || binder->nodes_left == 0) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC,
                         "an expression is deeper than %d or has more than %d nodes",
                         EXPR_DEPTH_MAX, EXPR_NODES_MAX);
    }
    return EXEC_OK;
}

static enum exec_code bind(struct binder *binder, uint32_t index, struct expr **expr_out,
                           struct exec_error *err)
{
    enum exec_code code = check_limits(binder, index, err);

    if (code == EXEC_OK) {
        binder->depth++;
        binder->nodes_left--;
        code = bind_kind(binder, index, expr_out, err);
        binder->depth--;
    }
    if (code != EXEC_OK && err->expr == 0) {
        err->expr = index;
    }
    return code;
}

enum exec_code expr_bind(struct nu_arena *arena, const struct exec_job_spec *spec, uint32_t index,
                         const struct expr_scope *scope, struct expr **expr_out,
                         struct exec_error *err)
{
    struct binder binder = {
        .arena = arena, .spec = spec, .scope = scope, .nodes_left = EXPR_NODES_MAX};

    *err = (struct exec_error){.code = EXEC_OK};
    return bind(&binder, index, expr_out, err);
}
