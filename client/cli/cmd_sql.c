/* morsel sql 'SELECT ...': the statement becomes a plan here and runs like any other. Files of this
 * machine that a server is to read become tables of it for the time of the job. */
#include "cli_input.h"
#include "commands.h"
#include "job_text.h"
#include "output_file.h"
#include "proto/job_json.h"
#include "proto/wire_plan.h"
#include "remote_source.h"
#include "sql/select_plan.h"
#include "stdin_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT_BYTES_MAX = SQL_TEXT_BYTES_MAX + 4 };

static const char server_prefix[] = "server:";

/* A table named by --table, or (path NULL) a server's. */
struct table {
    const char *name, *path;
    const char *uploaded; /* the server's name for it; NULL: not uploaded */
    bool bound;
    struct select_table known;
};

struct statement {
    const struct cli_options *options;
    struct job_source *source;
    struct cli_error err;
    struct plan_builder names; /* scans and schemas of tables; outlives the plan */
    struct plan_builder plan;
    const char *text;
    struct table *tables;
    uint32_t table_count, table_room;
};

/* ---- the text */

static enum exec_code read_text(struct statement *statement)
{
    const struct cli_options *options = statement->options;
    const char *path = options->sql_file;

    for (uint32_t i = 0; path != NULL && i < options->tables.count; i++) {
        const char *equals = strchr(options->tables.texts[i], '=');
        if (strcmp(path, "-") == 0 && strcmp(equals + 1, "-") == 0) {
            return EXEC_FAIL(&statement->err.exec, EXEC_BAD_SPEC,
                             "-f - and --table %.100s: stdin holds one of them",
                             options->tables.texts[i]);
        }
    }
    if ((path == NULL) == (options->arg_count == 0)) {
        return EXEC_FAIL(&statement->err.exec, EXEC_BAD_SPEC,
                         "morsel sql takes one statement: as an argument or with -f FILE");
    }
    if (path == NULL) {
        statement->text = options->args[0];
        return EXEC_OK;
    }
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (file == NULL) {
        return EXEC_FAIL_ERRNO(&statement->err.exec, EXEC_FILE_NOT_FOUND, errno, "%.300s: %s", path,
                               strerror(errno));
    }
    char *text = builder_alloc(&statement->names, STATEMENT_BYTES_MAX + 1);
    const size_t size = fread(text, 1, STATEMENT_BYTES_MAX, file);
    if (file != stdin) {
        fclose(file);
    }
    text[size] = '\0';
    statement->text = text;
    return strlen(text) == size ? EXEC_OK
                                : EXEC_FAIL(&statement->err.exec, EXEC_BAD_SPEC,
                                            "%.300s: a NUL byte in the statement", path);
}

/* ---- tables */

static struct table *table_add(struct statement *statement, const char *name, const char *path)
{
    if (statement->table_count == statement->table_room) {
        statement->table_room = statement->table_room == 0 ? 16 : 2 * statement->table_room;
        struct table *moved =
            builder_alloc(&statement->names, statement->table_room * sizeof *moved);
        if (statement->table_count > 0) {
            memcpy(moved, statement->tables, statement->table_count * sizeof *moved);
        }
        statement->tables = moved;
    }
    struct table *table = &statement->tables[statement->table_count++];
    *table = (struct table){.name = name, .path = path};
    return table;
}

static struct table *table_of(struct statement *statement, const char *name)
{
    for (uint32_t i = 0; i < statement->table_count; i++) {
        if (strcmp(statement->tables[i].name, name) == 0) {
            return &statement->tables[i];
        }
    }
    return NULL;
}

static enum exec_code read_tables(struct statement *statement)
{
    const struct cli_options *options = statement->options;
    const char *names[CLI_LIST_MAX];

    for (uint32_t i = 0; i < options->tables.count; i++) {
        const char *text = options->tables.texts[i], *equals = strchr(text, '=');
        names[i] = builder_text(&statement->names, text, (size_t)(equals - text));
        const bool below_root = strncmp(equals + 1, server_prefix, sizeof server_prefix - 1) == 0;
        if (table_of(statement, names[i]) != NULL) {
            return EXEC_FAIL(&statement->err.exec, EXEC_BAD_SPEC,
                             "--table %.100s: the name is given twice", text);
        }
        if (equals[1] == '\0' || (below_root && options->server == NULL)) {
            return EXEC_FAIL(&statement->err.exec, EXEC_BAD_SPEC, "--table %.100s: %s", text,
                             below_root ? "a file of a server needs --server" : "no path");
        }
        const bool is_stdin = strcmp(equals + 1, "-") == 0;
        if (is_stdin && options->emit_plan) {
            return EXEC_FAIL(&statement->err.exec, EXEC_BAD_SPEC,
                             "--table %.100s: a job file cannot name stdin", text);
        }
        const char *path = is_stdin ? stdin_file_path(&statement->err.exec) : equals + 1;
        if (path == NULL) {
            return statement->err.exec.code;
        }
        table_add(statement, names[i], path);
    }
    return cli_input_check_names(options, names, options->tables.count, &statement->err.exec);
}

