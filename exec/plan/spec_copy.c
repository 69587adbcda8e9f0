#include "plan/spec.h"

#include <string.h>

/* Copies with one arena; `refused` remembers that some allocation failed, so that the copying reads
 * straight through. */
struct copier {
    struct nu_arena *arena;
    bool refused;
};

static void *copy_bytes(struct copier *copier, const void *from, size_t count, size_t width)
{
    void *copy;

    if (from == NULL || count == 0) {
        return NULL;
    }
    copy = nu_arena_alloc(copier->arena, count * width, 16);
    if (copy == NULL) {
        copier->refused = true;
        return NULL;
    }
    return memcpy(copy, from, count * width);
}

static const char *copy_text(struct copier *copier, const char *text)
{
    return text == NULL ? NULL : copy_bytes(copier, text, strlen(text) + 1, 1);
}

static const char *const *copy_texts(struct copier *copier, const char *const *texts,
                                     uint32_t count)
{
    const char **copy = copy_bytes(copier, texts, count, sizeof *texts);

    for (uint32_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = copy_text(copier, texts[i]);
    }
    return copy;
}

static struct exec_schema copy_schema(struct copier *copier, const struct exec_schema *schema)
{
    struct exec_field *fields =
        copy_bytes(copier, schema->fields, schema->field_count, sizeof *fields);

    for (uint32_t f = 0; fields != NULL && f < schema->field_count; f++) {
        fields[f].name = copy_text(copier, schema->fields[f].name);
    }
    return (struct exec_schema){.fields = fields, .field_count = schema->field_count};
}

static void copy_literal(struct copier *copier, struct exec_literal *literal)
{
    if ((literal->type.kind == EXEC_TYPE_UTF8 || literal->type.kind == EXEC_TYPE_BINARY) &&
        !literal->is_null) {
        literal->value.text.bytes =
            copy_bytes(copier, literal->value.text.bytes, literal->value.text.size, 1);
    }
}

static void copy_expr(struct copier *copier, struct exec_expr *expr)
{
    switch (expr->kind) {
        case EXEC_EXPR_COLUMN: expr->u.column.name = copy_text(copier, expr->u.column.name); break;
        case EXEC_EXPR_LITERAL: copy_literal(copier, &expr->u.literal); break;
        case EXEC_EXPR_CALL:
            expr->u.call.function = copy_text(copier, expr->u.call.function);
            expr->u.call.args = copy_bytes(copier, expr->u.call.args, expr->u.call.arg_count,
                                           sizeof *expr->u.call.args);
            break;
        case EXEC_EXPR_IN_LIST: {
            struct exec_literal *values = copy_bytes(copier, expr->u.in_list.values,
                                                     expr->u.in_list.value_count, sizeof *values);
            for (uint32_t i = 0; values != NULL && i < expr->u.in_list.value_count; i++) {
                copy_literal(copier, &values[i]);
            }
            expr->u.in_list.values = values;
            break;
        }
        case EXEC_EXPR_CASE:
            expr->u.case_when.branches =
                copy_bytes(copier, expr->u.case_when.branches, expr->u.case_when.branch_count,
                           sizeof *expr->u.case_when.branches);
            break;
        default: break;
    }
}

static const struct exec_named_expr *copy_named(struct copier *copier,
                                                const struct exec_named_expr *named, uint32_t count)
{
    struct exec_named_expr *copy = copy_bytes(copier, named, count, sizeof *copy);

    for (uint32_t i = 0; copy != NULL && i < count; i++) {
        copy[i].name = copy_text(copier, named[i].name);
    }
    return copy;
}

static void copy_scan(struct copier *copier, struct exec_rel *rel)
{
    rel->u.scan.table = copy_text(copier, rel->u.scan.table);
    rel->u.scan.paths = copy_texts(copier, rel->u.scan.paths, rel->u.scan.path_count);
    rel->u.scan.csv.null_texts =
        copy_texts(copier, rel->u.scan.csv.null_texts, rel->u.scan.csv.null_text_count);
    rel->u.scan.schema = copy_schema(copier, &rel->u.scan.schema);
    rel->u.scan.expected_schema = copy_schema(copier, &rel->u.scan.expected_schema);
    rel->u.scan.generator = copy_text(copier, rel->u.scan.generator);
    rel->u.scan.columns = copy_texts(copier, rel->u.scan.columns, rel->u.scan.column_count);
    rel->u.scan.inline_stream = NULL;
    rel->u.scan.inline_stream_bytes = 0;
}

static struct exec_literal *copy_literals(struct copier *copier,
                                          const struct exec_literal *literals, uint32_t count)
{
    struct exec_literal *copy = copy_bytes(copier, literals, count, sizeof *copy);

    for (uint32_t i = 0; copy != NULL && i < count; i++) {
        copy_literal(copier, &copy[i]);
    }
    return copy;
}

