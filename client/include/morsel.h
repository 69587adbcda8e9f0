#ifndef MORSEL_H
#define MORSEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libmorsel: run join and aggregate jobs on a morseld daemon and read the answers.
 *
 * Every function that can fail returns 0 (or a count) on success and -1 on failure, and then fills
 * *err. `err` may be NULL for callers that only want to know whether. Nothing is printed, no signal
 * disposition is changed, no thread is started, no global state is kept.
 *
 * Threads: a connection, its results and their batches belong to one thread at a time. Different
 * connections are independent. morsel_interrupt() is the one function that any thread, and a signal
 * handler, may call while another thread is inside a call.
 *
 * One connection runs one call at a time: a result must be closed before the next call. A process
 * that wants several jobs at once opens several connections. A connection that broke, or that the
 * server asked to leave (GOAWAY), is opened anew by the next call. */

#if defined(__GNUC__)
#define MORSEL_API __attribute__((visibility("default")))
#else
#define MORSEL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MORSEL_VERSION "0.1.0"
enum { MORSEL_DEFAULT_PORT = 7432 };

/* The library's version, "0.1.0"; static storage. */
MORSEL_API const char *morsel_version(void);

/* ---- errors --------------------------------------------------------------------------------- */

/* Where a failure was seen. */
enum morsel_fault {
    MORSEL_FAULT_NONE,
    MORSEL_FAULT_CONNECT,    /* no connection: address, refusal, timeout; nothing was sent */
    MORSEL_FAULT_TRANSPORT,  /* the connection broke or spoke something else than gRPC */
    MORSEL_FAULT_SERVER,     /* the server answered with an error status */
    MORSEL_FAULT_DEADLINE,   /* the caller's timeout passed first */
    MORSEL_FAULT_CANCELLED,  /* morsel_interrupt() */
    MORSEL_FAULT_INCOMPLETE, /* the stream ended cleanly but without its `Finished` message */
    MORSEL_FAULT_DATA,     /* the answer does not match its checksum or is no valid Arrow stream */
    MORSEL_FAULT_ARGUMENT, /* the call itself was wrong; nothing was sent */
};

/* What went wrong. Owned by the caller; plain data, needs no freeing. */
struct morsel_error {
    enum morsel_fault fault;
    int grpc_status;    /* 0..16 as in gRPC */
    char grpc_name[24]; /* "INVALID_ARGUMENT" */
    char code_name[24]; /* the engine's own code, "COLUMN_NOT_FOUND" */
    bool retryable;     /* the same call may succeed later, and it did not take effect: full queue,
                         * draining server, refused stream, no connection. Wait, then try again. */
    uint32_t rel;       /* 1-based relation of the plan; 0: none */
    uint32_t expr;      /* 1-based expression of the plan; 0: none */
    uint64_t line;      /* 1-based line of an input file or job text; 0: none */
    uint32_t column;    /* 1-based field of that line; 0: none */
    char message[512];  /* NUL-terminated UTF-8, one sentence */
};

/* ---- connections ---------------------------------------------------------------------------- */

struct morsel_connection;

/* Connect to "host", "host:port" or "[ipv6]:port" (port 7432 when none is named). timeout_ms 0
 * means 10 s; name resolution is not covered by it. *connection_out is written on success only;
 * give it back with morsel_close. Fails with MORSEL_FAULT_ARGUMENT (address) or
 * MORSEL_FAULT_CONNECT. */
MORSEL_API int morsel_connect(const char *address, uint64_t timeout_ms,
                              struct morsel_connection **connection_out, struct morsel_error *err);

/* Cancels what still runs on it, closes the socket, frees. Every result of the connection must have
 * been closed before. NULL is ignored. */
MORSEL_API void morsel_close(struct morsel_connection *connection);

/* Makes the call that is under way, or else the next one, end soon with MORSEL_FAULT_CANCELLED; the
 * server is told (RST_STREAM). Any thread, async-signal-safe, does not wait. */
