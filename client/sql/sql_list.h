#ifndef CLIENT_SQL_SQL_LIST_H
#define CLIENT_SQL_SQL_LIST_H

#include "sql_expr.h"

/* Comma separated expressions with names, as in a select list: "a, b as x, n = count()". */

struct sql_item {
    const char *name; /* given, or the column's or function's own, or "column3" */
    bool named;       /* given in the text */
    bool equals;      /* given as "name = expr" */
    json_t *expr;     /* borrowed from the list's tree */
    long location;
};

struct sql_list {
    json_t *select; /* owned: sql_list_fini */
    struct sql_item *items;
    uint32_t item_count;
};

/* equals_name: "n = expr" names the expression n (sql_names.h), as "expr AS n" does.
 * Anything behind the list (FROM, WHERE, ...) is refused. */
enum exec_code sql_list_parse(struct plan_builder *plan, const struct sql_text *text,
                              bool equals_name, struct sql_list *list_out, struct exec_error *err);
void sql_list_fini(struct sql_list *list);

/* One expression, parsed and lowered. 0 and lowering->err. lowering->text must be `text`. */
uint32_t sql_lower_text(struct sql_lowering *lowering);

/* "a, b desc, -c": sort keys over lowering->scope. A minus before a key means descending with NULLs
 * last; DESC alone puts NULLs first, as PostgreSQL does. lowering->text->prefix must end in
 * ORDER BY. */
enum exec_code sql_lower_order(struct sql_lowering *lowering, struct exec_sort_key **keys_out,
                               uint32_t *count_out);

/* Of a SortBy node; minus: the key was written with a minus, see sql_lower_order. */
enum exec_direction sql_sort_direction(json_t *sort_by, bool minus);

#define SQL_SELECT_PREFIX "SELECT "
#define SQL_ORDER_PREFIX "SELECT 1 ORDER BY "

#endif
