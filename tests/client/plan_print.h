#ifndef TESTS_CLIENT_PLAN_PRINT_H
#define TESTS_CLIENT_PLAN_PRINT_H

#include "sql/plan_builder.h"

/* A plan as text, for comparing: relations in order, one a line, expressions as
 * (function arg ...), columns as #3 or their name, texts in quotes. */
void plan_print_expr(const struct plan_builder *plan, uint32_t expr, char *text_out, size_t room);
void plan_print(const struct plan_builder *plan, char *text_out, size_t room);

#endif
