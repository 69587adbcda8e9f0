#include "wire_options.h"

#include "proto/job_setting.h"
#include "wire_types.h"

#include <inttypes.h>
#include <string.h>

enum {
    PRIORITY_MAX = 10,
    BATCH_BYTES_MAX = 16 << 20,
    NS_PER_S = 1000000000,
    SETTINGS_MAX = 64,
};

/* ---- message -> spec ------------------------------------------------------------------------ */

static enum exec_code timeout_read(const struct wire_reader *reader,
                                   const Google__Protobuf__Duration *message, uint64_t *ns_out)
{
    if (message == NULL) {
        return EXEC_OK;
    }
    const bool positive = message->seconds > 0 || (message->seconds == 0 && message->nanos > 0);
    if (message->nanos <= -NS_PER_S || message->nanos >= NS_PER_S) {
        return wire_fail(reader, EXEC_BAD_SPEC, "options.timeout: %d nanos are a second or more",
                         message->nanos);
    }
    if (!positive || message->nanos < 0) {
        return wire_fail(reader, EXEC_BAD_SPEC, "options.timeout: must be above 0");
    }
    *ns_out = (uint64_t)message->seconds > UINT64_MAX / NS_PER_S - 1
                  ? UINT64_MAX
                  : (uint64_t)message->seconds * NS_PER_S + (uint64_t)message->nanos;
    return EXEC_OK;
}

static enum exec_code setting_read(const struct wire_reader *reader, const char *key,
                                   const char *value, bool strict, struct exec_job_options *options)
{
    const struct job_setting *setting = job_setting_find(key, strlen(key));

    if (setting != NULL) {
        return job_setting_set(setting, value, options)
                   ? EXEC_OK
                   : wire_fail(reader, EXEC_BAD_SPEC, "options.settings[\"%s\"]: '%.64s' is not %s",
                               key, value, setting->expected);
    }
    return strict ? wire_fail(reader, EXEC_BAD_SPEC,
                              "options.settings[\"%.64s\"]: no such setting (strict_settings)", key)
                  : EXEC_OK;
}

static enum exec_code unsupported_check(const struct wire_reader *reader,
                                        const Morsel__V1__JobOptions *message)
{
    enum exec_code code =
        wire_enum_check(reader, "options.compression", &morsel__v1__compression__descriptor,
                        (int)message->compression, true, MORSEL__V1__COMPRESSION__COMPRESSION_NONE);

    if (code == EXEC_OK && message->spill_limit_bytes != 0) {
        code = wire_fail(reader, EXEC_NOT_IMPLEMENTED,
                         "options.spill_limit_bytes: not implemented yet");
    }
    if (code == EXEC_OK && message->partitioning != NULL) {
        code = wire_fail(reader, EXEC_NOT_IMPLEMENTED, "options.partitioning: not implemented yet");
    }
    if (code == EXEC_OK && message->dictionaries) {
        code = wire_fail(reader, EXEC_NOT_IMPLEMENTED, "options.dictionaries: not implemented yet");
    }
    if (code == EXEC_OK && message->detachable) {
        code = wire_fail(reader, EXEC_NOT_IMPLEMENTED, "options.detachable: not implemented yet");
    }
    return code;
}

static enum exec_code ranges_check(const struct wire_reader *reader,
                                   const Morsel__V1__JobOptions *message)
{
    if (message->priority < -PRIORITY_MAX || message->priority > PRIORITY_MAX) {
        return wire_fail(reader, EXEC_BAD_SPEC, "options.priority: %" PRId32 " is not in -10..10",
                         message->priority);
    }
    if (message->trace_events > EXEC_TRACE_EVENTS_MAX) {
        return wire_fail(reader, EXEC_BAD_SPEC, "options.trace_events: %" PRIu32 " is above %d",
                         message->trace_events, EXEC_TRACE_EVENTS_MAX);
    }
    if (message->batch_bytes > BATCH_BYTES_MAX) {
        return wire_fail(reader, EXEC_BAD_SPEC, "options.batch_bytes: %" PRIu32 " is above %d",
                         message->batch_bytes, BATCH_BYTES_MAX);
    }
    return wire_count_check(reader, "options.settings", message->n_settings, SETTINGS_MAX);
}

