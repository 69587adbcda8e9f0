#ifndef PROTO_WIRE_PLAN_H
#define PROTO_WIRE_PLAN_H

#include "exec/error.h"
#include "exec/job_spec.h"
#include "morsel/v1/job_service.pb-c.h"

/* Message <-> job spec: the only translation, used by server and client. */

/* A spec made from a message; owns its arrays and copies nothing it can borrow: the message must
 * outlive it. */
struct wire_job {
    struct exec_job_spec spec;
    void *memory;
};

/* A field that is set but not implemented is EXEC_NOT_IMPLEMENTED naming it
 * ("options.compression"), an unset oneof or an unknown enum value EXEC_BAD_SPEC naming rel or expr
 * and field. spec.into_replace, explain and analyze stay false: they are fields of the request
 * around the plan, set by the caller. References between relations and expressions are
 * exec_submit's. */
enum exec_code wire_job_from_plan(const Morsel__V1__Plan *plan,
                                  const Morsel__V1__JobOptions *options /* may be NULL */,
                                  const char *into_table /* "" or NULL: none */,
                                  struct wire_job *job_out, struct exec_error *err);
void wire_job_fini(struct wire_job *job);

/* spec -> ExecuteJobRequest; everything in one block, free with wire_request_free. NULL: no memory.
 */
Morsel__V1__ExecuteJobRequest *wire_request_from_spec(const struct exec_job_spec *spec,
                                                      const char *job_id);
void wire_request_free(Morsel__V1__ExecuteJobRequest *request);

/* Schemas. The message is one malloc block (free()), names borrowed from `schema`. */
Morsel__V1__Schema *wire_schema_message(const struct exec_schema *schema);
/* fields_out has room for message->n_fields; names are borrowed from the message. */
enum exec_code wire_schema_from_message(const Morsel__V1__Schema *message,
                                        struct exec_field *fields_out,
                                        struct exec_schema *schema_out, struct exec_error *err);

#endif
