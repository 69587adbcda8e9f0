#include "proto/wire_plan.h"

#include "wire_expr.h"
#include "wire_memory.h"
#include "wire_options.h"
#include "wire_rel.h"
#include "wire_types.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The highest Plan.version this build understands; 0 is taken as 1. */
enum { PLAN_VERSION = 1 };

static enum exec_code exprs_read(struct wire_reader *reader, const Morsel__V1__Plan *plan,
                                 struct exec_job_spec *spec)
{
    struct exec_expr *exprs = wire_memory_array(reader->memory, plan->n_exprs, sizeof *exprs);
    enum exec_code code = EXEC_OK;

    if (exprs == NULL) {
        return wire_fail_memory(reader);
    }
    for (size_t i = 0; i < plan->n_exprs && code == EXEC_OK; i++) {
        reader->expr = (uint32_t)i + 1;
        code = wire_expr_read(reader, plan->exprs[i], &exprs[i]);
    }
    reader->expr = 0;
    spec->exprs = exprs;
    spec->expr_count = (uint32_t)plan->n_exprs;
    return code;
}

static enum exec_code rels_read(struct wire_reader *reader, const Morsel__V1__Plan *plan,
                                struct exec_job_spec *spec)
{
    struct exec_rel *rels = wire_memory_array(reader->memory, plan->n_rels, sizeof *rels);
    enum exec_code code = EXEC_OK;

    if (rels == NULL) {
        return wire_fail_memory(reader);
    }
    for (size_t i = 0; i < plan->n_rels && code == EXEC_OK; i++) {
        reader->rel = (uint32_t)i + 1;
        code = wire_rel_read(reader, plan->rels[i], &rels[i]);
    }
    reader->rel = 0;
    spec->rels = rels;
    spec->rel_count = (uint32_t)plan->n_rels;
    return code;
}

static enum exec_code plan_check(const struct wire_reader *reader, const Morsel__V1__Plan *plan)
{
    enum exec_code code;

    if (plan == NULL || plan->n_rels == 0) {
        return wire_fail(reader, EXEC_BAD_SPEC, "plan.rels is empty");
    }
    if (plan->version > PLAN_VERSION) {
        return wire_fail(reader, EXEC_NOT_IMPLEMENTED,
                         "plan.version: %" PRIu32 " is newer than %d, the newest known here",
                         plan->version, PLAN_VERSION);
    }
    code = wire_count_check(reader, "plan.rels", plan->n_rels, EXEC_RELS_MAX);
    return code != EXEC_OK ? code
                           : wire_count_check(reader, "plan.exprs", plan->n_exprs, EXEC_EXPRS_MAX);
}

enum exec_code wire_job_from_plan(const Morsel__V1__Plan *plan,
                                  const Morsel__V1__JobOptions *options, const char *into_table,
                                  struct wire_job *job_out, struct exec_error *err)
{
    struct wire_memory memory = {.last = NULL};
    struct wire_reader reader = {.memory = &memory, .err = err};
    struct exec_job_spec spec;
    enum exec_code code;

    memset(&spec, 0, sizeof spec);
    memset(job_out, 0, sizeof *job_out);
    code = plan_check(&reader, plan);
    if (code == EXEC_OK && into_table != NULL && into_table[0] != '\0') {
        spec.into_table = into_table;
        code = wire_name_check(&reader, "into_table", into_table);
    }
    if (code == EXEC_OK) {
        code = wire_options_read(&reader, options, &spec.options);
    }
    if (code == EXEC_OK) {
        code = exprs_read(&reader, plan, &spec);
    }
    if (code == EXEC_OK) {
        code = rels_read(&reader, plan, &spec);
    }
    if (code != EXEC_OK) {
        wire_memory_free(&memory);
        return code;
    }
    job_out->spec = spec;
    job_out->memory = memory.last;
    return EXEC_OK;
}

void wire_job_fini(struct wire_job *job)
{
    struct wire_memory memory = {.last = job->memory};

    wire_memory_free(&memory);
    memset(job, 0, sizeof *job);
}

/* ---- spec -> message ------------------------------------------------------------------------ */

/* The first thing in its own memory, so that a request is enough to free it all. */
struct request_block {
    Morsel__V1__ExecuteJobRequest request;
    struct wire_memory memory;
};

static Morsel__V1__Plan *plan_write(struct wire_memory *memory, const struct exec_job_spec *spec)
{
    Morsel__V1__Plan *plan = wire_message_new(memory, &morsel__v1__plan__descriptor);

    if (plan == NULL) {
        return NULL;
    }
    plan->version = PLAN_VERSION;
    plan->n_rels = spec->rel_count;
    plan->n_exprs = spec->expr_count;
    plan->rels = wire_memory_array(memory, plan->n_rels, sizeof *plan->rels);
    plan->exprs = wire_memory_array(memory, plan->n_exprs, sizeof *plan->exprs);
    if (plan->rels == NULL || plan->exprs == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < plan->n_rels; i++) {
        plan->rels[i] = wire_rel_write(memory, &spec->rels[i]);
        if (plan->rels[i] == NULL) {
            return NULL;
        }
    }
    for (size_t i = 0; i < plan->n_exprs; i++) {
        plan->exprs[i] = wire_expr_write(memory, &spec->exprs[i]);
        if (plan->exprs[i] == NULL) {
            return NULL;
        }
    }
    return plan;
}

Morsel__V1__ExecuteJobRequest *wire_request_from_spec(const struct exec_job_spec *spec,
                                                      const char *job_id)
{
    struct wire_memory memory = {.last = NULL};
    struct request_block *block = wire_memory_array(&memory, 1, sizeof *block);
    Morsel__V1__ExecuteJobRequest *request;

    if (block == NULL) {
        return NULL;
    }
    request = &block->request;
    morsel__v1__execute_job_request__init(request);
    request->job_id = wire_memory_text(&memory, job_id);
    request->into_table = wire_memory_text(&memory, spec->into_table);
    request->into_replace = spec->into_replace;
    request->options = wire_options_write(&memory, &spec->options);
    request->plan = plan_write(&memory, spec);
    if (request->job_id == NULL || request->into_table == NULL || request->options == NULL ||
        request->plan == NULL) {
        wire_memory_free(&memory);
        return NULL;
    }
    block->memory = memory;
    return request;
}

void wire_request_free(Morsel__V1__ExecuteJobRequest *request)
{
    struct wire_memory memory;

    if (request == NULL) {
        return;
    }
    memory = ((struct request_block *)(void *)request)->memory;
    wire_memory_free(&memory);
}
