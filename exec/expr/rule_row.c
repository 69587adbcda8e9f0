#include "expr/function_rules.h"
#include "hash/hash_vec.h"

/* Functions of whole rows: the value of a subquery that may have one row only, and hashes. */

enum exec_code rule_single_value(struct nu_arena *arena, struct expr **node_ref,
                                 struct exec_error *err)
{
    struct expr *node = *node_ref;

    if (!exec_type_is_integer(node->args[1]->type.kind)) {
        return function_mismatch(node, err);
    }
    node->type = node->args[0]->type;
    node->eval = expr_eval_single_value;
    node->can_raise = true;
    return expr_cast(arena, node->args[1], &function_int64, &node->args[1], err);
}

enum exec_code expr_eval_single_value(const struct expr *expr, const struct batch *in,
                                      struct nu_arena *scratch, struct vec *out,
                                      struct exec_error *err)
{
    struct vec rows;
    const enum exec_code code = expr->args[1]->eval(expr->args[1], in, scratch, &rows, err);

    if (code != EXEC_OK) {
        return code;
    }
    for (uint32_t p = 0; p < in->sel_count; p++) {
        const uint32_t row = batch_row(in, p);
        const int64_t count =
            vec_is_valid(&rows, row) ? ((const int64_t *)rows.data)[expr_arg_row(&rows, row)] : 0;
        if (count > 1) {
            EXEC_FAIL(err, EXEC_BAD_ARGUMENT,
                      "a subquery used as a value gives %lld rows; at most 1", (long long)count);
            err->expr = expr->index;
            return EXEC_BAD_ARGUMENT;
        }
    }
    return expr->args[0]->eval(expr->args[0], in, scratch, out, err);
}

enum exec_code rule_hash(struct nu_arena *arena, struct expr **node_ref, struct exec_error *err)
{
    struct expr *node = *node_ref;

    node->type = (struct exec_type){.kind = EXEC_TYPE_UINT64};
    node->eval = expr_eval_hash;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const enum exec_type_kind kind = node->args[i]->type.kind;
        if (!exec_type_is_integer(kind) || kind == EXEC_TYPE_UINT64) {
            continue;
        }
        const enum exec_code code =
            expr_cast(arena, node->args[i], &function_int64, &node->args[i], err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    return EXEC_OK;
}

enum exec_code expr_eval_hash(const struct expr *expr, const struct batch *in,
                              struct nu_arena *scratch, struct vec *out, struct exec_error *err)
{
    struct vec *args = nu_arena_alloc(scratch, expr->arg_count * sizeof *args, 8);
    uint64_t *hashes = nu_arena_alloc(scratch, BATCH_ROWS * sizeof *hashes, 8);
    void *data;

    if (args == NULL || hashes == NULL ||
        !vec_alloc(expr->type.kind, in->row_count, scratch, out, &data)) {
        return expr_no_memory(scratch, err);
    }
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        const enum exec_code code = expr->args[i]->eval(expr->args[i], in, scratch, &args[i], err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    hash_keys(in, args, expr->arg_count, 64, hashes);
    for (uint32_t p = 0; p < in->sel_count; p++) {
        ((uint64_t *)data)[batch_row(in, p)] = hashes[p];
    }
    return EXEC_OK;
}
