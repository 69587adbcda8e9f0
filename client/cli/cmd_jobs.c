#include "commands.h"
#include "remote_source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

static void print_job(const struct morsel_job_info *job)
{
    const time_t seconds = (time_t)job->submitted_at;
    struct tm utc;
    char when[32] = "";

    if (gmtime_r(&seconds, &utc) != NULL) {
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    printf("%-36s  %-9s  %s  %10" PRIu64 " rows  %8.1f s%s%s\n", job->job_id,
           morsel_job_state_name(job->state), when, job->progress.rows_done, job->elapsed_seconds,
           job->error[0] != '\0' ? "  " : "", job->error);
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
    }
    for (size_t i = 0; i < count; i++) {
        print_job(&jobs[i]);
    }
    free(jobs);
    remote_close(connection);
    return code;
}
