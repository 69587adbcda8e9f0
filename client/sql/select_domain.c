/* Subqueries tied to the query around them in any way: by conditions that are no equalities, inside
 * of GROUP BY, LIMIT or a set operation, from two levels up, or in FROM (LATERAL).
 *
 * The domain is the distinct values of the outer columns that the subquery names. It becomes the
 * first input of the subquery's FROM, under the ids the columns have outside, so that every
 * expression finds them; groups have it among their keys, LIMIT counts for each of its rows, the
 * output has its columns behind its own. So the subquery is answered for all its outer rows at
 * once, and a join by the domain (NULL equal to NULL) brings the answers to the rows (Neumann and
 * Kemper, "Unnesting Arbitrary Queries", BTW 2015). */
#include "select_query.h"

/* ---- going back after a try */

struct select_mark select_mark(const struct select_query *query)
{
    return (struct select_mark){.rel_count = query->run->plan->rel_count,
                                .expr_count = query->run->plan->expr_count,
                                .id_count = query->run->id_count,
                                .frame = *query->frame};
}

enum { TRIES_MAX = 200 };

bool select_try_again(struct select_query *query, const struct select_mark *mark)
{
    struct select_run *run = query->run;

    if (run->err->code != EXEC_NOT_IMPLEMENTED || run->try_count == TRIES_MAX) {
        return false;
    }
    run->try_count++;
    run->plan->rel_count = mark->rel_count;
    run->plan->expr_count = mark->expr_count;
    run->id_count = mark->id_count;
    *query->frame = mark->frame;
    return true;
}

/* ---- what a subquery names */

struct domain_search {
    struct select_query *outer;
    const struct select_query *inner; /* whose FROM is known; NULL: none */
    struct select_domain *domain;
};

