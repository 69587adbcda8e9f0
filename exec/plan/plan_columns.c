#include "plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Which columns an error of values is about. */

enum { NAMED_MAX = 4 };

struct names {
    const struct exec_job_spec *spec;
    uint32_t count; /* one more than NAMED_MAX: there are others */
    const struct exec_expr *columns[NAMED_MAX];
};

static bool same_column(const struct exec_expr *a, const struct exec_expr *b)
{
    if (a->u.column.name == NULL || b->u.column.name == NULL) {
        return a->u.column.name == b->u.column.name && a->u.column.index == b->u.column.index;
    }
    return strcmp(a->u.column.name, b->u.column.name) == 0;
}

static void add_column(struct names *names, const struct exec_expr *column)
{
    for (uint32_t i = 0; i < names->count && i < NAMED_MAX; i++) {
        if (same_column(names->columns[i], column)) {
            return;
        }
    }
    if (names->count < NAMED_MAX) {
        names->columns[names->count] = column;
    }
    names->count++;
}

/* As deep as spec_check allows, and no further than one column too many. */
static void add_columns(struct names *names, uint32_t index)
{
    const struct exec_expr *expr = index == 0 ? NULL : &names->spec->exprs[index - 1];

    if (expr == NULL || names->count > NAMED_MAX) {
        return;
    }
    switch (expr->kind) {
        case EXEC_EXPR_COLUMN: add_column(names, expr); break;
        case EXEC_EXPR_CALL:
            for (uint32_t a = 0; a < expr->u.call.arg_count; a++) {
                add_columns(names, expr->u.call.args[a]);
            }
            break;
        case EXEC_EXPR_CAST: add_columns(names, expr->u.cast.arg); break;
        case EXEC_EXPR_IN_LIST: add_columns(names, expr->u.in_list.arg); break;
        case EXEC_EXPR_CASE:
            for (uint32_t b = 0; b < expr->u.case_when.branch_count; b++) {
                add_columns(names, expr->u.case_when.branches[b].when);
                add_columns(names, expr->u.case_when.branches[b].then);
            }
            add_columns(names, expr->u.case_when.otherwise);
            break;
        default: break;
    }
}

/* What the relation's expressions are over; NULL: not known. */
static const struct exec_schema *input_schema(const struct plan *plan, uint32_t rel)
{
    for (uint32_t r = 0; r < plan->rel_count; r++) {
        const struct plan_rel *found = &plan->rels[r];
        if (found->index == rel) {
            return found->input_count == 0   ? &found->schema
                   : found->input_count == 1 ? &found->inputs[0]->schema
                                             : &found->both;
        }
    }
    return NULL;
}

static const char *column_name(const struct exec_expr *column, const struct exec_schema *schema)
{
    const uint32_t index = column->u.column.index;

    if (column->u.column.name != NULL) {
        return column->u.column.name;
    }
    return schema == NULL || index == 0 || index > schema->field_count
               ? NULL
               : schema->fields[index - 1].name;
}

void plan_name_columns(const struct plan *plan, struct exec_error *err)
{
    const struct exec_schema *schema = input_schema(plan, err->rel);
    struct names names = {.spec = plan->spec};
    size_t used = strlen(err->detail);

    if (err->expr > plan->spec->expr_count) {
        return;
    }
    add_columns(&names, err->expr);
    for (uint32_t i = 0; i < names.count && used < sizeof err->detail; i++) {
        const char *before = i > 0 ? ", " : names.count > 1 ? " (columns " : " (column ";
        const char *behind = i + 1 < names.count && i < NAMED_MAX ? "" : ")";
        char *at = err->detail + used;
        const size_t room = sizeof err->detail - used;
        const char *name = i < NAMED_MAX ? column_name(names.columns[i], schema) : "...";
        if (name != NULL) {
            (void)snprintf(at, room, "%s%.100s%s", before, name, behind);
        } else {
            (void)snprintf(at, room, "%s%" PRIu32 " of the input%s", before,
                           names.columns[i]->u.column.index, behind);
        }
        used += strlen(at);
    }
}
