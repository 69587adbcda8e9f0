#ifndef EXEC_EXEC_H
#define EXEC_EXEC_H

#include "exec/column_buffers.h"
#include "exec/error.h"
#include "exec/job_spec.h"
#include "exec/trace.h"

/* The engine's door: a job spec in, batches out. No sockets, no protobuf. One engine a process.
 *
 * Threads: every function may be called from any thread and none blocks, except create and destroy.
 * Callbacks run on worker threads, must not block and must not call back into the engine except for
 * the functions that say so. */

struct exec_engine; /* workers, dispatcher, budgets, tables */
struct exec_job;    /* one submitted job; reference counted */
struct exec_upload; /* one table being filled from outside */

enum exec_log_level { EXEC_LOG_ERROR, EXEC_LOG_WARNING, EXEC_LOG_INFO, EXEC_LOG_DEBUG };
typedef void exec_log_fn(void *owner, enum exec_log_level level, const char *line);

/* Zero means the default everywhere. */
struct exec_engine_config {
    uint32_t workers;            /* one per usable CPU; may exceed the CPUs */
    uint64_t memory_limit_bytes; /* 80 % of what the machine and the cgroups allow */
    uint64_t job_memory_bytes;   /* a job's limit when it names none: memory_limit_bytes / 2 */
    uint64_t pool_reserve_bytes; /* pages kept warm between jobs: 1/8 of the limit */
    uint32_t jobs_max;           /* accepted and not ended: 4096 */
    const char
        *data_root; /* scans stay below it (openat2 RESOLVE_BENEATH); NULL: any path; "": none */
    const char *topology_file;       /* a fake topology, for tests */
    enum exec_policy policy;         /* NUMA */
    enum exec_probe_mode probe_mode; /* AUTO */
    uint32_t morsel_rows;            /* adaptive */
    bool no_io_uring;                /* force the pread fallback */
    exec_log_fn *log;                /* called from create and from workers */
    void *log_owner;
};

/* Starts workers and I/O threads, reads the topology, logs one line about it. Blocks. Returns
 * EXEC_OK, EXEC_BAD_SPEC (a config value), EXEC_MEMORY_BUDGET or EXEC_INTERNAL. */
enum exec_code exec_engine_create(const struct exec_engine_config *config,
                                  struct exec_engine **engine_out, struct exec_error *err);

/* Cancels what still runs, waits for it, joins every thread, frees all. Every job and chunk must
 * have been released or be released by its `done`. Blocks. */
void exec_engine_destroy(struct exec_engine *engine);

/* ---- results -------------------------------------------------------------------------------- */

/* One piece of a job's result. Owned by whoever got it until exec_chunk_release. Immutable. */
struct exec_chunk {
    const struct exec_column_buffers *columns;
    uint32_t column_count;
    uint64_t row_count;
    uint64_t byte_count; /* of all buffers */
    struct exec_job *job;
    bool is_last; /* all rows are there: only chunks like it and `done` follow, at once */
};

/* Gives the chunk's memory back to its job as credit, which may set a waiting pipeline going. Must
 * be called for every chunk, also after `done` and after a cancel; the job's last reference must
 * not be dropped before. */
void exec_chunk_release(struct exec_chunk *chunk);

/* How a job speaks to its owner. All run on worker threads, one at a time for a given job, in this
 * order: schema once (not for into_table and explain), chunks, done exactly once. A job that fails
 * before binding sends only `done`. `done` may run before exec_submit returns. */
struct exec_job_events {
    void (*schema)(void *owner, struct exec_job *job, const struct exec_schema *schema);
    void (*chunk)(void *owner, struct exec_job *job, struct exec_chunk *chunk);
    void (*done)(void *owner, struct exec_job *job);
};

/* ---- jobs ----------------------------------------------------------------------------------- */

/* Submit a job. Only the shape of the spec is checked here; binding, planning and file schemas are
 * the job's own first work.
 *
 * spec     borrowed for the call; the engine keeps its own copy.
 * events   borrowed for the call.
 * owner    passed back to the callbacks, not looked at.
 * job_out  written only on EXEC_OK, before any callback runs; the caller owns one reference.
 * err      filled in on every other return.
 *
 * Returns EXEC_OK, EXEC_BAD_SPEC (err->detail names the field), EXEC_NOT_IMPLEMENTED, EXEC_BUSY
 * (jobs_max reached) or EXEC_MEMORY_BUDGET. No callback is called unless EXEC_OK is returned. */
enum exec_code exec_submit(struct exec_engine *engine, const struct exec_job_spec *spec,
                           const struct exec_job_events *events, void *owner,
                           struct exec_job **job_out, struct exec_error *err);

/* Ask a job to stop at its next morsel boundary with `code` (EXEC_CANCELLED or EXEC_DEADLINE) and
 * `reason` (copied, may be NULL). Idempotent, the first failure wins; `done` still follows, also
 * when the job waits for credit: waiting ranges are dropped. */
