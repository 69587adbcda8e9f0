#include "expr/string_call.h"

#include <string.h>

/* trim, replace, position. */

/* Whether the character of `bytes` bytes at `text` is one of the set. */
static bool is_in_set(const char *text, size_t bytes, const char *set, size_t set_bytes)
{
    for (size_t at = 0; at < set_bytes;) {
        const size_t used = string_prefix_bytes(set + at, set_bytes - at, 1);
        if (used == bytes && memcmp(set + at, text, bytes) == 0) {
            return true;
        }
        at += used;
    }
    return false;
}

/* Bytes of the last character. */
static size_t last_bytes(const char *text, size_t bytes)
{
    size_t used = 1;

    while (used < bytes && ((unsigned char)text[bytes - used] & 0xc0) == 0x80) {
        used++;
    }
    return used;
}

static struct string_view trimmed(const struct string_view *view, const char *set, size_t set_bytes,
                                  enum trim_side side)
{
    const char *text = string_view_bytes(view);
    size_t bytes = view->size;

    while (side != TRIM_RIGHT && bytes > 0) {
        const size_t used = string_prefix_bytes(text, bytes, 1);
        if (!is_in_set(text, used, set, set_bytes)) {
            break;
        }
        text += used;
        bytes -= used;
    }
    while (side != TRIM_LEFT && bytes > 0) {
        const size_t used = last_bytes(text, bytes);
        if (!is_in_set(text + bytes - used, used, set, set_bytes)) {
            break;
        }
        bytes -= used;
    }
    return string_view_make(text, (uint32_t)bytes);
}

enum exec_code string_trim(struct expr_call *call, struct exec_error *err)
{
    struct string_view *out = call->out;

    (void)err;
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        struct string_view set = string_view_make(" ", 1);
        if (!expr_call_present(call, row)) {
            continue;
        }
        if (call->arg_count == 2) {
            set = *expr_arg_view(&call->args[1], row);
        }
        out[row] = trimmed(expr_arg_view(&call->args[0], row), string_view_bytes(&set), set.size,
                           call->expr->variant);
    }
    return EXEC_OK;
}

static const char *find(const char *text, size_t bytes, const struct string_view *what)
{
    return memmem(text, bytes, string_view_bytes(what), what->size);
}

static uint64_t occurrences(const char *text, size_t bytes, const struct string_view *what)
{
    uint64_t count = 0;

    for (const char *at = find(text, bytes, what); at != NULL; count++) {
        at += what->size;
        at = find(at, (size_t)(text + bytes - at), what);
    }
    return count;
}

/* `out` has room for the result. */
static void replace_all(const char *text, size_t bytes, const struct string_view *what,
                        const struct string_view *with, char *out)
{
    const char *end = text + bytes;

    for (const char *at = find(text, bytes, what); at != NULL;
         at = find(text, (size_t)(end - text), what)) {
        memcpy(out, text, (size_t)(at - text));
        out += at - text;
        memcpy(out, string_view_bytes(with), with->size);
        out += with->size;
        text = at + what->size;
    }
    memcpy(out, text, (size_t)(end - text));
}

enum exec_code string_replace(struct expr_call *call, struct exec_error *err)
{
    struct string_view *out = call->out;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const struct string_view *text = expr_arg_view(&call->args[0], row);
        const struct string_view *what = expr_arg_view(&call->args[1], row);
        const struct string_view *with = expr_arg_view(&call->args[2], row);
        char inside[STRING_INLINE_BYTES];
        if (!expr_call_present(call, row)) {
            continue;
        }
        const uint64_t count =
            what->size == 0 ? 0 : occurrences(string_view_bytes(text), text->size, what);
        if (count == 0) {
            out[row] = *text;
            continue;
        }
        const uint64_t bytes = text->size - count * what->size + count * with->size;
        if (bytes > INT32_MAX) {
            return EXEC_FAIL(err, EXEC_OVERFLOW, "replace: a text of %llu bytes; at most 2 GiB",
                             (unsigned long long)bytes);
        }
        char *room = bytes <= sizeof inside ? inside : nu_arena_alloc(call->scratch, bytes, 1);
        if (room == NULL) {
            return expr_no_memory(call->scratch, err);
        }
        replace_all(string_view_bytes(text), text->size, what, with, room);
        out[row] = string_view_make(room, (uint32_t)bytes);
    }
    return EXEC_OK;
}

enum exec_code string_position(struct expr_call *call, struct exec_error *err)
{
    int64_t *out = call->out;

    (void)err;
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const struct string_view *text = expr_arg_view(&call->args[0], row);
        const struct string_view *what = expr_arg_view(&call->args[1], row);
        if (!expr_call_present(call, row)) {
            continue;
        }
        const char *bytes = string_view_bytes(text);
        const char *at = find(bytes, text->size, what);
        out[row] = at == NULL ? 0 : string_characters(bytes, (size_t)(at - bytes)) + 1;
    }
    return EXEC_OK;
}
