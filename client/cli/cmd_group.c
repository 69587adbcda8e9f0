#include "cli_input.h"
#include "commands.h"
#include "sql/group_plan.h"

enum exec_code cmd_group_plan(const struct cli_options *options, const char *const *args,
                              struct plan_builder *plan, struct cli_error *err)
{
    struct group_request request = {
        .by = options->by,
        .agg = options->agg,
        .where = options->where,
        .having = options->having,
        .order = options->order,
        .limit = options->limit,
    };

    request.rel = cli_input_scan(plan, options, args[0], &request.name, &err->exec);
    if (request.rel == 0 ||
        cli_input_check_names(options, &request.name, 1, &err->exec) != EXEC_OK) {
        return err->exec.code;
    }
    return group_plan_make(plan, &request, &err->exec);
}

enum cli_exit cmd_group(const struct cli_options *options)
{
    struct plan_builder plan;
    struct cli_error err = {0};
    struct source_job job = {0};
    enum cli_exit code = cmd_check(options, 1, 1, false);

    if (code != EXIT_OK) {
        return code;
    }
    plan_builder_init(&plan);
    struct job_source *source = NULL;
    if (cmd_group_plan(options, options->args, &plan, &err) == EXEC_OK) {
        source = source_create(options, &err);
    }
    if (source == NULL) {
        code = run_fail(options, &err, NULL, false);
    } else {
        job.spec = builder_spec(&plan);
        source_apply_options(options, &job.spec.options, &err.exec); /* checked by source_create */
        code = run_job(options, source, &job, &plan);
        source->ops->destroy(source);
    }
    plan_builder_fini(&plan);
    return code;
}
