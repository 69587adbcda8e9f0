#include "plan/join_search.h"
#include "plan/plan.h"

#include <string.h>

/* The order of inner joins. A cluster is a tree of inner joins, together with projections of plain
 * columns and emptied filters between them; what hangs below is its leaves. Nothing in it can
 * raise, so that any order gives the same rows and the same errors. join_search.c says in which
 * order to join the leaves; here the tree is taken apart and put together again, and a projection
 * restores the order of columns. Outer, semi, anti and mark joins are leaves, as are joins whose
 * build side was asked for.
 *
 * Columns of all leaves side by side are the cluster's: conditions are kept over those. */

static const double GAIN_LEAST = 0.9; /* an order that is not that much better stays as written */

struct condition {
    struct expr *left, *right; /* right NULL: a condition of any form */
    bool nulls_equal, is_done;
    uint64_t left_leaves, right_leaves;
};

struct cluster {
    struct plan *plan;
    struct exec_error *err;
    struct plan_rel *leaves[JOIN_INPUTS_MAX];
    uint32_t first_column[JOIN_INPUTS_MAX + 1];
    uint32_t leaf_count;
    struct plan_rel *joins[JOIN_INPUTS_MAX]; /* inputs before users */
    struct join_step written[JOIN_INPUTS_MAX];
    uint32_t join_count;
    struct condition *conditions;
    uint32_t condition_count, condition_capacity;
    bool gave_up; /* stays as written */
};

enum { JOIN_NODE = JOIN_INPUTS_MAX }; /* number of the first join while leaves are being counted */

/* ---- taking apart
 * -------------------------------------------------------------------------------------------- */

static bool is_open_join(const struct plan_rel *rel)
{
    if (rel->spec->kind != EXEC_REL_JOIN || rel->join_kind != EXEC_JOIN_INNER ||
        rel->spec->u.join.build_side != EXEC_BUILD_AUTO ||
        (rel->residual != NULL && expr_can_raise(rel->residual))) {
        return false;
    }
    for (uint32_t k = 0; k < rel->key_count; k++) {
        if (expr_can_raise(rel->exprs[k]) || expr_can_raise(rel->right_keys[k])) {
            return false;
        }
    }
    return true;
}

static bool is_plain_projection(const struct plan_rel *rel)
{
    uint32_t column;

    if (rel->spec->kind != EXEC_REL_PROJECT) {
        return false;
    }
    for (uint32_t c = 0; c < rel->schema.field_count; c++) {
        if (!expr_is_column(rel->exprs[c], &column)) {
            return false;
        }
    }
    return true;
}

static bool is_passed_through(const struct plan_rel *rel)
{
    return rel->predicate_count == 0 &&
           (rel->spec->kind == EXEC_REL_FILTER || is_plain_projection(rel));
}

/* Looks through projections and filters for another join of the cluster. */
static bool leads_to_join(const struct plan_rel *rel)
{
    while (is_passed_through(rel)) {
        rel = rel->inputs[0];
    }
    return rel->predicate_count == 0 && is_open_join(rel);
}

static bool add_condition(struct cluster *cluster, const struct condition *condition)
{
    if (cluster->condition_count == cluster->condition_capacity) {
        const uint32_t capacity = 2 * cluster->condition_capacity + 32;
        struct condition *more = plan_calloc(cluster->plan, capacity, sizeof *more, cluster->err);
        if (more == NULL) {
            return false;
        }
        if (cluster->condition_count != 0) {
            memcpy(more, cluster->conditions, cluster->condition_count * sizeof *more);
        }
        cluster->conditions = more;
        cluster->condition_capacity = capacity;
    }
    cluster->conditions[cluster->condition_count++] = *condition;
    return true;
}

static bool add_conjuncts(struct cluster *cluster, const struct expr *condition,
                          const uint32_t *map)
{
    struct expr *const *args;
    uint32_t arg_count;
    struct condition added = {0};

    if (expr_is_call(condition, "and", &args, &arg_count)) {
        for (uint32_t i = 0; i < arg_count; i++) {
            if (!add_conjuncts(cluster, args[i], map)) {
                return false;
            }
        }
        return true;
    }
    added.left = plan_remap(cluster->plan, condition, map, cluster->err);
    return added.left != NULL && add_condition(cluster, &added);
}

