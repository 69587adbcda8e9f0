#ifndef CLIENT_CLI_BATCH_WRITER_H
#define CLIENT_CLI_BATCH_WRITER_H

#include "cli_options.h"
#include "exec/column_buffers.h"
#include "output_file.h"

/* A result in one output format. */

struct batch_writer;

struct batch_writer_ops {
    void (*begin)(struct batch_writer *writer);
    void (*batch)(struct batch_writer *writer, const struct exec_column_buffers *columns,
                  uint64_t row_count);
    void (*end)(struct batch_writer *writer); /* of a whole result only */
    void (*destroy)(struct batch_writer *writer);
};

struct batch_writer {
    const struct batch_writer_ops *ops;
    struct output_file *output;
    const struct exec_schema *schema; /* lives until destroy */
    const char *null_text;
    char delimiter;
    uint64_t row_count;
};

/* null_out NULL: the format's own. NULL: no memory. begin, any number of batches, end, destroy. */
struct batch_writer *batch_writer_create(enum cli_format format, const char *null_out,
                                         const struct exec_schema *schema,
                                         struct output_file *output);

struct batch_writer *format_csv_create(char delimiter);
struct batch_writer *format_jsonl_create(void);
struct batch_writer *format_table_create(void);
struct batch_writer *format_arrow_create(void);

enum { TABLE_ROWS_MAX = 40 }; /* a table shows no more */

#endif
