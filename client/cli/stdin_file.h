#ifndef CLIENT_CLI_STDIN_FILE_H
#define CLIENT_CLI_STDIN_FILE_H

#include "exec/error.h"

#include <stdbool.h>

/* An input that comes through stdin. Readers want a file, of known size and read from many places
 * at once, so stdin is copied to its end into one without a name (in TMPDIR, else /tmp), which is
 * gone when this process is.
 *
 * stdin_file_path returns its path, static memory, the same for the whole process; NULL and err:
 * EXEC_BAD_SPEC when stdin was copied before (it holds one input), EXEC_IO. */
const char *stdin_file_path(struct exec_error *err);

/* Whether a path is that one: no name tells its format. */
bool stdin_file_is(const char *path);

#endif