/* `map`: columns of left, then right, to the cluster's. */
static bool add_join_conditions(struct cluster *cluster, const struct plan_rel *rel,
                                const uint32_t *map)
{
    const uint32_t left_count = rel->inputs[0]->schema.field_count;

    for (uint32_t k = 0; k < rel->key_count; k++) {
        const struct condition added = {
            .left = plan_remap(cluster->plan, rel->exprs[k], map, cluster->err),
            .right = plan_remap(cluster->plan, rel->right_keys[k], map + left_count, cluster->err),
            .nulls_equal = rel->nulls_equal[k],
        };
        if (added.left == NULL || added.right == NULL || !add_condition(cluster, &added)) {
            return false;
        }
    }
    return rel->residual == NULL || add_conjuncts(cluster, rel->residual, map);
}

static bool add_leaf(struct cluster *cluster, struct plan_rel *rel, uint32_t *map,
                     uint32_t *node_out)
{
    const uint32_t leaf = cluster->leaf_count;
    const uint32_t first = cluster->first_column[leaf];

    if (leaf == JOIN_INPUTS_MAX - 1 || rel->rows < 0 ||
        first + rel->schema.field_count > EXEC_COLUMNS_MAX) {
        cluster->gave_up = true;
        return true;
    }
    for (uint32_t c = 0; c < rel->schema.field_count; c++) {
        map[c] = first + c;
    }
    cluster->leaves[leaf] = rel;
    cluster->first_column[leaf + 1] = first + rel->schema.field_count;
    cluster->leaf_count++;
    *node_out = leaf;
    return true;
}

/* map: of rel's columns to the cluster's. false: out of memory. */
static bool collect(struct cluster *cluster, struct plan_rel *rel, uint32_t *map, bool is_top,
                    uint32_t *node_out)
{
    if (!is_top && !leads_to_join(rel)) {
        return add_leaf(cluster, rel, map, node_out);
    }
    if (rel->spec->kind != EXEC_REL_JOIN) {
        const struct plan_rel *input = rel->inputs[0];
        uint32_t *below =
            plan_calloc(cluster->plan, input->schema.field_count, sizeof *below, cluster->err);
        if (below == NULL || !collect(cluster, rel->inputs[0], below, false, node_out)) {
            return false;
        }
        for (uint32_t c = 0; c < rel->schema.field_count; c++) {
            uint32_t column = c;
            if (rel->spec->kind == EXEC_REL_PROJECT) {
                expr_is_column(rel->exprs[c], &column);
            }
            map[c] = below[column];
        }
        return true;
    }
    struct join_step step = {0, 0};
    if (!collect(cluster, rel->inputs[0], map, false, &step.left) ||
        !collect(cluster, rel->inputs[1], map + rel->inputs[0]->schema.field_count, false,
                 &step.right)) {
        return false;
    }
    if (cluster->gave_up) {
        return true;
    }
    cluster->joins[cluster->join_count] = rel;
    cluster->written[cluster->join_count] = step;
    *node_out = JOIN_NODE + cluster->join_count++;
    return add_join_conditions(cluster, rel, map);
}

/* ---- the graph
 * -------------------------------------------------------------------------------------------- */

static uint64_t leaves_of(struct cluster *cluster, const struct expr *expr)
{
    const uint32_t count = cluster->first_column[cluster->leaf_count];
    bool *used = plan_calloc(cluster->plan, count, sizeof *used, cluster->err);
    uint64_t leaves = 0;

    if (used == NULL) {
        return 0;
    }
    expr_mark_columns(expr, used);
    for (uint32_t leaf = 0; leaf < cluster->leaf_count; leaf++) {
        for (uint32_t c = cluster->first_column[leaf]; c < cluster->first_column[leaf + 1]; c++) {
            leaves |= (uint64_t)used[c] << leaf;
        }
    }
    return leaves;
}

/* Every condition reads at least two leaves, on either side of a key at least one; what does not is
 * rare, and leaves the cluster as written. */
static bool find_leaves(struct cluster *cluster)
{
    uint32_t keys = 0;

    for (uint32_t i = 0; i < cluster->condition_count; i++) {
        struct condition *condition = &cluster->conditions[i];
        condition->left_leaves = leaves_of(cluster, condition->left);
        if (condition->right != NULL) {
            keys++;
            condition->right_leaves = leaves_of(cluster, condition->right);
        }
        const uint64_t all = condition->left_leaves | condition->right_leaves;
        if ((condition->right != NULL && condition->right_leaves == 0) ||
            condition->left_leaves == 0 || (all & (all - 1)) == 0) {
            return false;
        }
    }
    return keys <= EXEC_KEYS_MAX;
}

/* Distinct values of an expression over the cluster's columns; 0: unknown. */
static double distinct_of(const struct cluster *cluster, const struct expr *expr)
{
    uint32_t column;

    if (!expr_is_column(expr, &column)) {
        return 0;
    }
    uint32_t leaf = 0;
    while (cluster->first_column[leaf + 1] <= column) {
        leaf++;
    }
    return cluster->leaves[leaf]->columns[column - cluster->first_column[leaf]].distinct;
}

