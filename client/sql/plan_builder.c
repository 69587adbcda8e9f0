#include "plan_builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plan_block {
    struct plan_block *next;
    _Alignas(16) unsigned char bytes[];
};

void plan_builder_init(struct plan_builder *plan)
{
    *plan = (struct plan_builder){0};
}

void plan_builder_fini(struct plan_builder *plan)
{
    while (plan->blocks != NULL) {
        struct plan_block *next = plan->blocks->next;
        free(plan->blocks);
        plan->blocks = next;
    }
    *plan = (struct plan_builder){0};
}

void *builder_alloc(struct plan_builder *plan, size_t bytes)
{
    struct plan_block *block = calloc(1, sizeof *block + bytes);

    if (block == NULL) {
        fputs("morsel: out of memory\n", stderr);
        exit(8);
    }
    block->next = plan->blocks;
    plan->blocks = block;
    return block->bytes;
}

const char *builder_text(struct plan_builder *plan, const char *bytes, size_t size)
{
    char *copy = builder_alloc(plan, size + 1);

    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

const char *builder_printf(struct plan_builder *plan, const char *fmt, ...)
{
    va_list args, again;

    va_start(args, fmt);
    va_copy(again, args);
    const int size = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = builder_alloc(plan, (size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, fmt, again);
    va_end(again);
    return text;
}

/* Doubling copies leave the old arrays in their blocks: a plan has at most a few thousand entries.
 */
static void *grow(struct plan_builder *plan, const void *old, uint32_t count, uint32_t room,
                  size_t entry_bytes)
{
    void *moved = builder_alloc(plan, room * entry_bytes);

    if (count > 0) {
        memcpy(moved, old, count * entry_bytes);
    }
    return moved;
}

uint32_t builder_rel(struct plan_builder *plan, const struct exec_rel *rel)
{
    if (plan->rel_count == plan->rel_room) {
        plan->rel_room = plan->rel_room == 0 ? 16 : 2 * plan->rel_room;
        plan->rels = grow(plan, plan->rels, plan->rel_count, plan->rel_room, sizeof *plan->rels);
    }
    plan->rels[plan->rel_count++] = *rel;
    return plan->rel_count;
}

uint32_t builder_expr(struct plan_builder *plan, const struct exec_expr *expr,
                      const struct plan_origin *origin)
{
    if (plan->expr_count == plan->expr_room) {
        plan->expr_room = plan->expr_room == 0 ? 64 : 2 * plan->expr_room;
        plan->exprs =
            grow(plan, plan->exprs, plan->expr_count, plan->expr_room, sizeof *plan->exprs);
        plan->origins =
            grow(plan, plan->origins, plan->expr_count, plan->expr_room, sizeof *plan->origins);
    }
    plan->exprs[plan->expr_count] = *expr;
    if (origin != NULL) {
        plan->origins[plan->expr_count] = *origin;
    }
    return ++plan->expr_count;
}

uint32_t builder_column(struct plan_builder *plan, uint32_t index, const struct plan_origin *origin)
{
    const struct exec_expr expr = {.kind = EXEC_EXPR_COLUMN, .u.column = {.index = index}};

    return builder_expr(plan, &expr, origin);
}

uint32_t builder_column_named(struct plan_builder *plan, const char *name,
                              const struct plan_origin *origin)
{
    const struct exec_expr expr = {.kind = EXEC_EXPR_COLUMN,
                                   .u.column = {.name = builder_text(plan, name, strlen(name))}};

    return builder_expr(plan, &expr, origin);
}

uint32_t builder_call(struct plan_builder *plan, const char *function, const uint32_t *args,
                      uint32_t arg_count, const struct plan_origin *origin)
{
    uint32_t *copy = builder_alloc(plan, (arg_count + 1) * sizeof *copy);

    memcpy(copy, args, arg_count * sizeof *copy);
    const struct exec_expr expr = {
        .kind = EXEC_EXPR_CALL,
        .u.call = {.function = builder_text(plan, function, strlen(function)),
                   .args = copy,
                   .arg_count = arg_count},
    };
    return builder_expr(plan, &expr, origin);
}

uint32_t builder_literal(struct plan_builder *plan, const struct exec_literal *literal,
                         const struct plan_origin *origin)
{
    const struct exec_expr expr = {.kind = EXEC_EXPR_LITERAL, .u.literal = *literal};

    return builder_expr(plan, &expr, origin);
}

uint32_t builder_literal_text(struct plan_builder *plan, const char *text,
                              const struct plan_origin *origin)
{
    const size_t size = strlen(text);
    const struct exec_literal literal = {
        .type = {.kind = EXEC_TYPE_UTF8},
        .value.text = {.bytes = builder_text(plan, text, size), .size = size},
    };

    return builder_literal(plan, &literal, origin);
}

struct exec_job_spec builder_spec(const struct plan_builder *plan)
{
    return (struct exec_job_spec){
        .rels = plan->rels,
        .rel_count = plan->rel_count,
        .exprs = plan->exprs,
        .expr_count = plan->expr_count,
    };
}
