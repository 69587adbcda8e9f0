#include "plan/plan.h"
#include "table/column_stats.h"

#include <math.h>

/* Windows, from names to pipes:
 *
 *   input -> window sink; runs of a sort; window source -> ...
 *
 * The first limit that a plan or a filter above asks for is done by the window itself. */

static const double NUMBER_MAX =
    9007199254740992.0; /* 2^53: a double holds it and its neighbours */

/* ---- names and types
 * --------------------------------------------------------------------------------------- */

enum exec_code plan_bind_window(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    const struct exec_rel *spec = rel->spec;
    const struct exec_schema *input = &rel->inputs[0]->schema;
    const uint32_t partition_count = spec->u.window.partition_count;
    const uint32_t key_count = partition_count + spec->u.window.order_count;
    const uint32_t count = input->field_count + spec->u.window.function_count;
    struct exec_field *fields = plan_calloc(plan, count, sizeof *fields, err);

    rel->exprs = plan_calloc(plan, key_count, sizeof(struct expr *), err);
    if (fields == NULL || rel->exprs == NULL) {
        return err->code;
    }
    if (count > EXEC_COLUMNS_MAX) {
        return EXEC_FAIL(err, EXEC_LIMIT, "window: more than %d columns", EXEC_COLUMNS_MAX);
    }
    for (uint32_t k = 0; k < key_count; k++) {
        const uint32_t expr = k < partition_count ? spec->u.window.partition[k]
                                                  : spec->u.window.order[k - partition_count].expr;
        if (plan_bind_expr(plan, rel, expr, input, &rel->exprs[k], err) != EXEC_OK) {
            return err->code;
        }
    }
    for (uint32_t c = 0; c < count; c++) {
        fields[c] =
            c < input->field_count
                ? input->fields[c]
                : (struct exec_field){.name = spec->u.window.functions[c - input->field_count].name,
                                      .type = {.kind = EXEC_TYPE_INT64}};
    }
    rel->schema = (struct exec_schema){.fields = fields, .field_count = count};
    rel->window_limit = spec->u.window.limit;
    rel->limited = spec->u.window.functions[0].function;
    return EXEC_OK;
}

/* ---- predicates from above
 * --------------------------------------------------------------------------------- */

bool plan_window_passes(struct plan *plan, const struct plan_rel *rel, const struct expr *predicate,
                        struct exec_error *err)
{
    bool *used = plan_calloc(plan, rel->schema.field_count, sizeof *used, err);
    uint32_t column;
    bool passes = true;

    if (used == NULL) {
        return false;
    }
    expr_mark_columns(predicate, used);
    for (uint32_t k = 0; k < rel->spec->u.window.partition_count; k++) {
        if (expr_is_column(rel->exprs[k], &column)) {
            used[column] = false;
        }
    }
    for (uint32_t c = 0; c < rel->schema.field_count; c++) {
        passes = passes && !used[c];
    }
    return passes;
}

/* `number <= limit` and what says the same; true: *limit_out and *column_out are filled in. *exact:
 * the limit is all there is to it. */
static bool read_limit(const struct expr *predicate, uint32_t *column_out, double *limit_out,
                       bool *exact)
{
    static const struct {
        const char *function;
        double less; /* than the number: the limit */
        bool turned, exact;
    } forms[] = {
        {"le", 0, false, true}, {"lt", 1, false, true},  {"ge", 0, true, true},
        {"gt", 1, true, true},  {"eq", 0, false, false}, {"eq", 0, true, false},
    };
    struct expr *const *args;
    uint32_t count;

    for (uint32_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (expr_is_call(predicate, forms[i].function, &args, &count) && count == 2 &&
            expr_is_column(args[forms[i].turned], column_out) &&
            expr_is_number(args[!forms[i].turned], limit_out) && fabs(*limit_out) < NUMBER_MAX) {
            *limit_out -= forms[i].less;
            *exact = forms[i].exact;
            return true;
        }
    }
    return false;
}

bool plan_window_limits(struct plan_rel *rel, const struct expr *predicate)
{
    const uint32_t own = rel->inputs[0]->schema.field_count;
    uint32_t column;
    double limit;
    bool exact;

    /* Both sides of the comparison are int64, else the column would be cast. */
    if (!read_limit(predicate, &column, &limit, &exact) || column < own) {
        return false;
    }
    const enum exec_window_function function = rel->spec->u.window.functions[column - own].function;
    if (rel->window_limit >= 0 && rel->limited != function) {
        return false;
    }
    const int64_t rows = limit < 0 ? 0 : (int64_t)limit;
    rel->window_limit =
        rel->window_limit < 0 || rows < rel->window_limit ? rows : rel->window_limit;
    rel->limited = function;
    return exact;
}

/* ---- lowering
 * -------------------------------------------------------------------------------------------- */

