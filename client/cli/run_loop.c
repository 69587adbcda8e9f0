#include "run_loop.h"
#include "batch_writer.h"
#include "cli_hint.h"
#include "grpc_channel.h"
#include "interrupt.h"
#include "progress_line.h"
#include "stats_table.h"
#include "trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One run. */
struct run {
    const struct cli_options *options;
    struct job_source *source;
    struct output_file output;
    struct batch_writer *writer;
    struct progress_line progress;
    struct trace_file *trace; /* NULL: none asked for */
    enum cli_format format;
    uint64_t started_ns;
};

/* An option whose text the error's place is in: "--where, byte 12: ...". */
static void locate_by_option(struct cli_error *err, const struct cli_options *options)
{
    const struct {
        const char *option, *text;
    } texts[] = {
        {"--on", options->on},       {"--select", options->select}, {"--by", options->by},
        {"--agg", options->agg},     {"--where", options->where},   {"--having", options->having},
        {"--order", options->order},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const size_t size = strlen(texts[i].option);
        if (texts[i].text != NULL && strncmp(err->exec.detail, texts[i].option, size) == 0 &&
            strncmp(err->exec.detail + size, ", byte ", 7) == 0 &&
            err->exec.column <= strlen(texts[i].text) + 1) {
            err->origin = (struct plan_origin){
                .option = texts[i].option, .text = texts[i].text, .offset = err->exec.column - 1};
        }
    }
}

enum cli_exit run_fail(const struct cli_options *options, struct cli_error *err,
                       const struct plan_builder *plan, bool partial)
{
    if (plan != NULL) {
        cli_error_locate(err, plan);
    }
    locate_by_option(err, options);
    cli_hint(options, err);
    const enum cli_exit code = cli_error_exit(err);
    if (code == EXIT_CANCELLED && interrupt_came()) { /* the same words wherever the job ran */
        EXEC_FAIL(&err->exec, err->exec.code, "%s",
                  interrupt_signal() == SIGINT ? "interrupted" : "terminated");
    }
    if (code == EXIT_CANCELLED && interrupt_signal() == SIGINT) {
        cli_error_print(err, options->errors_json);
        return EXIT_INTERRUPTED;
    }
    cli_error_print(err, options->errors_json);
    return partial ? EXIT_PARTIAL : code;
}

static enum exec_code check_output(struct run *run, struct exec_error *err)
{
    const struct cli_options *options = run->options;
    const bool terminal = options->out == NULL && isatty(STDOUT_FILENO) != 0;

    run->format = options->format;
    if (run->format == FORMAT_AUTO) {
        run->format = terminal ? FORMAT_TABLE : FORMAT_CSV;
    }
    if (run->format == FORMAT_ARROW && terminal) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC,
                         "-o arrow is binary: write it to a pipe or with --out FILE");
    }
    return EXEC_OK;
}

static int begin_output(struct run *run, struct cli_error *err)
{
    run->writer = batch_writer_create(run->format, run->options->null_out,
                                      run->source->ops->schema(run->source), &run->output);
    if (run->writer == NULL) {
        EXEC_FAIL(&err->exec, EXEC_MEMORY_BUDGET, "out of memory");
        return -1;
    }
    run->writer->ops->begin(run->writer);
    return 0;
}

static void show_progress(struct run *run)
{
    struct source_progress progress;

    if (progress_line_due(&run->progress)) {
        run->source->ops->progress(run->source, &progress);
        progress_line_draw(&run->progress, &progress,
                           run->writer == NULL ? 0 : run->writer->row_count);
    }
}

/* Streams until the end. 0, or -1 and err (code EXEC_OK when stdout failed: output.failure). */
static int stream(struct run *run, struct cli_error *err)
{
    const struct job_source_ops *ops = run->source->ops;
    struct source_batch batch;

    while (run->output.failure == 0) {
        switch (ops->next(run->source, &batch, err)) {
            case SOURCE_SCHEMA:
                if (begin_output(run, err) != 0) {
                    return -1;
                }
                break;
            case SOURCE_BATCH:
                if (run->progress.drawn && run->output.path == NULL) {
                    progress_line_wipe(&run->progress);
                }
                run->writer->ops->batch(run->writer, batch.columns, batch.row_count);
                ops->release(run->source, &batch);
                break;
            case SOURCE_TICK:
                /* What waits long is shown, but never a header alone: without rows a failure is not
                 * a partial result. */
                if (run->writer != NULL && run->writer->row_count > 0) {
                    output_flush(&run->output);
                }
                break;
            case SOURCE_END: return 0;
            case SOURCE_FAILED: return -1;
        }
        show_progress(run);
    }
    return -1;
}

static void print_stats(struct run *run)
{
    const struct morsel_worker_figures *workers = NULL;
    const uint32_t count = run->source->ops->workers(run->source, &workers);

    if (count == 0) {
        fputs("morsel: no per-worker figures from this server\n", stderr);
        return;
    }
    stats_table_print(stderr, workers, count);
}

