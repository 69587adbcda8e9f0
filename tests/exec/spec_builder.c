#include "spec_builder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void spec_init(struct spec_builder *b)
{
    memset(b, 0, sizeof *b);
}

void spec_fini(struct spec_builder *b)
{
    for (uint32_t i = 0; i < b->block_count; i++) {
        free(b->blocks[i]);
    }
    b->block_count = 0;
}

const struct exec_job_spec *spec_job(struct spec_builder *b)
{
    b->job.rels = b->rels;
    b->job.rel_count = b->rel_count;
    b->job.exprs = b->exprs;
    b->job.expr_count = b->expr_count;
    return &b->job;
}

void *spec_memory(struct spec_builder *b, const void *from, size_t bytes)
{
    void *block = calloc(1, bytes + 1);
    assert(block != NULL);
    assert(b->block_count < SPEC_BLOCKS);
    if (from != NULL && bytes != 0) {
        memcpy(block, from, bytes);
    }
    b->blocks[b->block_count++] = block;
    return block;
}

static char *spec_string(struct spec_builder *b, const char *text)
{
    return text == NULL ? NULL : spec_memory(b, text, strlen(text));
}

/* A copy of the array with one more element; old copies stay valid until spec_fini. */
static void *spec_grow(struct spec_builder *b, const void *array, uint32_t count, size_t width,
                       const void *element)
{
    unsigned char *grown = spec_memory(b, NULL, (count + (size_t)1) * width);
    if (count != 0) {
        memcpy(grown, array, count * width);
    }
    memcpy(grown + count * width, element, width);
    return grown;
}

/* ---- expressions ---- */

static uint32_t spec_expr(struct spec_builder *b, const struct exec_expr *expr)
{
    assert(b->expr_count < SPEC_EXPRS);
    b->exprs[b->expr_count++] = *expr;
    return b->expr_count;
}

uint32_t spec_column(struct spec_builder *b, const char *name)
{
    return spec_side_column(b, 0, name);
}

uint32_t spec_side_column(struct spec_builder *b, uint32_t side, const char *name)
{
    return spec_expr(b, &(struct exec_expr){.kind = EXEC_EXPR_COLUMN,
                                            .u.column.name = spec_string(b, name),
                                            .u.column.side = side});
}

uint32_t spec_column_at(struct spec_builder *b, uint32_t index)
{
    return spec_expr(b, &(struct exec_expr){.kind = EXEC_EXPR_COLUMN, .u.column.index = index});
}

uint32_t spec_literal(struct spec_builder *b, const struct exec_literal *literal)
{
    return spec_expr(b, &(struct exec_expr){.kind = EXEC_EXPR_LITERAL, .u.literal = *literal});
}

uint32_t spec_i64(struct spec_builder *b, int64_t value)
{
    return spec_literal(b,
                        &(struct exec_literal){.type.kind = EXEC_TYPE_INT64, .value.i64 = value});
}

uint32_t spec_i32(struct spec_builder *b, int32_t value)
{
    return spec_literal(b,
                        &(struct exec_literal){.type.kind = EXEC_TYPE_INT32, .value.i64 = value});
}

uint32_t spec_f64(struct spec_builder *b, double value)
{
    return spec_literal(b,
                        &(struct exec_literal){.type.kind = EXEC_TYPE_FLOAT64, .value.f64 = value});
}

uint32_t spec_bool(struct spec_builder *b, bool value)
{
    return spec_literal(
        b, &(struct exec_literal){.type.kind = EXEC_TYPE_BOOL, .value.boolean = value});
}

uint32_t spec_text(struct spec_builder *b, const char *value)
{
    struct exec_literal literal = {.type.kind = EXEC_TYPE_UTF8};
    literal.value.text.bytes = spec_string(b, value);
    literal.value.text.size = strlen(value);
    return spec_literal(b, &literal);
}

uint32_t spec_null(struct spec_builder *b, enum exec_type_kind kind)
{
    return spec_literal(b, &(struct exec_literal){.type.kind = (uint8_t)kind, .is_null = true});
}

uint32_t spec_call(struct spec_builder *b, const char *function, const uint32_t *args,
                   uint32_t arg_count)
{
    return spec_expr(
        b, &(struct exec_expr){.kind = EXEC_EXPR_CALL,
                               .u.call = {.function = spec_string(b, function),
                                          .args = spec_memory(b, args, arg_count * sizeof *args),
                                          .arg_count = arg_count}});
}

