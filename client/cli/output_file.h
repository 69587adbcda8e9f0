#ifndef CLIENT_CLI_OUTPUT_FILE_H
#define CLIENT_CLI_OUTPUT_FILE_H

#include "exec/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where data goes: stdout, or a file that takes its name only when everything is there. Writes are
 * buffered; the first failure sticks and later writes do nothing. */

enum { OUTPUT_BUFFER_BYTES = 256 << 10 };

struct output_file {
    int fd;
    const char *path; /* NULL: stdout */
    char *temporary;  /* beside path; NULL when path is no regular file (a pipe, /dev/null) */
    bool nameless;    /* temporary is a name it gets only when it is whole */
    char *buffer;
    size_t used;
    uint64_t flushed_bytes;
    int failure; /* errno; EPIPE: the reader went away */
};

enum exec_code output_open(struct output_file *output, const char *path, struct exec_error *err);
void output_write(struct output_file *output, const void *bytes, size_t size);
void output_text(struct output_file *output, const char *text);
void output_flush(struct output_file *output);

/* Flushes and gives a file its name. EXEC_IO and err on failure. */
enum exec_code output_commit(struct output_file *output, struct exec_error *err);

/* Frees; what was not committed to a file is removed. */
void output_close(struct output_file *output);

/* True when some bytes reached stdout. */
bool output_is_partial(const struct output_file *output);

#endif
