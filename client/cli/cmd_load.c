#include "cli_input.h"
#include "commands.h"
#include "morsel_tables.h"
#include "proto/wire_plan.h"
#include "remote_source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The FileSource of a scan of these files, translated where every other plan is. */
static Morsel__V1__ExecuteJobRequest *
source_request(const struct cli_options *options, struct plan_builder *plan, struct exec_error *err)
{
    static const char prefix[] = "server:";
    const char **paths = builder_alloc(plan, options->arg_count * sizeof *paths);

    for (uint32_t i = 1; i < options->arg_count; i++) {
        const char *path = options->args[i];
        paths[i - 1] =
            strncmp(path, prefix, sizeof prefix - 1) == 0 ? path + sizeof prefix - 1 : path;
    }
    if (cli_input_files(plan, options, options->args[0], paths, options->arg_count - 1, err) == 0) {
        return NULL;
    }
    const struct exec_job_spec spec = builder_spec(plan);
    Morsel__V1__ExecuteJobRequest *request = wire_request_from_spec(&spec, "");
    if (request == NULL) {
        EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "out of memory");
    }
    return request;
}

enum cli_exit cmd_load(const struct cli_options *options)
{
    struct cli_error err = {0};
    struct morsel_error error;
    struct morsel_table_info *info = NULL;
    struct plan_builder plan;
    enum cli_exit code = cmd_check(options, 2, CLI_ARGS_MAX, true);

    if (code != EXIT_OK) {
        return code;
    }
    plan_builder_init(&plan);
    Morsel__V1__ExecuteJobRequest *job = source_request(options, &plan, &err.exec);
    struct morsel_connection *connection = job == NULL ? NULL : remote_connect(options, &err);
    if (connection == NULL) {
        code = run_fail(options, &err, NULL, false);
    } else {
        Morsel__V1__LoadTableRequest request;
        morsel__v1__load_table_request__init(&request);
        request.table = (char *)(uintptr_t)options->args[0]; /* packed only */
        request.files = job->plan->rels[0]->scan->files;
        request.replace = options->replace;
        if (tables_load(connection, &request, remote_timeout_ms(options), &info, &error) != 0) {
            cli_error_of_morsel(&err, &error);
            code = run_fail(options, &err, NULL, false);
        } else if (!options->quiet) {
            fprintf(stderr, "%s: version %" PRIu64 ", %" PRIu64 " rows\n", options->args[0],
                    info->version, info->row_count);
        }
        remote_close(connection);
    }
    free(info);
    if (job != NULL) {
        wire_request_free(job);
    }
    plan_builder_fini(&plan);
    return code;
}
