#ifndef EXEC_EXPR_STRING_CALL_H
#define EXEC_EXPR_STRING_CALL_H

#include "expr/expr_node.h"

/* Kernels of strings; expr->variant says which. Characters are code points of valid UTF-8. */
enum text_op {
    TEXT_LENGTH,
    TEXT_LOWER,
    TEXT_UPPER,
    TEXT_TRIM,
    TEXT_STARTS_WITH,
    TEXT_ENDS_WITH,
    TEXT_CONTAINS,
    TEXT_LIKE,
    TEXT_ILIKE,
};

expr_kernel_fn string_measure, string_change, string_concat, string_part, string_test;

/* Whether `text` matches a LIKE pattern; any_case: ASCII letters match in either case. */
bool string_like(const char *text, size_t text_bytes, const char *pattern, size_t pattern_bytes,
                 bool any_case);

#endif
