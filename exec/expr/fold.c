#include "expr/fold.h"

#include <string.h>

static enum exec_code eval_literal(const struct expr *expr, const struct batch *in,
                                   struct nu_arena *scratch, struct vec *out,
                                   struct exec_error *err)
{
    (void)in;
    (void)scratch;
    (void)err;
    *out = expr->literal;
    return EXEC_OK;
}

struct expr *fold_literal(struct nu_arena *arena, const struct exec_type *type, const void *value,
                          uint32_t index)
{
    struct expr *node = nu_arena_alloc(arena, sizeof *node, _Alignof(struct expr));
    const size_t width = exec_type_width(type->kind);
    void *copy = nu_arena_calloc(arena, width, 16);

    if (node == NULL || copy == NULL) {
        return NULL;
    }
    *node = (struct expr){.kind = EXPR_LITERAL,
                          .index = index,
                          .type = *type,
                          .eval = eval_literal,
                          .literal = vec_null(type->kind)};
    if (value != NULL) {
        memcpy(copy, value, width);
        node->literal = (struct vec){.data = copy, .kind = type->kind, .constant = true};
    }
    return node;
}

enum exec_code fold_expr(struct nu_arena *arena, struct expr **expr, struct exec_error *err)
{
    const struct batch one = {.row_count = 1, .sel_count = 1};
    struct exec_error ignored;
    struct expr *literal;
    struct vec value;

    if ((*expr)->kind == EXPR_LITERAL || (*expr)->kind == EXPR_COLUMN) {
        return EXEC_OK;
    }
    for (uint32_t i = 0; i < (*expr)->arg_count; i++) {
        if ((*expr)->args[i]->kind != EXPR_LITERAL) {
            return EXEC_OK;
        }
    }
    if ((*expr)->eval(*expr, &one, arena, &value, &ignored) != EXEC_OK) {
        return EXEC_OK; /* raises where and if a row is evaluated */
    }
    literal = fold_literal(arena, &(*expr)->type, vec_is_valid(&value, 0) ? value.data : NULL,
                           (*expr)->index);
    if (literal == NULL) {
        return expr_no_memory(arena, err);
    }
    *expr = literal;
    return EXEC_OK;
}