MORSEL_API void morsel_interrupt(struct morsel_connection *connection);

/* Ask the health service. Returns 0 when the server is serving; *latency_ns_out (may be NULL) is
 * the time from the request to the answer. A server that drains answers MORSEL_FAULT_SERVER with
 * status UNAVAILABLE. timeout_ms 0 means 10 s. */
MORSEL_API int morsel_ping(struct morsel_connection *connection, uint64_t timeout_ms,
                           uint64_t *latency_ns_out, struct morsel_error *err);

/* What the server called itself in its last answer ("morseld/0.1.0"), "" before the first. Valid
 * until the next call on the connection. */
MORSEL_API const char *morsel_server_name(const struct morsel_connection *connection);

/* ---- jobs ----------------------------------------------------------------------------------- */

/* Zero everywhere means the default. */
struct morsel_run_options {
    uint64_t timeout_ms;           /* none; sent as grpc-timeout and watched here as well */
    uint64_t progress_interval_ms; /* no progress messages */
    bool profile;                  /* per-worker figures, see morsel_result_workers */
    uint32_t trace_events;         /* no trace; else the newest events kept a worker */
};

struct morsel_result;

/* Run a job given as text: protobuf's JSON mapping of morsel.v1.ExecuteJobRequest, or of a bare
 * morsel.v1.Plan. `name` is used in error messages (may be NULL). Returns when the server has
 * accepted the job (and its schema is known), or failed it. The text is not needed after the call.
 *
 * MORSEL_FAULT_ARGUMENT: the text is not a job (line and column are set). MORSEL_FAULT_SERVER: the
 * server refused or failed the job; code_name tells why. */
MORSEL_API int morsel_run_json(struct morsel_connection *connection, const char *text, size_t size,
                               const char *name, const struct morsel_run_options *options,
                               struct morsel_result **result_out, struct morsel_error *err);

/* The same for a serialised morsel.v1.ExecuteJobRequest, as any protobuf library packs it. An empty
 * job_id is replaced by a random one. */
MORSEL_API int morsel_run_packed(struct morsel_connection *connection, const void *request,
                                 size_t size, const struct morsel_run_options *options,
                                 struct morsel_result **result_out, struct morsel_error *err);

/* Value types of columns; the numbers are those of morsel.v1.TypeKind. */
enum morsel_type {
    MORSEL_BOOL = 1,
    MORSEL_INT8,
    MORSEL_INT16,
    MORSEL_INT32,
    MORSEL_INT64,
    MORSEL_UINT8,
    MORSEL_UINT16,
    MORSEL_UINT32,
    MORSEL_UINT64,
    MORSEL_FLOAT32,
    MORSEL_FLOAT64,
    MORSEL_DECIMAL128,
    MORSEL_UTF8,
    MORSEL_BINARY,
    MORSEL_DATE32,    /* days since 1970-01-01 */
    MORSEL_TIMESTAMP, /* units since 1970-01-01T00:00:00 */
};

struct morsel_column_info {
    const char *name;
    enum morsel_type type;
    int precision, scale;   /* decimal128 */
    int64_t units_a_second; /* timestamp: 1, 1000, 1000000 or 1000000000 */
    const char *zone;       /* timestamp: "" without time zone */
    bool nullable;
};

/* The job's id, as known to morsel_cancel_job and to the server's log. Valid until close. */
MORSEL_API const char *morsel_result_job_id(const struct morsel_result *result);

/* 0 columns: the job keeps its rows as a server table (into_table). */
MORSEL_API uint32_t morsel_result_column_count(const struct morsel_result *result);

/* `column` counts from 0 and must be below the count. Names are valid until close. */
MORSEL_API struct morsel_column_info morsel_result_column(const struct morsel_result *result,
                                                          uint32_t column);

struct morsel_batch;

