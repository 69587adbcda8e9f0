#include "wire_expr.h"

#include "wire_types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FIELD_PATH_BYTES = 96, CALL_ARGS_MAX = 4096 };

enum exec_code wire_literals_read(const struct wire_reader *reader, const char *field,
                                  Morsel__V1__Literal *const *messages, size_t count,
                                  const struct exec_literal **literals_out)
{
    struct exec_literal *literals;
    enum exec_code code = wire_count_check(reader, field, count, EXEC_IN_VALUES_MAX);

    if (code != EXEC_OK) {
        return code;
    }
    literals = wire_memory_array(reader->memory, count, sizeof *literals);
    if (literals == NULL) {
        return wire_fail_memory(reader);
    }
    for (size_t i = 0; i < count && code == EXEC_OK; i++) {
        char path[FIELD_PATH_BYTES];
        snprintf(path, sizeof path, "%s[%zu]", field, i + 1);
        code = wire_literal_read(reader, path, messages[i], &literals[i]);
    }
    *literals_out = literals;
    return code;
}

bool wire_literals_write(struct wire_memory *memory, const struct exec_literal *literals,
                         size_t count, size_t *count_out, Morsel__V1__Literal ***messages_out)
{
    Morsel__V1__Literal **messages = wire_memory_array(memory, count, sizeof *messages);

    for (size_t i = 0; messages != NULL && i < count; i++) {
        messages[i] = wire_literal_write(memory, &literals[i]);
        if (messages[i] == NULL) {
            return false;
        }
    }
    *messages_out = messages;
    *count_out = count;
    return messages != NULL;
}

bool wire_indices_write(struct wire_memory *memory, const uint32_t *indices, size_t count,
                        size_t *count_out, uint32_t **indices_out)
{
    uint32_t *copy = wire_memory_array(memory, count, sizeof *copy);

    if (copy != NULL && count != 0) {
        memcpy(copy, indices, count * sizeof *copy);
    }
    *indices_out = copy;
    *count_out = count;
    return copy != NULL;
}

/* ---- message -> spec ------------------------------------------------------------------------ */

static enum exec_code column_read(const struct wire_reader *reader,
                                  const Morsel__V1__ColumnRef *message, struct exec_expr *expr)
{
    expr->kind = EXEC_EXPR_COLUMN;
    expr->u.column.side = message->side;
    if (message->side > 2) {
        return wire_fail(reader, EXEC_BAD_SPEC, "column.side: %" PRIu32 " is not 0, 1 or 2",
                         message->side);
    }
    if (message->ref_case == MORSEL__V1__COLUMN_REF__REF_NAME) {
        expr->u.column.name = message->name;
        return wire_name_check(reader, "column.name", message->name);
    }
    if (message->ref_case == MORSEL__V1__COLUMN_REF__REF_INDEX && message->index != 0) {
        expr->u.column.index = message->index;
        return EXEC_OK;
    }
    return wire_fail(reader, EXEC_BAD_SPEC, "column has neither a name nor an index from 1");
}

static enum exec_code call_read(const struct wire_reader *reader, const Morsel__V1__Call *message,
                                struct exec_expr *expr)
{
    expr->kind = EXEC_EXPR_CALL;
    expr->u.call.function = message->function;
    expr->u.call.args = message->args;
    expr->u.call.arg_count = (uint32_t)message->n_args;
    const enum exec_code code = wire_name_check(reader, "call.function", message->function);
    return code != EXEC_OK ? code
                           : wire_count_check(reader, "call.args", message->n_args, CALL_ARGS_MAX);
}

static enum exec_code cast_read(const struct wire_reader *reader, const Morsel__V1__Cast *message,
                                struct exec_expr *expr)
{
    enum exec_code code;

