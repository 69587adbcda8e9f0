#include "op/code_test.h"
#include "op/filter.h"
#include "op/limit.h"
#include "op/project.h"
#include "op/scan_generator.h"
#include "op/scan_table.h"
#include "plan/plan.h"

/* Relations to pipes, from the scans up. Every relation gets the stream of its input and hands on
 * one of its own: the same pipes with an operator more, or new pipes behind a breaker. */

struct pipe *plan_add_pipe(struct plan *plan, struct op_source *source, struct exec_error *err)
{
    struct pipe *pipe;

    if (source == NULL) {
        plan_no_memory(plan, err);
        return NULL;
    }
    if (plan->pipe_count == plan->pipe_capacity) {
        const uint32_t capacity = plan->pipe_capacity == 0 ? 16 : plan->pipe_capacity * 2;
        struct pipe **more = plan_calloc(plan, capacity, sizeof(struct pipe *), err);
        if (more == NULL) {
            return NULL;
        }
        for (uint32_t i = 0; i < plan->pipe_count; i++) {
            more[i] = plan->pipes[i];
        }
        plan->pipes = more;
        plan->pipe_capacity = capacity;
    }
    pipe = pipe_create(plan->job, source, plan->morsel_rows, plan->ended);
    if (pipe == NULL) {
        plan_no_memory(plan, err);
        return NULL;
    }
    plan->pipes[plan->pipe_count++] = pipe;
    pipe->number = plan->pipe_count;
    return pipe;
}

enum exec_code plan_append(struct plan *plan, const struct stream *stream, struct operator* op,
                           struct exec_error *err)
{
    if (op == NULL) {
        return plan_no_memory(plan, err);
    }
    for (uint32_t p = 0; p < stream->pipe_count; p++) {
        if (!pipe_append(stream->pipes[p], op)) {
            return EXEC_FAIL(err, EXEC_LIMIT, "more than %d operators between two breakers",
                             PIPE_OPS_MAX);
        }
    }
    return EXEC_OK;
}

struct expr *plan_remap(struct plan *plan, const struct expr *expr, const uint32_t *map,
                        struct exec_error *err)
{
    struct expr *moved = expr_remap(&plan->job->plan, expr, map);
    if (moved == NULL) {
        plan_no_memory(plan, err);
    }
    return moved;
}

struct expr **plan_remap_all(struct plan *plan, struct expr *const *exprs, uint32_t count,
                             const uint32_t *map, struct exec_error *err)
{
    struct expr **moved = plan_calloc(plan, count, sizeof(struct expr *), err);

    for (uint32_t i = 0; moved != NULL && i < count; i++) {
        moved[i] = plan_remap(plan, exprs[i], map, err);
        if (moved[i] == NULL) {
            return NULL;
        }
    }
    return moved;
}

/* Room for the schema columns of `rel` and one pipe; nothing is mapped yet. */
static enum exec_code stream_init(struct plan *plan, const struct plan_rel *rel,
                                  uint32_t pipe_count, struct stream *out, struct exec_error *err)
{
    const uint32_t fields = rel->schema.field_count;

    *out = (struct stream){.pipe_count = pipe_count};
    out->pipes = plan_calloc(plan, pipe_count, sizeof(struct pipe *), err);
    out->map = plan_calloc(plan, fields, sizeof *out->map, err);
    out->types = plan_calloc(plan, fields, sizeof *out->types, err);
    if (out->pipes == NULL || out->map == NULL || out->types == NULL) {
        return err->code;
    }
    for (uint32_t c = 0; c < fields; c++) {
        out->map[c] = UINT32_MAX;
    }
    return EXEC_OK;
}

static void stream_add_column(struct stream *stream, const struct plan_rel *rel, uint32_t column)
{
    stream->map[column] = stream->column_count;
    stream->types[stream->column_count++] = rel->schema.fields[column].type;
}

enum exec_code plan_new_stream(struct plan *plan, const struct plan_rel *rel,
                               struct op_source *source, const struct stream *before,
                               struct stream *out, struct exec_error *err)
{
    struct pipe *pipe = plan_add_pipe(plan, source, err);

    if (pipe == NULL || stream_init(plan, rel, 1, out, err) != EXEC_OK) {
        return err->code;
    }
    out->pipes[0] = pipe;
    for (uint32_t c = 0; c < rel->schema.field_count; c++) {
        stream_add_column(out, rel, c);
    }
    for (uint32_t p = 0; p < before->pipe_count; p++) {
        if (!pipe_run_after(pipe, before->pipes[p])) {
            return plan_no_memory(plan, err);
        }
    }
    return EXEC_OK;
}