/* The scan of a table, in memory of the statement. 0: refused. */
static uint32_t table_scan(struct statement *statement, const struct table *table,
                           struct plan_builder *plan)
{
    const char *path = table->path;
    const char *name = table->uploaded != NULL ? table->uploaded : table->name;

    if (path == NULL || table->uploaded != NULL) {
        const struct exec_rel rel = {
            .kind = EXEC_REL_SCAN,
            .label = table->name,
            .u.scan = {.source = EXEC_SCAN_TABLE, .table = name},
        };
        return builder_rel(plan, &rel);
    }
    if (statement->options->server != NULL) {
        path += sizeof server_prefix - 1;
    }
    return cli_input_files(plan, statement->options, table->name, &path, 1, &statement->err.exec);
}

/* Plans the scan alone to learn its columns. */
static enum exec_code table_bind(struct statement *statement, struct table *table)
{
    struct plan_builder *plan = &statement->names;
    struct source_explain explain;

    plan->rel_count = 0; /* a plan of one scan, each time */
    if (table_scan(statement, table, plan) == 0) {
        return statement->err.exec.code;
    }
    struct exec_job_spec spec = builder_spec(plan);
    spec.options.timeout_ns = statement->options->timeout_ns;
    table->known.scan = plan->rels[0];
    if (statement->source->ops->explain(statement->source, &spec, false, plan, &explain,
                                        &statement->err) != 0) {
        return statement->err.exec.code;
    }
    free(explain.text);
    free(explain.json);
    table->known.schema = explain.schema;
    table->bound = true;
    return EXEC_OK;
}

static const struct select_table *find_table(void *owner, const char *name, struct exec_error *err)
{
    struct statement *statement = owner;
    struct table *table = table_of(statement, name);

    if (table == NULL && statement->options->server == NULL) {
        EXEC_FAIL(err, EXEC_TABLE_NOT_FOUND,
                  "no table '%.100s': name its file, --table %.100s=FILE", name, name);
        return NULL;
    }
    if (table == NULL) {
        name = builder_text(&statement->names, name, strlen(name));
        table = table_add(statement, name, NULL);
    }
    if (!table->bound && table_bind(statement, table) != EXEC_OK) {
        return NULL; /* err is the statement's */
    }
    /* The array of tables moves as it grows; what is handed out does not. */
    struct select_table *known = builder_alloc(&statement->names, sizeof *known);
    *known = table->known;
    return known;
}

/* ---- files of this machine on a server */

static enum exec_code upload_tables(struct statement *statement)
{
    const struct cli_options *options = statement->options;
    struct morsel_connection *connection = NULL;
    enum exec_code code = EXEC_OK;

    for (uint32_t i = 0; i < statement->table_count && code == EXEC_OK; i++) {
        struct table *table = &statement->tables[i];
        char id[JOB_ID_BYTES];
        if (strncmp(table->path, server_prefix, sizeof server_prefix - 1) == 0) {
            continue;
        }
        if (options->emit_plan) {
            return EXEC_FAIL(&statement->err.exec, EXEC_BAD_SPEC,
                             "--table %.100s: a job file of a server cannot name a file of this "
                             "machine",
                             table->name);
        }
        if (connection == NULL) {
            connection = remote_connect(options, &statement->err);
        }
        if (connection == NULL) {
            return statement->err.exec.code;
        }
        job_id_random(id);
        table->uploaded = builder_printf(&statement->names, "sql-%s-%s", table->name, id);
        const struct upload_what what = {
            .table = table->uploaded, .path = table->path, .input = table->name};
        if (cmd_upload_file(options, connection, &what, &statement->err) != 0) {
            code = statement->err.exec.code;
        }
    }
    if (connection != NULL) {
        remote_close(connection);
    }
    return code;
}

