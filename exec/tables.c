#include "engine.h"

#include <stdlib.h>

enum exec_code exec_table_list(struct exec_engine *engine, const char *name,
                               struct exec_table_list *list_out, struct exec_error *err)
{
    return catalogue_list(engine->catalogue, name, list_out, err);
}

void exec_table_list_free(struct exec_table_list *list)
{
    free(list->memory);
    *list = (struct exec_table_list){.tables = NULL};
}

enum exec_code exec_table_drop(struct exec_engine *engine, const char *name, struct exec_error *err)
{
    return catalogue_drop(engine->catalogue, name, err);
}