    code = wire_enum_check(reader, "cast.on_failure", &morsel__v1__cast_failure__descriptor,
                           (int)message->on_failure, true,
                           MORSEL__V1__CAST_FAILURE__CAST_FAILURE_NULL);
    if (code != EXEC_OK) {
        return code;
    }
    expr->kind = EXEC_EXPR_CAST;
    expr->u.cast.arg = message->arg;
    expr->u.cast.null_on_failure =
        message->on_failure == MORSEL__V1__CAST_FAILURE__CAST_FAILURE_NULL;
    return wire_type_read(reader, "cast.to", message->to, &expr->u.cast.to);
}

static enum exec_code in_list_read(const struct wire_reader *reader,
                                   const Morsel__V1__InList *message, struct exec_expr *expr)
{
    expr->kind = EXEC_EXPR_IN_LIST;
    expr->u.in_list.arg = message->arg;
    expr->u.in_list.negated = message->negated;
    expr->u.in_list.value_count = (uint32_t)message->n_values;
    return wire_literals_read(reader, "in_list.values", message->values, message->n_values,
                              &expr->u.in_list.values);
}

static enum exec_code case_read(const struct wire_reader *reader,
                                const Morsel__V1__CaseWhen *message, struct exec_expr *expr)
{
    struct exec_when *branches =
        wire_memory_array(reader->memory, message->n_branches, sizeof *branches);

    if (branches == NULL) {
        return wire_fail_memory(reader);
    }
    for (size_t i = 0; i < message->n_branches; i++) {
        branches[i].when = message->branches[i]->when;
        branches[i].then = message->branches[i]->then;
    }
    expr->kind = EXEC_EXPR_CASE;
    expr->u.case_when.branches = branches;
    expr->u.case_when.branch_count = (uint32_t)message->n_branches;
    expr->u.case_when.otherwise = message->otherwise;
    return wire_count_check(reader, "case_when.branches", message->n_branches, EXEC_EXPRS_MAX);
}

enum exec_code wire_expr_read(const struct wire_reader *reader, const Morsel__V1__Expr *message,
                              struct exec_expr *expr_out)
{
    memset(expr_out, 0, sizeof *expr_out);
    switch (message->kind_case) {
        case MORSEL__V1__EXPR__KIND_COLUMN: return column_read(reader, message->column, expr_out);
        case MORSEL__V1__EXPR__KIND_LITERAL:
            expr_out->kind = EXEC_EXPR_LITERAL;
            return wire_literal_read(reader, "literal", message->literal, &expr_out->u.literal);
        case MORSEL__V1__EXPR__KIND_CALL: return call_read(reader, message->call, expr_out);
        case MORSEL__V1__EXPR__KIND_CAST: return cast_read(reader, message->cast, expr_out);
        case MORSEL__V1__EXPR__KIND_IN_LIST:
            return in_list_read(reader, message->in_list, expr_out);
        case MORSEL__V1__EXPR__KIND_CASE_WHEN:
            return case_read(reader, message->case_when, expr_out);
        default: return wire_fail(reader, EXEC_BAD_SPEC, "kind is not set");
    }
}

/* ---- spec -> message ------------------------------------------------------------------------ */

static bool column_write(struct wire_memory *memory, const struct exec_expr *expr,
                         Morsel__V1__Expr *message)
{
    Morsel__V1__ColumnRef *column = wire_message_new(memory, &morsel__v1__column_ref__descriptor);

    if (column == NULL) {
        return false;
    }
    message->kind_case = MORSEL__V1__EXPR__KIND_COLUMN;
    message->column = column;
    column->side = expr->u.column.side;
    if (expr->u.column.name == NULL) {
        column->ref_case = MORSEL__V1__COLUMN_REF__REF_INDEX;
        column->index = expr->u.column.index;
        return true;
    }
    column->ref_case = MORSEL__V1__COLUMN_REF__REF_NAME;
    column->name = wire_memory_text(memory, expr->u.column.name);
    return column->name != NULL;
}

