#ifndef TESTS_MEASURE_LIST_H
#define TESTS_MEASURE_LIST_H

#include "op/group.h"
#include "spec_builder.h"

#include <stdio.h>
#include <string.h>

/* Every aggregate function over every type it takes among those of the input's columns, with
 * DISTINCT and with a filter too, as measures of the last relation. FIXED leaves out those that
 * keep rows, FEW those behind VAR_SAMP too. Columns the input must have: i (int64), d (decimal), f
 * (float64), s (utf8), t (timestamp), p (bool). */
enum measure_choice { MEASURES_ALL, MEASURES_FIXED, MEASURES_FEW };

static inline bool measure_takes(const struct group_function *function, char column)
{
    switch ((enum group_takes)function->takes) {
        case TAKES_NUMBER:
        case TAKES_REAL: return column == 'i' || column == 'd' || column == 'f';
        case TAKES_INTEGER: return column == 'i';
        case TAKES_BOOL: return column == 'p';
        case TAKES_TEXT: return column == 's';
        default: return true;
    }
}

static const char measure_columns[] = "idfstp";
enum { MEASURE_COLUMNS = sizeof measure_columns - 1 };

/* at: the expressions of the columns. */
static inline void measure_add(struct spec_builder *b, enum exec_aggregate_function function,
                               uint32_t variant, uint32_t c, const uint32_t *at)
{
    const char column = measure_columns[c];
    const struct group_function *about = group_function(function);
    struct exec_rel *rel = &b->rels[b->rel_count - 1];
    struct exec_measure *measure;
    struct exec_literal literal = {.type.kind = EXEC_TYPE_FLOAT64, .value.f64 = 0.3};
    char name[64];

    snprintf(name, sizeof name, "%s_%c%u", about->text, column, variant);
    spec_measure(b, function, about->argument_count == 0 ? 0 : at[c], name);
    measure = (struct exec_measure *)(uintptr_t)&rel->u.aggregate
                  .measures[rel->u.aggregate.measure_count - 1];
    if (about->argument_count == 2) {
        const uint32_t args[] = {measure->args[0], at[column == 'i' ? 2 : 0]};
        measure->args = spec_memory(b, args, sizeof args);
        measure->arg_count = 2;
    }
    if (variant == 1 && about->argument_count == 1) {
        measure->distinct = true;
    }
    if (variant == 2) {
        measure->filter = at[5];
    }
    if ((about->extras & AGG_ORDER) != 0 && variant != 1) {
        const struct exec_sort_key order[] = {{.expr = at[1], .direction = EXEC_DESC_NULLS_LAST},
                                              {.expr = at[3], .direction = EXEC_ASC_NULLS_FIRST}};
        measure->order = spec_memory(b, order, sizeof order);
        measure->order_count = 2;
    }
    if ((about->extras & AGG_OWN_ORDER) != 0 && variant == 2) {
        const struct exec_sort_key own = {.expr = at[c], .direction = EXEC_DESC_NULLS_LAST};
        measure->order = spec_memory(b, &own, sizeof own);
        measure->order_count = 1;
    }
    if ((about->extras & AGG_FRACTION) != 0) {
        measure->parameters = spec_memory(b, &literal, sizeof literal);
        measure->parameter_count = 1;
    }
}

/* Returns how many. */
static inline uint32_t measure_list(struct spec_builder *b, enum measure_choice choice)
{
    uint32_t at[MEASURE_COLUMNS];

    for (uint32_t c = 0; c < MEASURE_COLUMNS; c++) {
        const char name[] = {measure_columns[c], 0};
        at[c] = spec_column(b, name);
    }
    for (uint32_t f = EXEC_AGG_COUNT_STAR;
         f <= (choice == MEASURES_FEW ? EXEC_AGG_VAR_SAMP : EXEC_AGG_FUNCTION_COUNT - 1); f++) {
        const enum exec_aggregate_function function = (enum exec_aggregate_function)f;
        const struct group_function *about = group_function(function);
        for (uint32_t c = 0; c < MEASURE_COLUMNS; c++) {
            for (uint32_t variant = 0; variant < (c == 2 || c == 3 ? 3U : 2U); variant++) {
                const bool keeps = group_form_keeps((enum group_form)about->form) || variant == 1;
                if (measure_takes(about, measure_columns[c]) &&
                    !(choice != MEASURES_ALL && keeps) && !(about->argument_count == 0 && c > 0) &&
                    !(about->argument_count == 2 && measure_columns[c] != 'i' &&
                      measure_columns[c] != 'f' && about->takes == TAKES_REAL)) {
                    measure_add(b, function, variant, c, at);
                }
            }
        }
    }
    return b->rels[b->rel_count - 1].u.aggregate.measure_count;
}