static double rows_of(const struct cluster *cluster, uint64_t leaves)
{
    double rows = 1;

    for (uint32_t leaf = 0; leaf < cluster->leaf_count; leaf++) {
        rows *= (leaves >> leaf & 1) != 0 ? cluster->leaves[leaf]->rows_base : 1;
    }
    return rows;
}

/* All keys between the same leaves as the i-th condition, together. */
static struct join_edge key_edge(const struct cluster *cluster, uint32_t i)
{
    const struct condition *first = &cluster->conditions[i];
    double left[EXEC_KEYS_MAX], right[EXEC_KEYS_MAX];
    uint32_t count = 0;

    for (uint32_t k = i; k < cluster->condition_count; k++) {
        const struct condition *other = &cluster->conditions[k];
        if (other->right != NULL && other->left_leaves == first->left_leaves &&
            other->right_leaves == first->right_leaves) {
            left[count] = distinct_of(cluster, other->left);
            right[count++] = distinct_of(cluster, other->right);
        }
    }
    const struct key_side left_side = {left, rows_of(cluster, first->left_leaves)};
    const struct key_side right_side = {right, rows_of(cluster, first->right_leaves)};
    return (struct join_edge){
        .left = first->left_leaves,
        .right = first->right_leaves,
        .selectivity = plan_keys_selectivity(&left_side, &right_side, count),
        .is_key = true,
    };
}

static bool has_edge(const struct join_edge *edges, uint32_t count,
                     const struct condition *condition)
{
    for (uint32_t e = 0; e < count; e++) {
        if (edges[e].is_key && edges[e].left == condition->left_leaves &&
            edges[e].right == condition->right_leaves) {
            return true;
        }
    }
    return false;
}

static bool make_graph(struct cluster *cluster, struct join_graph *graph)
{
    struct join_input *inputs =
        plan_calloc(cluster->plan, cluster->leaf_count, sizeof *inputs, cluster->err);
    struct join_edge *edges =
        plan_calloc(cluster->plan, cluster->condition_count, sizeof *edges, cluster->err);

    *graph =
        (struct join_graph){.inputs = inputs, .input_count = cluster->leaf_count, .edges = edges};
    if (inputs == NULL || edges == NULL) {
        return false;
    }
    for (uint32_t leaf = 0; leaf < cluster->leaf_count; leaf++) {
        inputs[leaf] =
            (struct join_input){cluster->leaves[leaf]->rows, plan_row_bytes(cluster->leaves[leaf])};
    }
    for (uint32_t i = 0; i < cluster->condition_count; i++) {
        const struct condition *condition = &cluster->conditions[i];
        if (condition->right == NULL) {
            edges[graph->edge_count++] = (struct join_edge){
                .left = condition->left_leaves, .selectivity = PLAN_SELECTIVITY_UNKNOWN};
        } else if (!has_edge(edges, graph->edge_count, condition)) {
            edges[graph->edge_count++] = key_edge(cluster, i);
        }
    }
    return true;
}

/* ---- putting together
 * -------------------------------------------------------------------------------------------- */

/* A leaf or a new join, and where each of the cluster's columns is in its schema. */
struct node {
    struct plan_rel *rel;
    uint32_t *map;
    uint64_t leaves;
};

static struct expr *over_node(struct cluster *cluster, const struct expr *expr,
                              const struct node *node)
{
    return plan_remap(cluster->plan, expr, node->map, cluster->err);
}

static bool set_key(struct cluster *cluster, struct plan_rel *rel, const struct node *left,
                    const struct node *right, const struct expr *left_expr,
                    const struct expr *right_expr, bool nulls_equal)
{
    const uint32_t k = rel->key_count++;

    rel->exprs[k] = over_node(cluster, left_expr, left);
    rel->right_keys[k] = over_node(cluster, right_expr, right);
    rel->nulls_equal[k] = nulls_equal;
    return rel->exprs[k] != NULL && rel->right_keys[k] != NULL;
}

