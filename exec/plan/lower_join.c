#include "plan/plan.h"

/* A join: the build stream ends in the build sink, the directory pipe follows, then the probe
 * stream goes on through the probe operator. Kinds that keep build rows without a match get one
 * more pipe behind the probing ones, which goes on as theirs do; where build rows are asked about
 * it is the only one that goes on. */

struct sides {
    struct stream build, probe;
    const struct plan_rel *build_rel, *probe_rel;
    struct expr *const *build_exprs, *const *probe_exprs;
};

static enum exec_code lower_sides(struct plan *plan, struct plan_rel *rel, struct sides *sides,
                                  struct exec_error *err)
{
    struct plan_rel *left = rel->inputs[0], *right = rel->inputs[1];

    sides->build_rel = rel->builds_left ? left : right;
    sides->probe_rel = rel->builds_left ? right : left;
    sides->build_exprs = rel->builds_left ? rel->exprs : rel->right_keys;
    sides->probe_exprs = rel->builds_left ? rel->right_keys : rel->exprs;
    if (plan_lower_rel(plan, rel->builds_left ? left : right, &sides->build, err) != EXEC_OK) {
        return err->code;
    }
    return plan_lower_rel(plan, rel->builds_left ? right : left, &sides->probe, err);
}

static struct expr *const *move_keys(struct plan *plan, struct expr *const *exprs, uint32_t count,
                                     const struct stream *stream, struct exec_error *err)
{
    struct expr **moved = plan_calloc(plan, count, sizeof(struct expr *), err);

    for (uint32_t k = 0; moved != NULL && k < count; k++) {
        moved[k] = plan_remap(plan, exprs[k], stream->map, err);
        if (moved[k] == NULL) {
            return NULL;
        }
    }
    return moved;
}

/* Residual and verdict are bound over left then right columns and evaluated over probe then build
 * columns.
 */
static enum exec_code move_condition(struct plan *plan, const struct plan_rel *rel,
                                     const struct sides *sides, const struct expr *condition,
                                     struct expr **out, struct exec_error *err)
{
    const uint32_t left_count = rel->inputs[0]->schema.field_count;
    const uint32_t count = left_count + rel->inputs[1]->schema.field_count;
    uint32_t *map = plan_calloc(plan, count, sizeof *map, err);

    *out = NULL;
    if (condition == NULL) {
        return EXEC_OK;
    }
    if (map == NULL) {
        return err->code;
    }
    for (uint32_t c = 0; c < count; c++) {
        const bool is_left = c < left_count;
        const bool is_build = is_left == rel->builds_left;
        const struct stream *stream = is_build ? &sides->build : &sides->probe;
        const uint32_t at = stream->map[is_left ? c : c - left_count];
        map[c] = at == UINT32_MAX ? 0 : at + (is_build ? sides->probe.column_count : 0);
    }
    *out = plan_remap(plan, condition, map, err);
    return *out == NULL ? err->code : EXEC_OK;
}

/* Output columns of the probe operator: the needed ones, in the order of the schema; a mark comes
 * last by itself. */
static enum exec_code choose_outputs(struct plan *plan, const struct plan_rel *rel,
                                     const struct sides *sides, struct join_plan *join,
                                     struct stream *out, struct exec_error *err)
{
    const uint32_t left_count = rel->inputs[0]->schema.field_count;
    const uint32_t fields = rel->schema.field_count;
    const bool has_mark = rel->probe_kind == EXEC_JOIN_LEFT_MARK;
    struct join_output *outputs = plan_calloc(plan, fields, sizeof *outputs, err);

    out->map = plan_calloc(plan, fields, sizeof *out->map, err);
    out->types = plan_calloc(plan, fields, sizeof *out->types, err);
    if (outputs == NULL || out->map == NULL || out->types == NULL) {
        return err->code;
    }
    for (uint32_t c = 0; c < fields; c++) {
        const bool is_left = c < left_count;
        const bool is_mark = has_mark && c == fields - 1;

        out->map[c] = UINT32_MAX;
        if (is_mark || rel->needed[c]) {
            out->map[c] = out->column_count;
            out->types[out->column_count++] = rel->schema.fields[c].type;
        }
        if (!is_mark && rel->needed[c]) {
            const bool from_build = is_left == rel->builds_left;
            const struct stream *stream = from_build ? &sides->build : &sides->probe;
            outputs[join->output_count++] = (struct join_output){
                .from_build = from_build,
                .column = stream->map[is_left ? c : c - left_count],
            };
        }
    }
    join->outputs = outputs;
    return EXEC_OK;
}

