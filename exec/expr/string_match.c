#include "expr/char_case.h"
#include "expr/like_pieces.h"
#include "expr/string_call.h"
#include "expr/text_find.h"

#include <string.h>

/* Texts that begin with, end with, contain or are LIKE another. */

struct like {
    bool any_case;
    struct string_view escape; /* of no bytes: none */
};

static bool is_escape(const struct like *like, const char *pattern, size_t bytes)
{
    return like->escape.size != 0 && bytes > like->escape.size &&
           memcmp(pattern, string_view_bytes(&like->escape), like->escape.size) == 0;
}

/* One pattern character at `pattern` against the text; 0: no match, else the bytes of text used. */
static size_t match_one(const struct like *like, const char *text, size_t text_bytes,
                        const char *pattern, size_t pattern_bytes, size_t *pattern_used)
{
    size_t text_used = 1, used = 1;

    *pattern_used = 1;
    if (text_bytes == 0) {
        return 0;
    }
    if (is_escape(like, pattern, pattern_bytes)) {
        pattern += like->escape.size;
        pattern_bytes -= like->escape.size;
        *pattern_used += like->escape.size;
    } else if (*pattern == '_') {
        return string_prefix_bytes(text, text_bytes, 1);
    }
    if (!like->any_case) {
        return *text == *pattern;
    }
    const bool same = char_case_lower_at(text, text_bytes, &text_used) ==
                      char_case_lower_at(pattern, pattern_bytes, &used);
    *pattern_used += used - 1;
    return same ? text_used : 0;
}

/* Backtracks to the last % only: what an earlier % took can stay as short as it was. */
static bool matches(const struct like *like, const char *text, size_t text_bytes,
                    const char *pattern, size_t pattern_bytes)
{
    size_t at = 0;
    size_t in_pattern = 0;
    size_t star = SIZE_MAX; /* pattern behind the last % */
    size_t star_at = 0;     /* text that % has taken up to */

    while (at < text_bytes || in_pattern < pattern_bytes) {
        const char *next = pattern + in_pattern;
        const size_t left = pattern_bytes - in_pattern;
        if (left > 0 && *next == '%' && !is_escape(like, next, left)) {
            star = ++in_pattern;
            star_at = at;
            continue;
        }
        size_t pattern_used = 0;
        size_t used = 0;
        if (left > 0) {
            used = match_one(like, text + at, text_bytes - at, next, left, &pattern_used);
        }
        if (used != 0) {
            at += used;
            in_pattern += pattern_used;
            continue;
        }
        if (star == SIZE_MAX || star_at >= text_bytes) {
            return false;
        }
        star_at += string_prefix_bytes(text + star_at, text_bytes - star_at, 1);
        at = star_at;
        in_pattern = star;
    }
    return true;
}

bool string_like(const char *text, size_t text_bytes, const char *pattern, size_t pattern_bytes,
                 bool any_case)
{
    const struct like like = {.any_case = any_case, .escape = string_view_make("\\", 1)};

    return matches(&like, text, text_bytes, pattern, pattern_bytes);
}

/* LIKE with one pattern for all rows that can be cut into pieces; false: it is none. */
static bool test_pieces(struct expr_call *call)
{
    const struct string_view *pattern = expr_arg_view(&call->args[1], 0);
    struct like_pieces pieces;
    uint8_t *out = call->out;

    if (call->expr->variant != TEXT_LIKE || call->arg_count != 2 || !call->args[1].constant ||
        !like_pieces_cut(&pieces, string_view_bytes(pattern), pattern->size)) {
        return false;
    }
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const struct string_view *text = expr_arg_view(&call->args[0], row);
        if (expr_call_present(call, row)) {
            out[row] = like_pieces_match(&pieces, string_view_bytes(text), text->size);
        }
    }
    return true;
}

static bool test_one(enum text_op op, const struct like *like, const char *text, size_t bytes,
                     const char *other, size_t other_bytes)
{
    switch (op) {
        case TEXT_STARTS_WITH: return bytes >= other_bytes && memcmp(text, other, other_bytes) == 0;
        case TEXT_ENDS_WITH:
            return bytes >= other_bytes &&
                   memcmp(text + bytes - other_bytes, other, other_bytes) == 0;
        case TEXT_CONTAINS: return text_find(text, bytes, other, other_bytes) != NULL;
        default: return matches(like, text, bytes, other, other_bytes);
    }
}

enum exec_code string_test(struct expr_call *call, struct exec_error *err)
{
    const enum text_op op = call->expr->variant;
    struct like like = {.any_case = op == TEXT_ILIKE, .escape = string_view_make("\\", 1)};
    uint8_t *out = call->out;

    if (test_pieces(call)) {
        return EXEC_OK;
    }
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const struct string_view *text = expr_arg_view(&call->args[0], row);
        const struct string_view *other = expr_arg_view(&call->args[1], row);
        if (!expr_call_present(call, row)) {
            continue;
        }
        if (call->arg_count == 3) {
            like.escape = *expr_arg_view(&call->args[2], row);
            if (string_characters(string_view_bytes(&like.escape), like.escape.size) > 1) {
                char escape[EXPR_VALUE_TEXT_BYTES];
                return EXEC_FAIL(err, EXEC_BAD_ARGUMENT, "%s: the escape %s is not one character",
                                 expr_function_name(call->expr->function),
                                 expr_arg_text(call, 2, row, escape));
            }
        }
        out[row] = test_one(op, &like, string_view_bytes(text), text->size,
                            string_view_bytes(other), other->size);
    }
    return EXEC_OK;
}
