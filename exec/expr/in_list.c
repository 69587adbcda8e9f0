#include "expr/in_list.h"

#include "vec/each_name.h"

#define K_TEMPLATE "expr/in_list.tmpl.h"
#include "vec/each_type.h"
#undef K_TEMPLATE

static const struct {
    void (*find)(const struct expr_call *call, const void *list, uint32_t list_count,
                 uint8_t *found);
    void (*sort)(void *list, uint32_t count);
} storages[VEC_STORAGE_COUNT] = {
#define VEC_INTEGER(TAG, tag, c_type) [VEC_##TAG] = {in_list_##tag, list_sort_##tag},
#define VEC_FLOAT(TAG, tag, c_type) [VEC_##TAG] = {in_list_##tag, list_sort_##tag},
#define VEC_VIEW(TAG, tag, c_type) [VEC_##TAG] = {in_list_##tag, list_sort_##tag},
#include "vec/vec_types.def"
};

void in_list_sort(enum exec_type_kind kind, void *list, uint32_t count)
{
    storages[vec_storage(kind)].sort(list, count);
}

enum exec_code in_list_find(struct expr_call *call, struct exec_error *err)
{
    const struct expr *expr = call->expr;
    uint8_t *found = call->out;

    storages[vec_storage(call->args[0].kind)].find(call, expr->list, expr->list_count, found);
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        if (expr->list_has_null && !found[row] && !expr_call_clear(call, row)) {
            return expr_no_memory(call->scratch, err);
        }
        found[row] ^= expr->negated;
    }
    return EXEC_OK;
}
