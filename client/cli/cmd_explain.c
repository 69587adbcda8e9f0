/* morsel explain join L R ..., explain group F ..., explain run FILE, explain FILE. */
#include "commands.h"

#include <string.h>

static enum cli_exit explain_plan(const struct cli_options *options, struct job_source *source,
                                  enum cli_command what)
{
    struct plan_builder plan;
    struct cli_error err = {0};
    enum cli_exit code = EXIT_OK;
    enum exec_code made = EXEC_OK;

    plan_builder_init(&plan);
    made = what == CLI_JOIN ? cmd_join_plan(options, options->args + 1, source, &plan, &err)
                            : cmd_group_plan(options, options->args + 1, &plan, &err);
    if (made != EXEC_OK) {
        code = run_fail(options, &err, NULL, false);
    } else {
        struct exec_job_spec spec = builder_spec(&plan);
        source_apply_options(options, &spec.options, &err.exec);
        code = run_explain(options, source, &spec, &plan);
    }
    plan_builder_fini(&plan);
    return code;
}

static enum cli_exit explain_file(const struct cli_options *options, struct job_source *source,
                                  const char *path)
{
    struct plan_builder plan;
    struct cli_error err = {0};
    struct job_file file = {0};

    if (cmd_read_job(options, path, &file, &err) != EXEC_OK) {
        return run_fail(options, &err, NULL, false);
    }
    plan_builder_init(&plan);
    const enum cli_exit code = run_explain(options, source, &file.spec, &plan);
    plan_builder_fini(&plan);
    cmd_free_job(&file);
    return code;
}

enum cli_exit cmd_explain(const struct cli_options *options)
{
    struct cli_error err = {0};
    enum cli_exit code = cmd_check(options, 1, 3, false);

    if (code != EXIT_OK) {
        return code;
    }
    const enum cli_command what = cli_command_of(options->args[0]);
    const uint32_t wanted = what == CLI_JOIN ? 3 : what == CLI_GROUP || what == CLI_RUN ? 2 : 1;
    code = cmd_check(options, wanted, wanted, false);
    if (code != EXIT_OK) {
        return code;
    }
    struct job_source *source = source_create(options, &err);
    if (source == NULL) {
        return run_fail(options, &err, NULL, false);
    }
    code = what == CLI_JOIN || what == CLI_GROUP
               ? explain_plan(options, source, what)
               : explain_file(options, source, options->args[what == CLI_RUN ? 1 : 0]);
    source->ops->destroy(source);
    return code;
}
