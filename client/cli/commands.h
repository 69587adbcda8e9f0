#ifndef CLIENT_CLI_COMMANDS_H
#define CLIENT_CLI_COMMANDS_H

#include "cli_options.h"
#include "run_loop.h"

/* The subcommands, one file each. They print what they have to and return the exit code. */

enum cli_exit cmd_join(const struct cli_options *options);
enum cli_exit cmd_group(const struct cli_options *options);
enum cli_exit cmd_run(const struct cli_options *options);
enum cli_exit cmd_sql(const struct cli_options *options);
enum cli_exit cmd_explain(const struct cli_options *options);
enum cli_exit cmd_jobs(const struct cli_options *options);
enum cli_exit cmd_top(const struct cli_options *options);
enum cli_exit cmd_cancel(const struct cli_options *options);
enum cli_exit cmd_upload(const struct cli_options *options);
enum cli_exit cmd_load(const struct cli_options *options);
enum cli_exit cmd_tables(const struct cli_options *options);
enum cli_exit cmd_drop(const struct cli_options *options);
enum cli_exit cmd_ping(const struct cli_options *options);
enum cli_exit cmd_version(const struct cli_options *options);

/* The whole program behind main(). */
enum cli_exit cli_main(int argc, char **argv);

/* Checks the number of arguments, and (server_needed) that a server is named. 0, or the exit code
 * of the error it printed. */
enum cli_exit cmd_check(const struct cli_options *options, uint32_t args_min, uint32_t args_max,
                        bool server_needed);

/* The plans of join and group, for running and for explain. `args` are the inputs. The source is
 * asked for the schemas of a join's inputs. EXEC_OK, or a code and err. */
enum exec_code cmd_join_plan(const struct cli_options *options, const char *const *args,
                             struct job_source *source, struct plan_builder *plan,
                             struct cli_error *err);
enum exec_code cmd_group_plan(const struct cli_options *options, const char *const *args,
                              struct plan_builder *plan, struct cli_error *err);

/* A file of this machine as a table of a server. 0, or -1 and err. */
struct upload_what {
    const char *table, *path;
    const char
        *input; /* what --csv and --types call it; NULL: by its file, and the result is told */
};
int cmd_upload_file(const struct cli_options *options, struct morsel_connection *connection,
                    const struct upload_what *what, struct cli_error *err);

/* A job file and what is made of it. */
struct job_file {
    Morsel__V1__ExecuteJobRequest *request;
    struct exec_job_spec spec; /* borrows from the others */
    void *wire;                /* struct wire_job */
    struct exec_rel *rels;     /* with a limit on top; NULL: none */
};
enum exec_code cmd_read_job(const struct cli_options *options, const char *path,
                            struct job_file *file_out, struct cli_error *err);
void cmd_free_job(struct job_file *file);

#endif
