#include "op/code_test.h"

#include "op/job_context.h"
#include "vec/vec.h"

#include <string.h>

enum {
    CODE_TEST_VALUES_MAX = 1 << 16,
    CODE_TEST_ROWS_A_VALUE = 8, /* fewer rows than that: not worth it */
};

struct code_test {
    uint32_t column;
    const struct dictionary *dictionary;
    uint8_t *passes; /* by code: 0, 1 */
    bool null_passes;
};

/* The predicate for the values of `column`, into passes[0, count). */
static enum exec_code run(struct nu_arena *scratch, const struct expr *predicate,
                          struct vec *columns, uint32_t column, uint32_t count, uint8_t *passes,
                          struct exec_error *err)
{
    const struct batch batch = {
        .row_count = count, .sel_count = count, .columns = columns, .column_count = column + 1};
    uint16_t sel[BATCH_ROWS];
    uint32_t passing = 0;
    const enum exec_code code = expr_select(predicate, &batch, scratch, sel, &passing, err);

    for (uint32_t i = 0; code == EXEC_OK && i < passing; i++) {
        passes[sel[i]] = 1;
    }
    return code;
}

enum exec_code code_test_create(struct job_context *job, const struct expr *predicate,
                                uint32_t column, enum exec_type_kind kind,
                                const struct dictionary *dictionary, uint64_t table_rows,
                                struct code_test **test_out, struct exec_error *err)
{
    struct nu_arena *arena = &job->plan;
    const uint32_t count = dictionary->count;

    *test_out = NULL;
    if (count > CODE_TEST_VALUES_MAX || count > table_rows / CODE_TEST_ROWS_A_VALUE) {
        return EXEC_OK;
    }
    struct code_test *test = nu_arena_calloc(arena, sizeof *test, _Alignof(struct code_test));
    uint8_t *passes = nu_arena_calloc(arena, count + 1, 1);
    const struct nu_arena_mark mark = nu_arena_mark(arena);
    struct vec *columns =
        nu_arena_calloc(arena, (column + (size_t)1) * sizeof *columns, _Alignof(struct vec));
    uint8_t null_passes = 0;
    enum exec_code code = EXEC_OK;
    if (test == NULL || passes == NULL || columns == NULL) {
        return job_memory_error(err, arena->refused, "a test of a dictionary's values");
    }
    for (uint32_t done = 0; code == EXEC_OK && done < count; done += BATCH_ROWS) {
        const struct nu_arena_mark before = nu_arena_mark(arena);
        columns[column] = (struct vec){.data = dictionary->views + done, .kind = kind};
        code = run(arena, predicate, columns, column,
                   count - done < BATCH_ROWS ? count - done : BATCH_ROWS, passes + done, err);
        nu_arena_rewind(arena, before);
    }
    columns[column] = vec_null(kind);
    code = code == EXEC_OK ? run(arena, predicate, columns, column, 1, &null_passes, err) : code;
    nu_arena_rewind(arena, mark);
    *test = (struct code_test){.column = column,
                               .dictionary = dictionary,
                               .passes = passes,
                               .null_passes = null_passes != 0};
    *test_out = test;
    return code;
}

/* Without branches: which rows pass is hard to foresee. */
#define SELECT_BY(type)                                                                    \
    static uint32_t select_##type(const struct code_test *test, const struct vec *vec,     \
                                  const struct batch *in, uint16_t *restrict sel_out)      \
    {                                                                                      \
        const type *codes = vec->codes;                                                    \
        uint32_t kept = 0;                                                                 \
        for (uint32_t p = 0; p < in->sel_count; p++) {                                     \
            const uint32_t row = batch_row(in, p);                                         \
            sel_out[kept] = (uint16_t)row;                                                 \
            kept += vec_is_valid(vec, row) ? test->passes[codes[row]] : test->null_passes; \
        }                                                                                  \
        return kept;                                                                       \
    }
SELECT_BY(uint8_t)
SELECT_BY(uint16_t)
SELECT_BY(uint32_t)

bool code_test_select(const struct code_test *test, const struct batch *in, uint16_t *sel_out,
                      uint32_t *count_out)
{
    const struct vec *vec = &in->columns[test->column];

    if (vec->dictionary != test->dictionary || vec->constant) {
        return false;
    }
    switch (vec->code_bytes) {
        case 1: *count_out = select_uint8_t(test, vec, in, sel_out); break;
        case 2: *count_out = select_uint16_t(test, vec, in, sel_out); break;
        default: *count_out = select_uint32_t(test, vec, in, sel_out); break;
    }
    return true;
}
