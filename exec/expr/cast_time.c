#include "expr/cast.h"
#include "vec/civil_date.h"

enum { DAY_SECONDS = 86400 };

/* Ticks of the type in a day; a date counts days. */
static int64_t ticks_per_day(const struct exec_type *type)
{
    return type->kind == EXEC_TYPE_DATE32 ? 1 : civil_unit_ticks(type->unit) * DAY_SECONDS;
}

static int64_t load(const struct vec *vec, uint32_t row)
{
    return vec->kind == EXEC_TYPE_DATE32 ? ((const int32_t *)vec->data)[row]
                                         : ((const int64_t *)vec->data)[row];
}

enum exec_code cast_time(struct expr_call *call, struct exec_error *err)
{
    const int64_t from_ticks = ticks_per_day(&call->expr->args[0]->type);
    const int64_t to_ticks = ticks_per_day(&call->expr->type);
    const bool to_date = call->expr->type.kind == EXEC_TYPE_DATE32;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        int64_t value;
        bool fits = true;
        if (!expr_call_present(call, row)) {
            continue;
        }
        value = load(&call->args[0], row);
        if (to_ticks >= from_ticks) {
            fits = !__builtin_mul_overflow(value, to_ticks / from_ticks, &value);
        } else {
            value = civil_floor_div(value, from_ticks / to_ticks);
        }
        if (to_date) {
            fits &= value >= INT32_MIN && value <= INT32_MAX;
            ((int32_t *)call->out)[row] = (int32_t)value;
        } else {
            ((int64_t *)call->out)[row] = value;
        }
        if (!fits) {
            const enum exec_code code = cast_refuse(call, row, false, err);
            if (code != EXEC_OK) {
                return code;
            }
        }
    }
    return EXEC_OK;
}