/* On a connection of its own, which an interrupt does not break off. What cannot be dropped is
 * told. */
static void drop_tables(struct statement *statement)
{
    struct morsel_connection *connection = NULL;
    struct morsel_error error;

    for (uint32_t i = 0; i < statement->table_count; i++) {
        const char *name = statement->tables[i].uploaded;
        if (name == NULL) {
            continue;
        }
        if (connection == NULL &&
            morsel_connect(statement->options->server, 0, &connection, &error) != 0) {
            fprintf(stderr, "morsel: the table %s is left on the server\n", name);
            return;
        }
        morsel_drop_table(connection, name, 10000, &error); /* an upload that failed left none */
    }
    if (connection != NULL) {
        morsel_close(connection);
    }
}

/* ---- running */

static enum cli_exit statement_fail(struct statement *statement)
{
    struct cli_error *err = &statement->err;

    if (statement->text != NULL && err->exec.column != 0 &&
        strncmp(err->exec.detail, "SQL, byte ", 10) == 0 &&
        err->exec.column <= strlen(statement->text) + 1) {
        err->origin = (struct plan_origin){
            .option = "SQL", .text = statement->text, .offset = err->exec.column - 1};
    }
    return run_fail(statement->options, err, NULL, false);
}

/* The plan as a job file. */
static enum cli_exit emit_plan(struct statement *statement, const struct exec_job_spec *spec)
{
    struct exec_error *err = &statement->err.exec;
    Morsel__V1__ExecuteJobRequest *request = wire_request_from_spec(spec, "");
    char *text = request == NULL ? NULL : json_from_message(&request->base);
    struct output_file output;

    if (text == NULL) {
        EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "out of memory");
    } else if (output_open(&output, statement->options->out, err) == EXEC_OK) {
        output_text(&output, text);
        output_text(&output, "\n");
        output_commit(&output, err);
        output_close(&output);
    }
    free(text);
    if (request != NULL) {
        wire_request_free(request);
    }
    return err->code == EXEC_OK ? EXIT_OK : statement_fail(statement);
}

static enum cli_exit run(struct statement *statement)
{
    const struct select_catalog catalog = {.find = find_table, .owner = statement};
    const struct sql_text text = {.option = "SQL", .prefix = "", .text = statement->text};
    struct plan_builder *plan = &statement->plan;
    struct exec_error *err = &statement->err.exec;
    struct source_job job = {0};

    if (select_plan_make(plan, &catalog, &text, err) != EXEC_OK) {
        return statement_fail(statement);
    }
    if (statement->options->limit >= 0) {
        const struct exec_rel rel = {
            .kind = EXEC_REL_LIMIT,
            .u.limit = {.input = plan->rel_count, .count = statement->options->limit}};
        builder_rel(plan, &rel);
    }
    job.spec = builder_spec(plan);
    source_apply_options(statement->options, &job.spec.options, err); /* checked by the source */
    if (statement->options->emit_plan) {
        return emit_plan(statement, &job.spec);
    }
    return statement->options->explain
               ? run_explain(statement->options, statement->source, &job.spec, plan)
               : run_job(statement->options, statement->source, &job, plan);
}

static enum cli_exit prepare_and_run(struct statement *statement)
{
    const struct cli_options *options = statement->options;

    if (read_text(statement) != EXEC_OK || read_tables(statement) != EXEC_OK) {
        return statement_fail(statement);
    }
    if (options->server != NULL && upload_tables(statement) != EXEC_OK) {
        return statement_fail(statement);
    }
    statement->source = source_create(options, &statement->err);
    if (statement->source == NULL) {
        return statement_fail(statement);
    }
    const enum cli_exit code = run(statement);
    statement->source->ops->destroy(statement->source);
    return code;
}

enum cli_exit cmd_sql(const struct cli_options *options)
{
    struct statement statement = {.options = options};
    enum cli_exit code = cmd_check(options, 0, 1, false);

    if (code != EXIT_OK) {
        return code;
    }
    if (options->analyze && !options->explain) {
        EXEC_FAIL(&statement.err.exec, EXEC_BAD_SPEC, "--analyze goes with --explain");
        return run_fail(options, &statement.err, NULL, false);
    }
    plan_builder_init(&statement.names);
    plan_builder_init(&statement.plan);
    code = prepare_and_run(&statement);
    drop_tables(&statement);
    plan_builder_fini(&statement.plan);
    plan_builder_fini(&statement.names);
    return code;
}
