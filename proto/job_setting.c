#include "proto/job_setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const policies[] = {
    [EXEC_POLICY_DEFAULT] = "default", [EXEC_POLICY_NUMA] = "numa",
    [EXEC_POLICY_STEAL] = "steal",     [EXEC_POLICY_SHARED] = "shared",
    [EXEC_POLICY_STATIC] = "static",   NULL,
};
static const char *const probe_modes[] = {
    [EXEC_PROBE_DEFAULT] = "default", [EXEC_PROBE_AUTO] = "auto",
    [EXEC_PROBE_SHARED] = "shared",   [EXEC_PROBE_REPLICATED] = "replicated",
    [EXEC_PROBE_ROUTED] = "routed",   NULL,
};
static const char *const float_sums[] = {"exact", "plain", NULL};

#define SETTING(name, type, field)                                           \
    static void name##_set(struct exec_job_options *options, uint32_t value) \
    {                                                                        \
        options->field = (type)value;                                        \
    }                                                                        \
    static uint32_t name##_get(const struct exec_job_options *options)       \
    {                                                                        \
        return (uint32_t)options->field;                                     \
    }
SETTING(policy, enum exec_policy, policy)
SETTING(probe_mode, enum exec_probe_mode, probe_mode)
SETTING(morsel_rows, uint32_t, morsel_rows)
SETTING(hash_bits, uint32_t, hash_bits)
SETTING(float_sum, bool, plain_float_sums)

const struct job_setting job_settings[JOB_SETTING_COUNT] = {
    {"policy", "numa, steal, shared or static", policies, policy_set, policy_get},
    {"probe_mode", "auto, shared, replicated or routed", probe_modes, probe_mode_set,
     probe_mode_get},
    {"float_sum", "exact or plain", float_sums, float_sum_set, float_sum_get},
    {"morsel_rows", "a count of rows", NULL, morsel_rows_set, morsel_rows_get},
    {"hash_bits", "a count of bits", NULL, hash_bits_set, hash_bits_get},
};

const struct job_setting *job_setting_find(const char *key, size_t key_bytes)
{
    for (size_t i = 0; i < JOB_SETTING_COUNT; i++) {
        if (strlen(job_settings[i].key) == key_bytes &&
            memcmp(job_settings[i].key, key, key_bytes) == 0) {
            return &job_settings[i];
        }
    }
    return NULL;
}

static bool count_parse(const char *text, uint32_t *count_out)
{
    const size_t digits = strspn(text, "0123456789");
    uint64_t count = 0;

    for (size_t i = 0; i < digits && count <= UINT32_MAX; i++) {
        count = count * 10 + (uint64_t)(text[i] - '0');
    }
    *count_out = (uint32_t)count;
    return digits != 0 && text[digits] == '\0' && count <= UINT32_MAX;
}

static bool word_find(const char *const *words, const char *text, uint32_t *index_out)
{
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *index_out = i;
            return true;
        }
    }
    return false;
}

bool job_setting_set(const struct job_setting *setting, const char *value,
                     struct exec_job_options *options)
{
    uint32_t parsed;

    if (!(setting->words == NULL ? count_parse(value, &parsed)
                                 : word_find(setting->words, value, &parsed))) {
        return false;
    }
    setting->set(options, parsed);
    return true;
}

const char *job_setting_text(const struct job_setting *setting,
                             const struct exec_job_options *options,
                             char scratch[JOB_SETTING_TEXT_BYTES])
{
    const uint32_t value = setting->get(options);

    if (value == 0) {
        return NULL;
    }
    if (setting->words != NULL) {
        return setting->words[value];
    }
    (void)snprintf(scratch, JOB_SETTING_TEXT_BYTES, "%" PRIu32, value);
    return scratch;
}
