/* morsel upload TABLE FILE: an Arrow stream goes to the server as it is; any other file is read by
 * the engine in this process and becomes one. The upload pulls: what the server has not taken is
 * not read. */
#include "cli_input.h"
#include "commands.h"
#include "proto/arrow_writer.h"
#include "remote_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Arrow bytes on demand, from a running scan. */
struct arrow_pull {
    struct job_source *source;
    struct cli_error *err;
    uint8_t *pending; /* malloc'd bytes not given out yet */
    size_t pending_bytes, given;
    bool ended;
};

static int pull_set(struct arrow_pull *pull, uint8_t *bytes, size_t size)
{
    free(pull->pending);
    pull->pending = bytes;
    pull->pending_bytes = bytes == NULL ? 0 : size;
    pull->given = 0;
    return bytes == NULL ? -1 : 0;
}

static int pull_batch(struct arrow_pull *pull, const struct source_batch *batch)
{
    struct arrow_batch_message message;

    if (arrow_write_batch(batch->columns, batch->column_count, batch->row_count, &message) != 0) {
        return -1;
    }
    uint8_t *bytes = malloc(message.size);
    size_t at = 0;
    for (uint32_t i = 0; bytes != NULL && i < message.piece_count; i++) {
        if (message.pieces[i].size > 0) {
            memcpy(bytes + at, message.pieces[i].bytes, message.pieces[i].size);
        }
        at += message.pieces[i].size;
    }
    arrow_batch_message_fini(&message);
    return pull_set(pull, bytes, at);
}

static int pull_end(struct arrow_pull *pull)
{
    uint8_t *bytes = malloc(ARROW_EOS_BYTES);

    if (bytes != NULL) {
        memcpy(bytes, arrow_end_of_stream, ARROW_EOS_BYTES);
    }
    pull->ended = true;
    return pull_set(pull, bytes, ARROW_EOS_BYTES);
}

/* Makes the next bytes pending. */
static int pull_more(struct arrow_pull *pull)
{
    struct source_batch batch;
    const struct job_source_ops *ops = pull->source->ops;
    size_t size = 0;
    int made = 0;

    switch (ops->next(pull->source, &batch, pull->err)) {
        case SOURCE_SCHEMA: {
            uint8_t *message = arrow_write_schema(ops->schema(pull->source), &size);
            return pull_set(pull, message, size);
        }
        case SOURCE_BATCH:
            made = pull_batch(pull, &batch);
            ops->release(pull->source, &batch);
            return made;
        case SOURCE_TICK: return 0;
        case SOURCE_END: return pull_end(pull);
        case SOURCE_FAILED: return -1;
    }
    return -1;
}

static ptrdiff_t pull_read(void *owner, void *buffer, size_t room)
{
    struct arrow_pull *pull = owner;

    while (pull->given == pull->pending_bytes) {
        if (pull->ended) {
            return 0;
        }
        if (pull_more(pull) != 0) {
            return -1;
        }
    }
    const size_t left = pull->pending_bytes - pull->given;
    const size_t size = left < room ? left : room;
    memcpy(buffer, pull->pending + pull->given, size);
    pull->given += size;
    return (ptrdiff_t)size;
}

static ptrdiff_t file_read(void *owner, void *buffer, size_t room)
{
    const int *fd = owner;
    ssize_t got;

    do {
        got = read(*fd, buffer, room);
    } while (got < 0 && errno == EINTR);
    return got;
}

static bool is_arrow_stream(const char *path)
{
    const size_t size = strlen(path);

    return size > 7 && strcmp(path + size - 7, ".arrows") == 0;
}

static int upload(const struct cli_options *options, struct morsel_connection *connection,
                  const struct upload_what *what, morsel_read_fn *read_bytes, void *owner,
                  struct cli_error *err)
{
    struct morsel_table_info *info = NULL;
    struct morsel_error error;

    if (morsel_upload(connection, what->table, options->replace, 0, read_bytes, owner,
                      remote_timeout_ms(options), &info, &error) != 0) {
        /* The reason a read gave up is better than that it did. */
        if (err->exec.code == EXEC_OK) {
            cli_error_of_morsel(err, &error);
        }
        return -1;
    }
    if (!options->quiet && what->input == NULL) {
        fprintf(stderr, "%s: version %" PRIu64 ", %" PRIu64 " rows\n", info->name, info->version,
                info->row_count);
    }
    free(info);
    return 0;
}

static int upload_arrow_file(const struct cli_options *options,
                             struct morsel_connection *connection, const struct upload_what *what,
                             struct cli_error *err)
{
    const char *path = what->path;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        EXEC_FAIL_ERRNO(&err->exec, EXEC_FILE_NOT_FOUND, errno, "%.300s: %s", path,
                        strerror(errno));
        return -1;
    }
    const int failed = upload(options, connection, what, file_read, &fd, err);
    close(fd);
    return failed;
}

/* Inputs of a statement are checked against --csv and --types all together. */
static bool scan_what(struct plan_builder *plan, const struct cli_options *local,
                      const struct upload_what *what, struct exec_error *err)
{
    const char *name = NULL;

    if (what->input != NULL) {
        return cli_input_files(plan, local, what->input, &what->path, 1, err) != 0;
    }
    return cli_input_scan(plan, local, what->path, &name, err) != 0 &&
           cli_input_check_names(local, &name, 1, err) == EXEC_OK;
}

static int upload_scanned(const struct cli_options *options, struct morsel_connection *connection,
                          const struct upload_what *what, struct cli_error *err)
{
    struct cli_options local = *options;
    struct plan_builder plan;
    struct source_job job = {0};
    int failed = -1;

    local.server = NULL; /* the file is here */
    plan_builder_init(&plan);
    struct job_source *source = NULL;
    if (scan_what(&plan, &local, what, &err->exec)) {
        source = embedded_source_create(&local, err);
    }
    if (source != NULL) {
        struct arrow_pull pull = {.source = source, .err = err};
        job.spec = builder_spec(&plan);
        if (source->ops->start(source, &job, err) == 0) {
            failed = upload(options, connection, what, pull_read, &pull, err);
            source->ops->finish(source);
        }
        free(pull.pending);
        source->ops->destroy(source);
    }
    plan_builder_fini(&plan);
    return failed;
}

int cmd_upload_file(const struct cli_options *options, struct morsel_connection *connection,
                    const struct upload_what *what, struct cli_error *err)
{
    return is_arrow_stream(what->path) ? upload_arrow_file(options, connection, what, err)
                                       : upload_scanned(options, connection, what, err);
}

enum cli_exit cmd_upload(const struct cli_options *options)
{
    struct cli_error err = {0};
    enum cli_exit code = cmd_check(options, 2, 2, true);

    if (code != EXIT_OK) {
        return code;
    }
    struct morsel_connection *connection = remote_connect(options, &err);
    if (connection == NULL) {
        return run_fail(options, &err, NULL, false);
    }
    const struct upload_what what = {.table = options->args[0], .path = options->args[1]};
    if (cmd_upload_file(options, connection, &what, &err) != 0) {
        code = run_fail(options, &err, NULL, false);
    }
    remote_close(connection);
    return code;
}
