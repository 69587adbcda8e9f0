#ifndef CLIENT_SQL_SQL_NAMES_H
#define CLIENT_SQL_SQL_NAMES_H

#include "plan_builder.h"

/* "NAME = EXPR" in a list of the commands. PostgreSQL's grammar reads it as a comparison, and one
 * that binds tighter than "a > 1" or "a IS NULL" behind it, so names are taken off before parsing.
 */

struct sql_names {
    const char **names; /* one an item of the list; NULL: it has none of this form */
    uint32_t count;
};

/* The text with every "NAME =" at the start of an item replaced by as many blanks, so that places
 * in it stay what they were. NAME is an identifier (folded to lower case unless in double quotes),
 * '=' a single equals sign; "(a = b)" and "t.a = b" are comparisons. In the plan's memory. */
const char *sql_names_take(struct plan_builder *plan, const char *text,
                           struct sql_names *names_out);

#endif
