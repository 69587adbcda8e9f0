#include "cli_listing.h"
#include "commands.h"
#include "remote_source.h"

#include <math.h>
#include <stdlib.h>

static const struct exec_field job_fields[] = {
    {.name = "job_id", .type = {.kind = EXEC_TYPE_UTF8}},
    {.name = "state", .type = {.kind = EXEC_TYPE_UTF8}},
    {.name = "submitted_at",
     .type = {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_MILLI, .zone = "UTC"}},
    {.name = "elapsed_ms", .type = {.kind = EXEC_TYPE_INT64}},
    {.name = "rows_read", .type = {.kind = EXEC_TYPE_INT64}},
    {.name = "memory_bytes", .type = {.kind = EXEC_TYPE_INT64}},
    {.name = "error", .type = {.kind = EXEC_TYPE_UTF8}},
};

static enum cli_exit print_jobs(const struct cli_options *options,
                                const struct morsel_job_info *jobs, size_t count)
{
    struct listing listing;

    listing_init(&listing, job_fields, sizeof job_fields / sizeof job_fields[0]);
    for (size_t i = 0; i < count && (options->limit < 0 || i < (size_t)options->limit); i++) {
        struct listing_cell *row = listing_row(&listing);
        row[0].text = jobs[i].job_id;
        row[1].text = morsel_job_state_name(jobs[i].state);
        row[2].number = llround(jobs[i].submitted_at * 1000);
        row[3].number = llround(jobs[i].elapsed_seconds * 1000);
        row[4].number = (int64_t)jobs[i].progress.rows_done;
        row[5].number = (int64_t)jobs[i].progress.memory_bytes;
        row[6].text = jobs[i].error;
    }
    return listing_print(&listing, options);
}

enum cli_exit cmd_jobs(const struct cli_options *options)
{
    struct cli_error err = {0};
    struct morsel_error error;
    struct morsel_job_info *jobs = NULL;
    size_t count = 0;
    enum cli_exit code = cmd_check(options, 0, 0, true);

    if (code != EXIT_OK) {
        return code;
    }
    struct morsel_connection *connection = remote_connect(options, &err);
    if (connection == NULL) {
        return run_fail(options, &err, NULL, false);
    }
    if (morsel_list_jobs(connection, remote_timeout_ms(options), &jobs, &count, &error) != 0) {
        cli_error_of_morsel(&err, &error);
        code = run_fail(options, &err, NULL, false);
    } else {
        code = print_jobs(options, jobs, count);
    }
    free(jobs);
    remote_close(connection);
    return code;
}
