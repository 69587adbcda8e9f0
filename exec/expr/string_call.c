#include "expr/string_call.h"
#include "expr/char_case.h"

#include <string.h>

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t string_prefix_bytes(const char *text, size_t bytes, uint64_t characters)
{
    size_t at = 0;

    while (at < bytes && characters > 0) {
        at++;
        while (at < bytes && is_continuation(text[at])) {
            at++;
        }
        characters--;
    }
    return at;
}

int64_t string_characters(const char *text, size_t bytes)
{
    int64_t count = 0;

    for (size_t i = 0; i < bytes; i++) {
        count += !is_continuation(text[i]);
    }
    return count;
}

enum exec_code string_measure(struct expr_call *call, struct exec_error *err)
{
    const bool by_bytes = call->args[0].kind == EXEC_TYPE_BINARY;
    int64_t *out = call->out;

    (void)err;
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const struct string_view *view = expr_arg_view(&call->args[0], row);
        out[row] =
            by_bytes ? (int64_t)view->size : string_characters(string_view_bytes(view), view->size);
    }
    return EXEC_OK;
}

/* Room for a result of at most `bytes` bytes: `inside` when that is enough. */
static char *result_room(struct expr_call *call, size_t bytes, char inside[STRING_INLINE_BYTES])
{
    return bytes <= STRING_INLINE_BYTES ? inside : nu_arena_alloc(call->scratch, bytes, 1);
}

enum exec_code string_change(struct expr_call *call, struct exec_error *err)
{
    const bool to_upper = call->expr->variant == TEXT_UPPER;
    struct string_view *out = call->out;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const struct string_view *view = expr_arg_view(&call->args[0], row);
        char inside[STRING_INLINE_BYTES];
        if (!expr_call_present(call, row)) {
            continue;
        }
        char *bytes = result_room(call, char_case_room(view->size), inside);
        if (bytes == NULL) {
            return expr_no_memory(call->scratch, err);
        }
        const size_t size = char_case_change(string_view_bytes(view), view->size, to_upper, bytes);
        if (size > INT32_MAX) {
            return EXEC_FAIL(err, EXEC_OVERFLOW, "%s: a text of %zu bytes; at most 2 GiB",
                             expr_function_name(call->expr->function), size);
        }
        out[row] = string_view_make(bytes, (uint32_t)size);
    }
    return EXEC_OK;
}

enum exec_code string_concat(struct expr_call *call, struct exec_error *err)
{
    struct string_view *out = call->out;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        char inside[STRING_INLINE_BYTES];
        char *bytes = inside;
        uint64_t size = 0;
        uint64_t at = 0;
        for (uint32_t i = 0; i < call->arg_count; i++) {
            size += expr_arg_view(&call->args[i], row)->size;
        }
        if (size > INT32_MAX) {
            return EXEC_FAIL(err, EXEC_OVERFLOW, "concat: a text of %llu bytes; at most 2 GiB",
                             (unsigned long long)size);
        }
        if (size > STRING_INLINE_BYTES) {
            bytes = nu_arena_alloc(call->scratch, size, 1);
            if (bytes == NULL) {
                return expr_no_memory(call->scratch, err);
            }
        }
        for (uint32_t i = 0; i < call->arg_count; i++) {
            const struct string_view *view = expr_arg_view(&call->args[i], row);
            memcpy(bytes + at, string_view_bytes(view), view->size);
            at += view->size;
        }
        out[row] = string_view_make(bytes, (uint32_t)size);
    }
    return EXEC_OK;
}

/* Places before the first character count, as SQL has it: substring('abc', -1, 3) is 'a'. */
enum exec_code string_part(struct expr_call *call, struct exec_error *err)
{
    struct string_view *out = call->out;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const struct string_view *view = expr_arg_view(&call->args[0], row);
        const char *text = string_view_bytes(view);
        const struct vec *place = &call->args[1];
        const int64_t begin = ((const int64_t *)place->data)[expr_arg_row(place, row)];
        int64_t end = INT64_MAX;
        if (!expr_call_present(call, row)) {
            continue;
        }
        if (call->arg_count == 3) {
            const struct vec *length = &call->args[2];
            const int64_t count = ((const int64_t *)length->data)[expr_arg_row(length, row)];
            if (count < 0) {
                return EXEC_FAIL(err, EXEC_BAD_ARGUMENT, "substring: a length of %lld characters",
                                 (long long)count);
            }
            if (__builtin_add_overflow(begin, count, &end)) {
                end = INT64_MAX;
            }
        }
        const uint64_t skipped = begin > 1 ? (uint64_t)begin - 1 : 0;
        const uint64_t until = end > 1 ? (uint64_t)end - 1 : 0;
        const size_t first = string_prefix_bytes(text, view->size, skipped);
        const size_t bytes =
            until <= skipped
                ? 0
                : string_prefix_bytes(text + first, view->size - first, until - skipped);
        out[row] = string_view_make(text + first, (uint32_t)bytes);
    }
    return EXEC_OK;
}