uint32_t spec_call1(struct spec_builder *b, const char *function, uint32_t a)
{
    return spec_call(b, function, &a, 1);
}

uint32_t spec_call2(struct spec_builder *b, const char *function, uint32_t a, uint32_t c)
{
    return spec_call(b, function, (const uint32_t[]){a, c}, 2);
}

uint32_t spec_cast(struct spec_builder *b, uint32_t arg, const char *type)
{
    struct exec_expr expr = {.kind = EXEC_EXPR_CAST, .u.cast.arg = arg};
    const bool known = exec_type_parse(type, &expr.u.cast.to);
    assert(known);
    return spec_expr(b, &expr);
}

/* ---- relations ---- */

uint32_t spec_rel(struct spec_builder *b, const struct exec_rel *rel)
{
    assert(b->rel_count < SPEC_RELS);
    b->rels[b->rel_count++] = *rel;
    return b->rel_count;
}

static struct exec_rel *spec_last(struct spec_builder *b, enum exec_rel_kind kind)
{
    assert(b->rel_count > 0);
    assert(b->rels[b->rel_count - 1].kind == kind);
    return &b->rels[b->rel_count - 1];
}

uint32_t spec_generator(struct spec_builder *b, const char *name, int64_t rows, uint64_t seed)
{
    return spec_rel(b, &(struct exec_rel){.kind = EXEC_REL_SCAN,
                                          .u.scan = {.source = EXEC_SCAN_GENERATOR,
                                                     .generator = spec_string(b, name),
                                                     .generator_rows = rows,
                                                     .generator_seed = seed}});
}

uint32_t spec_table(struct spec_builder *b, const char *table)
{
    return spec_rel(b, &(struct exec_rel){
                           .kind = EXEC_REL_SCAN,
                           .u.scan = {.source = EXEC_SCAN_TABLE, .table = spec_string(b, table)}});
}

uint32_t spec_file(struct spec_builder *b, const char *path)
{
    const char *paths[] = {spec_string(b, path)};
    return spec_rel(b, &(struct exec_rel){.kind = EXEC_REL_SCAN,
                                          .u.scan = {.source = EXEC_SCAN_FILES,
                                                     .paths = spec_memory(b, paths, sizeof paths),
                                                     .path_count = 1}});
}

uint32_t spec_filter(struct spec_builder *b, uint32_t input, uint32_t predicate)
{
    return spec_rel(b, &(struct exec_rel){.kind = EXEC_REL_FILTER,
                                          .u.filter = {.input = input, .predicate = predicate}});
}

uint32_t spec_project(struct spec_builder *b, uint32_t input)
{
    return spec_rel(b, &(struct exec_rel){.kind = EXEC_REL_PROJECT, .u.project.input = input});
}

uint32_t spec_join(struct spec_builder *b, enum exec_join_kind kind, uint32_t left, uint32_t right)
{
    return spec_rel(b, &(struct exec_rel){.kind = EXEC_REL_JOIN,
                                          .u.join = {.left = left, .right = right, .kind = kind}});
}

uint32_t spec_group(struct spec_builder *b, uint32_t input)
{
    return spec_rel(b, &(struct exec_rel){.kind = EXEC_REL_AGGREGATE, .u.aggregate.input = input});
}

uint32_t spec_sort(struct spec_builder *b, uint32_t input, int64_t limit)
{
    return spec_rel(
        b, &(struct exec_rel){.kind = EXEC_REL_SORT, .u.sort = {.input = input, .limit = limit}});
}

uint32_t spec_limit(struct spec_builder *b, uint32_t input, int64_t offset, int64_t count)
{
    return spec_rel(
        b, &(struct exec_rel){.kind = EXEC_REL_LIMIT,
                              .u.limit = {.input = input, .offset = offset, .count = count}});
}

uint32_t spec_union(struct spec_builder *b, const uint32_t *inputs, uint32_t input_count)
{
    return spec_rel(
        b, &(struct exec_rel){
               .kind = EXEC_REL_UNION_ALL,
               .u.union_all = {.inputs = spec_memory(b, inputs, input_count * sizeof *inputs),
                               .input_count = input_count}});
}

uint32_t spec_distinct(struct spec_builder *b, uint32_t input)
{
    return spec_rel(b, &(struct exec_rel){.kind = EXEC_REL_DISTINCT, .u.distinct.input = input});
}

