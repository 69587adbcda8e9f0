#include "batch_writer.h"

struct batch_writer *batch_writer_create(enum cli_format format, const char *null_out,
                                         const struct exec_schema *schema,
                                         struct output_file *output)
{
    struct batch_writer *writer = NULL;

    switch (format) {
        case FORMAT_TABLE: writer = format_table_create(); break;
        case FORMAT_TSV: writer = format_csv_create('\t'); break;
        case FORMAT_JSONL: writer = format_jsonl_create(); break;
        case FORMAT_ARROW: writer = format_arrow_create(); break;
        case FORMAT_AUTO:
        case FORMAT_CSV: writer = format_csv_create(','); break;
    }
    if (writer != NULL) {
        writer->output = output;
        writer->schema = schema;
        writer->null_text = null_out != NULL ? null_out : format == FORMAT_TABLE ? "NULL" : "";
    }
    return writer;
}
