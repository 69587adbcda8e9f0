#include "cli_input.h"
#include "commands.h"
#include "sql/join_plan.h"

#include <stdlib.h>

/* Plans a scan alone to learn its columns. */
static enum exec_code side_of(const struct cli_options *options, struct job_source *source,
                              const char *arg, struct plan_builder *scratch,
                              struct plan_builder *plan, struct exec_schema *schema_out,
                              struct join_side *side, struct cli_error *err)
{
    struct source_explain explain;
    const char *name = NULL;

    if (cli_input_scan(scratch, options, arg, &name, &err->exec) == 0) {
        return err->exec.code;
    }
    struct exec_job_spec spec = builder_spec(scratch);
    spec.options.timeout_ns = options->timeout_ns;
    if (source->ops->explain(source, &spec, false, plan, &explain, err) != 0) {
        return err->exec.code;
    }
    free(explain.text);
    free(explain.json);
    *schema_out = explain.schema;
    side->schema = schema_out;
    side->rel = cli_input_scan(plan, options, arg, &side->name, &err->exec);
    return side->rel == 0 ? err->exec.code : EXEC_OK;
}

enum exec_code cmd_join_plan(const struct cli_options *options, const char *const *args,
                             struct job_source *source, struct plan_builder *plan,
                             struct cli_error *err)
{
    struct exec_schema *schemas = builder_alloc(plan, 2 * sizeof *schemas);
    struct join_request request = {
        .kind = join_kind_of(options->how == NULL ? "inner" : options->how),
        .on = options->on,
        .select = options->select,
        .where = options->where,
        .order = options->order,
        .limit = options->limit,
    };
    struct join_side *sides[2] = {&request.left, &request.right};

    if (request.kind == EXEC_JOIN_NONE) {
        return EXEC_FAIL(
            &err->exec, EXEC_BAD_SPEC,
            "--how %.40s: expected inner, left, right, full, semi, anti, not-in or mark",
            options->how);
    }
    if (options->on == NULL) {
        return EXEC_FAIL(&err->exec, EXEC_BAD_SPEC, "morsel join needs --on KEYS");
    }
    for (int i = 0; i < 2; i++) {
        struct plan_builder scratch;
        plan_builder_init(&scratch);
        const enum exec_code code =
            side_of(options, source, args[i], &scratch, plan, &schemas[i], sides[i], err);
        plan_builder_fini(&scratch);
        if (code != EXEC_OK) {
            return code;
        }
    }
    const char *const names[] = {request.left.name, request.right.name};
    if (cli_input_check_names(options, names, 2, &err->exec) != EXEC_OK) {
        return err->exec.code;
    }
    return join_plan_make(plan, &request, &err->exec);
}

enum cli_exit cmd_join(const struct cli_options *options)
{
    struct plan_builder plan;
    struct cli_error err = {0};
    struct source_job job = {0};
    enum cli_exit code = cmd_check(options, 2, 2, false);

    if (code != EXIT_OK) {
        return code;
    }
    struct job_source *source = source_create(options, &err);
    if (source == NULL) {
        return run_fail(options, &err, NULL, false);
    }
    plan_builder_init(&plan);
    if (cmd_join_plan(options, options->args, source, &plan, &err) != EXEC_OK) {
        code = run_fail(options, &err, NULL, false);
    } else {
        job.spec = builder_spec(&plan);
        source_apply_options(options, &job.spec.options, &err.exec); /* checked by source_create */
        code = run_job(options, source, &job, &plan);
    }
    source->ops->destroy(source);
    plan_builder_fini(&plan);
    return code;
}