static enum exec_code lower_keys(struct plan *plan, const struct plan_rel *rel, const uint32_t *map,
                                 struct sort_key *keys, struct exec_error *err)
{
    const uint32_t partition_count = rel->spec->u.window.partition_count;

    for (uint32_t k = 0; k < partition_count + rel->spec->u.window.order_count; k++) {
        keys[k].expr = plan_remap(plan, rel->exprs[k], map, err);
        keys[k].direction = k < partition_count
                                ? EXEC_ASC_NULLS_LAST
                                : rel->spec->u.window.order[k - partition_count].direction;
        if (keys[k].expr == NULL) {
            return err->code;
        }
    }
    return EXEC_OK;
}

/* What the statistics say of the columns of the input's stream. */
static struct window_column *lower_known(struct plan *plan, const struct plan_rel *input,
                                         const struct stream *in, struct exec_error *err)
{
    struct window_column *columns = plan_calloc(plan, in->column_count + 1, sizeof *columns, err);

    for (uint32_t c = 0; columns != NULL && input->columns != NULL && c < input->schema.field_count;
         c++) {
        const struct column_stats *stats = input->columns[c].stats;
        if (stats == NULL || in->map[c] == UINT32_MAX) {
            continue;
        }
        struct window_column *column = &columns[in->map[c]];
        const enum vec_storage storage = vec_storage(input->schema.fields[c].type.kind);
        column->may_be_null = stats->null_count > 0 || input->columns[c].gains_nulls;
        column->is_bounded =
            storage == VEC_F32 || storage == VEC_F64
                ? !stats->has_specials
                : column_stats_integers(stats, storage, &column->least, &column->most);
    }
    return columns;
}

/* Where the columns of the source's batches are: those of the input's stream, then the numbers that
 * somebody needs. */
static enum exec_code lower_columns(struct plan *plan, const struct plan_rel *rel,
                                    const struct stream *in, struct stream *out,
                                    struct exec_error *err)
{
    const uint32_t fields = rel->schema.field_count;
    const uint32_t own = rel->inputs[0]->schema.field_count;
    struct exec_type *types = plan_calloc(plan, in->column_count + fields, sizeof *types, err);

    if (types == NULL) {
        return err->code;
    }
    for (uint32_t c = 0; c < in->column_count; c++) {
        types[c] = in->types[c];
    }
    out->column_count = in->column_count;
    for (uint32_t c = 0; c < fields; c++) {
        if (c < own) {
            out->map[c] = in->map[c];
        } else if (rel->needed[c]) {
            out->map[c] = out->column_count;
            types[out->column_count++] = rel->schema.fields[c].type;
        } else {
            out->map[c] = UINT32_MAX;
        }
    }
    out->types = types;
    return EXEC_OK;
}

enum exec_code plan_lower_window(struct plan *plan, struct plan_rel *rel, struct stream *out,
                                 struct exec_error *err)
{
    const struct exec_rel *spec = rel->spec;
    const uint32_t own = rel->inputs[0]->schema.field_count;
    const uint32_t key_count = spec->u.window.partition_count + spec->u.window.order_count;
    struct sort_key *keys = plan_calloc(plan, key_count, sizeof *keys, err);
    enum exec_window_function *functions =
        plan_calloc(plan, spec->u.window.function_count, sizeof *functions, err);
    struct stream in, runs;
    struct window *window;
    uint32_t function_count = 0;

    if (keys == NULL || functions == NULL || plan_lower_narrow(plan, rel, &in, err) != EXEC_OK ||
        lower_keys(plan, rel, in.map, keys, err) != EXEC_OK) {
        return err->code;
    }
    for (uint32_t f = 0; f < spec->u.window.function_count; f++) {
        if (rel->needed[own + f]) {
            functions[function_count++] = spec->u.window.functions[f].function;
        }
    }
    const struct window_column *columns = lower_known(plan, rel->inputs[0], &in, err);
    if (columns == NULL) {
        return err->code;
    }
    const struct window_plan window_plan = {
        .rel = rel->index,
        .types = in.types,
        .column_count = in.column_count,
        .keys = keys,
        .partition_count = spec->u.window.partition_count,
        .order_count = spec->u.window.order_count,
        .functions = functions,
        .function_count = function_count,
        .limited = rel->limited,
        .limit = rel->window_limit,
        .columns = columns,
        .rows = rel->inputs[0]->rows,
    };
    if (window_create(plan->job, &window_plan, &window, err) != EXEC_OK) {
        return plan_fail_rel(rel, err);
    }
    plan_end_stream(&in, window_sink(window));
    struct op_source *source = window_source(window);
    if (plan_new_stream(plan, rel, window_run_source(window), &in, &runs, err) != EXEC_OK ||
        plan_new_stream(plan, rel, source, &runs, out, err) != EXEC_OK) {
        return err->code;
    }
    rel->rows_out[0] = &source->rows_out;
    return lower_columns(plan, rel, &in, out, err);
}
