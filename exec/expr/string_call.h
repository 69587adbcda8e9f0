#ifndef EXEC_EXPR_STRING_CALL_H
#define EXEC_EXPR_STRING_CALL_H

#include "expr/expr_node.h"
#include "vec/string_view.h"

/* Kernels of strings; expr->variant says which. Characters are code points of valid UTF-8. */
enum text_op {
    TEXT_LENGTH,
    TEXT_LOWER,
    TEXT_UPPER,
    TEXT_STARTS_WITH,
    TEXT_ENDS_WITH,
    TEXT_CONTAINS,
    TEXT_LIKE,
    TEXT_ILIKE,
};
enum trim_side { TRIM_BOTH, TRIM_LEFT, TRIM_RIGHT };

expr_kernel_fn string_measure, string_change, string_concat, string_part;
expr_kernel_fn string_test;                                  /* string_match.c */
expr_kernel_fn string_trim, string_replace, string_position; /* string_edit.c */

/* Bytes of the first `characters` characters, all of it when there are fewer. */
size_t string_prefix_bytes(const char *text, size_t bytes, uint64_t characters);
int64_t string_characters(const char *text, size_t bytes);

/* Whether `text` matches a LIKE pattern with a backslash as its escape; any_case: letters match in
 * either case. */
bool string_like(const char *text, size_t text_bytes, const char *pattern, size_t pattern_bytes,
                 bool any_case);

#endif
