#ifndef CLIENT_MORSEL_TABLES_H
#define CLIENT_MORSEL_TABLES_H

#include "morsel/v1/job_service.pb-c.h"
#include "morsel_connection.h"

/* Table descriptions as one malloc block, array first. NULL: no memory. */
struct morsel_table_info *tables_block(Morsel__V1__TableInfo *const *tables, size_t count);

/* morsel_load_json with the request as a message. */
int tables_load(struct morsel_connection *connection, const Morsel__V1__LoadTableRequest *request,
                uint64_t timeout_ms, struct morsel_table_info **info_out, struct morsel_error *err);

#endif
