#include "wire_window.h"

#include "wire_expr.h"
#include "wire_rel.h"
#include "wire_types.h"

#include <stdio.h>

#define SAME(exec, wire) _Static_assert((int)(exec) == (int)(wire), #exec " is " #wire)
#define SAME_WINDOW(name) \
    SAME(EXEC_WINDOW_##name, MORSEL__V1__WINDOW_FUNCTION__WINDOW_FUNCTION_##name)
SAME_WINDOW(ROW_NUMBER);
SAME_WINDOW(RANK);
SAME_WINDOW(DENSE_RANK);

enum { FIELD_PATH_BYTES = 96 };

static enum exec_code functions_read(const struct wire_reader *reader,
                                     const Morsel__V1__WindowRel *message, struct exec_rel *rel)
{
    struct exec_named_window *functions;
    enum exec_code code =
        wire_count_check(reader, "window.functions", message->n_functions, EXEC_KEYS_MAX);

    if (code != EXEC_OK) {
        return code;
    }
    functions = wire_memory_array(reader->memory, message->n_functions, sizeof *functions);
    if (functions == NULL) {
        return wire_fail_memory(reader);
    }
    for (size_t i = 0; i < message->n_functions && code == EXEC_OK; i++) {
        const Morsel__V1__NamedWindow *from = message->functions[i];
        char path[FIELD_PATH_BYTES];
        snprintf(path, sizeof path, "window.functions[%zu].function", i + 1);
        code = wire_enum_check(reader, path, &morsel__v1__window_function__descriptor,
                               (int)from->function, false, EXEC_WINDOW_DENSE_RANK);
        if (code == EXEC_OK) {
            snprintf(path, sizeof path, "window.functions[%zu].name", i + 1);
            code = wire_name_check(reader, path, from->name);
        }
        functions[i].function = (enum exec_window_function)from->function;
        functions[i].name = from->name;
    }
    rel->u.window.functions = functions;
    rel->u.window.function_count = (uint32_t)message->n_functions;
    return code;
}

enum exec_code wire_window_read(const struct wire_reader *reader,
                                const Morsel__V1__WindowRel *message, struct exec_rel *rel)
{
    enum exec_code code;

    rel->kind = EXEC_REL_WINDOW;
    rel->u.window.input = message->input;
    rel->u.window.partition = message->partition_by;
    rel->u.window.partition_count = (uint32_t)message->n_partition_by;
    rel->u.window.order_count = (uint32_t)message->n_order_by;
    code = wire_count_check(reader, "window.partition_by", message->n_partition_by, EXEC_KEYS_MAX);
    if (code == EXEC_OK) {
        code = wire_sort_keys_read(reader, "window.order_by", message->order_by,
                                   message->n_order_by, &rel->u.window.order);
    }
    if (code == EXEC_OK) {
        code = functions_read(reader, message, rel);
    }
    return code != EXEC_OK
               ? code
               : wire_row_count_read(reader, "window.limit", message->limit, &rel->u.window.limit);
}

bool wire_window_write(struct wire_memory *memory, const struct exec_rel *rel,
                       Morsel__V1__WindowRel *window)
{
    const size_t count = rel->u.window.function_count;

    window->input = rel->u.window.input;
    window->n_functions = count;
    window->functions = wire_memory_array(memory, count, sizeof *window->functions);
    for (size_t i = 0; window->functions != NULL && i < count; i++) {
        Morsel__V1__NamedWindow *to =
            wire_message_new(memory, &morsel__v1__named_window__descriptor);
        if (to == NULL) {
            return false;
        }
        window->functions[i] = to;
        to->function = (Morsel__V1__WindowFunction)rel->u.window.functions[i].function;
        to->name = wire_memory_text(memory, rel->u.window.functions[i].name);
        if (to->name == NULL) {
            return false;
        }
    }
    return window->functions != NULL &&
           wire_indices_write(memory, rel->u.window.partition, rel->u.window.partition_count,
                              &window->n_partition_by, &window->partition_by) &&
           wire_sort_keys_write(memory, rel->u.window.order, rel->u.window.order_count,
                                &window->n_order_by, &window->order_by) &&
           wire_row_count_write(memory, rel->u.window.limit, &window->limit);
}
