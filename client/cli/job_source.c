#include "job_source.h"

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

static bool policy_parse(const char *text, enum exec_policy *policy_out)
{
    static const char *const names[] = {"default", "numa", "steal", "shared", "static"};

    for (int i = 1; i < 5; i++) {
        if (strcmp(names[i], text) == 0) {
            *policy_out = (enum exec_policy)i;
            return true;
        }
    }
    return false;
}

static bool probe_mode_parse(const char *text, enum exec_probe_mode *mode_out)
{
    static const char *const names[] = {"default", "auto", "shared", "replicated", "routed"};

    for (int i = 1; i < 5; i++) {
        if (strcmp(names[i], text) == 0) {
            *mode_out = (enum exec_probe_mode)i;
            return true;
        }
    }
    return false;
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
        uint64_t count = 0;
        if (key == 6 && memcmp(text, "policy", 6) == 0) {
            if (!policy_parse(value, &job->policy)) {
                return EXEC_FAIL(err, EXEC_BAD_SPEC,
                                 "--set policy=%.40s: expected numa, steal, shared or static",
                                 value);
            }
        } else if (key == 10 && memcmp(text, "probe_mode", 10) == 0) {
            if (!probe_mode_parse(value, &job->probe_mode)) {
                return EXEC_FAIL(err, EXEC_BAD_SPEC,
                                 "--set probe_mode=%.40s: expected auto, shared, replicated or "
                                 "routed",
                                 value);
            }
        } else if (key == 9 && memcmp(text, "float_sum", 9) == 0) {
            job->plain_float_sums = strcmp(value, "plain") == 0;
            if (!job->plain_float_sums && strcmp(value, "exact") != 0) {
                return EXEC_FAIL(err, EXEC_BAD_SPEC,
                                 "--set float_sum=%.40s: expected exact or plain", value);
            }
        } else if (key == 11 && memcmp(text, "morsel_rows", 11) == 0) {
            if (!cli_count_parse(value, UINT32_MAX, &count)) {
                return EXEC_FAIL(err, EXEC_BAD_SPEC, "--set morsel_rows=%.40s: expected a count",
                                 value);
            }
            job->morsel_rows = (uint32_t)count;
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