/* A condition whose leaves have just met for the first time. */
static bool place_condition(struct cluster *cluster, const struct condition *condition,
                            const struct node *left, const struct node *right, struct node *joined)
{
    struct nu_arena *arena = &cluster->plan->job->plan;
    struct plan_rel *rel = joined->rel;
    struct expr *residual = over_node(cluster, condition->left, joined);

    if (condition->right != NULL) {
        const uint64_t a = condition->left_leaves, b = condition->right_leaves;
        if ((a & ~left->leaves) == 0 && (b & ~right->leaves) == 0) {
            return set_key(cluster, rel, left, right, condition->left, condition->right,
                           condition->nulls_equal);
        }
        if ((a & ~right->leaves) == 0 && (b & ~left->leaves) == 0) {
            return set_key(cluster, rel, left, right, condition->right, condition->left,
                           condition->nulls_equal);
        }
        struct expr *sides[] = {residual, over_node(cluster, condition->right, joined)};
        if (sides[0] == NULL || sides[1] == NULL ||
            expr_call(arena, condition->nulls_equal ? "is_not_distinct_from" : "eq", sides, 2,
                      &residual, cluster->err) != EXEC_OK) {
            return false;
        }
    }
    return residual != NULL && plan_and(cluster->plan, rel->residual, residual, &rel->residual,
                                        cluster->err) == EXEC_OK;
}

static bool place_conditions(struct cluster *cluster, const struct node *left,
                             const struct node *right, struct node *joined)
{
    for (uint32_t i = 0; i < cluster->condition_count; i++) {
        struct condition *condition = &cluster->conditions[i];
        const uint64_t leaves = condition->left_leaves | condition->right_leaves;
        if (condition->is_done || (leaves & ~joined->leaves) != 0) {
            continue;
        }
        condition->is_done = true;
        if (!place_condition(cluster, condition, left, right, joined)) {
            return false;
        }
    }
    return true;
}

/* A join of two nodes on the model of `like`, whose conditions are still to be placed. */
static bool make_join(struct cluster *cluster, const struct plan_rel *like, const struct node *left,
                      const struct node *right, struct node *out)
{
    struct plan *plan = cluster->plan;
    const uint32_t left_count = left->rel->schema.field_count;
    const uint32_t count = left_count + right->rel->schema.field_count;
    const uint32_t all = cluster->first_column[cluster->leaf_count];
    struct plan_rel *rel = plan_calloc(plan, 1, sizeof *rel, cluster->err);
    struct exec_field *fields = plan_calloc(plan, count, sizeof *fields, cluster->err);

    out->map = plan_calloc(plan, all, sizeof *out->map, cluster->err);
    if (rel == NULL || fields == NULL || out->map == NULL) {
        return false;
    }
    rel->index = like->index;
    rel->spec = like->spec;
    rel->join_kind = EXEC_JOIN_INNER;
    rel->is_reordered = true;
    rel->input_count = 2;
    rel->inputs = plan_calloc(plan, 2, sizeof(struct plan_rel *), cluster->err);
    rel->exprs = plan_calloc(plan, EXEC_KEYS_MAX, sizeof(struct expr *), cluster->err);
    rel->right_keys = plan_calloc(plan, EXEC_KEYS_MAX, sizeof(struct expr *), cluster->err);
    rel->nulls_equal = plan_calloc(plan, EXEC_KEYS_MAX, sizeof(bool), cluster->err);
    rel->columns = plan_calloc(plan, count, sizeof *rel->columns, cluster->err);
    if (rel->inputs == NULL || rel->exprs == NULL || rel->right_keys == NULL ||
        rel->nulls_equal == NULL || rel->columns == NULL) {
        return false;
    }
    rel->inputs[0] = left->rel;
    rel->inputs[1] = right->rel;
    for (uint32_t c = 0; c < count; c++) {
        fields[c] = c < left_count ? left->rel->schema.fields[c]
                                   : right->rel->schema.fields[c - left_count];
    }
    rel->schema = rel->both = (struct exec_schema){.fields = fields, .field_count = count};
    out->rel = rel;
    out->leaves = left->leaves | right->leaves;
    for (uint32_t leaf = 0; leaf < cluster->leaf_count; leaf++) {
        for (uint32_t c = cluster->first_column[leaf]; c < cluster->first_column[leaf + 1]; c++) {
            out->map[c] = (left->leaves >> leaf & 1) != 0    ? left->map[c]
                          : (right->leaves >> leaf & 1) != 0 ? left_count + right->map[c]
                                                             : 0;
        }
    }
    return true;
}

