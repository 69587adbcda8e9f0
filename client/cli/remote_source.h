#ifndef CLIENT_CLI_REMOTE_SOURCE_H
#define CLIENT_CLI_REMOTE_SOURCE_H

#include "job_source.h"

/* Connects to options->server, watched by Ctrl-C. NULL and err. Give back with remote_close. */
struct morsel_connection *remote_connect(const struct cli_options *options, struct cli_error *err);
void remote_close(struct morsel_connection *connection);

uint64_t remote_timeout_ms(const struct cli_options *options);

#endif
