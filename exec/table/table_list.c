#include "table/table_make.h"

#include <stdlib.h>
#include <string.h>

/* One block: the infos, then all fields, then all texts. */
struct list_sizes {
    size_t fields, text_bytes;
};

static struct list_sizes measure(struct table *const *tables, uint32_t table_count)
{
    struct list_sizes sizes = {0, 0};

    for (uint32_t t = 0; t < table_count; t++) {
        sizes.fields += tables[t]->schema.field_count;
        sizes.text_bytes += strlen(tables[t]->name) + 1;
        for (uint32_t f = 0; f < tables[t]->schema.field_count; f++) {
            sizes.text_bytes += strlen(tables[t]->schema.fields[f].name) + 1;
        }
    }
    return sizes;
}

static const char *put_text(char **cursor, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = memcpy(*cursor, text, bytes);
    *cursor += bytes;
    return copy;
}

bool table_list_make(struct table *const *tables, uint32_t table_count,
                     struct exec_table_list *list_out)
{
    const struct list_sizes sizes = measure(tables, table_count);
    struct exec_table_info *infos =
        malloc(table_count * sizeof *infos + sizes.fields * sizeof(struct exec_field) +
               sizes.text_bytes + 1);
    if (infos == NULL) {
        return false;
    }
    struct exec_field *fields = (struct exec_field *)(infos + table_count);
    char *text = (char *)(fields + sizes.fields);

    for (uint32_t t = 0; t < table_count; t++) {
        const struct exec_schema *schema = &tables[t]->schema;
        infos[t] = (struct exec_table_info){
            .name = put_text(&text, tables[t]->name),
            .schema = {.fields = fields, .field_count = schema->field_count},
            .row_count = tables[t]->row_count,
            .memory_bytes = tables[t]->memory_bytes,
            .version = tables[t]->version,
        };
        for (uint32_t f = 0; f < schema->field_count; f++) {
            *fields = schema->fields[f];
            fields->name = put_text(&text, schema->fields[f].name);
            fields++;
        }
    }
    *list_out =
        (struct exec_table_list){.tables = infos, .table_count = table_count, .memory = infos};
    return true;
}
