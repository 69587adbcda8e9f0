#ifndef CLIENT_SQL_SQL_SCOPE_H
#define CLIENT_SQL_SQL_SCOPE_H

#include "exec/error.h"
#include "plan_builder.h"

#include <stdbool.h>

/* What names mean while an expression is lowered: columns of one or two inputs, and names given to
 * expressions of the same level (select aliases, aggregate results). */

struct sql_name {
    const char *name;
    uint32_t input;  /* which input it belongs to; SQL_SCOPE_ALIAS: none */
    uint32_t column; /* 1-based column of the relation below; 0: expr stands for it */
    uint32_t expr;
    bool qualified_only; /* found as r.id, not as id */
};

enum { SQL_SCOPE_ALIAS = UINT32_MAX, SQL_SCOPE_INPUTS_MAX = 2, SQL_QUALIFIERS_MAX = 3 };

struct sql_input {
    const char *qualifiers[SQL_QUALIFIERS_MAX]; /* "l", "flights", ...; NULL: unused */
};

struct sql_scope {
    struct plan_builder *plan;
    struct sql_name *names;
    uint32_t name_count, name_room;
    struct sql_input inputs[SQL_SCOPE_INPUTS_MAX];
    uint32_t input_count;
    bool aliases_first; /* ORDER BY: a select alias hides a column of the same name */
    bool grouped;       /* keys and aggregates only: what is not found is a column without one */
    bool open; /* the columns are not known here: what is not found is left to the engine by name */
};

void sql_scope_init(struct sql_scope *scope, struct plan_builder *plan);

/* Every column of a schema; the columns of the relation below start at first_column (1-based). */
void sql_scope_add_schema(struct sql_scope *scope, const struct sql_input *input,
                          const struct exec_schema *schema, uint32_t first_column);
void sql_scope_add_alias(struct sql_scope *scope, const char *name, uint32_t column, uint32_t expr);

/* The index of an input with that qualifier; -1: none. */
int sql_scope_input(const struct sql_scope *scope, const char *qualifier);

/* Finds one name. Columns go before aliases unless the scope says otherwise. Returns EXEC_OK,
 * EXEC_COLUMN_NOT_FOUND or EXEC_BAD_SPEC (ambiguous) and a message; *name_out NULL with EXEC_OK:
 * open scope, by name. */
enum exec_code sql_scope_find(const struct sql_scope *scope, const char *qualifier,
                              const char *name, const struct sql_name **name_out,
                              char message_out[256]);

#endif
