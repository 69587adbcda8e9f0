#ifndef TESTS_EXEC_CSV_ORACLE_H
#define TESTS_EXEC_CSV_ORACLE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* RFC 4180 as plainly as it can be written: one character at a time over a whole file, every field
 * copied. Blank lines are skipped unless keep_blank. */

struct oracle_field {
    char *bytes;
    size_t size;
    bool quoted;
    size_t row;  /* 0-based */
    size_t line; /* 0-based line on which its row begins */
};

struct oracle_table {
    struct oracle_field *fields;
    size_t field_count, row_count;
    bool bad; /* text behind a closing quote, or no closing quote; rows before it are there */
};

static inline void oracle_push(struct oracle_table *table, const char *bytes, size_t size,
                               bool quoted, size_t line)
{
    table->fields = realloc(table->fields, (table->field_count + 1) * sizeof *table->fields);
    struct oracle_field *field = &table->fields[table->field_count++];
    *field = (struct oracle_field){.bytes = malloc(size + 1),
                                   .size = size,
                                   .quoted = quoted,
                                   .row = table->row_count,
                                   .line = line};
    memcpy(field->bytes, bytes, size);
}

static inline bool oracle_line_end(const char *text, size_t size, size_t at)
{
    return at == size || text[at] == '\n' ||
           (text[at] == '\r' && (at + 1 == size || text[at + 1] == '\n'));
}

static inline void oracle_read(struct oracle_table *table, const char *text, size_t size,
                               char delimiter, char quote, bool keep_blank)
{
    char *value = malloc(size + 1);
    size_t at = 0;
    size_t line = 0;
    *table = (struct oracle_table){.fields = NULL};
    while (at < size) {
        const size_t first_field = table->field_count;
        const size_t row_line = line;
        if (!keep_blank && oracle_line_end(text, size, at)) {
            at += text[at] == '\r';
            at += at < size;
            line++;
            continue;
        }
        for (bool more = true; more;) {
            size_t count = 0;
            bool quoted = false;
            if (at < size && text[at] == quote) {
                quoted = true;
                at++;
                while (at < size &&
                       (text[at] != quote || (at + 1 < size && text[at + 1] == quote))) {
                    at += text[at] == quote;
                    line += text[at] == '\n';
                    value[count++] = text[at++];
                }
                table->bad = at == size;
                at++;
                if (table->bad || (!oracle_line_end(text, size, at) && text[at] != delimiter)) {
                    table->bad = true;
                    while (table->field_count > first_field) {
                        free(table->fields[--table->field_count].bytes);
                    }
                    free(value);
                    return;
                }
            } else {
                while (at < size && text[at] != delimiter && !oracle_line_end(text, size, at)) {
                    value[count++] = text[at++];
                }
            }
            oracle_push(table, value, count, quoted, row_line);
            more = at < size && text[at] == delimiter;
            at += more;
        }
        at += at < size && text[at] == '\r';
        line += at < size;
        at += at < size;
        table->row_count++;
    }
    free(value);
}

static inline void oracle_free(struct oracle_table *table)
{
    for (size_t i = 0; i < table->field_count; i++) {
        free(table->fields[i].bytes);
    }
    free(table->fields);
}

#endif