/* Dictionaries of the probe keys that are text columns of a table; NULL in *out: there are none. */
static enum exec_code take_dictionaries(struct plan *plan, const struct plan_rel *rel,
                                        const struct sides *sides, struct dictionary *const **out,
                                        struct exec_error *err)
{
    const struct column_estimate *columns = sides->probe_rel->columns;
    struct dictionary **taken;

    *out = NULL;
    if (columns == NULL) {
        return EXEC_OK;
    }
    taken = plan_calloc(plan, rel->key_count, sizeof *taken, err);
    if (taken == NULL) {
        return err->code;
    }
    for (uint32_t k = 0; k < rel->key_count; k++) {
        uint32_t column;
        if (!expr_is_column(sides->probe_exprs[k], &column) || columns[column].stats == NULL ||
            columns[column].stats->dictionary == NULL) {
            continue;
        }
        taken[k] = columns[column].stats->dictionary;
        if (!job_hold_dictionary(plan->job, taken[k])) {
            return plan_no_memory(plan, err);
        }
    }
    *out = taken;
    return EXEC_OK;
}

static enum exec_code fill_plan(struct plan *plan, const struct plan_rel *rel,
                                const struct sides *sides, struct join_plan *join,
                                struct exec_error *err)
{
    const uint32_t keys = rel->key_count, exprs = plan_key_exprs(rel);

    *join = (struct join_plan){
        .rel = rel->index,
        .kind = rel->probe_kind,
        .key_count = keys,
        .build_keys = move_keys(plan, sides->build_exprs, exprs, &sides->build, err),
        .probe_keys = move_keys(plan, sides->probe_exprs, exprs, &sides->probe, err),
        .nulls_equal = rel->nulls_equal,
        .asof = rel->spec->u.join.asof.direction,
        .is_exists = rel->is_exists,
        .build_rows = sides->build_rel->rows,
        .probe_rows = sides->probe_rel->rows,
        .keeps_order = sides->probe.is_ordered,
        .emits_build = rel->emits_build,
        .build_types = sides->build.types,
        .build_column_count = sides->build.column_count,
        .probe_types = sides->probe.types,
        .probe_column_count = sides->probe.column_count,
    };
    if (join->build_keys == NULL || join->probe_keys == NULL ||
        take_dictionaries(plan, rel, sides, &join->dictionaries, err) != EXEC_OK) {
        return err->code;
    }
    return move_condition(plan, rel, sides, rel->residual, &join->residual, err) != EXEC_OK
               ? err->code
               : move_condition(plan, rel, sides, rel->verdict, &join->verdict, err);
}

/* A pipe that runs after `before`; NULL: out of memory. */
static struct pipe *add_behind(struct plan *plan, struct op_source *source, struct pipe *before,
                               struct exec_error *err)
{
    struct pipe *pipe = plan_add_pipe(plan, source, err);

    if (pipe != NULL && before != NULL && !pipe_run_after(pipe, before)) {
        plan_no_memory(plan, err);
        return NULL;
    }
    return pipe;
}

/* Behind every build pipe: dense map, where it may help, directory, and copies of it where the mode
 * may be replicated. Returns the last of them. */
static struct pipe *wire_build(struct plan *plan, struct plan_rel *rel, struct sides *sides,
                               struct exec_error *err)
{
    struct op_source *const sources[] = {join_dense_source(rel->join),
                                         join_directory_source(rel->join),
                                         join_replica_source(rel->join)};
    struct pipe *first = NULL;
    struct pipe *last = NULL;

