#include "op/scan_generator.h"
#include "plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ", " between the names of a schema, cut to fit: the candidates of an error. */
static const char *schema_names(const struct exec_schema *schema, char *text, size_t bytes)
{
    size_t at = 0;

    text[0] = '\0';
    for (uint32_t f = 0; f < schema->field_count && at < bytes; f++) {
        at += (size_t)snprintf(text + at, bytes - at, "%s%s", f == 0 ? "" : ", ",
                               schema->fields[f].name);
    }
    return text;
}

static enum exec_code find_column(const struct exec_schema *schema, const char *name,
                                  const char *where, uint32_t *column_out, struct exec_error *err)
{
    char names[256];
    uint32_t found = 0;

    for (uint32_t f = 0; f < schema->field_count; f++) {
        if (strcmp(schema->fields[f].name, name) == 0) {
            *column_out = f;
            found++;
        }
    }
    if (found == 1) {
        return EXEC_OK;
    }
    return EXEC_FAIL(err, EXEC_COLUMN_NOT_FOUND, "%s '%s' in %s; it has: %s",
                     found == 0 ? "no column" : "more than one column", name, where,
                     schema_names(schema, names, sizeof names));
}

static enum exec_code open_table(struct plan_rel *rel, struct exec_schema *whole_out,
                                 struct exec_error *err)
{
    const char *name = rel->spec->u.scan.table;
    const uint64_t version_least = rel->spec->u.scan.table_min_version;

    if (rel->table == NULL) {
        return EXEC_FAIL(err, EXEC_TABLE_NOT_FOUND, "no table '%s'", name);
    }
    if (rel->table->version < version_least) {
        return EXEC_FAIL(err, EXEC_TABLE_NOT_FOUND,
                         "table '%s' is at version %" PRIu64 ", at least %" PRIu64 " is wanted",
                         name, rel->table->version, version_least);
    }
    rel->rows = (double)rel->table->row_count;
    rel->rows_exact = true;
    *whole_out = rel->table->schema;
    return EXEC_OK;
}

static enum exec_code open_generator(struct plan_rel *rel, struct exec_schema *whole_out,
                                     struct exec_error *err)
{
    const struct exec_schema *schema = scan_generator_schema(rel->spec->u.scan.generator);

    if (schema == NULL) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC,
                         "scan.generator: no generator '%s'; there are: sequence, skewed",
                         rel->spec->u.scan.generator);
    }
    rel->rows = (double)rel->spec->u.scan.generator_rows;
    rel->rows_exact = true;
    *whole_out = *schema;
    return EXEC_OK;
}

static enum exec_code scan_columns(struct plan *plan, struct plan_rel *rel,
                                   const struct exec_schema *whole, const char *where,
                                   struct exec_error *err)
{
    const uint32_t named = rel->spec->u.scan.column_count;
    const uint32_t count = named == 0 ? whole->field_count : named;
    struct exec_field *fields = plan_calloc(plan, count, sizeof *fields, err);

    rel->source_columns = plan_calloc(plan, count, sizeof *rel->source_columns, err);
    if (fields == NULL || rel->source_columns == NULL) {
        return err->code;
    }
    for (uint32_t c = 0; c < count; c++) {
        rel->source_columns[c] = c;
        if (named != 0 && find_column(whole, rel->spec->u.scan.columns[c], where,
                                      &rel->source_columns[c], err) != EXEC_OK) {
            return err->code;
        }
        fields[c] = whole->fields[rel->source_columns[c]];
        fields[c].name = nu_arena_strdup(&plan->job->plan, fields[c].name);
        if (fields[c].name == NULL) {
            return plan_no_memory(plan, err);
        }
    }
    rel->schema = (struct exec_schema){.fields = fields, .field_count = count};
    return EXEC_OK;
}

static enum exec_code check_expected(const struct plan_rel *rel, const char *where,
                                     struct exec_error *err)
{
    const struct exec_schema *expected = &rel->spec->u.scan.expected_schema;

    if (expected->field_count == 0) {
        return EXEC_OK;
    }
    if (expected->field_count != rel->schema.field_count) {
        return EXEC_FAIL(err, EXEC_SCHEMA_MISMATCH,
                         "%s has %" PRIu32 " columns, %" PRIu32 " were expected", where,
                         rel->schema.field_count, expected->field_count);
    }
    for (uint32_t f = 0; f < expected->field_count; f++) {
        const struct exec_field *is = &rel->schema.fields[f], *wanted = &expected->fields[f];
        char is_text[EXEC_TYPE_TEXT_BYTES], wanted_text[EXEC_TYPE_TEXT_BYTES];

        if (strcmp(is->name, wanted->name) != 0 || !exec_type_equal(&is->type, &wanted->type)) {
            return EXEC_FAIL(err, EXEC_SCHEMA_MISMATCH,
                             "column %" PRIu32 " of %s is '%s' %s, expected was '%s' %s", f + 1,
                             where, is->name, exec_type_text(&is->type, is_text), wanted->name,
                             exec_type_text(&wanted->type, wanted_text));
        }
    }
    return EXEC_OK;
}

enum exec_code plan_bind_scan(struct plan *plan, struct plan_rel *rel, struct exec_error *err)
{
    struct exec_schema whole = {0};
    char where[320];
    enum exec_code code;

    switch (rel->spec->u.scan.source) {
        case EXEC_SCAN_TABLE:
            snprintf(where, sizeof where, "table '%s'", rel->spec->u.scan.table);
            code = open_table(rel, &whole, err);
            break;
        case EXEC_SCAN_GENERATOR:
            snprintf(where, sizeof where, "generator '%s'", rel->spec->u.scan.generator);
            code = open_generator(rel, &whole, err);
            break;
        default:
            snprintf(where, sizeof where, "file '%.300s'", rel->spec->u.scan.paths[0]);
            code = scan_files_bind(rel->files, err);
            if (code == EXEC_OK) {
                whole = *scan_files_schema(rel->files);
                rel->rows = (double)scan_files_row_estimate(rel->files);
            }
            break;
    }
    if (code != EXEC_OK || scan_columns(plan, rel, &whole, where, err) != EXEC_OK ||
        check_expected(rel, where, err) != EXEC_OK) {
        return err->code;
    }
    return rel->spec->u.scan.filter == 0
               ? EXEC_OK
               : plan_bind_predicate(plan, rel, rel->spec->u.scan.filter, &rel->schema, err);
}
