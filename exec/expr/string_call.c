#include "expr/string_call.h"

#include <string.h>

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Bytes of the first `characters` characters, all of it when there are fewer. */
static size_t prefix_bytes(const char *text, size_t bytes, uint64_t characters)
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

static int64_t count_characters(const struct string_view *view)
{
    const char *text = string_view_bytes(view);
    int64_t count = 0;

    for (uint32_t i = 0; i < view->size; i++) {
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
        out[row] = by_bytes ? (int64_t)view->size : count_characters(view);
    }
    return EXEC_OK;
}

static void change_case(char *bytes, size_t size, char first, char last)
{
    for (size_t i = 0; i < size; i++) {
        const bool inside = bytes[i] >= first && bytes[i] <= last;
        bytes[i] = (char)(bytes[i] ^ (inside ? 0x20 : 0));
    }
}

static struct string_view trimmed(const struct string_view *view)
{
    const char *bytes = string_view_bytes(view);
    uint32_t size = view->size;

    while (size > 0 && bytes[0] == ' ') {
        bytes++;
        size--;
    }
    while (size > 0 && bytes[size - 1] == ' ') {
        size--;
    }
    return string_view_make(bytes, size);
}

enum exec_code string_change(struct expr_call *call, struct exec_error *err)
{
    const enum text_op op = call->expr->variant;
    struct string_view *out = call->out;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const struct string_view *view = expr_arg_view(&call->args[0], row);
        char inside[STRING_INLINE_BYTES];
        char *bytes = inside;
        if (op == TEXT_TRIM) {
            out[row] = trimmed(view);
            continue;
        }
        if (view->size > STRING_INLINE_BYTES) {
            bytes = nu_arena_alloc(call->scratch, view->size, 1);
            if (bytes == NULL) {
                return expr_no_memory(call->scratch, err);
            }
        }
        memcpy(bytes, string_view_bytes(view), view->size);
        change_case(bytes, view->size, op == TEXT_LOWER ? 'A' : 'a', op == TEXT_LOWER ? 'Z' : 'z');
        out[row] = string_view_make(bytes, view->size);
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
        const size_t first = prefix_bytes(text, view->size, skipped);
        const size_t bytes =
            until <= skipped ? 0 : prefix_bytes(text + first, view->size - first, until - skipped);
        out[row] = string_view_make(text + first, (uint32_t)bytes);
    }
    return EXEC_OK;
}

static char ascii_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* One pattern character at `pattern` against the text; 0: no match, else the bytes of text used. */
static size_t match_one(const char *text, size_t text_bytes, const char *pattern,
                        size_t pattern_bytes, bool any_case, size_t *pattern_used)
{
    *pattern_used = 1;
    if (text_bytes == 0) {
        return 0;
    }
    if (*pattern == '_') {
        return prefix_bytes(text, text_bytes, 1);
    }
    if (*pattern == '\\' && pattern_bytes > 1) {
        pattern++;
        *pattern_used = 2;
    }
    return any_case ? ascii_lower(*text) == ascii_lower(*pattern) : *text == *pattern;
}

/* Backtracks to the last % only: what an earlier % took can stay as short as it was. */
bool string_like(const char *text, size_t text_bytes, const char *pattern, size_t pattern_bytes,
                 bool any_case)
{
    size_t at = 0;
    size_t in_pattern = 0;
    size_t star = SIZE_MAX; /* pattern behind the last % */
    size_t star_at = 0;     /* text that % has taken up to */

    while (at < text_bytes || in_pattern < pattern_bytes) {
        if (in_pattern < pattern_bytes && pattern[in_pattern] == '%') {
            star = ++in_pattern;
            star_at = at;
            continue;
        }
        size_t pattern_used = 0;
        size_t used = 0;
        if (in_pattern < pattern_bytes) {
            used = match_one(text + at, text_bytes - at, pattern + in_pattern,
                             pattern_bytes - in_pattern, any_case, &pattern_used);
        }
        if (used != 0) {
            at += used;
            in_pattern += pattern_used;
            continue;
        }
        if (star == SIZE_MAX || star_at >= text_bytes) {
            return false;
        }
        star_at += prefix_bytes(text + star_at, text_bytes - star_at, 1);
        at = star_at;
        in_pattern = star;
    }
    return true;
}

static bool test_one(enum text_op op, const char *text, size_t bytes, const char *other,
                     size_t other_bytes)
{
    switch (op) {
        case TEXT_STARTS_WITH: return bytes >= other_bytes && memcmp(text, other, other_bytes) == 0;
        case TEXT_ENDS_WITH:
            return bytes >= other_bytes &&
                   memcmp(text + bytes - other_bytes, other, other_bytes) == 0;
        case TEXT_CONTAINS: return memmem(text, bytes, other, other_bytes) != NULL;
        default: return string_like(text, bytes, other, other_bytes, op == TEXT_ILIKE);
    }
}

enum exec_code string_test(struct expr_call *call, struct exec_error *err)
{
    uint8_t *out = call->out;

    (void)err;
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const struct string_view *text = expr_arg_view(&call->args[0], row);
        const struct string_view *other = expr_arg_view(&call->args[1], row);
        out[row] = test_one(call->expr->variant, string_view_bytes(text), text->size,
                            string_view_bytes(other), other->size);
    }
    return EXEC_OK;
}
