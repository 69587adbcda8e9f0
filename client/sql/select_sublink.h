#ifndef CLIENT_SQL_SELECT_SUBLINK_H
#define CLIENT_SQL_SELECT_SUBLINK_H

#include "select_query.h"

/* Subqueries on their way to a join: what conditions (select_sublink.c) and values
 * (select_scalar.c) share. */

/* A subquery whose FROM and WHERE are lowered and whose conditions on the outer query are left. */
struct inner {
    struct select_query query;
    json_t *select;
    bool whole;                         /* lowered as a statement: the frame is its output */
    const struct select_domain *domain; /* ... within it, the last columns of the output; or NULL */
};

enum exec_code sublink_lower_from(struct select_query *outer, json_t *select, struct inner *inner);
void sublink_fini(struct inner *inner);

/* Only FROM, WHERE and a select list (DISTINCT and ORDER BY change no existence). */
bool sublink_is_plain(json_t *select);

/* inner = outer, as keys; other conditions go to `rest`. When the join answers IN, its keys are the
 * values compared and all of the conditions go to `rest`. */
enum exec_code sublink_keys(struct inner *inner, bool answers_in, struct select_join *join,
                            json_t *rest);

/* (SELECT ...) as a value. */
uint32_t select_scalar(struct select_query *query, json_t *select, long location);

/* x op ANY (SELECT ...) as a value that may be NULL; ALL when `all`. */
uint32_t select_quantified(struct select_query *query, json_t *sublink, bool all, long location);

#endif
