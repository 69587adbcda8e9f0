#ifndef CLIENT_CLI_CLI_INPUT_H
#define CLIENT_CLI_CLI_INPUT_H

#include "cli_options.h"
#include "sql/plan_builder.h"

/* Inputs named on the command line: a file, or with --server a table or server:PATH. */

/* Adds a scan of `arg` to the plan. *name_out (the plan's) is what --csv, --types and qualified
 * columns call it: a table's name, or a file's without folder and extensions. Returns the scan's
 * relation, or 0 and err. */
uint32_t cli_input_scan(struct plan_builder *plan, const struct cli_options *options,
                        const char *arg, const char **name_out, struct exec_error *err);

/* The same as the source of LOAD: `count` paths below the server's data root, as one scan. */
uint32_t cli_input_files(struct plan_builder *plan, const struct cli_options *options,
                         const char *name, const char *const *paths, uint32_t count,
                         struct exec_error *err);

/* After every input was named: an error for a --csv or --types that named none of them. */
enum exec_code cli_input_check_names(const struct cli_options *options, const char *const *names,
                                     uint32_t count, struct exec_error *err);

#endif