void exec_job_cancel(struct exec_job *job, enum exec_code code, const char *reason);

void exec_job_retain(struct exec_job *job);
void exec_job_release(struct exec_job *job); /* not before every chunk is released */

enum exec_job_state { EXEC_JOB_RUNNING, EXEC_JOB_SUCCEEDED, EXEC_JOB_FAILED };

/* A snapshot; each figure is exact for itself, not all for one instant. */
struct exec_job_status {
    enum exec_job_state state;
    uint64_t rows_done, rows_total; /* of scans, by pipelines so far; total 0: unknown */
    uint64_t result_rows, result_bytes, result_chunks;
    uint64_t memory_bytes, memory_peak_bytes;
    uint64_t elapsed_ns, busy_ns; /* wall since submit (frozen at the end); worker time */
    uint64_t morsels, morsels_remote, steals;
    uint32_t pipelines_done, pipelines_total;
    bool waiting_for_credit;
};
void exec_job_status(const struct exec_job *job, struct exec_job_status *status_out);

/* What one worker did for one job. Rows are those a source handed over. */
struct exec_job_worker {
    uint32_t node;
    /* By where the rows were: the worker's node, another node of its socket, another socket. */
    uint64_t morsels_local, morsels_socket, morsels_remote;
    uint64_t rows_local, rows_socket, rows_remote;
    uint64_t steals_smt, steals_l3, steals_node, steals_remote;
    uint64_t busy_ns;              /* in morsels of the job */
    uint64_t search_ns, parked_ns; /* without work while the job was there, whoever else was */
    /* Parts of the input that left the run queue, and how long until this worker went on: for the
     * result's reader to take rows, for a file. */
    uint64_t credit_waits, credit_wait_ns, io_waits, io_wait_ns;
};
/* After `done` only; worker < exec_engine_worker_count. */
void exec_job_worker(const struct exec_job *job, uint32_t worker,
                     struct exec_job_worker *worker_out);

/* One relation of a plan that has run. */
struct exec_job_relation {
    uint32_t rel;         /* 1-based index in the spec */
    const char *name;     /* "scan table t" */
    double rows_estimate; /* before it ran; below 0: unknown */
    uint64_t rows_in, rows_out;
    uint64_t busy_ns; /* worker time of its operators; of profiled and analyzed jobs, else 0 */
};
/* One pipeline: operators that a morsel goes through in one go. */
struct exec_job_pipe {
    uint32_t number;   /* 1-based, as in explain and in traces */
    const char *steps; /* "table scan (1) -> group (2)"; the numbers are relations */
    uint64_t rows, morsels, busy_ns;
};
/* After `done` only, index from 0; of jobs that succeeded and were profiled, analyzed or traced,
 * else there are none. Relations come inputs before users, one once for each of its users. */
uint32_t exec_job_relation_count(const struct exec_job *job);
const struct exec_job_relation *exec_job_relation(const struct exec_job *job, uint32_t index);
uint32_t exec_job_pipe_count(const struct exec_job *job);
const struct exec_job_pipe *exec_job_pipe(const struct exec_job *job, uint32_t index);

/* After `done` only, of jobs that asked for a trace: copies at most `room` events of one worker, in
 * no order, and returns how many. *dropped_out: older ones that found no room in the ring. Events
 * of EXEC_TRACE_SEARCH and PARK are those between submit and end. */
uint32_t exec_job_trace(const struct exec_job *job, uint32_t worker,
                        struct exec_trace_event *events_out, uint32_t room, uint64_t *dropped_out);
/* Room for all of them. 0: not traced. */
uint32_t exec_job_trace_room(const struct exec_job *job);
/* CLOCK_MONOTONIC. */
void exec_job_times(const struct exec_job *job, uint64_t *submitted_ns_out, uint64_t *ended_ns_out);

/* After `done` only. The error of a failed job (code EXEC_OK when it succeeded), valid as long as
 * the reference. */
const struct exec_error *exec_job_error(const struct exec_job *job);

/* After `done` only, for explain and analyze jobs: the plan as text and as JSON, NUL-terminated,
 * owned by the job. NULL otherwise. */
const char *exec_job_explain_text(const struct exec_job *job);
const char *exec_job_explain_json(const struct exec_job *job);

/* The result's schema: after the `schema` event, or after `done` for explain and into_table; NULL
 * before. Owned by the job. */
const struct exec_schema *exec_job_schema(const struct exec_job *job);

/* ---- tables --------------------------------------------------------------------------------- */

/* A snapshot of one table; names and schema are owned by the snapshot. */
struct exec_table_info {
    const char *name;
    struct exec_schema schema;
    uint64_t row_count, memory_bytes, version;
};

struct exec_table_list {
    struct exec_table_info *tables; /* sorted by name */
    uint32_t table_count;
    void *memory; /* one malloc block behind it all */
};

