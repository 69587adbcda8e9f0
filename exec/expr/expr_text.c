#include "expr/expr_node.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bound expressions as SQL-like text, for explain. */

struct writer {
    char *text;
    size_t bytes, at;
    const struct exec_schema *input;
};

static void put(struct writer *writer, const char *fmt, ...) EXEC_PRINTF(2, 3);
static void put(struct writer *writer, const char *fmt, ...)
{
    va_list args;
    int wanted;

    if (writer->at + 1 >= writer->bytes) {
        return;
    }
    va_start(args, fmt);
    wanted = vsnprintf(writer->text + writer->at, writer->bytes - writer->at, fmt, args);
    va_end(args);
    writer->at += wanted > 0 ? (size_t)wanted : 0;
    if (writer->at >= writer->bytes) {
        writer->at = writer->bytes - 1;
    }
}

static void put_expr(struct writer *writer, const struct expr *expr);

/* Functions written as operators between their arguments. */
static const char *infix_of(const char *function)
{
    static const char *const infix[][2] = {{"add", "+"},
                                           {"subtract", "-"},
                                           {"multiply", "*"},
                                           {"divide", "/"},
                                           {"modulo", "%"},
                                           {"eq", "="},
                                           {"ne", "<>"},
                                           {"lt", "<"},
                                           {"le", "<="},
                                           {"gt", ">"},
                                           {"ge", ">="},
                                           {"and", "and"},
                                           {"or", "or"},
                                           {"like", "like"},
                                           {"ilike", "ilike"},
                                           {"is_distinct_from", "is distinct from"},
                                           {"is_not_distinct_from", "is not distinct from"}};

    for (size_t i = 0; i < sizeof infix / sizeof infix[0]; i++) {
        if (strcmp(infix[i][0], function) == 0) {
            return infix[i][1];
        }
    }
    return NULL;
}

static void put_args(struct writer *writer, const struct expr *expr, const char *between)
{
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        if (i != 0) {
            put(writer, "%s", between);
        }
        put_expr(writer, expr->args[i]);
    }
}

static void put_call(struct writer *writer, const struct expr *expr)
{
    const char *name = expr_function_name(expr->function);
    const char *infix = infix_of(name);
    char between[40];

    if (infix != NULL) {
        snprintf(between, sizeof between, " %s ", infix);
        put(writer, "(");
        put_args(writer, expr, between);
        put(writer, ")");
    } else if (expr->eval == expr_eval_is_null) {
        put_args(writer, expr, "");
        put(writer, expr->variant == 1 ? " is not null" : " is null");
    } else if (expr->eval == expr_eval_not) {
        put(writer, "not ");
        put_args(writer, expr, "");
    } else {
        put(writer, "%s(", name);
        put_args(writer, expr, ", ");
        put(writer, ")");
    }
}

static void put_case(struct writer *writer, const struct expr *expr)
{
    put(writer, "case");
    for (uint32_t i = 0; i + 1 < expr->arg_count; i += 2) {
        put(writer, " when ");
        put_expr(writer, expr->args[i]);
        put(writer, " then ");
        put_expr(writer, expr->args[i + 1]);
    }
    put(writer, " else ");
    put_expr(writer, expr->args[expr->arg_count - 1]);
    put(writer, " end");
}

static void put_list(struct writer *writer, const struct expr *expr)
{
    const struct exec_type *type = &expr->args[0]->type;
    char value[EXPR_VALUE_TEXT_BYTES];

    put_expr(writer, expr->args[0]);
    put(writer, expr->negated ? " not in (" : " in (");
    for (uint32_t i = 0; i < expr->list_count && writer->at + 1 < writer->bytes; i++) {
        expr_value_text(type, (const char *)expr->list + i * exec_type_width(type->kind), value,
                        sizeof value);
        put(writer, "%s%s", i == 0 ? "" : ", ", value);
    }
    put(writer, "%s)", !expr->list_has_null ? "" : expr->list_count == 0 ? "null" : ", null");
}

static void put_expr(struct writer *writer, const struct expr *expr)
{
    char text[EXPR_VALUE_TEXT_BYTES];

    switch (expr->kind) {
        case EXPR_COLUMN:
            if (writer->input != NULL && expr->column < writer->input->field_count) {
                put(writer, "%s", writer->input->fields[expr->column].name);
            } else {
                put(writer, "#%u", expr->column + 1);
            }
            break;
        case EXPR_LITERAL:
            if (!vec_is_valid(&expr->literal, 0)) {
                put(writer, "null");
                break;
            }
            expr_value_text(&expr->type, expr->literal.data, text, sizeof text);
            put(writer, "%s", text);
            break;
        case EXPR_CALL: put_call(writer, expr); break;
        case EXPR_CAST:
            put(writer, expr->null_on_failure ? "try_cast(" : "cast(");
            put_expr(writer, expr->args[0]);
            put(writer, " as %s)", exec_type_text(&expr->type, text));
            break;
        case EXPR_IN_LIST: put_list(writer, expr); break;
        case EXPR_CASE: put_case(writer, expr); break;
    }
}

void expr_text(const struct expr *expr, const struct exec_schema *input, char *text_out,
               size_t text_bytes)
{
    struct writer writer = {.text = text_out, .bytes = text_bytes, .input = input};

    if (text_bytes == 0) {
        return;
    }
    text_out[0] = '\0';
    put_expr(&writer, expr);
    if (writer.at + 1 == text_bytes && text_bytes > 4) {
        memcpy(text_out + text_bytes - 4, "...", 4);
    }
}