static bool has_id(const struct select_domain *domain, uint32_t id)
{
    for (uint32_t i = 0; i < domain->count; i++) {
        if (domain->ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* A name that the subquery's own FROM has is its own; others may be of a query further inside: a
 * column too many makes the domain finer, and changes no answer. */
static bool visit_column(void *owner, const char *kind, json_t *body)
{
    struct domain_search *search = owner;
    struct select_query *found = NULL;

    if (strcmp(kind, "ColumnRef") != 0) {
        return true;
    }
    if (search->inner != NULL) {
        struct select_query alone = *search->inner;
        alone.outer = NULL;
        if (select_resolve_quietly(&alone, body, &found) != 0) {
            return true;
        }
    }
    const uint32_t id = select_resolve_quietly(search->outer, body, NULL);
    if (id != 0 && frame_position(search->outer->frame, id) != 0 && !has_id(search->domain, id) &&
        search->domain->count < EXEC_KEYS_MAX) {
        search->domain->ids[search->domain->count++] = id;
    }
    return true;
}

/* The names of a subquery's FROM, as far as they can be had; what is lowered for them is taken
 * back. */
static bool read_names(struct select_query *outer, json_t *select, struct select_query *inner)
{
    const struct select_mark mark = select_mark(outer);
    json_t *item = NULL;
    bool whole = true;
    size_t i;

    select_query_init(inner, outer->run, NULL, outer->ctes);
    whole = select_with(inner, select) == EXEC_OK;
    json_array_foreach(json_object_get(select, "fromClause"), i, item)
    {
        struct select_input input = {0};
        whole = whole && select_lower_item(inner, item, &input.frame, &input.names) == EXEC_OK;
        names_append(outer->run->plan, &inner->names, &input.names);
    }
    outer->run->plan->rel_count = mark.rel_count;
    outer->run->plan->expr_count = mark.expr_count;
    outer->run->id_count = mark.id_count;
    *outer->run->err = (struct exec_error){.code = EXEC_OK};
    return whole;
}

const struct select_domain *select_domain_of(struct select_query *outer, json_t *select)
{
    struct plan_builder *plan = outer->run->plan;
    struct select_domain *domain = builder_alloc(plan, sizeof *domain);
    struct exec_named_expr *exprs = builder_alloc(plan, EXEC_KEYS_MAX * sizeof *exprs);
    struct select_query inner;

    *outer->run->err = (struct exec_error){.code = EXEC_OK};
    const bool known = read_names(outer, select, &inner);
    struct domain_search search = {
        .outer = outer, .inner = known ? &inner : NULL, .domain = domain};
    tree_walk(select, visit_column, &search);
    select_query_fini(&inner);
    if (domain->count == 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < domain->count; i++) {
        const uint32_t position = frame_position(outer->frame, domain->ids[i]);
        const struct exec_type type = outer->frame->columns[position - 1].type;
        exprs[i].name = builder_printf(plan, "d%u", i + 1);
        exprs[i].expr = builder_column(plan, position, NULL);
        frame_add(plan, &domain->frame, domain->ids[i], &type);
    }
    const struct exec_rel project = {
        .kind = EXEC_REL_PROJECT,
        .u.project = {.input = outer->frame->rel, .exprs = exprs, .expr_count = domain->count},
    };
    const struct exec_rel distinct = {.kind = EXEC_REL_DISTINCT,
                                      .u.distinct.input = builder_rel(plan, &project)};
    domain->frame.rel = builder_rel(plan, &distinct);
    return domain;
}

/* ---- lowering within a domain */

enum exec_code select_domain_lower(struct select_query *outer, json_t *select,
                                   const struct select_domain *domain, struct select_output *out)
{
    const struct select_domain *before = outer->inner_domain;

    outer->inner_domain = domain;
    const enum exec_code code = select_lower(outer->run, select, outer, outer->ctes, out);
    outer->inner_domain = before;
    return code;
}

void select_domain_input(struct select_query *query, struct select_frame *frame)
{
    frame->rel = query->domain->frame.rel;
    frame_append(query->run->plan, frame, &query->domain->frame);
}

uint32_t select_domain_exprs(struct select_query *query, uint32_t *exprs_out)
{
    for (uint32_t i = 0; query->domain != NULL && i < query->domain->count; i++) {
        const uint32_t position = frame_position(query->frame, query->domain->ids[i]);
        exprs_out[i] = builder_column(query->run->plan, position, NULL);
    }
    return query->domain == NULL ? 0 : query->domain->count;
}

enum exec_code select_domain_keys(struct select_query *query, uint32_t *exprs, uint32_t *ids,
                                  uint32_t *count)
{
    const uint32_t own = *count;

    if (query->domain != NULL && query->sets != NULL) {
        return EXEC_FAIL(
            query->run->err, EXEC_NOT_IMPLEMENTED,
            "%s: grouping sets in a subquery that names columns of the query around it",
            query->run->text->option);
    }
    for (uint32_t i = 0; query->domain != NULL && i < query->domain->count; i++) {
        const uint32_t id = query->domain->ids[i];
        bool is_key = false;
        for (uint32_t k = 0; k < own; k++) {
            is_key = is_key || ids[k] == id;
        }
        if (is_key) {
            continue;
        }
        if (*count == EXEC_KEYS_MAX) {
            return EXEC_FAIL(query->run->err, EXEC_LIMIT,
                             "%s: a subquery with more than %d keys, those outside included",
                             query->run->text->option, EXEC_KEYS_MAX);
        }
        exprs[*count] = select_column(query, id, 0);
        ids[(*count)++] = id;
    }
    return EXEC_OK;
}

/* left and right columns, numbers of them, NULL equal to NULL. */
static enum exec_code add_pair(struct select_query *query, struct select_join *join, uint32_t left,
                               uint32_t right)
{
    struct plan_builder *plan = query->run->plan;

    if (join->key_count < EXEC_KEYS_MAX) {
        join->key_nulls_equal[join->key_count] = true;
    }
    return select_join_key(query, join, builder_column(plan, left, NULL),
                           builder_column(plan, right, NULL), 0);
}

enum exec_code select_domain_fill(struct select_query *query)
{
    struct select_frame *frame = builder_alloc(query->run->plan, sizeof *frame);
    struct select_join join = {.kind = EXEC_JOIN_LEFT};

    if (query->domain == NULL) {
        return EXEC_OK;
    }
    select_domain_input(query, frame);
    for (uint32_t i = 0; i < query->domain->count; i++) {
        if (add_pair(query, &join, i + 1, frame_position(query->frame, query->domain->ids[i])) !=
            EXEC_OK) {
            return query->run->err->code;
        }
    }
    select_join_frames(query, frame, query->frame, &join);
    query->frame = frame;
    query->misses_groups = true;
    return EXEC_OK;
}

enum exec_code select_domain_join(struct select_query *outer, const struct select_domain *domain,
                                  uint32_t first_column, struct select_join *join)
{
    for (uint32_t i = 0; i < domain->count; i++) {
        if (add_pair(outer, join, frame_position(outer->frame, domain->ids[i]), first_column + i) !=
            EXEC_OK) {
            return outer->run->err->code;
        }
    }
    return EXEC_OK;
}

void select_domain_residual(struct select_query *outer, const struct select_domain *domain,
                            uint32_t first_column, struct select_join *join)
{
    struct plan_builder *plan = outer->run->plan;

    for (uint32_t i = 0; i < domain->count; i++) {
        const uint32_t pair[] = {
            builder_column(plan, frame_position(outer->frame, domain->ids[i]), NULL),
            builder_column(plan, outer->frame->count + first_column + i, NULL)};
        join->residual = select_both(outer, join->residual,
                                     builder_call(plan, "is_not_distinct_from", pair, 2, NULL));
    }
}