/* The relation that was the cluster's top becomes a projection of the new top to its columns. */
static bool make_projection(struct cluster *cluster, struct plan_rel *top, const uint32_t *map,
                            const struct node *node)
{
    struct plan *plan = cluster->plan;
    const uint32_t count = top->schema.field_count;
    struct exec_rel *spec = plan_calloc(plan, 1, sizeof *spec, cluster->err);
    struct plan_rel **inputs = plan_calloc(plan, 1, sizeof(struct plan_rel *), cluster->err);
    struct expr **exprs = plan_calloc(plan, count, sizeof(struct expr *), cluster->err);

    if (spec == NULL || inputs == NULL || exprs == NULL) {
        return false;
    }
    for (uint32_t c = 0; c < count; c++) {
        exprs[c] = expr_column(&plan->job->plan, node->map[map[c]], &top->schema.fields[c].type);
        if (exprs[c] == NULL) {
            plan_no_memory(plan, cluster->err);
            return false;
        }
    }
    *spec = (struct exec_rel){
        .kind = EXEC_REL_PROJECT, .label = "columns as written", .u.project.expr_count = count};
    inputs[0] = node->rel;
    top->spec = spec;
    top->inputs = inputs;
    top->input_count = 1;
    top->exprs = exprs;
    top->right_keys = NULL;
    top->key_count = 0;
    top->residual = NULL;
    return true;
}

static bool rebuild(struct cluster *cluster, const struct join_graph *graph,
                    const struct join_step *steps, const uint32_t *map)
{
    const uint32_t leaves = cluster->leaf_count;
    struct node *nodes = plan_calloc(cluster->plan, 2 * leaves, sizeof *nodes, cluster->err);

    if (nodes == NULL) {
        return false;
    }
    for (uint32_t leaf = 0; leaf < leaves; leaf++) {
        struct node *node = &nodes[leaf];
        node->rel = cluster->leaves[leaf];
        node->leaves = UINT64_C(1) << leaf;
        node->map = plan_calloc(cluster->plan, cluster->first_column[leaves], sizeof *node->map,
                                cluster->err);
        if (node->map == NULL) {
            return false;
        }
        for (uint32_t c = cluster->first_column[leaf]; c < cluster->first_column[leaf + 1]; c++) {
            node->map[c] = c - cluster->first_column[leaf];
        }
    }
    for (uint32_t k = 0; k + 1 < leaves; k++) {
        const struct node *left = &nodes[steps[k].left], *right = &nodes[steps[k].right];
        if (!make_join(cluster, cluster->joins[k], left, right, &nodes[leaves + k]) ||
            !place_conditions(cluster, left, right, &nodes[leaves + k])) {
            return false;
        }
        nodes[leaves + k].rel->rows = join_search_rows(graph, nodes[leaves + k].leaves);
    }
    return make_projection(cluster, cluster->joins[cluster->join_count - 1], map,
                           &nodes[2 * leaves - 2]);
}

/* ---- the whole
 * --------------------------------------------------------------------------------------------- */

static enum exec_code order_cluster(struct plan *plan, struct plan_rel *top, struct exec_error *err)
{
    struct cluster *cluster = plan_calloc(plan, 1, sizeof *cluster, err);
    uint32_t *map = plan_calloc(plan, top->schema.field_count, sizeof *map, err);
    struct join_step steps[JOIN_INPUTS_MAX];
    struct join_graph graph;
    uint32_t node;

    if (cluster == NULL || map == NULL) {
        return err->code;
    }
    cluster->plan = plan;
    cluster->err = err;
    err->code = EXEC_OK;
    if (!collect(cluster, top, map, true, &node)) {
        return err->code;
    }
    for (uint32_t k = 0; k < cluster->join_count; k++) {
        cluster->joins[k]->is_ordered = true;
    }
    if (cluster->gave_up || cluster->leaf_count < 3 || !find_leaves(cluster)) {
        return err->code;
    }
    for (uint32_t k = 0; k < cluster->join_count; k++) {
        struct join_step *step = &cluster->written[k];
        step->left -= step->left >= JOIN_NODE ? JOIN_NODE - cluster->leaf_count : 0;
        step->right -= step->right >= JOIN_NODE ? JOIN_NODE - cluster->leaf_count : 0;
    }
    if (!make_graph(cluster, &graph)) {
        return err->code;
    }
    if (!join_search_run(&graph, &plan->job->plan, steps)) {
        return plan_no_memory(plan, err);
    }
    if (join_search_cost(&graph, steps) >=
        GAIN_LEAST * join_search_cost(&graph, cluster->written)) {
        return EXEC_OK;
    }
    return rebuild(cluster, &graph, steps, map) ? EXEC_OK : err->code;
}

enum exec_code plan_order_joins(struct plan *plan, struct exec_error *err)
{
    /* Users before what they use, so that a cluster is met at its top. */
    for (uint32_t i = plan->ordered_count; i-- > 0;) {
        struct plan_rel *rel = plan->ordered[i];
        if (!rel->is_ordered && is_open_join(rel) && order_cluster(plan, rel, err) != EXEC_OK) {
            return plan_fail_rel(rel, err);
        }
    }
    return EXEC_OK;
}
