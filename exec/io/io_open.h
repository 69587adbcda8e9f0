#ifndef EXEC_IO_IO_OPEN_H
#define EXEC_IO_IO_OPEN_H

#include "io/io.h"

/* Runs a request of the file threads' queue: opens request->path when there is one (result 0 or a
 * negative errno, fd, file_bytes), then completes it. */
void io_open_run(void *io, struct io_request *request);

#endif