/* Waits for the next batch of rows. Returns 1 and a batch to free with morsel_batch_free (it may
 * outlive the result and move to another thread), 0 at the end of a complete result (row count and
 * checksum agreed with the server's), -1 on failure: the rows so far are then not the whole answer.
 * A failure is final; every further call returns it again. Not reading is backpressure: the server
 * stops producing when about 4 MiB wait here. */
MORSEL_API int morsel_result_next(struct morsel_result *result, struct morsel_batch **batch_out,
                                  struct morsel_error *err);

struct morsel_progress {
    uint64_t rows_done, rows_total; /* of the inputs; total 0: unknown */
    uint64_t memory_bytes;
    uint64_t result_rows; /* received so far */
};
/* The newest progress message (asked for by progress_interval_ms). Never waits. */
MORSEL_API struct morsel_progress morsel_result_progress(const struct morsel_result *result);

struct morsel_worker_figures {
    uint32_t worker, node;
    /* By where the rows were: the worker's node, another node of its socket, another socket. */
    uint64_t morsels_local, morsels_socket, morsels_remote;
    uint64_t rows_local, rows_socket, rows_remote;
    uint64_t steals; /* of which: */
    uint64_t steals_smt, steals_l3, steals_node, steals_remote;
    double busy_seconds;                   /* in morsels of the job */
    double search_seconds, parked_seconds; /* without work while the job was there */
    uint64_t credit_waits, io_waits; /* pieces of input that waited: for us to read, for a file */
    double credit_wait_seconds, io_wait_seconds;
};
/* After morsel_result_next returned 0, and when `profile` was asked for: the number of workers, and
 * their figures at *workers_out (valid until close). 0 otherwise. */
MORSEL_API uint32_t morsel_result_workers(const struct morsel_result *result,
                                          const struct morsel_worker_figures **workers_out);

/* Ends the job if it still runs (RST_STREAM CANCEL), frees. NULL is ignored. */
MORSEL_API void morsel_result_close(struct morsel_result *result);

/* ---- batches -------------------------------------------------------------------------------- */

/* Rows and columns count from 0; both must be in range (checked by assert). A typed accessor must
 * fit the column's type (checked by assert); its answer for a NULL is unspecified but safe. */
MORSEL_API uint64_t morsel_batch_rows(const struct morsel_batch *batch);
MORSEL_API bool morsel_batch_is_null(const struct morsel_batch *batch, uint32_t column,
                                     uint64_t row);
MORSEL_API bool morsel_batch_bool(const struct morsel_batch *batch, uint32_t column, uint64_t row);
/* Every integer type, date32 and timestamp; uint64 above INT64_MAX wraps. */
MORSEL_API int64_t morsel_batch_int64(const struct morsel_batch *batch, uint32_t column,
                                      uint64_t row);
/* Every number type; decimals and 64-bit integers are rounded. */
MORSEL_API double morsel_batch_double(const struct morsel_batch *batch, uint32_t column,
                                      uint64_t row);
/* utf8 and binary: not NUL-terminated, valid as long as the batch. */
MORSEL_API const char *morsel_batch_bytes(const struct morsel_batch *batch, uint32_t column,
                                          uint64_t row, size_t *size_out);
/* Any type as text ("" for NULL): exact decimals, shortest round-trip floats, ISO dates. Writes at
 * most text_bytes including the NUL and returns the full length without it, as snprintf does. */
MORSEL_API size_t morsel_batch_text(const struct morsel_batch *batch, uint32_t column, uint64_t row,
                                    char *text_out, size_t text_bytes);
MORSEL_API void morsel_batch_free(struct morsel_batch *batch); /* NULL is ignored */

/* ---- Arrow C stream interface ---------------------------------------------------------------- */

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* Moves the result into an Arrow C stream: the stream's release closes it, and the result must not
 * be used otherwise. The arrays it hands out are independent of stream and connection. Batches
 * taken by morsel_result_next before are not seen again. get_next fails with EIO (get_last_error
 * tells why), ETIMEDOUT or ECANCELED. Always succeeds. */
MORSEL_API void morsel_result_to_arrow_stream(struct morsel_result *result,
                                              struct ArrowArrayStream *stream_out);