enum exec_code wire_options_read(const struct wire_reader *reader,
                                 const Morsel__V1__JobOptions *message,
                                 struct exec_job_options *options_out)
{
    enum exec_code code;

    if (message == NULL) {
        return EXEC_OK;
    }
    options_out->memory_limit_bytes = message->memory_limit_bytes;
    options_out->workers_max = message->parallelism;
    options_out->priority = message->priority;
    options_out->result_rows_max = message->result_row_limit;
    options_out->batch_rows = message->batch_rows;
    options_out->batch_bytes = message->batch_bytes;
    options_out->profile = message->profile;
    options_out->trace_events = message->trace_events;
    code = unsupported_check(reader, message);
    if (code == EXEC_OK) {
        code = ranges_check(reader, message);
    }
    if (code == EXEC_OK) {
        code = timeout_read(reader, message->timeout, &options_out->timeout_ns);
    }
    for (size_t i = 0; i < message->n_settings && code == EXEC_OK; i++) {
        code = setting_read(reader, message->settings[i]->key, message->settings[i]->value,
                            message->strict_settings, options_out);
    }
    return code;
}

/* ---- spec -> message ------------------------------------------------------------------------ */

static bool timeout_write(struct wire_memory *memory, uint64_t timeout_ns,
                          Morsel__V1__JobOptions *message)
{
    if (timeout_ns == 0) {
        return true;
    }
    message->timeout = wire_message_new(memory, &google__protobuf__duration__descriptor);
    if (message->timeout == NULL) {
        return false;
    }
    message->timeout->seconds = (int64_t)(timeout_ns / NS_PER_S);
    message->timeout->nanos = (int32_t)(timeout_ns % NS_PER_S);
    return true;
}

static bool setting_write(struct wire_memory *memory, const char *key, const char *value,
                          Morsel__V1__JobOptions *message)
{
    Morsel__V1__JobOptions__SettingsEntry *entry =
        wire_message_new(memory, &morsel__v1__job_options__settings_entry__descriptor);

    if (entry == NULL) {
        return false;
    }
    entry->key = wire_memory_text(memory, key);
    entry->value = wire_memory_text(memory, value);
    message->settings[message->n_settings++] = entry;
    return entry->key != NULL && entry->value != NULL;
}

static bool settings_write(struct wire_memory *memory, const struct exec_job_options *options,
                           Morsel__V1__JobOptions *message)
{
    char scratch[JOB_SETTING_TEXT_BYTES];

    message->settings = wire_memory_array(memory, JOB_SETTING_COUNT, sizeof *message->settings);
    for (size_t i = 0; message->settings != NULL && i < JOB_SETTING_COUNT; i++) {
        const char *value = job_setting_text(&job_settings[i], options, scratch);
        if (value != NULL && !setting_write(memory, job_settings[i].key, value, message)) {
            return false;
        }
    }
    return message->settings != NULL;
}

Morsel__V1__JobOptions *wire_options_write(struct wire_memory *memory,
                                           const struct exec_job_options *options)
{
    Morsel__V1__JobOptions *message =
        wire_message_new(memory, &morsel__v1__job_options__descriptor);

    if (message == NULL) {
        return NULL;
    }
    message->memory_limit_bytes = options->memory_limit_bytes;
    message->parallelism = options->workers_max;
    message->priority = options->priority;
    message->result_row_limit = options->result_rows_max;
    message->batch_rows = options->batch_rows;
    message->batch_bytes = options->batch_bytes;
    message->profile = options->profile;
    message->trace_events = options->trace_events;
    return timeout_write(memory, options->timeout_ns, message) &&
                   settings_write(memory, options, message)
               ? message
               : NULL;
}
