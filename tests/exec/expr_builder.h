#ifndef TESTS_EXEC_EXPR_BUILDER_H
#define TESTS_EXEC_EXPR_BUILDER_H

#include "exec/job_spec.h"

#include <criterion/criterion.h>
#include <string.h>

/* Builds the expressions of a job spec one call a node; every function returns the 1-based index.
 */
enum { BUILDER_EXPRS = 4000 };

struct expr_builder {
    struct exec_expr exprs[BUILDER_EXPRS];
    uint32_t args[BUILDER_EXPRS][8];
    struct exec_when whens[BUILDER_EXPRS / 8][4];
    uint32_t when_count;
    struct exec_job_spec spec;
};

static inline uint32_t build(struct expr_builder *builder, struct exec_expr expr)
{
    cr_assert_lt(builder->spec.expr_count, BUILDER_EXPRS);
    builder->exprs[builder->spec.expr_count] = expr;
    builder->spec.exprs = builder->exprs;
    return ++builder->spec.expr_count;
}

static inline uint32_t build_column(struct expr_builder *builder, const char *name)
{
    return build(builder, (struct exec_expr){.kind = EXEC_EXPR_COLUMN, .u.column.name = name});
}

static inline uint32_t build_index(struct expr_builder *builder, uint32_t index)
{
    return build(builder, (struct exec_expr){.kind = EXEC_EXPR_COLUMN, .u.column.index = index});
}

static inline uint32_t build_literal(struct expr_builder *builder, struct exec_literal literal)
{
    return build(builder, (struct exec_expr){.kind = EXEC_EXPR_LITERAL, .u.literal = literal});
}

static inline uint32_t build_int(struct expr_builder *builder, int64_t value)
{
    return build_literal(builder,
                         (struct exec_literal){.type.kind = EXEC_TYPE_INT64, .value.i64 = value});
}

static inline uint32_t build_float(struct expr_builder *builder, double value)
{
    return build_literal(builder,
                         (struct exec_literal){.type.kind = EXEC_TYPE_FLOAT64, .value.f64 = value});
}

static inline uint32_t build_text(struct expr_builder *builder, const char *text)
{
    return build_literal(builder, (struct exec_literal){.type.kind = EXEC_TYPE_UTF8,
                                                        .value.text = {text, strlen(text)}});
}

static inline uint32_t build_null(struct expr_builder *builder, uint8_t kind)
{
    return build_literal(builder, (struct exec_literal){.type.kind = kind, .is_null = true});
}

static inline uint32_t build_call(struct expr_builder *builder, const char *function,
                                  uint32_t arg_count, const uint32_t *args)
{
    uint32_t *kept = builder->args[builder->spec.expr_count];
    cr_assert_leq(arg_count, 8);
    memcpy(kept, args, arg_count * sizeof *args);
    return build(builder,
                 (struct exec_expr){.kind = EXEC_EXPR_CALL, .u.call = {function, kept, arg_count}});
}

#define BUILD_CALL(builder, function, ...)                                                  \
    build_call((builder), (function), sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), \
               (const uint32_t[]){__VA_ARGS__})

static inline uint32_t build_cast(struct expr_builder *builder, uint32_t arg, const char *type,
                                  bool null_on_failure)
{
    struct exec_expr expr = {.kind = EXEC_EXPR_CAST,
                             .u.cast = {.arg = arg, .null_on_failure = null_on_failure}};
    cr_assert(exec_type_parse(type, &expr.u.cast.to), "%s", type);
    return build(builder, expr);
}

static inline uint32_t build_in(struct expr_builder *builder, uint32_t arg,
                                const struct exec_literal *values, uint32_t count, bool negated)
{
    return build(builder, (struct exec_expr){.kind = EXEC_EXPR_IN_LIST,
                                             .u.in_list = {arg, values, count, negated}});
}

static inline uint32_t build_case(struct expr_builder *builder, const struct exec_when *branches,
                                  uint32_t count, uint32_t otherwise)
{
    struct exec_when *kept = builder->whens[builder->when_count++];
    cr_assert_leq(count, 4);
    memcpy(kept, branches, count * sizeof *branches);
    return build(builder, (struct exec_expr){.kind = EXEC_EXPR_CASE,
                                             .u.case_when = {kept, count, otherwise}});
}

#endif
