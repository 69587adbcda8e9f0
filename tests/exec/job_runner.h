#ifndef TESTS_JOB_RUNNER_H
#define TESTS_JOB_RUNNER_H

#include "exec/exec.h"

/* Runs a job to its end and keeps its rows as text, for tests. A row is its values joined by '|':
 * NULL is \N, bool is t or f, floats are %.17g, decimals unscaled with their point put in, dates
 * and timestamps their integers, utf8 and binary as they are. */
struct job_result {
    struct exec_error error; /* code EXEC_OK: it succeeded */
    char **rows;             /* in order of arrival */
    uint64_t row_count, chunk_count;
    char *schema; /* "i:int64,s:utf8"; NULL: there was no schema event */
    char *explain_text, *explain_json;
    struct exec_job_status status; /* taken after the end */
    uint32_t out_of_order;         /* callbacks that broke the promised order */
};

void job_run(struct exec_engine *engine, const struct exec_job_spec *spec, struct job_result *out);
void job_result_sort(struct job_result *result); /* rows by bytes */
void job_result_fini(struct job_result *result);

/* An engine for tests: quiet, `workers` workers, on a fake topology when topology_file is given. */
struct exec_engine *test_engine(uint32_t workers, const char *topology_file);

/* One row of a chunk as text, malloc()ed. */
char *chunk_row_text(const struct exec_chunk *chunk, uint64_t row);

#endif