uint32_t spec_window(struct spec_builder *b, uint32_t input, int64_t limit)
{
    return spec_rel(b, &(struct exec_rel){.kind = EXEC_REL_WINDOW,
                                          .u.window = {.input = input, .limit = limit}});
}

void spec_partition(struct spec_builder *b, uint32_t expr)
{
    struct exec_rel *rel = spec_last(b, EXEC_REL_WINDOW);
    rel->u.window.partition =
        spec_grow(b, rel->u.window.partition, rel->u.window.partition_count, sizeof expr, &expr);
    rel->u.window.partition_count++;
}

void spec_window_order(struct spec_builder *b, uint32_t expr, enum exec_direction direction)
{
    struct exec_rel *rel = spec_last(b, EXEC_REL_WINDOW);
    const struct exec_sort_key key = {.expr = expr, .direction = direction};
    rel->u.window.order =
        spec_grow(b, rel->u.window.order, rel->u.window.order_count, sizeof key, &key);
    rel->u.window.order_count++;
}

void spec_number(struct spec_builder *b, enum exec_window_function function, const char *name)
{
    struct exec_rel *rel = spec_last(b, EXEC_REL_WINDOW);
    const struct exec_named_window number = {.function = function, .name = spec_string(b, name)};
    rel->u.window.functions =
        spec_grow(b, rel->u.window.functions, rel->u.window.function_count, sizeof number, &number);
    rel->u.window.function_count++;
}

void spec_scan_column(struct spec_builder *b, const char *name)
{
    struct exec_rel *rel = spec_last(b, EXEC_REL_SCAN);
    const char *copy = spec_string(b, name);
    rel->u.scan.columns =
        spec_grow(b, rel->u.scan.columns, rel->u.scan.column_count, sizeof copy, &copy);
    rel->u.scan.column_count++;
}

void spec_item(struct spec_builder *b, const char *name, uint32_t expr)
{
    struct exec_rel *rel = spec_last(b, EXEC_REL_PROJECT);
    const struct exec_named_expr item = {.name = spec_string(b, name), .expr = expr};
    rel->u.project.exprs =
        spec_grow(b, rel->u.project.exprs, rel->u.project.expr_count, sizeof item, &item);
    rel->u.project.expr_count++;
}

void spec_on(struct spec_builder *b, uint32_t left, uint32_t right)
{
    struct exec_rel *rel = spec_last(b, EXEC_REL_JOIN);
    const struct exec_join_key key = {.left = left, .right = right};
    rel->u.join.keys = spec_grow(b, rel->u.join.keys, rel->u.join.key_count, sizeof key, &key);
    rel->u.join.key_count++;
}

void spec_residual(struct spec_builder *b, uint32_t predicate)
{
    spec_last(b, EXEC_REL_JOIN)->u.join.residual = predicate;
}

void spec_key(struct spec_builder *b, const char *name, uint32_t expr)
{
    struct exec_rel *rel = spec_last(b, EXEC_REL_AGGREGATE);
    const struct exec_named_expr key = {.name = spec_string(b, name), .expr = expr};
    rel->u.aggregate.keys =
        spec_grow(b, rel->u.aggregate.keys, rel->u.aggregate.key_count, sizeof key, &key);
    rel->u.aggregate.key_count++;
}

void spec_measure(struct spec_builder *b, enum exec_aggregate_function function, uint32_t arg,
                  const char *name)
{
    struct exec_rel *rel = spec_last(b, EXEC_REL_AGGREGATE);
    const struct exec_measure measure = {
        .function = function,
        .args = arg == 0 ? NULL : spec_memory(b, &arg, sizeof arg),
        .arg_count = arg == 0 ? 0 : 1,
        .name = spec_string(b, name),
    };
    rel->u.aggregate.measures = spec_grow(b, rel->u.aggregate.measures,
                                          rel->u.aggregate.measure_count, sizeof measure, &measure);
    rel->u.aggregate.measure_count++;
}

void spec_order(struct spec_builder *b, uint32_t expr, enum exec_direction direction)
{
    struct exec_rel *rel = spec_last(b, EXEC_REL_SORT);
    const struct exec_sort_key key = {.expr = expr, .direction = direction};
    rel->u.sort.keys = spec_grow(b, rel->u.sort.keys, rel->u.sort.key_count, sizeof key, &key);
    rel->u.sort.key_count++;
}