/* ---- scans
 * ------------------------------------------------------------------------------------------- */

static enum exec_code lower_scan(struct plan *plan, struct plan_rel *rel, struct stream *out,
                                 struct exec_error *err)
{
    struct op_source *source;
    struct pipe *pipe;
    uint32_t *columns = plan_calloc(plan, rel->schema.field_count, sizeof *columns, err);

    if (columns == NULL || stream_init(plan, rel, 1, out, err) != EXEC_OK) {
        return err->code;
    }
    for (uint32_t c = 0; c < rel->schema.field_count; c++) {
        if (rel->needed[c]) {
            columns[out->column_count] = rel->source_columns[c];
            stream_add_column(out, rel, c);
        }
    }
    if (rel->table != NULL) {
        struct table *table = rel->table;
        rel->table = NULL; /* the source's from here on */
        source = scan_table_create(plan->job, rel->index, table, columns, out->column_count);
        if (source == NULL) {
            table_unref(table);
        }
    } else if (rel->files != NULL) {
        source = scan_files_source(rel->files, columns, out->column_count);
        rel->files = source == NULL ? rel->files : NULL;
    } else {
        source =
            scan_generator_create(plan->job, rel->index, (uint64_t)rel->spec->u.scan.generator_rows,
                                  rel->spec->u.scan.generator_seed, columns, out->column_count);
    }
    pipe = plan_add_pipe(plan, source, err);
    if (pipe == NULL) {
        if (source != NULL && source->kind->close != NULL) {
            source->kind->close(source, plan->job);
        }
        return err->code;
    }
    out->pipes[0] = pipe;
    rel->rows_out[0] = &source->rows_out;
    return EXEC_OK;
}

/* ---- operators
 * ----------------------------------------------------------------------------------------- */

/* A projection of `exprs` (over the stream's batches) for the needed columns of `rel`; only a new
 * map when all of them are plain columns and `may_skip`. */
static enum exec_code project_stream(struct plan *plan, struct plan_rel *rel,
                                     struct expr *const *exprs, const struct stream *in,
                                     bool may_skip, struct stream *out, struct exec_error *err)
{
    const uint32_t fields = rel->schema.field_count;
    struct expr **moved = plan_calloc(plan, fields, sizeof(struct expr *), err);
    bool only_columns = may_skip;

    if (moved == NULL || stream_init(plan, rel, in->pipe_count, out, err) != EXEC_OK) {
        return err->code;
    }
    out->is_ordered = in->is_ordered;
    for (uint32_t p = 0; p < in->pipe_count; p++) {
        out->pipes[p] = in->pipes[p];
    }
    for (uint32_t c = 0; c < fields; c++) {
        uint32_t column;
        if (rel->needed[c]) {
            moved[out->column_count] = plan_remap(plan, exprs[c], in->map, err);
            if (moved[out->column_count] == NULL) {
                return err->code;
            }
            only_columns = only_columns && expr_is_column(moved[out->column_count], &column);
            stream_add_column(out, rel, c);
        }
    }
    if (only_columns) {
        for (uint32_t c = 0; c < fields; c++) {
            if (rel->needed[c]) {
                expr_is_column(moved[out->map[c]], &out->map[c]);
            }
        }
        out->types = in->types;
        out->column_count = in->column_count;
        return EXEC_OK;
    }
    struct operator* op = project_create(plan->job, rel->index, moved, out->column_count);
    if (plan_append(plan, out, op, err) != EXEC_OK) {
        return err->code;
    }
    rel->rows_out[0] = &op->rows_out;
    return EXEC_OK;
}

static enum exec_code lower_limit(struct plan *plan, struct plan_rel *rel, struct stream *out,
                                  struct exec_error *err)
{
    const int64_t count = rel->spec->u.limit.count;

    if (plan_lower_rel(plan, rel->inputs[0], out, err) != EXEC_OK) {
        return err->code;
    }
    if (rel->is_folded) {
        return EXEC_OK;
    }
    struct operator* op = limit_create(plan->job, rel->index, (uint64_t)rel->spec->u.limit.offset,
                                       count < 0 ? UINT64_MAX : (uint64_t)count);
    if (plan_append(plan, out, op, err) != EXEC_OK) {
        return err->code;
    }
    rel->rows_out[0] = &op->rows_out;
    return EXEC_OK;
}