static inline struct exec_type measure_type(const struct spec_builder *b, uint32_t expr)
{
    static const struct exec_type types[MEASURE_COLUMNS] = {
        {.kind = EXEC_TYPE_INT64},
        {.kind = EXEC_TYPE_DECIMAL128, .precision = 12, .scale = 2},
        {.kind = EXEC_TYPE_FLOAT64},
        {.kind = EXEC_TYPE_UTF8},
        {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_MICRO},
        {.kind = EXEC_TYPE_BOOL}};
    const char *name = b->exprs[expr - 1].u.column.name;

    return types[strchr(measure_columns, name[0]) - measure_columns];
}

/* The same measures out of the columns of states that PARTIAL gave them. */
static inline void measure_list_final(struct spec_builder *b, enum measure_choice choice)
{
    const uint32_t count = measure_list(b, choice);
    struct exec_rel *rel = &b->rels[b->rel_count - 1];

    for (uint32_t m = 0; m < count; m++) {
        struct exec_measure *measure =
            (struct exec_measure *)(uintptr_t)&rel->u.aggregate.measures[m];
        const uint32_t state = spec_column(b, measure->name);
        struct exec_type types[4];
        for (uint32_t a = 0; a < measure->arg_count; a++) {
            types[measure->argument_type_count++] = measure_type(b, measure->args[a]);
        }
        for (uint32_t o = 0; o < measure->order_count; o++) {
            types[measure->argument_type_count++] = measure_type(b, measure->order[o].expr);
        }
        measure->argument_types = spec_memory(b, types, sizeof types);
        measure->args = spec_memory(b, &state, sizeof state);
        measure->arg_count = 1;
        measure->filter = 0;
    }
    rel->u.aggregate.phase = EXEC_PHASE_FINAL;
}

static inline uint32_t measure_null_if(struct spec_builder *b, uint32_t value, uint32_t other,
                                       enum exec_type_kind kind)
{
    const uint32_t args[] = {spec_call2(b, "eq", value, other), spec_null(b, kind), value};

    return spec_call(b, "if", args, 3);
}

/* The input: `rows` rows of k (int64, with NULLs), g (utf8, with NULLs), and the columns above. */
static inline uint32_t measure_input(struct spec_builder *b, int64_t rows)
{
    const uint32_t scan = spec_generator(b, "skewed", rows, 11);

    spec_project(b, scan);
    const uint32_t i = spec_column(b, "i"), v = spec_column(b, "v");
    const uint32_t k = spec_call2(b, "modulo", v, spec_i64(b, 5));
    spec_item(b, "k", measure_null_if(b, k, spec_i64(b, 3), EXEC_TYPE_INT64));
    const uint32_t g = spec_call2(b, "modulo", spec_call2(b, "add", i, v), spec_i64(b, 3));
    spec_item(b, "g",
              measure_null_if(b, spec_cast(b, g, "utf8"), spec_text(b, "1"), EXEC_TYPE_UTF8));
    spec_item(b, "row", i);
    const uint32_t value =
        spec_call2(b, "modulo", spec_call2(b, "multiply", i, spec_i64(b, 7919)), spec_i64(b, 101));
    spec_item(b, "i", measure_null_if(b, value, spec_i64(b, 50), EXEC_TYPE_INT64));
    spec_item(b, "d", spec_cast(b, value, "decimal128(12,2)"));
    /* Of 200 binary orders of magnitude, either sign. */
    const uint32_t power = spec_call2(b, "power", spec_f64(b, 2), spec_cast(b, value, "float64"));
    const uint32_t sign = spec_call2(b, "subtract", spec_cast(b, v, "float64"), spec_f64(b, 40));
    spec_item(b, "f", spec_call2(b, "multiply", power, sign));
    const uint32_t words[] = {spec_text(b, "a text longer than twelve bytes "),
                              spec_cast(b, value, "utf8")};
    spec_item(b, "s", spec_call(b, "concat", words, 2));
    const struct exec_literal day = {.type.kind = EXEC_TYPE_DATE32, .value.i64 = -40};
    spec_item(b, "t",
              spec_cast(b, spec_call2(b, "add", spec_literal(b, &day), value), "timestamp[us]"));
    spec_item(b, "p", spec_call2(b, "lt", value, spec_i64(b, 60)));
    return b->rel_count;
}

#endif
