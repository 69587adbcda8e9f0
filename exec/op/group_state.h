#ifndef EXEC_OP_GROUP_STATE_H
#define EXEC_OP_GROUP_STATE_H

#include "hash/group_table.h"
#include "hash/radix_rows.h"
#include "kernel/agg.h"
#include "op/group.h"
#include "op/group_places.h"
#include "op/job_context.h"

/* The insides of an aggregation, shared by group.c, group_measures.c, group_sink.c, group_source.c.
 *
 *   batch -> hot table of the worker (bounded; full of whatever came first)
 *              hit: states updated in cache
 *              miss: a record (hash, keys, arguments) in the worker's backlog
 *   backlog full -> replayed, partition by partition, into the partitions' tables (one owner at a
 * time) group source, one unit a partition: hot tables and what is left of backlogs join the
 * partition's table; then its groups are pushed.
 *
 * So memory is O(groups) plus a constant a worker, whatever the number of rows. Without keys the
 * hot table holds the one group. */

enum {
    GROUP_HOT_BYTES = 2 << 20, /* of rows: what a core's L2 can hold beside its other work */
    GROUP_HOT_ROWS = 16 << 10,
    GROUP_HOT_ROWS_MIN = 1 << 10,
    GROUP_HOT_ARENA_BYTES =
        8 << 20,                   /* strings included; a hot table that is larger takes no more */
    GROUP_BACKLOG_ROWS = 16 << 10, /* about 1 ms of replay */
    GROUP_BACKLOG_BYTES = 8 << 20, /* strings included */
    GROUP_UNPARTITIONED_ROWS = 4 << 10, /* of all hot tables: below, one unit merges everything */
    GROUP_EMIT_KEPT_ROWS = 32 << 10, /* sorted for one batch of output, but for one group's own */
    GROUP_HISTOGRAM_VALUES_MAX = 64 << 10,
    GROUP_WINDOW_ROWS = 64 << 10, /* between two judgements of the hot table's use */
};

struct group_aggregate {
    const struct agg_kernel *kernel; /* NULL where the form is BEST or BAG, or SET under those */
    struct group_measure measure;
    enum group_form form;
    struct row_layout tuple; /* BEST, SET, BAG: how a row of arguments and sort keys is kept */
    uint32_t state_bytes;
    uint32_t state_offset; /* in the group's row */
    uint32_t input;   /* first column of `inputs`; UINT32_MAX: every row counts, nothing is read */
    uint32_t gate;    /* column of `inputs` that is true where the row counts; UINT32_MAX: none */
    int32_t scale;    /* of a decimal argument */
    bool keeps_nulls; /* a NULL argument counts */
    /* Measures over one column share its input; those that add up alike (sum and avg, min and
     * any_value) share the state: the first of them evaluates and updates. */
    bool owns_input, owns_state;
};

struct group_worker {
    _Alignas(128) struct nu_arena hot_arena;
    struct nu_arena backlog_arena;
    struct group_table hot;
    struct group_places places; /* of groups in it */
    struct radix_rows backlog;
    uint64_t backlog_count;
    uint64_t hits, misses;
    uint64_t window_rows, window_hits;
    uint32_t windows_skipped; /* > 0: the hot table is not asked in this many windows */
};

enum group_phase { GROUP_HOT, GROUP_BACKLOG, GROUP_EMIT, GROUP_EMITTED };

/* A partition: its table, and in the group source where the work on it stands. */
struct group_partition {
    _Alignas(128) _Atomic bool busy; /* acquire to take, release to leave: guards arena and table */
    struct nu_arena arena;
    struct group_table own;
    struct group_table *table; /* own, or a hot table adopted whole */
    enum group_phase phase;
    uint32_t worker; /* GROUP_HOT: whose table */
    const struct row_chunk *chunk;
    uint32_t row; /* of chunk */
    struct radix_reader reader;
    struct radix_run run;    /* rows of the reader not replayed yet */
    uint64_t released_bytes; /* of the arena, once all groups are out */
};

struct group {
    struct op_sink sink;
    struct op_source source;
    struct job_context *job;
    struct group_plan plan;
    struct row_layout layout;        /* keys */
    struct row_layout record_layout; /* keys, then inputs */
    struct group_aggregate *aggregates;
    uint32_t input_count;
    uint8_t *input_kinds;
    bool keeps_rows; /* some aggregate is a SET or a BAG */
    uint32_t state_bytes;
    uint64_t hot_row_limit;
    uint32_t radix_bits; /* of backlogs and partitions */
    uint32_t merge_bits; /* of the group source: radix_bits, or 0 where one unit does it all */
    struct group_worker *workers;
    struct group_partition *partitions;
    const struct radix_rows **backlogs;
    struct group_dense *dense; /* op/group_dense.h: instead of workers and partitions; NULL: not */
    _Atomic bool flushed;    /* some partition holds groups already; relaxed, read after the sink */
    _Atomic uint64_t groups; /* relaxed: a figure */
    struct group_figures figures;
};

