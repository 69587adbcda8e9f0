#include "op/expand.h"
#include "plan/plan.h"

/* Aggregates and distinct to pipes: input -> group, then the groups as a source. Grouping sets are
 * one aggregation whose first key is the set's number. What goes in once a set is every row; or,
 * where groups are few, every group of all keys as a state: PARTIAL, then FINAL a set. */

/* How many times fewer groups than rows make a second aggregation pay. */
static const double FEW_GROUPS = 4;

static struct group_measure *lower_measures(struct plan *plan, const struct plan_rel *rel,
                                            uint32_t count, const uint32_t *map,
                                            struct exec_error *err)
{
    struct group_measure *moved = plan_calloc(plan, count, sizeof *moved, err);

    for (uint32_t m = 0; moved != NULL && m < count; m++) {
        moved[m] = rel->measures[m];
        if (moved[m].state != NULL) {
            moved[m].state = plan_remap(plan, moved[m].state, map, err);
            if (moved[m].state == NULL) {
                return NULL;
            }
            continue;
        }
        moved[m].others = plan_remap_all(plan, moved[m].others, moved[m].other_count, map, err);
        if (moved[m].others == NULL ||
            (moved[m].argument != NULL &&
             (moved[m].argument = plan_remap(plan, moved[m].argument, map, err)) == NULL) ||
            (moved[m].filter != NULL &&
             (moved[m].filter = plan_remap(plan, moved[m].filter, map, err)) == NULL)) {
            return NULL;
        }
    }
    return moved;
}

/* What the statistics say of the columns of the stream below a group. */
static enum exec_code group_columns(struct plan *plan, const struct plan_rel *input,
                                    const struct stream *in, struct group_plan *group,
                                    struct exec_error *err)
{
    struct group_column *columns = plan_calloc(plan, in->column_count + 1, sizeof *columns, err);

    if (columns == NULL) {
        return err->code;
    }
    for (uint32_t c = 0; input->columns != NULL && c < input->schema.field_count; c++) {
        if (in->map[c] != UINT32_MAX) {
            columns[in->map[c]] = (struct group_column){
                .stats = input->columns[c].stats, .gains_nulls = input->columns[c].gains_nulls};
        }
    }
    group->columns = columns;
    group->column_count = in->column_count;
    group->rows = input->rows;
    return EXEC_OK;
}

/* The aggregation behind `in`, and its groups as a stream. */
static enum exec_code add_group(struct plan *plan, struct plan_rel *rel,
                                const struct group_plan *group, const struct stream *in,
                                struct stream *out, struct exec_error *err)
{
    if (group_create(plan->job, group, &rel->group, err) != EXEC_OK) {
        return plan_fail_rel(rel, err);
    }
    plan_end_stream(in, group_sink(rel->group));
    struct op_source *source = group_source(rel->group);
    rel->rows_out[0] = &source->rows_out;
    return plan_new_stream(plan, rel, source, in, out, err);
}

/* ---- grouping sets ------------------------------------------------------------------------------
 */

/* Which keys each set keeps, and the numbers of the sets that keep none. */
static enum exec_code read_sets(struct plan *plan, const struct plan_rel *rel,
                                struct expand_plan *expand, struct group_plan *group,
                                struct exec_error *err)
{
    const uint32_t count = rel->spec->u.aggregate.set_count;
    uint32_t *kept = plan_calloc(plan, count, sizeof *kept, err);
    int64_t *totals = plan_calloc(plan, count, sizeof *totals, err);

    if (kept == NULL || totals == NULL) {
        return err->code;
    }
    for (uint32_t s = 0; s < count; s++) {
        const struct exec_grouping_set *set = &rel->spec->u.aggregate.sets[s];
        for (uint32_t k = 0; k < set->key_count; k++) {
            kept[s] |= UINT32_C(1) << (set->keys[k] - 1);
        }
        if (set->key_count == 0) {
            totals[group->total_count++] = (int64_t)s + 1;
        }
    }
    expand->kept = kept;
    expand->set_count = count;
    group->totals = totals;
    return EXEC_OK;
}

/* Columns of the groups: the set's number, keys, measures; the relation's: keys, measures, and the
 * number where it has a name. */
static enum exec_code turn_columns(struct plan *plan, const struct plan_rel *rel,
                                   struct stream *out, struct exec_error *err)
{
    const uint32_t keys = rel->spec->u.aggregate.key_count;
    const uint32_t count = keys + rel->spec->u.aggregate.measure_count;

    out->types = plan_calloc(plan, count + 1, sizeof *out->types, err);
    if (out->types == NULL) {
        return err->code;
    }
    out->types[0] = (struct exec_type){.kind = EXEC_TYPE_INT64};
    for (uint32_t c = 0; c < count; c++) {
        out->types[1 + c] = rel->schema.fields[c].type;
        out->map[c] = 1 + c;
    }
    if (rel->schema.field_count > count) {
        out->map[count] = 0;
    }
    out->column_count = count + 1;
    return EXEC_OK;
}

static uint32_t used_keys(const struct expand_plan *expand)
{
    uint32_t used = 0;

    for (uint32_t s = 0; s < expand->set_count; s++) {
        used |= expand->kept[s];
    }
    return used;
}

/* States that keep rows are as large as the rows; and where most rows are a group of their own,
 * adding them up first is one aggregation more. */
