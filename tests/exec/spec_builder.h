#ifndef TESTS_SPEC_BUILDER_H
#define TESTS_SPEC_BUILDER_H

#include "exec/exec.h"
#include "exec/job_spec.h"

/* Job specs written tersely, for tests:
 *
 *     struct spec_builder b;
 *     spec_init(&b);
 *     uint32_t scan = spec_generator(&b, "sequence", 1000, 0);
 *     uint32_t rows = spec_filter(&b, scan, spec_call2(&b, "lt", spec_column(&b, "i"), spec_i64(&b,
 * 10))); uint32_t groups = spec_group(&b, rows); spec_key(&b, "v", spec_column(&b, "v"));
 *     spec_measure(&b, EXEC_AGG_SUM, spec_column(&b, "i"), "sum_i");
 *     spec_job(&b)  ->  const struct exec_job_spec *
 *     spec_fini(&b);
 *
 * Every function that makes an entry returns its 1-based index. Strings are copied. Calls that need
 * more than fits abort: it is test support. The last relation made is the root. */
enum { SPEC_RELS = 300, SPEC_EXPRS = 2000, SPEC_BLOCKS = 16384 };

struct spec_builder {
    struct exec_rel rels[SPEC_RELS];
    struct exec_expr exprs[SPEC_EXPRS];
    uint32_t rel_count, expr_count;
    struct exec_job_spec job;
    void *blocks[SPEC_BLOCKS];
    uint32_t block_count;
};

void spec_init(struct spec_builder *b);
void spec_fini(struct spec_builder *b);
const struct exec_job_spec *spec_job(struct spec_builder *b);
void *spec_memory(struct spec_builder *b, const void *from,
                  size_t bytes); /* a copy; from may be NULL */

/* ---- expressions ---- */
uint32_t spec_column(struct spec_builder *b, const char *name);
uint32_t spec_column_at(struct spec_builder *b, uint32_t index);
uint32_t spec_side_column(struct spec_builder *b, uint32_t side, const char *name);
uint32_t spec_literal(struct spec_builder *b, const struct exec_literal *literal);
uint32_t spec_i64(struct spec_builder *b, int64_t value);
uint32_t spec_i32(struct spec_builder *b, int32_t value);
uint32_t spec_f64(struct spec_builder *b, double value);
uint32_t spec_bool(struct spec_builder *b, bool value);
uint32_t spec_text(struct spec_builder *b, const char *value);
uint32_t spec_null(struct spec_builder *b, enum exec_type_kind kind);
uint32_t spec_call(struct spec_builder *b, const char *function, const uint32_t *args,
                   uint32_t arg_count);
uint32_t spec_call1(struct spec_builder *b, const char *function, uint32_t a);
uint32_t spec_call2(struct spec_builder *b, const char *function, uint32_t a, uint32_t c);
uint32_t spec_cast(struct spec_builder *b, uint32_t arg, const char *type);

/* ---- relations ---- */
uint32_t spec_rel(struct spec_builder *b, const struct exec_rel *rel);
uint32_t spec_generator(struct spec_builder *b, const char *name, int64_t rows, uint64_t seed);
uint32_t spec_table(struct spec_builder *b, const char *table);
uint32_t spec_file(struct spec_builder *b, const char *path);
uint32_t spec_filter(struct spec_builder *b, uint32_t input, uint32_t predicate);
uint32_t spec_project(struct spec_builder *b, uint32_t input);
uint32_t spec_join(struct spec_builder *b, enum exec_join_kind kind, uint32_t left, uint32_t right);
uint32_t spec_group(struct spec_builder *b, uint32_t input);
uint32_t spec_sort(struct spec_builder *b, uint32_t input, int64_t limit);
uint32_t spec_limit(struct spec_builder *b, uint32_t input, int64_t offset, int64_t count);
uint32_t spec_union(struct spec_builder *b, const uint32_t *inputs, uint32_t input_count);
uint32_t spec_distinct(struct spec_builder *b, uint32_t input);

/* Add to the last relation made, which must be of the kind they belong to. */
void spec_scan_column(struct spec_builder *b, const char *name);         /* scan */
void spec_item(struct spec_builder *b, const char *name, uint32_t expr); /* project */
void spec_on(struct spec_builder *b, uint32_t left, uint32_t right);     /* join */
void spec_residual(struct spec_builder *b, uint32_t predicate);          /* join */
void spec_key(struct spec_builder *b, const char *name, uint32_t expr);  /* group */
void spec_measure(struct spec_builder *b, enum exec_aggregate_function function, uint32_t arg,
                  const char *name); /* group; arg 0: none */
void spec_order(struct spec_builder *b, uint32_t expr, enum exec_direction direction); /* sort */

uint32_t spec_window(struct spec_builder *b, uint32_t input, int64_t limit);
void spec_partition(struct spec_builder *b, uint32_t expr); /* window */
void spec_window_order(struct spec_builder *b, uint32_t expr,
                       enum exec_direction direction); /* window */
void spec_number(struct spec_builder *b, enum exec_window_function function,
                 const char *name); /* window */

#endif