/* "1,234,567" */
static const char *grouped(uint64_t value, char text_out[32])
{
    char digits[24];
    const int size = snprintf(digits, sizeof digits, "%" PRIu64, value);
    int at = 0;

    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0) {
            text_out[at++] = ',';
        }
        text_out[at++] = digits[i];
    }
    text_out[at] = '\0';
    return text_out;
}

static void print_footer(const struct run *run)
{
    const uint64_t rows = run->writer == NULL ? 0 : run->writer->row_count;
    const double seconds = (double)(grpc_clock_ns() - run->started_ns) / 1e9;
    char count[32];

    if (run->options->quiet) {
        return;
    }
    if (run->format == FORMAT_TABLE || run->options->verbose) {
        grouped(rows, count);
        if (run->format == FORMAT_TABLE && rows > TABLE_ROWS_MAX) {
            fprintf(stderr, "... %s rows (showing %d), %.3f s\n", count, TABLE_ROWS_MAX, seconds);
        } else {
            fprintf(stderr, "%s row%s, %.3f s\n", count, rows == 1 ? "" : "s", seconds);
        }
    }
}

enum cli_exit run_output_fail(const struct cli_options *options, struct cli_error *err,
                              const struct output_file *output)
{
    if (output->failure == EPIPE) {
        return EXIT_PIPE;
    }
    run_fail(options, err, NULL, false);
    return output_is_partial(output) ? EXIT_PARTIAL : EXIT_JOB_FAILED;
}

static enum cli_exit end_run(struct run *run, struct cli_error *err)
{
    progress_line_wipe(&run->progress); /* before a table is drawn on the same terminal */
    if (run->writer != NULL) {
        run->writer->ops->end(run->writer);
    }
    if (output_commit(&run->output, &err->exec) != EXEC_OK) {
        return run_output_fail(run->options, err, &run->output);
    }
    print_footer(run);
    if (run->options->stats) {
        print_stats(run);
    }
    if (run->trace != NULL && trace_file_write(run->trace, run->source, &err->exec) != EXEC_OK) {
        run_fail(run->options, err, NULL, false);
        return EXIT_JOB_FAILED;
    }
    return EXIT_OK;
}

/* Before the job runs, so that a path that cannot be is told at once. */
static enum exec_code open_trace(struct run *run, struct source_job *job, struct exec_error *err)
{
    if (run->options->trace == NULL) {
        return EXEC_OK;
    }
    job->spec.options.trace_events = TRACE_FILE_EVENTS;
    run->trace = trace_file_open(run->options->trace, run->options->quiet, err);
    return run->trace == NULL ? err->code : EXEC_OK;
}

enum cli_exit run_job(const struct cli_options *options, struct job_source *source,
                      struct source_job *job, const struct plan_builder *plan)
{
    struct run run = {.options = options, .source = source, .started_ns = grpc_clock_ns()};
    struct cli_error err = {0};
    enum cli_exit code = EXIT_OK;

    progress_line_init(&run.progress, options->progress, options->quiet);
    job->progress = run.progress.enabled;
    job->profile = options->stats;
    job->spec.options.profile = options->stats;
    if (check_output(&run, &err.exec) != EXEC_OK || open_trace(&run, job, &err.exec) != EXEC_OK) {
        return run_fail(options, &err, plan, false);
    }
    if (output_open(&run.output, options->out, &err.exec) != EXEC_OK) {
        trace_file_close(run.trace);
        return run_fail(options, &err, plan, false);
    }
    if (source->ops->start(source, job, &err) != 0) {
        code = run_fail(options, &err, plan, false);
    } else {
        if (stream(&run, &err) == 0) {
            code = end_run(&run, &err);
        } else {
            /* What is still buffered is better not shown. */
            progress_line_wipe(&run.progress);
            code = run.output.failure != 0 && output_commit(&run.output, &err.exec) != EXEC_OK
                       ? run_output_fail(options, &err, &run.output)
                       : run_fail(options, &err, plan, output_is_partial(&run.output));
        }
        if (run.writer != NULL) {
            run.writer->ops->destroy(run.writer);
        }
        source->ops->finish(source);
    }
    trace_file_close(run.trace);
    output_close(&run.output);
    return code;
}

enum cli_exit run_explain(const struct cli_options *options, struct job_source *source,
                          const struct exec_job_spec *spec, struct plan_builder *plan)
{
    struct source_explain explain;
    struct output_file output;
    struct cli_error err = {0};
    enum cli_exit code = EXIT_OK;

    if (source->ops->explain(source, spec, options->analyze, plan, &explain, &err) != 0) {
        return run_fail(options, &err, plan, false);
    }
    const char *text = options->json ? explain.json : explain.text;
    if (output_open(&output, options->out, &err.exec) != EXEC_OK) {
        code = run_fail(options, &err, plan, false);
    } else {
        output_text(&output, text == NULL ? "" : text);
        if (text != NULL && text[0] != '\0' && text[strlen(text) - 1] != '\n') {
            output_text(&output, "\n");
        }
        if (output_commit(&output, &err.exec) != EXEC_OK) {
            code = run_output_fail(options, &err, &output);
        }
        output_close(&output);
    }
    free(explain.text);
    free(explain.json);
    return code;
}
