#ifndef CLIENT_CLI_CLI_ERROR_H
#define CLIENT_CLI_CLI_ERROR_H

#include "exec/error.h"
#include "morsel.h"
#include "sql/plan_builder.h"

/* One failure of a command, wherever it came from, and the exit code it means. */

enum cli_exit {
    EXIT_OK = 0,
    EXIT_JOB_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_CONNECT = 3,
    EXIT_RESOURCES = 4,
    EXIT_DEADLINE = 5,
    EXIT_INPUT = 6,
    EXIT_CANCELLED = 7,
    EXIT_INTERNAL = 8,
    EXIT_PARTIAL = 9,
    EXIT_INTERRUPTED = 130,
    EXIT_PIPE = 141,
};

struct cli_error {
    struct exec_error exec;
    enum morsel_fault fault; /* of a remote failure */
    bool retryable;
    struct plan_origin origin; /* the expression refused; option NULL: none */
};

void cli_error_of_morsel(struct cli_error *err, const struct morsel_error *error);

/* Points at the text of the expression the engine refused, when it came from an option. */
void cli_error_locate(struct cli_error *err, const struct plan_builder *plan);

/* What the error alone means; the caller knows about signals, pipes and partial output. */
enum cli_exit cli_error_exit(const struct cli_error *err);

/* On stderr: a sentence (and the text with a caret), or one JSON object. */
void cli_error_print(const struct cli_error *err, bool json);

#endif