extern const struct sink_kind group_sink_kind;
extern const struct source_kind group_source_kind;

/* Results of HISTOGRAM: "{value=count, ...}", values ascending and written as casts to utf8 write
 * them; a text is quoted where it could be read otherwise. EXEC_LIMIT: more than
 * GROUP_HISTOGRAM_VALUES_MAX values. */
enum push_result group_histogram_column(const struct group *group, struct pipe_run *run, uint32_t m,
                                        unsigned char *const *rows, uint32_t count,
                                        struct vec *out);

enum push_result group_fail(const struct group *group, struct exec_error *err);
enum push_result group_fail_overflow(const struct group *group, uint32_t measure);
enum push_result group_fail_memory(const struct group *group, const struct nu_arena *arena);

/* Gives back every table and backlog. Idempotent; figures stay. */
void group_free(struct group *group);

/* ---- measures -----------------------------------------------------------------------------------
 */

/* Rows on their way into groups: keys and inputs are vecs on `batch`; an input is null where it
 * does not count (a null argument, a filter that is not true). */
struct group_rows {
    const struct batch *batch;
    struct vec *keys;
    struct vec *inputs;
};

/* Evaluates keys and inputs; false: the job has failed. Memory from run->scratch. */
bool group_rows_eval(const struct group *group, struct pipe_run *run, const struct batch *in,
                     struct group_rows *rows_out);

/* states of rows[i] take in positions[i] of the batch. false: `strings` is out of memory. */
bool group_update(const struct group *group, const struct group_rows *from,
                  const uint16_t *positions, uint32_t count, unsigned char *const *rows,
                  struct nu_arena *strings);

/* The states of from[i] join those of into[i]; what they point to stays where it is. false:
 * `strings` is out of memory. */
bool group_combine(const struct group *group, unsigned char *const *into,
                   unsigned char *const *from, uint32_t count, struct nu_arena *strings);

/* Output columns of groups: keys, then measures. PUSH_MORE or PUSH_FAILED. */
enum push_result group_columns(const struct group *group, struct pipe_run *run,
                               unsigned char *const *rows, uint32_t count, struct vec *columns);

/* The kernel of a measure over an input of that type; NULL: there is none. */
const struct agg_kernel *group_kernel(const struct group_measure *measure,
                                      const struct exec_type *input);

/* ---- BEST, SET and BAG: states that keep rows (group_tuples.c) ----------------------------------
 */

/* Fills in tuple and state_bytes, for every form. false: out of memory. */
bool group_tuples_init(const struct group *group, struct group_aggregate *aggregate);

/* As group_update and group_combine, of one aggregate. */
bool group_tuples_update(const struct group *group, const struct group_aggregate *aggregate,
                         const struct group_rows *from, const uint16_t *positions, uint32_t count,
                         unsigned char *const *rows, struct nu_arena *strings);
bool group_tuples_combine(const struct group_aggregate *aggregate, unsigned char *const *into,
                          unsigned char *const *from, uint32_t count, struct nu_arena *strings);

/* One tuple, whose long strings are borrowed, into the state at `state`; of a SET it starts with
 * its hash. false: `strings` is out of memory. */
bool group_tuple_take(const struct group_aggregate *aggregate, void *state, unsigned char *tuple,
                      struct nu_arena *strings);

/* The results of measure m, of groups at rows[0..count-1]; memory from run->scratch. */
enum push_result group_collected_column(const struct group *group, struct pipe_run *run, uint32_t m,
                                        unsigned char *const *rows, uint32_t count,
                                        struct vec *out);

/* ---- grouping sets ------------------------------------------------------------------------------
 */

/* Where no rows came: the groups of the sets without keys. false: out of memory. */
bool group_add_totals(struct group *group);

/* ---- replay
 * ---------------------------------------------------------------------------------------- */

/* `count` records (at most BATCH_ROWS) into a table. false: the job has failed. */
bool group_replay(struct group *group, struct pipe_run *run, struct group_table *table,
                  unsigned char *const *records, uint32_t count);

#endif
