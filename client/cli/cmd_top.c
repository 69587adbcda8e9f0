/* morsel top: a server's workers and jobs, once a second. */
#include "commands.h"
#include "interrupt.h"
#include "morsel_connection.h"
#include "remote_source.h"
#include "top_picture.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { TOP_INTERVAL_NS = 1000000000 };

static int take_sample(struct morsel_connection *connection, uint64_t timeout_ms,
                       struct top_sample *sample, struct morsel_error *error)
{
    Morsel__V1__JobState states[] = {MORSEL__V1__JOB_STATE__JOB_STATE_RUNNING,
                                     MORSEL__V1__JOB_STATE__JOB_STATE_QUEUED};
    Morsel__V1__GetServerStatusRequest status;
    Morsel__V1__ListJobsRequest jobs;

    morsel__v1__get_server_status_request__init(&status);
    morsel__v1__list_jobs_request__init(&jobs);
    jobs.n_states = sizeof states / sizeof states[0];
    jobs.states = states;
    sample->status = (Morsel__V1__GetServerStatusResponse *)connection_unary(
        connection, "/morsel.v1.JobService/GetServerStatus", &status.base,
        &morsel__v1__get_server_status_response__descriptor, timeout_ms, error);
    if (sample->status == NULL) {
        return -1;
    }
    sample->jobs = (Morsel__V1__ListJobsResponse *)connection_unary(
        connection, "/morsel.v1.JobService/ListJobs", &jobs.base,
        &morsel__v1__list_jobs_response__descriptor, timeout_ms, error);
    return sample->jobs == NULL ? -1 : 0;
}

/* Until the interval is over or a signal came. */
static void wait_interval(uint64_t interval_ns)
{
    const struct timespec interval = {.tv_sec = (time_t)(interval_ns / 1000000000),
                                      .tv_nsec = (long)(interval_ns % 1000000000)};
    nanosleep(&interval, NULL);
}

static void show(const struct top_sample *before, const struct top_sample *now, bool live)
{
    struct winsize window;

    if (!live) {
        top_picture_print(stdout, before, now, "\n", 0);
        return;
    }
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 1;
    fputs("\033[H", stdout); /* over the last picture; what is longer there is cleared */
    top_picture_print(stdout, before, now, "\033[K\n", known ? window.ws_row - 1u : 0);
    fputs("\033[J", stdout);
    fflush(stdout);
}

/* 0, or -1 and error. */
static int watch(struct morsel_connection *connection, const struct cli_options *options,
                 struct morsel_error *error)
{
    const bool live = !options->once && isatty(STDOUT_FILENO) != 0;
    const uint64_t interval_ns = options->interval_ns != 0 ? options->interval_ns : TOP_INTERVAL_NS;
    const uint64_t timeout_ms = remote_timeout_ms(options);
    struct top_sample before = {0}, now = {0};
    int failed = take_sample(connection, timeout_ms, &before, error);

    if (live && failed == 0) {
        fputs("\033[2J", stdout);
    }
    while (failed == 0 && !interrupt_came()) {
        wait_interval(interval_ns);
        if (interrupt_came()) {
            break;
        }
        failed = take_sample(connection, timeout_ms, &now, error);
        if (failed != 0) {
            break;
        }
        show(&before, &now, live);
        top_sample_free(&before);
        before = now;
        now = (struct top_sample){0};
        if (!live) {
            break;
        }
    }
    top_sample_free(&before);
    top_sample_free(&now);
    return interrupt_came() ? 0 : failed; /* Ctrl-C is how it ends */
}

enum cli_exit cmd_top(const struct cli_options *options)
{
    struct cli_error err = {0};
    struct morsel_error error;
    enum cli_exit code = cmd_check(options, 0, 0, true);

    if (code != EXIT_OK) {
        return code;
    }
    struct morsel_connection *connection = remote_connect(options, &err);
    if (connection == NULL) {
        return run_fail(options, &err, NULL, false);
    }
    if (watch(connection, options, &error) != 0) {
        cli_error_of_morsel(&err, &error);
        code = run_fail(options, &err, NULL, false);
    }
    remote_close(connection);
    return code;
}
