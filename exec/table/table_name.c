#include "exec/job_spec.h" /* EXEC_NAME_BYTES_MAX */
#include "table/table.h"
#include "vec/utf8.h"

#include <string.h>

enum exec_code table_name_check(const char *name, struct exec_error *err)
{
    const size_t bytes = name == NULL ? 0 : strlen(name);

    if (bytes == 0) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "a table needs a name");
    }
    if (bytes > EXEC_NAME_BYTES_MAX) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "a table name has %zu bytes; at most %d are allowed",
                         bytes, EXEC_NAME_BYTES_MAX);
    }
    if (!utf8_is_valid(name, bytes)) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "a table name is not valid UTF-8");
    }
    for (size_t i = 0; i < bytes; i++) {
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f) {
            return EXEC_FAIL(err, EXEC_BAD_SPEC,
                             "a table name holds the control character 0x%02x at byte %zu",
                             (unsigned)(unsigned char)name[i], i + 1);
        }
    }
    return EXEC_OK;
}