static void copy_measures(struct copier *copier, struct exec_rel *rel)
{
    struct exec_measure *measures = copy_bytes(copier, rel->u.aggregate.measures,
                                               rel->u.aggregate.measure_count, sizeof *measures);

    for (uint32_t m = 0; measures != NULL && m < rel->u.aggregate.measure_count; m++) {
        measures[m].name = copy_text(copier, measures[m].name);
        measures[m].args =
            copy_bytes(copier, measures[m].args, measures[m].arg_count, sizeof *measures[m].args);
        measures[m].order = copy_bytes(copier, measures[m].order, measures[m].order_count,
                                       sizeof *measures[m].order);
        measures[m].argument_types =
            copy_bytes(copier, measures[m].argument_types, measures[m].argument_type_count,
                       sizeof *measures[m].argument_types);
        measures[m].parameters =
            copy_literals(copier, measures[m].parameters, measures[m].parameter_count);
    }
    rel->u.aggregate.measures = measures;
}

static void copy_window(struct copier *copier, struct exec_rel *rel)
{
    struct exec_named_window *functions = copy_bytes(
        copier, rel->u.window.functions, rel->u.window.function_count, sizeof *functions);

    for (uint32_t f = 0; functions != NULL && f < rel->u.window.function_count; f++) {
        functions[f].name = copy_text(copier, functions[f].name);
    }
    rel->u.window.functions = functions;
    rel->u.window.partition =
        copy_bytes(copier, rel->u.window.partition, rel->u.window.partition_count,
                   sizeof *rel->u.window.partition);
    rel->u.window.order = copy_bytes(copier, rel->u.window.order, rel->u.window.order_count,
                                     sizeof *rel->u.window.order);
}

static void copy_sets(struct copier *copier, struct exec_rel *rel)
{
    struct exec_grouping_set *sets =
        copy_bytes(copier, rel->u.aggregate.sets, rel->u.aggregate.set_count, sizeof *sets);

    for (uint32_t s = 0; sets != NULL && s < rel->u.aggregate.set_count; s++) {
        sets[s].keys = copy_bytes(copier, sets[s].keys, sets[s].key_count, sizeof *sets[s].keys);
    }
    rel->u.aggregate.sets = sets;
    rel->u.aggregate.set_name = copy_text(copier, rel->u.aggregate.set_name);
}

static void copy_rel(struct copier *copier, struct exec_rel *rel)
{
    rel->label = copy_text(copier, rel->label);
    switch (rel->kind) {
        case EXEC_REL_SCAN: copy_scan(copier, rel); break;
        case EXEC_REL_PROJECT:
            rel->u.project.exprs =
                copy_named(copier, rel->u.project.exprs, rel->u.project.expr_count);
            break;
        case EXEC_REL_JOIN:
            rel->u.join.keys = copy_bytes(copier, rel->u.join.keys, rel->u.join.key_count,
                                          sizeof *rel->u.join.keys);
            break;
        case EXEC_REL_AGGREGATE:
            rel->u.aggregate.keys =
                copy_named(copier, rel->u.aggregate.keys, rel->u.aggregate.key_count);
            copy_measures(copier, rel);
            copy_sets(copier, rel);
            break;
        case EXEC_REL_SORT:
            rel->u.sort.keys = copy_bytes(copier, rel->u.sort.keys, rel->u.sort.key_count,
                                          sizeof *rel->u.sort.keys);
            break;
        case EXEC_REL_WINDOW: copy_window(copier, rel); break;
        case EXEC_REL_UNION_ALL:
            rel->u.union_all.inputs =
                copy_bytes(copier, rel->u.union_all.inputs, rel->u.union_all.input_count,
                           sizeof *rel->u.union_all.inputs);
            break;
        default: break;
    }
}

struct exec_job_spec *spec_copy(const struct exec_job_spec *spec, struct nu_arena *arena)
{
    struct copier copier = {.arena = arena};
    struct exec_job_spec *copy = copy_bytes(&copier, spec, 1, sizeof *copy);
    struct exec_rel *rels = copy_bytes(&copier, spec->rels, spec->rel_count, sizeof *rels);
    struct exec_expr *exprs = copy_bytes(&copier, spec->exprs, spec->expr_count, sizeof *exprs);

    if (copier.refused) {
        return NULL;
    }
    for (uint32_t i = 0; i < spec->expr_count; i++) {
        copy_expr(&copier, &exprs[i]);
    }
    for (uint32_t i = 0; i < spec->rel_count; i++) {
        copy_rel(&copier, &rels[i]);
    }
    copy->rels = rels;
    copy->exprs = exprs;
    copy->into_table = copy_text(&copier, spec->into_table);
    return copier.refused ? NULL : copy;
}
