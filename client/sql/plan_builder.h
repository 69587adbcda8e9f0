#ifndef CLIENT_SQL_PLAN_BUILDER_H
#define CLIENT_SQL_PLAN_BUILDER_H

#include "exec/job_spec.h"

/* A job spec under construction. It owns every relation, expression, array and text of the spec;
 * all of them live until plan_builder_fini. Indices are 1-based as in the spec, and 0 means none. A
 * command line tool that gets no memory for a plan ends: allocation never returns NULL. */

struct plan_block;

/* Where an expression was written, to point at it when the engine refuses it. */
struct plan_origin {
    const char *option; /* "--where"; NULL: made by us */
    const char *text;
    uint32_t offset; /* byte in the text */
};

struct plan_builder {
    struct plan_block *blocks;
    struct exec_rel *rels;
    struct exec_expr *exprs;
    struct plan_origin *origins; /* one an expression */
    uint32_t rel_count, rel_room, expr_count, expr_room;
};

void plan_builder_init(struct plan_builder *plan);
void plan_builder_fini(struct plan_builder *plan);

void *builder_alloc(struct plan_builder *plan, size_t bytes); /* zeroed */
const char *builder_text(struct plan_builder *plan, const char *bytes, size_t size);
const char *builder_printf(struct plan_builder *plan, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

uint32_t builder_rel(struct plan_builder *plan, const struct exec_rel *rel);
uint32_t builder_expr(struct plan_builder *plan, const struct exec_expr *expr,
                      const struct plan_origin *origin /* may be NULL */);

uint32_t builder_column(struct plan_builder *plan, uint32_t index,
                        const struct plan_origin *origin);
uint32_t builder_column_named(struct plan_builder *plan, const char *name,
                              const struct plan_origin *origin);
uint32_t builder_call(struct plan_builder *plan, const char *function, const uint32_t *args,
                      uint32_t arg_count, const struct plan_origin *origin);
uint32_t builder_literal(struct plan_builder *plan, const struct exec_literal *literal,
                         const struct plan_origin *origin);
uint32_t builder_literal_text(struct plan_builder *plan, const char *text,
                              const struct plan_origin *origin);

/* The spec, borrowing from the plan. */
struct exec_job_spec builder_spec(const struct plan_builder *plan);

#endif
