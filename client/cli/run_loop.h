#ifndef CLIENT_CLI_RUN_LOOP_H
#define CLIENT_CLI_RUN_LOOP_H

#include "cli_error.h"
#include "cli_options.h"
#include "job_source.h"
#include "output_file.h"

/* The streaming loop of every run command: job in, bytes out, exit code back. */

/* Runs the job and writes its result as the options ask. On failure prints the error (`plan`, may
 * be NULL, tells which option an expression came from) and returns its exit code. */
enum cli_exit run_job(const struct cli_options *options, struct job_source *source,
                      struct source_job *job, const struct plan_builder *plan);

/* Explains it instead: the text (or with --json the JSON) on stdout. */
enum cli_exit run_explain(const struct cli_options *options, struct job_source *source,
                          const struct exec_job_spec *spec, struct plan_builder *plan);

/* Prints the error and returns its exit code: 130 after Ctrl-C, 9 when `partial`. */
enum cli_exit run_fail(const struct cli_options *options, struct cli_error *err,
                       const struct plan_builder *plan, bool partial);

/* After output_commit failed or a write did: prints why, as a fault of the output, not of the
 * input. 1, 9 when a part is out already, or a quiet 141 when the reader went away. */
enum cli_exit run_output_fail(const struct cli_options *options, struct cli_error *err,
                              const struct output_file *output);

#endif