    for (uint32_t s = 0; s < sizeof sources / sizeof sources[0]; s++) {
        if (sources[s] == NULL) {
            continue;
        }
        last = add_behind(plan, sources[s], last, err);
        if (last == NULL) {
            return NULL;
        }
        first = first == NULL ? last : first;
    }
    for (uint32_t p = 0; p < sides->build.pipe_count; p++) {
        pipe_set_sink(sides->build.pipes[p], join_build_sink(rel->join));
        if (!pipe_run_after(first, sides->build.pipes[p])) {
            plan_no_memory(plan, err);
            return NULL;
        }
    }
    return last;
}

/* The probe pipes go on through the probe operator; what it keeps for other nodes comes out of a
 * pipe behind them, which is one more of the probe stream. */
static enum exec_code wire_probe(struct plan *plan, struct plan_rel *rel, struct stream *probe,
                                 struct pipe *build, struct exec_error *err)
{
    struct op_source *routed = join_routed_source(rel->join);
    const uint32_t count = probe->pipe_count;
    struct pipe **pipes = plan_calloc(plan, count + 1, sizeof(struct pipe *), err);

    if (pipes == NULL) {
        return err->code;
    }
    for (uint32_t p = 0; p < count; p++) {
        pipes[p] = probe->pipes[p];
        if (!pipe_run_after(pipes[p], build)) {
            return plan_no_memory(plan, err);
        }
    }
    probe->pipes = pipes;
    if (routed != NULL) {
        pipes[count] = add_behind(plan, routed, build, err);
        if (pipes[count] == NULL) {
            return err->code;
        }
        probe->pipe_count++;
    }
    for (uint32_t p = 0; routed != NULL && p < count; p++) {
        if (!pipe_run_after(pipes[count], pipes[p])) {
            return plan_no_memory(plan, err);
        }
    }
    return plan_append(plan, probe, join_probe_operator(rel->join), err);
}

static enum exec_code wire(struct plan *plan, struct plan_rel *rel, struct sides *sides,
                           struct stream *out, struct exec_error *err)
{
    struct op_source *unmatched = join_unmatched_source(rel->join);
    struct stream *probe = &sides->probe;
    struct pipe *build = wire_build(plan, rel, sides, err);

    if (build == NULL || wire_probe(plan, rel, probe, build, err) != EXEC_OK) {
        return err->code;
    }
    out->pipes = plan_calloc(plan, probe->pipe_count + 1, sizeof(struct pipe *), err);
    if (out->pipes == NULL) {
        return err->code;
    }
    /* Where build rows are asked about nothing comes out of the probe, and it ends in no sink. */
    for (uint32_t p = 0; !rel->emits_build && p < probe->pipe_count; p++) {
        out->pipes[out->pipe_count++] = probe->pipes[p];
    }
    rel->rows_out[0] = &join_probe_operator(rel->join)->rows_out;
    if (unmatched == NULL) {
        return EXEC_OK;
    }
    struct pipe *rest = plan_add_pipe(plan, unmatched, err);
    if (rest == NULL) {
        return err->code;
    }
    for (uint32_t p = 0; p < probe->pipe_count; p++) {
        if (!pipe_run_after(rest, probe->pipes[p])) {
            return plan_no_memory(plan, err);
        }
    }
    out->pipes[out->pipe_count++] = rest;
    rel->rows_out[1] = &unmatched->rows_out;
    return EXEC_OK;
}

enum exec_code plan_lower_join(struct plan *plan, struct plan_rel *rel, struct stream *out,
                               struct exec_error *err)
{
    struct sides *sides = plan_calloc(plan, 1, sizeof *sides, err);
    struct join_plan *join = plan_calloc(plan, 1, sizeof *join, err);

    *out = (struct stream){0};
    if (sides == NULL || join == NULL || lower_sides(plan, rel, sides, err) != EXEC_OK ||
        fill_plan(plan, rel, sides, join, err) != EXEC_OK ||
        choose_outputs(plan, rel, sides, join, out, err) != EXEC_OK ||
        join_create(plan->job, join, &rel->join, err) != EXEC_OK) {
        return err->code;
    }
    /* With one pipe of ordered rows and no unmatched pipe the order survives the probe. */
    out->is_ordered = sides->probe.is_ordered && join_unmatched_source(rel->join) == NULL;
    return wire(plan, rel, sides, out, err);
}