static bool call_write(struct wire_memory *memory, const struct exec_expr *expr,
                       Morsel__V1__Expr *message)
{
    Morsel__V1__Call *call = wire_message_new(memory, &morsel__v1__call__descriptor);

    if (call == NULL) {
        return false;
    }
    message->kind_case = MORSEL__V1__EXPR__KIND_CALL;
    message->call = call;
    call->function = wire_memory_text(memory, expr->u.call.function);
    return call->function != NULL &&
           wire_indices_write(memory, expr->u.call.args, expr->u.call.arg_count, &call->n_args,
                              &call->args);
}

static bool cast_write(struct wire_memory *memory, const struct exec_expr *expr,
                       Morsel__V1__Expr *message)
{
    Morsel__V1__Cast *cast = wire_message_new(memory, &morsel__v1__cast__descriptor);

    if (cast == NULL) {
        return false;
    }
    message->kind_case = MORSEL__V1__EXPR__KIND_CAST;
    message->cast = cast;
    cast->arg = expr->u.cast.arg;
    cast->to = wire_type_write(memory, &expr->u.cast.to);
    cast->on_failure = expr->u.cast.null_on_failure
                           ? MORSEL__V1__CAST_FAILURE__CAST_FAILURE_NULL
                           : MORSEL__V1__CAST_FAILURE__CAST_FAILURE_UNSPECIFIED;
    return cast->to != NULL;
}

static bool in_list_write(struct wire_memory *memory, const struct exec_expr *expr,
                          Morsel__V1__Expr *message)
{
    Morsel__V1__InList *in_list = wire_message_new(memory, &morsel__v1__in_list__descriptor);

    if (in_list == NULL) {
        return false;
    }
    message->kind_case = MORSEL__V1__EXPR__KIND_IN_LIST;
    message->in_list = in_list;
    in_list->arg = expr->u.in_list.arg;
    in_list->negated = expr->u.in_list.negated;
    return wire_literals_write(memory, expr->u.in_list.values, expr->u.in_list.value_count,
                               &in_list->n_values, &in_list->values);
}

static bool case_write(struct wire_memory *memory, const struct exec_expr *expr,
                       Morsel__V1__Expr *message)
{
    Morsel__V1__CaseWhen *cases = wire_message_new(memory, &morsel__v1__case_when__descriptor);
    const size_t count = expr->u.case_when.branch_count;

    if (cases == NULL) {
        return false;
    }
    message->kind_case = MORSEL__V1__EXPR__KIND_CASE_WHEN;
    message->case_when = cases;
    cases->otherwise = expr->u.case_when.otherwise;
    cases->n_branches = count;
    cases->branches = wire_memory_array(memory, count, sizeof *cases->branches);
    for (size_t i = 0; cases->branches != NULL && i < count; i++) {
        Morsel__V1__WhenThen *branch = wire_message_new(memory, &morsel__v1__when_then__descriptor);
        if (branch == NULL) {
            return false;
        }
        branch->when = expr->u.case_when.branches[i].when;
        branch->then = expr->u.case_when.branches[i].then;
        cases->branches[i] = branch;
    }
    return cases->branches != NULL;
}

static bool kind_write(struct wire_memory *memory, const struct exec_expr *expr,
                       Morsel__V1__Expr *message)
{
    switch (expr->kind) {
        case EXEC_EXPR_COLUMN: return column_write(memory, expr, message);
        case EXEC_EXPR_LITERAL:
            message->kind_case = MORSEL__V1__EXPR__KIND_LITERAL;
            message->literal = wire_literal_write(memory, &expr->u.literal);
            return message->literal != NULL;
        case EXEC_EXPR_CALL: return call_write(memory, expr, message);
        case EXEC_EXPR_CAST: return cast_write(memory, expr, message);
        case EXEC_EXPR_IN_LIST: return in_list_write(memory, expr, message);
        case EXEC_EXPR_CASE: return case_write(memory, expr, message);
        default: return true; /* the kind stays unset and the server names it */
    }
}

Morsel__V1__Expr *wire_expr_write(struct wire_memory *memory, const struct exec_expr *expr)
{
    Morsel__V1__Expr *message = wire_message_new(memory, &morsel__v1__expr__descriptor);

    return message != NULL && kind_write(memory, expr, message) ? message : NULL;
}
