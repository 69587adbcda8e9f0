#ifndef EXEC_EXPR_IN_LIST_H
#define EXEC_EXPR_IN_LIST_H

#include "expr/expr_node.h"

/* The kernel of IN: expr->list holds sorted values of the argument's type. Null when the value is
 * not found and the list has a null. */
expr_kernel_fn in_list_find;

/* Sorts a list of values of `kind` in place. */
void in_list_sort(enum exec_type_kind kind, void *list, uint32_t count);

#endif
