#ifndef EXEC_OP_CODE_TEST_H
#define EXEC_OP_CODE_TEST_H

#include "expr/expr.h"
#include "table/dictionary.h"

struct job_context;

/* A predicate over one text column with a dictionary: its answer for every value, found once while
 * the job is planned, then read by code. Immutable, shared by workers. */
struct code_test;

/* The predicate reads batch column `column`, a utf8 or binary one, alone and can't raise; the
 * dictionary is that of the scanned table, which outlives the test. *test_out NULL: it has too many
 * values for its rows. Fails with EXEC_MEMORY_BUDGET. In the plan arena. */
enum exec_code code_test_create(struct job_context *job, const struct expr *predicate,
                                uint32_t column, enum exec_type_kind kind,
                                const struct dictionary *dictionary, uint64_t table_rows,
                                struct code_test **test_out, struct exec_error *err);

/* As expr_select. false: this batch's column has no codes, or others. */
bool code_test_select(const struct code_test *test, const struct batch *in, uint16_t *sel_out,
                      uint32_t *count_out);

#endif