/* ---- breakers
 * -------------------------------------------------------------------------------------------- */

void plan_end_stream(const struct stream *stream, struct op_sink *sink)
{
    for (uint32_t p = 0; p < stream->pipe_count; p++) {
        pipe_set_sink(stream->pipes[p], sink);
    }
}

enum exec_code plan_lower_narrow(struct plan *plan, struct plan_rel *rel, struct stream *out,
                                 struct exec_error *err)
{
    struct plan_rel *input = rel->inputs[0];
    struct stream in;
    uint32_t needed = 0;

    if (plan_lower_rel(plan, input, &in, err) != EXEC_OK) {
        return err->code;
    }
    for (uint32_t c = 0; c < input->schema.field_count; c++) {
        needed += input->needed[c];
    }
    if (needed == in.column_count) {
        *out = in;
        return EXEC_OK;
    }
    struct expr **columns =
        plan_calloc(plan, input->schema.field_count, sizeof(struct expr *), err);
    struct plan_rel shape = {.index = rel->index, .schema = input->schema, .needed = input->needed};
    for (uint32_t c = 0; columns != NULL && c < input->schema.field_count; c++) {
        columns[c] = expr_column(&plan->job->plan, c, &input->schema.fields[c].type);
        if (columns[c] == NULL) {
            return plan_no_memory(plan, err);
        }
    }
    return columns == NULL ? err->code
                           : project_stream(plan, &shape, columns, &in, false, out, err);
}

static enum exec_code lower_sort(struct plan *plan, struct plan_rel *rel, struct stream *out,
                                 struct exec_error *err)
{
    const uint32_t key_count = rel->spec->u.sort.key_count;
    struct sort_key *keys = plan_calloc(plan, key_count, sizeof *keys, err);
    struct sort_plan *sort_plan = plan_calloc(plan, 1, sizeof *sort_plan, err);
    struct stream in, runs;
    struct sort *sort;

    if (keys == NULL || sort_plan == NULL || plan_lower_narrow(plan, rel, &in, err) != EXEC_OK) {
        return err->code;
    }
    for (uint32_t k = 0; k < key_count; k++) {
        keys[k].expr = plan_remap(plan, rel->exprs[k], in.map, err);
        keys[k].direction = rel->spec->u.sort.keys[k].direction;
        if (keys[k].expr == NULL) {
            return err->code;
        }
    }
    *sort_plan = (struct sort_plan){
        .rel = rel->index,
        .types = in.types,
        .column_count = in.column_count,
        .keys = keys,
        .key_count = key_count,
        .limit = rel->sort_limit,
        .offset = rel->sort_offset,
    };
    if (sort_create(plan->job, sort_plan, &sort, err) != EXEC_OK) {
        return plan_fail_rel(rel, err);
    }
    plan_end_stream(&in, sort_sink(sort));
    runs = in;
    if (sort_run_source(sort) != NULL &&
        plan_new_stream(plan, rel, sort_run_source(sort), &in, &runs, err) != EXEC_OK) {
        return err->code;
    }
    struct op_source *source = sort_ordered_source(sort);
    if (plan_new_stream(plan, rel, source, &runs, out, err) != EXEC_OK) {
        return err->code;
    }
    out->map = in.map;
    out->types = in.types;
    out->column_count = in.column_count;
    out->is_ordered = true;
    rel->rows_out[0] = &source->rows_out;
    return EXEC_OK;
}

static enum exec_code lower_union(struct plan *plan, struct plan_rel *rel, struct stream *out,
                                  struct exec_error *err)
{
    struct stream *ins = plan_calloc(plan, rel->input_count, sizeof *ins, err);
    uint32_t pipe_count = 0;

    for (uint32_t i = 0; ins != NULL && i < rel->input_count; i++) {
        struct stream in;
        if (plan_lower_rel(plan, rel->inputs[i], &in, err) != EXEC_OK ||
            project_stream(plan, rel, rel->union_exprs[i], &in, false, &ins[i], err) != EXEC_OK) {
            return err->code;
        }
        pipe_count += ins[i].pipe_count;
    }
    rel->rows_out[0] = NULL; /* the sum of the inputs */
    if (ins == NULL) {
        return err->code;
    }
    *out = ins[0];
    out->is_ordered = rel->input_count == 1 && ins[0].is_ordered;
    out->pipes = plan_calloc(plan, pipe_count, sizeof(struct pipe *), err);
    if (out->pipes == NULL) {
        return err->code;
    }
    out->pipe_count = 0;
    for (uint32_t i = 0; i < rel->input_count; i++) {
        for (uint32_t p = 0; p < ins[i].pipe_count; p++) {
            out->pipes[out->pipe_count++] = ins[i].pipes[p];
        }
    }
    return EXEC_OK;
}

