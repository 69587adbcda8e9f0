#include "commands.h"
#include "job_text.h"
#include "proto/wire_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_FILE_BYTES_MAX = 16 << 20 };

/* The whole file, malloc'd; "-" is stdin. */
static char *read_text(const char *path, size_t *size_out, struct exec_error *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    size_t room = 1 << 16, size = 0;
    char *text = malloc(room);

    if (file == NULL) {
        EXEC_FAIL_ERRNO(err, EXEC_FILE_NOT_FOUND, errno, "%.300s: %s", path, strerror(errno));
        free(text);
        return NULL;
    }
    while (text != NULL) {
        size += fread(text + size, 1, room - size, file);
        if (size < room || size > JOB_FILE_BYTES_MAX) {
            break;
        }
        char *moved = realloc(text, room *= 2);
        if (moved == NULL) {
            free(text);
        }
        text = moved;
    }
    const bool broken = ferror(file) != 0;
    if (file != stdin) {
        fclose(file);
    }
    if (text == NULL || broken || size > JOB_FILE_BYTES_MAX) {
        EXEC_FAIL(err, broken ? EXEC_IO : EXEC_LIMIT, "%.300s: %s", path,
                  broken ? "cannot be read" : "a job file has at most 16 MiB");
        free(text);
        return NULL;
    }
    *size_out = size;
    return text;
}

/* --limit puts a limit on top of the file's plan. */
static enum exec_code add_limit(struct job_file *file, int64_t limit, struct exec_error *err)
{
    const uint32_t count = file->spec.rel_count;

    if (limit < 0) {
        return EXEC_OK;
    }
    file->rels = calloc((size_t)count + 1, sizeof *file->rels);
    if (file->rels == NULL) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "out of memory");
    }
    if (count > 0) {
        memcpy(file->rels, file->spec.rels, count * sizeof *file->rels);
    }
    file->rels[count] =
        (struct exec_rel){.kind = EXEC_REL_LIMIT, .u.limit = {.input = count, .count = limit}};
    file->spec.rels = file->rels;
    file->spec.rel_count = count + 1;
    return EXEC_OK;
}

enum exec_code cmd_read_job(const struct cli_options *options, const char *path,
                            struct job_file *file_out, struct cli_error *err)
{
    size_t size = 0;
    char *text = read_text(path, &size, &err->exec);
    struct wire_job *wire = calloc(1, sizeof *wire);

    *file_out = (struct job_file){0};
    if (text == NULL || wire == NULL) {
        free(text);
        free(wire);
        return err->exec.code == EXEC_OK
                   ? EXEC_FAIL(&err->exec, EXEC_MEMORY_BUDGET, "out of memory")
                   : err->exec.code;
    }
    file_out->request =
        job_text_parse(text, size, strcmp(path, "-") == 0 ? "stdin" : path, &err->exec);
    free(text);
    if (file_out->request == NULL) {
        free(wire);
        return err->exec.code;
    }
    if (file_out->request->plan == NULL) {
        free(wire);
        cmd_free_job(file_out);
        return EXEC_FAIL(&err->exec, EXEC_BAD_SPEC, "%.300s: the job has no plan", path);
    }
    if (wire_job_from_plan(file_out->request->plan, file_out->request->options,
                           file_out->request->into_table, wire, &err->exec) != EXEC_OK) {
        free(wire);
        cmd_free_job(file_out);
        return err->exec.code;
    }
    file_out->wire = wire;
    file_out->spec = wire->spec;
    file_out->spec.into_replace = file_out->request->into_replace;
    if (source_apply_options(options, &file_out->spec.options, &err->exec) != EXEC_OK ||
        add_limit(file_out, options->limit, &err->exec) != EXEC_OK) {
        cmd_free_job(file_out);
        return err->exec.code;
    }
    return EXEC_OK;
}

void cmd_free_job(struct job_file *file)
{
    if (file->wire != NULL) {
        wire_job_fini(file->wire);
        free(file->wire);
    }
    if (file->request != NULL) {
        morsel__v1__execute_job_request__free_unpacked(file->request, NULL);
    }
    free(file->rels);
    *file = (struct job_file){0};
}

enum cli_exit cmd_run(const struct cli_options *options)
{
    struct cli_error err = {0};
    struct job_file file = {0};
    enum cli_exit code = cmd_check(options, 1, 1, false);

    if (code != EXIT_OK) {
        return code;
    }
    if (cmd_read_job(options, options->args[0], &file, &err) != EXEC_OK) {
        return run_fail(options, &err, NULL, false);
    }
    struct job_source *source = source_create(options, &err);
    if (source == NULL) {
        code = run_fail(options, &err, NULL, false);
    } else {
        struct source_job job = {.spec = file.spec, .request = file.request};
        code = run_job(options, source, &job, NULL);
        source->ops->destroy(source);
    }
    cmd_free_job(&file);
    return code;
}