/* Returns EXEC_OK or EXEC_MEMORY_BUDGET. Free with exec_table_list_free. `name` NULL: every table.
 */
enum exec_code exec_table_list(struct exec_engine *engine, const char *name,
                               struct exec_table_list *list_out, struct exec_error *err);
void exec_table_list_free(struct exec_table_list *list);

/* Running jobs keep the version they bound. Returns EXEC_OK or EXEC_TABLE_NOT_FOUND. */
enum exec_code exec_table_drop(struct exec_engine *engine, const char *name,
                               struct exec_error *err);

/* ---- uploads -------------------------------------------------------------------------------- */

/* begin, any number of appends, then commit or abort. Nothing is visible before commit; commit
 * swaps the new version in atomically. Appends copy into table chunks on workers and finish in any
 * order; rows keep the order of the append calls. */
struct exec_upload_events {
    /* The buffers of one append are no longer needed (`token` as given to it). On the calling
     * thread when the upload has ended already. */
    void (*appended)(void *owner, void *token);
    /* Exactly once, after commit or abort or a failure of an append, when no append is left under
     * way. code EXEC_OK: the table is visible; info is valid during the call. Calls that cross with
     * it are harmless (appends are still `appended`), until exec_upload_release. */
    void (*done)(void *owner, const struct exec_error *error, const struct exec_table_info *info);
};

/* Returns EXEC_OK, EXEC_BAD_SPEC (name or schema), EXEC_EXISTS (replace is false), EXEC_BUSY,
 * EXEC_MEMORY_BUDGET (expected_bytes does not fit; 0: unknown). */
enum exec_code exec_upload_begin(struct exec_engine *engine, const char *table,
                                 const struct exec_schema *schema, bool replace,
                                 uint64_t expected_bytes, const struct exec_upload_events *events,
                                 void *owner, struct exec_upload **upload_out,
                                 struct exec_error *err);

/* columns: one per field of the schema, all of the same row_count; the structs are copied, the
 * buffers they point to are borrowed until `appended`. One thread at a time. An append after a
 * failure is dropped (still `appended`). */
void exec_upload_append(struct exec_upload *upload, const struct exec_column_buffers *columns,
                        void *token);
void exec_upload_commit(struct exec_upload *upload);
void exec_upload_abort(struct exec_upload *upload, enum exec_code code, const char *reason);

/* Gives the handle back; exactly once for every begun upload, by its owner, after which it makes no
 * further call. Usually after `done`; before a commit or abort it means abort (EXEC_CANCELLED), and
 * `done` still follows. */
void exec_upload_release(struct exec_upload *upload);

/* ---- functions ------------------------------------------------------------------------------ */

struct exec_function_info {
    const char *name, *help;
    uint32_t args_min, args_max; /* args_max 0: any number */
};

/* The text as a literal of the type, as a cast reads it (blanks around it may be there).
 * EXEC_BAD_SPEC naming text and type when it is no such value, EXEC_TYPE_MISMATCH for utf8 and
 * binary. */
enum exec_code exec_literal_parse(const struct exec_type *type, const char *text, size_t bytes,
                                  struct exec_literal *literal_out, struct exec_error *err);

/* What a call of a plan may name, in the order of docs/functions.md. False: no more. */
bool exec_function_info(uint32_t index, struct exec_function_info *info_out);

/* ---- figures -------------------------------------------------------------------------------- */

struct exec_worker_counters {
#define WORKER_COUNTER(name, help) uint64_t name;
#include "exec/worker_counters.def"
};

struct exec_engine_counters {
#define ENGINE_COUNTER(name, kind, help) uint64_t name;
#include "exec/engine_counters.def"
};

struct exec_worker_info {
    uint32_t worker, node;
    int os_cpu; /* -1: not pinned */
    struct exec_worker_counters counters;
};

/* Memory by node, as the page pool keeps it: from the system, and of that held by tables and jobs.
 * `os_node` is the kernel's number of the node. */
struct exec_node_info {
    uint32_t node, os_node;
    uint64_t pool_bytes, held_bytes;
};
uint32_t exec_engine_node_count(const struct exec_engine *engine);
/* Takes the pool's lock of that node for two reads. */
void exec_engine_node_info(const struct exec_engine *engine, uint32_t node,
                           struct exec_node_info *info_out);

/* No lock is taken. */
uint32_t exec_engine_worker_count(const struct exec_engine *engine);
void exec_engine_worker_info(const struct exec_engine *engine, uint32_t worker,
                             struct exec_worker_info *info_out);
void exec_engine_counters(const struct exec_engine *engine, struct exec_engine_counters *out);
const char *exec_engine_topology_text(const struct exec_engine *engine); /* one line */

/* True when no worker has been stuck in one morsel for longer than stuck_ns: for the watchdog. */
bool exec_engine_alive(const struct exec_engine *engine, uint64_t stuck_ns);

#endif