static bool groups_first(const struct plan_rel *rel, const struct group_plan *group, uint32_t used)
{
    const double rows = rel->inputs[0]->rows;
    uint32_t numbers[EXEC_KEYS_MAX];
    struct exec_grouping_set all = {.keys = numbers};

    for (uint32_t m = 0; m < group->measure_count; m++) {
        if (group_form_keeps(group_measure_form(&group->measures[m]))) {
            return false;
        }
    }
    for (uint32_t k = 0; k < group->key_count; k++) {
        numbers[all.key_count] = k + 1;
        all.key_count += used >> k & 1;
    }
    return rel->spec->u.aggregate.set_count > 1 &&
           (rows < 0 || plan_set_rows(rel, &all) * FEW_GROUPS <= rows);
}

/* The groups of all keys that some set has: those keys, then the states of the measures. From here
 * on the input is that stream; keys no set has stand for their types alone. */
static enum exec_code add_states(struct plan *plan, struct plan_rel *rel, struct group_plan *group,
                                 uint32_t used, struct stream *in, struct exec_error *err)
{
    const uint32_t measures = group->measure_count;
    struct group_plan *first = plan_calloc(plan, 1, sizeof *first, err);
    struct expr **first_keys = plan_calloc(plan, group->key_count, sizeof(struct expr *), err);
    struct expr **keys = plan_calloc(plan, group->key_count, sizeof(struct expr *), err);
    struct group_measure *final = plan_calloc(plan, measures, sizeof *final, err);
    struct exec_field *fields = plan_calloc(plan, group->key_count + measures, sizeof *fields, err);
    const struct exec_type binary = {.kind = EXEC_TYPE_BINARY};
    uint32_t count = 0;

    if (first == NULL || first_keys == NULL || keys == NULL || final == NULL || fields == NULL) {
        return err->code;
    }
    for (uint32_t k = 0; k < group->key_count; k++) {
        keys[k] = group->keys[k];
        if ((used >> k & 1) != 0) {
            fields[count].type = *expr_type(group->keys[k]);
            first_keys[count] = group->keys[k];
            keys[k] = expr_column(&plan->job->plan, count, &fields[count].type);
            count++;
        }
        if (keys[k] == NULL) {
            return plan_no_memory(plan, err);
        }
    }
    *first = *group;
    first->keys = first_keys;
    first->key_count = count;
    first->total_count = 0;
    first->is_partial = true;
    for (uint32_t m = 0; m < measures; m++) {
        final[m] = group->measures[m];
        final[m].filter = NULL;
        final[m].state = expr_column(&plan->job->plan, count + m, &binary);
        fields[count + m].type = binary;
        if (final[m].state == NULL) {
            return plan_no_memory(plan, err);
        }
    }
    group->keys = keys;
    group->measures = final;
    struct plan_rel shape = {.index = rel->index,
                             .schema = {.fields = fields, .field_count = count + measures}};
    const struct stream before = *in;
    return add_group(plan, &shape, first, &before, in, err);
}

static enum exec_code lower_sets(struct plan *plan, struct plan_rel *rel, struct group_plan *group,
                                 struct stream *in, struct stream *out, struct exec_error *err)
{
    const struct exec_type number = {.kind = EXEC_TYPE_INT64};
    struct expand_plan expand = {.rel = rel->index, .key_count = group->key_count};
    struct expr **keys = plan_calloc(plan, group->key_count + 1, sizeof(struct expr *), err);

    if (keys == NULL || read_sets(plan, rel, &expand, group, err) != EXEC_OK) {
        return err->code;
    }
    const uint32_t used = used_keys(&expand);
    rel->groups_first = groups_first(rel, group, used);
    if (rel->groups_first && add_states(plan, rel, group, used, in, err) != EXEC_OK) {
        return err->code;
    }
    expand.keys = group->keys;
    expand.input_columns = in->column_count;
    for (uint32_t k = 0; k <= group->key_count; k++) {
        const struct exec_type *type = k == 0 ? &number : expr_type(group->keys[k - 1]);
        keys[k] = expr_column(&plan->job->plan, in->column_count + k, type);
        if (keys[k] == NULL) {
            return plan_no_memory(plan, err);
        }
    }
    group->keys = keys;
    group->key_count++;
    group->columns = NULL; /* they are those of the batches before */
    if (plan_append(plan, in, expand_create(plan->job, &expand), err) != EXEC_OK ||
        add_group(plan, rel, group, in, out, err) != EXEC_OK) {
        return err->code;
    }
    return turn_columns(plan, rel, out, err);
}

enum exec_code plan_lower_group(struct plan *plan, struct plan_rel *rel, struct stream *out,
                                struct exec_error *err)
{
    const bool is_distinct = rel->spec->kind == EXEC_REL_DISTINCT;
    const uint32_t keys = is_distinct ? rel->schema.field_count : rel->spec->u.aggregate.key_count;
    const uint32_t measures = is_distinct ? 0 : rel->spec->u.aggregate.measure_count;
    struct group_plan *group = plan_calloc(plan, 1, sizeof *group, err);
    struct stream in;

    if (group == NULL || plan_lower_rel(plan, rel->inputs[0], &in, err) != EXEC_OK) {
        return err->code;
    }
    *group = (struct group_plan){
        .rel = rel->index,
        .keys = plan_remap_all(plan, rel->exprs, keys, in.map, err),
        .key_count = keys,
        .measures = lower_measures(plan, rel, measures, in.map, err),
        .measure_count = measures,
        .is_partial = !is_distinct && rel->spec->u.aggregate.phase == EXEC_PHASE_PARTIAL,
    };
    if (group->keys == NULL || group->measures == NULL ||
        group_columns(plan, rel->inputs[0], &in, group, err) != EXEC_OK) {
        return err->code;
    }
    return !is_distinct && rel->spec->u.aggregate.set_count != 0
               ? lower_sets(plan, rel, group, &in, out, err)
               : add_group(plan, rel, group, &in, out, err);
}