/* ---- plans and the job list ------------------------------------------------------------------ */

/* Explain a job (JSON text as for morsel_run_json). *text_out is malloc'd, freed by the caller.
 * With `analyze` the job runs, its rows are dropped and the text carries actual figures. */
MORSEL_API int morsel_explain_json(struct morsel_connection *connection, const char *text,
                                   size_t size, const char *name, bool analyze, uint64_t timeout_ms,
                                   char **text_out, struct morsel_error *err);

enum morsel_job_state {
    MORSEL_JOB_UNKNOWN,
    MORSEL_JOB_QUEUED,
    MORSEL_JOB_RUNNING,
    MORSEL_JOB_SUCCEEDED,
    MORSEL_JOB_FAILED,
    MORSEL_JOB_CANCELLED,
};
MORSEL_API const char *morsel_job_state_name(enum morsel_job_state state); /* "running" */

struct morsel_job_info {
    const char *job_id;
    enum morsel_job_state state;
    double submitted_at; /* seconds since 1970, UTC */
    struct morsel_progress progress;
    double elapsed_seconds;
    const char *error; /* "" when there is none */
};

/* Every job the server remembers, newest page order as it sends them. Returns 0; *jobs_out is one
 * block to free() (strings included), *count_out its length. */
MORSEL_API int morsel_list_jobs(struct morsel_connection *connection, uint64_t timeout_ms,
                                struct morsel_job_info **jobs_out, size_t *count_out,
                                struct morsel_error *err);

/* Ask the server to stop a job of anybody's. Idempotent; *state_out (may be NULL) is the job's
 * state after the request. Status NOT_FOUND when the server does not know the job. */
MORSEL_API int morsel_cancel_job(struct morsel_connection *connection, const char *job_id,
                                 const char *reason, uint64_t timeout_ms,
                                 enum morsel_job_state *state_out, struct morsel_error *err);

/* ---- tables -----------------------------------------------------------------------------------
 */

struct morsel_table_info {
    const char *name;
    uint64_t row_count, memory_bytes, version;
    uint32_t column_count;
    const char *columns; /* "id int64, name utf8" */
};

/* Gives the next bytes of an Arrow IPC stream: up to `room` of them into buffer. Returns their
 * number, 0 at the end, -1 to give up (the upload is then cancelled and no table appears). */
typedef ptrdiff_t morsel_read_fn(void *owner, void *buffer, size_t room);

/* Make a server table of an Arrow IPC stream. Nothing is visible before the last byte was accepted;
 * then the table is there, whole. `replace` false: ALREADY_EXISTS when it exists. *info_out (may be
 * NULL) is one block to free(). expected_bytes 0: unknown. */
MORSEL_API int morsel_upload(struct morsel_connection *connection, const char *table, bool replace,
                             uint64_t expected_bytes, morsel_read_fn *read, void *owner,
                             uint64_t timeout_ms, struct morsel_table_info **info_out,
                             struct morsel_error *err);

/* Make a server table of files below the server's data root, in one job, all or nothing. The
 * request is the JSON mapping of morsel.v1.LoadTableRequest. *info_out (may be NULL): one block to
 * free(). */
MORSEL_API int morsel_load_json(struct morsel_connection *connection, const char *text, size_t size,
                                uint64_t timeout_ms, struct morsel_table_info **info_out,
                                struct morsel_error *err);

/* Every table, by name. *tables_out is one block to free(). */
MORSEL_API int morsel_list_tables(struct morsel_connection *connection, uint64_t timeout_ms,
                                  struct morsel_table_info **tables_out, size_t *count_out,
                                  struct morsel_error *err);

/* Running jobs keep the version they read. Status NOT_FOUND when there is no such table. */
MORSEL_API int morsel_drop_table(struct morsel_connection *connection, const char *table,
                                 uint64_t timeout_ms, struct morsel_error *err);

#ifdef __cplusplus
}
#endif

#endif
