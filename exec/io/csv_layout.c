#include "io/csv_layout.h"

#include <stdio.h>
#include <string.h>

struct csv_null_texts csv_null_texts_make(const char *const *texts, uint32_t count)
{
    struct csv_null_texts nulls = {.texts = texts, .count = count};

    for (uint32_t i = 0; i < count; i++) {
        const size_t size = strlen(texts[i]);
        nulls.sizes |= UINT64_C(1) << (size < 63 ? size : 63);
    }
    return nulls;
}

bool csv_is_null(const struct csv_null_texts *nulls, const struct csv_field *field)
{
    if (field->quoted) {
        return false;
    }
    if (field->size == 0) {
        return true;
    }
    if ((nulls->sizes >> (field->size < 63 ? field->size : 63) & 1) == 0) {
        return false;
    }
    for (uint32_t i = 0; i < nulls->count; i++) {
        if (strlen(nulls->texts[i]) == field->size &&
            memcmp(nulls->texts[i], field->bytes, field->size) == 0) {
            return true;
        }
    }
    return false;
}

void csv_fault_set_text(struct csv_fault *fault, const char *bytes, size_t size)
{
    const size_t kept = size < CSV_FAULT_TEXT_BYTES ? size : CSV_FAULT_TEXT_BYTES;

    for (size_t i = 0; i < kept; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        fault->text[i] = byte < 0x20 || byte > 0x7e ? '?' : (char)byte;
    }
    memcpy(fault->text + kept, size > kept ? "..." : "", size > kept ? 4 : 1);
}

/* Behind "path:line column 7 'dep_delay': ". */
static void fault_sentence(const struct csv_fault *fault, const struct csv_layout *layout,
                           char *out, size_t out_bytes)
{
    char type[EXEC_TYPE_TEXT_BYTES];
    const struct csv_column *column = fault->column > 0 && fault->column <= layout->column_count
                                          ? &layout->columns[fault->column - 1]
                                          : NULL;

    switch (fault->kind) {
        case CSV_FAULT_RAGGED:
            snprintf(out, out_bytes, "expected %u field%s, found %u", layout->column_count,
                     layout->column_count == 1 ? "" : "s", fault->field_count);
            break;
        case CSV_FAULT_TYPE:
        case CSV_FAULT_RANGE:
            snprintf(out, out_bytes, "\"%s\" %s %s", fault->text,
                     fault->kind == CSV_FAULT_TYPE ? "is not" : "does not fit",
                     column == NULL ? "the type" : exec_type_text(&column->type, type));
            break;
        case CSV_FAULT_ZEROS:
        case CSV_FAULT_DIGITS:
            snprintf(out, out_bytes, "\"%s\" would lose its %s as %s", fault->text,
                     fault->kind == CSV_FAULT_ZEROS ? "leading zeros" : "last digits",
                     column == NULL ? "a number" : exec_type_text(&column->type, type));
            break;
        case CSV_FAULT_UTF8:
            snprintf(out, out_bytes, "\"%s\" is not valid UTF-8 at byte %zu of the field",
                     fault->text, fault->bad_byte);
            break;
        case CSV_FAULT_LONG_LINE:
            snprintf(out, out_bytes,
                     "the line is longer than %d bytes (is a quoted field not closed?)",
                     CSV_LINE_BYTES_MAX);
            break;
        case CSV_FAULT_OPEN_QUOTE:
            snprintf(out, out_bytes, "the quoted field is not closed before the end of the file");
            break;
        case CSV_FAULT_AFTER_QUOTE:
            snprintf(out, out_bytes, "the closing quote is not followed by '%c' or a line end",
                     layout->dialect.delimiter);
            break;
        default: snprintf(out, out_bytes, "ill-formed"); break;
    }
}

enum exec_code csv_fault_report(const struct csv_fault *fault, const struct csv_layout *layout,
                                const char *path, uint64_t line, struct exec_error *err)
{
    char place[128] = "";
    char sentence[192];
    char hint[96] = "";
    const bool has_column = fault->column > 0 && fault->column <= layout->column_count;
    const struct csv_column *column = has_column ? &layout->columns[fault->column - 1] : NULL;

    if (has_column) {
        snprintf(place, sizeof place, " column %u '%.80s'", fault->column, column->name);
    } else if (fault->column > 0) {
        snprintf(place, sizeof place, " column %u", fault->column);
    }
    if (has_column && column->inferred && fault->kind >= CSV_FAULT_TYPE &&
        fault->kind <= CSV_FAULT_DIGITS) {
        snprintf(hint, sizeof hint, " (inferred from the first %llu rows; give its type)",
                 (unsigned long long)layout->inferred_rows);
    }
    /* Faults of the file itself also say their place in words. */
    if (fault->kind == CSV_FAULT_RAGGED) {
        snprintf(hint, sizeof hint, " in line %llu", (unsigned long long)line);
    } else if (fault->kind == CSV_FAULT_UTF8 && has_column) {
        snprintf(hint, sizeof hint, " in line %llu, column %.60s", (unsigned long long)line,
                 column->name);
    }
    fault_sentence(fault, layout, sentence, sizeof sentence);
    EXEC_FAIL(err, EXEC_BAD_DATA, "%.150s:%llu%s: %s%s", path, (unsigned long long)line, place,
              sentence, hint);
    err->line = line;
    err->column = fault->column;
    return err->code;
}
