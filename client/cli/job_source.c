#include "job_source.h"

#include "proto/job_setting.h"

#include <string.h>

struct job_source *source_create(const struct cli_options *options, struct cli_error *err)
{
    return options->server == NULL ? embedded_source_create(options, err)
                                   : remote_source_create(options, err);
}

struct exec_schema source_schema_copy(struct plan_builder *plan, const struct exec_schema *schema)
{
    struct exec_field *fields = builder_alloc(plan, (schema->field_count + 1) * sizeof *fields);

    for (uint32_t i = 0; i < schema->field_count; i++) {
        fields[i] = schema->fields[i];
        fields[i].name = builder_text(plan, fields[i].name, strlen(fields[i].name));
    }
    return (struct exec_schema){.fields = fields, .field_count = schema->field_count};
}

/* Settings of the engine rather than of a job: only for the one in this process. */
static bool is_engine_key(const char *text, size_t size)
{
    static const char *const keys[] = {"io_uring",   "workers",      "memory_limit",
                                       "job_memory", "pool_reserve", "topology_file"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strlen(keys[i]) == size && memcmp(keys[i], text, size) == 0) {
            return true;
        }
    }
    return false;
}

enum exec_code source_apply_options(const struct cli_options *options, struct exec_job_options *job,
                                    struct exec_error *err)
{
    if (options->memory_bytes != 0) {
        job->memory_limit_bytes = options->memory_bytes;
    }
    if (options->threads != 0) {
        job->workers_max = options->threads;
    }
    if (options->timeout_ns != 0) {
        job->timeout_ns = options->timeout_ns;
    }
    for (uint32_t i = 0; i < options->settings.count; i++) {
        const char *text = options->settings.texts[i], *value = strchr(text, '=') + 1;
        const int key = (int)(value - 1 - text);
        const struct job_setting *setting = job_setting_find(text, (size_t)key);
        if (setting != NULL) {
            if (!job_setting_set(setting, value, job)) {
                return EXEC_FAIL(err, EXEC_BAD_SPEC, "--set %s=%.40s: expected %s", setting->key,
                                 value, setting->expected);
            }
        } else if (options->server != NULL || !is_engine_key(text, (size_t)key)) {
            return EXEC_FAIL(
                err, EXEC_BAD_SPEC, "--set: unknown key '%.*s'%s", key, text,
                options->server != NULL
                    ? " (a server's jobs take policy, probe_mode, float_sum and morsel_rows)"
                    : " (expected policy, probe_mode, float_sum, morsel_rows, io_uring, "
                      "workers, "
                      "memory_limit, job_memory, pool_reserve or topology_file)");
        }
    }
    return EXEC_OK;
}
