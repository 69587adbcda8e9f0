#include "expr/cast.h"
#include "expr/value_text.h"

#include <string.h>

enum exec_code cast_parse(struct expr_call *call, struct exec_error *err)
{
    const struct exec_type *to = &call->expr->type;
    const size_t width = exec_type_width(to->kind);

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const struct string_view *view = expr_arg_view(&call->args[0], row);
        enum value_parse result;
        enum exec_code code;
        if (!expr_call_present(call, row)) {
            continue;
        }
        result = value_parse_in(call->expr->prepared, to, string_view_bytes(view), view->size,
                                (unsigned char *)call->out + row * width);
        if (result == VALUE_OK) {
            continue;
        }
        code = cast_refuse(call, row, result == VALUE_MALFORMED, err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    return EXEC_OK;
}

enum exec_code cast_format(struct expr_call *call, struct exec_error *err)
{
    const struct exec_type *from = &call->expr->args[0]->type;
    const size_t width = exec_type_width(from->kind);
    const unsigned char *values = call->args[0].data;
    struct string_view *views = call->out;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        char text[VALUE_TEXT_BYTES];
        const char *bytes = text;
        size_t size;
        if (!expr_call_present(call, row)) {
            continue;
        }
        size = value_text(from, values + row * width, text);
        if (size > STRING_INLINE_BYTES) {
            char *kept = nu_arena_alloc(call->scratch, size, 1);
            if (kept == NULL) {
                return expr_no_memory(call->scratch, err);
            }
            memcpy(kept, text, size);
            bytes = kept;
        }
        views[row] = string_view_make(bytes, (uint32_t)size);
    }
    return EXEC_OK;
}
