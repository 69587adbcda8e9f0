#ifndef CLIENT_CLI_CLI_HINT_H
#define CLIENT_CLI_CLI_HINT_H

#include "cli_error.h"
#include "cli_options.h"

/* What a user of the command line can do about an error of the engine or a server, which know no
 * options, behind the error's text. */
void cli_hint(const struct cli_options *options, struct cli_error *err);

#endif
