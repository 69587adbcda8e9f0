#ifndef PROTO_JOB_SETTING_H
#define PROTO_JOB_SETTING_H

#include "exec/job_spec.h"

#include <stdbool.h>

/* Settings of a job by name, the one list of them: JobOptions.settings, --set of the command line
 * and morseld.conf read their words here. All of it is constant; any thread. */

enum { JOB_SETTING_TEXT_BYTES = 16 };

struct job_setting {
    const char *key;
    const char *expected; /* "numa, steal, shared or static", "a count of rows" */
    /* The words it takes, NULL behind the last; the first stands for nothing set. NULL: a count. */
    const char *const *words;
    void (*set)(struct exec_job_options *options,
                uint32_t value); /* a word's index, or the count */
    uint32_t (*get)(const struct exec_job_options *options);
};

enum { JOB_SETTING_COUNT = 5 };
extern const struct job_setting job_settings[JOB_SETTING_COUNT];

/* key[0..key_bytes); NULL: no such setting. */
const struct job_setting *job_setting_find(const char *key, size_t key_bytes);

/* false: `value` is not what is expected, and nothing has changed. */
bool job_setting_set(const struct job_setting *setting, const char *value,
                     struct exec_job_options *options);

/* What job_setting_set would take to make it as it is; NULL: nothing is set. */
const char *job_setting_text(const struct job_setting *setting,
                             const struct exec_job_options *options,
                             char scratch[JOB_SETTING_TEXT_BYTES]);

#endif