/* ---- one relation
 * ------------------------------------------------------------------------------------------ */

static enum exec_code lower_kind(struct plan *plan, struct plan_rel *rel, struct stream *out,
                                 struct exec_error *err)
{
    struct stream in;

    switch (rel->spec->kind) {
        case EXEC_REL_SCAN: return lower_scan(plan, rel, out, err);
        case EXEC_REL_FILTER: return plan_lower_rel(plan, rel->inputs[0], out, err);
        case EXEC_REL_PROJECT:
            if (plan_lower_rel(plan, rel->inputs[0], &in, err) != EXEC_OK) {
                return err->code;
            }
            return project_stream(plan, rel, rel->exprs, &in, true, out, err);
        case EXEC_REL_JOIN: return plan_lower_join(plan, rel, out, err);
        case EXEC_REL_AGGREGATE:
        case EXEC_REL_DISTINCT: return plan_lower_group(plan, rel, out, err);
        case EXEC_REL_SORT: return lower_sort(plan, rel, out, err);
        case EXEC_REL_LIMIT: return lower_limit(plan, rel, out, err);
        case EXEC_REL_WINDOW: return plan_lower_window(plan, rel, out, err);
        default: return lower_union(plan, rel, out, err);
    }
}

/* By the dictionary of the one text column a scan's predicate reads; out->test stays NULL where
 * that can't be. */
static enum exec_code code_test_of(struct plan *plan, const struct plan_rel *rel,
                                   const struct expr *predicate, const uint32_t *map,
                                   struct filter_predicate *out, struct exec_error *err)
{
    const uint32_t count = rel->schema.field_count;
    bool *used = plan_calloc(plan, count, sizeof *used, err);
    uint32_t column = count, used_count = 0;

    if (used == NULL) {
        return err->code;
    }
    expr_mark_columns(predicate, used);
    for (uint32_t c = 0; c < count; c++) {
        used_count += used[c];
        column = used[c] ? c : column;
    }
    if (rel->spec->kind != EXEC_REL_SCAN || used_count != 1 || expr_can_raise(predicate) ||
        rel->columns[column].stats == NULL || rel->columns[column].stats->dictionary == NULL) {
        return EXEC_OK;
    }
    return code_test_create(plan->job, out->expr, map[column], rel->schema.fields[column].type.kind,
                            rel->columns[column].stats->dictionary, (uint64_t)rel->rows_base,
                            &out->test, err);
}

static enum exec_code lower_predicates(struct plan *plan, struct plan_rel *rel, struct stream *out,
                                       struct exec_error *err)
{
    struct filter_predicate *moved = plan_calloc(plan, rel->predicate_count, sizeof *moved, err);

    if (moved == NULL) {
        return err->code;
    }
    for (uint32_t i = 0; i < rel->predicate_count; i++) {
        moved[i].expr = plan_remap(plan, rel->predicates[i], out->map, err);
        if (moved[i].expr == NULL ||
            code_test_of(plan, rel, rel->predicates[i], out->map, &moved[i], err) != EXEC_OK) {
            return err->code;
        }
    }
    struct operator* op = filter_create(plan->job, rel->index, moved, rel->predicate_count);
    if (plan_append(plan, out, op, err) != EXEC_OK) {
        return err->code;
    }
    rel->rows_filtered = &op->rows_out;
    return EXEC_OK;
}

enum exec_code plan_lower_rel(struct plan *plan, struct plan_rel *rel, struct stream *out,
                              struct exec_error *err)
{
    if (lower_kind(plan, rel, out, err) != EXEC_OK) {
        return plan_fail_rel(rel, err);
    }
    if (rel->predicate_count == 0) {
        return EXEC_OK;
    }
    return lower_predicates(plan, rel, out, err) == EXEC_OK ? EXEC_OK : plan_fail_rel(rel, err);
}

enum exec_code plan_lower(struct plan *plan, struct stream *root_out, struct exec_error *err)
{
    return plan_lower_rel(plan, plan->root, root_out, err);
}
