#ifndef EXEC_OP_JOIN_STATE_H
#define EXEC_OP_JOIN_STATE_H

#include "hash/dense_map.h"
#include "hash/hash_dir.h"
#include "hash/radix_rows.h"
#include "hash/row_layout.h"
#include "op/job_context.h"
#include "op/join.h"
#include "op/join_mode.h"

#include "numa/check.h"

/* The insides of a join, shared by join.c, join_build.c, join_dense.c, join_probe.c,
 * join_codes.c, join_direct.c, join_exists.c and join_unmatched.c. Written by join_create, by each
 * worker in its own join_worker, by the build sink's finish, and by the directory pipe in its own
 * partition; constant for the probe, but for the match bytes inside the rows.
 *
 * A build row: [ hash | matched byte, where build rows without a match are wanted | row_layout:
 * keys, then the build columns somebody reads ]. A column that is a key as it stands is kept once;
 * not so floats, whose keys are canonical. */
enum { JOIN_MATCHED_BYTE = 8 };

/* The matched byte. Without a verdict it goes from NONE to YES; a verdict may pass by UNKNOWN.
 * RUN_YES, in the first row of a long run, says that every row of the run has had its match, so
 * that a hot key costs the probe one look and not a walk. */
enum join_matched {
    JOIN_MATCHED_NONE,
    JOIN_MATCHED_YES,
    JOIN_MATCHED_UNKNOWN,
    JOIN_MATCHED_RUN_YES,
};

struct join_worker {
    _Alignas(
        128) struct nu_arena staging; /* rows before they are placed; gone after the directory */
    struct radix_rows rows;
    struct row_list null_rows;  /* kept for RIGHT and FULL; in the job arena */
    bool has_null;              /* a build row had a NULL key */
    struct dense_bounds bounds; /* of the keys, where a dense map is wanted */
};

/* Where the unmatched source stands in one unit: a partition, then each worker's null_rows. */
struct join_unmatched_unit {
    uint64_t row;
    const struct row_chunk *chunk;
};

/* A dense map instead of the directory (join_dense.c). */
struct join_dense {
    struct op_source source;
    bool wanted;          /* kind and key allow it; set at create */
    bool begun;           /* the map is being filled or has been */
    bool on;              /* it answers for the directory; set when the directory pipe starts */
    _Atomic bool refused; /* a key came twice */
    _Atomic uint8_t states_all;
    struct radix_reader *readers; /* by partition: where its unit stands */
    struct dense_map map;
};

/* Probe mode replicated (join_replica.c): the directories as each node reads them. */
struct join_replicas {
    struct op_source source;
    bool on;
    struct hash_dirs *by_node;
    uint64_t *copied; /* bytes, by node and partition */
};

/* Probe mode routed (join_routed.c). */
struct join_routed_worker {
    _Alignas(128) struct nu_arena arena;
    struct radix_rows rows; /* [ hash | columns ] */
    uint64_t row_count;
    /* Of the batch this worker pushes from the routed pipe; hashes NULL: none. */
    const uint64_t *hashes;
    unsigned char *const *batch_rows;
    uint32_t partition; /* of all of them; UINT32_MAX: several */
};

struct join_routed_unit {
    const struct row_chunk *chunk;
    uint32_t row;       /* of the chunk, where it stands */
    uint32_t partition; /* of its rows; UINT32_MAX: of any */
};

struct join_routing {
    struct op_source source;
    bool wired; /* there is a routed pipe */
    bool on;
    struct row_layout layout;
    uint32_t *columns; /* of the probe input, that are kept */
    uint32_t column_count;
    uint64_t quota_bytes; /* of one worker */
    struct join_routed_worker *workers;
    struct join_routed_unit *units;
    uint64_t rows; /* a figure, at the end */
};

/* Where the sort of a partition's runs stands (join_asof.c). */
struct join_asof_sort {
    uint64_t begin, end; /* the run under way */
    uint64_t left;       /* heap still to be made, or rows still to be taken off it */
    enum { ASOF_FIND, ASOF_HEAP, ASOF_TAKE } phase;
};

struct join {
    struct op_sink sink;
    struct op_source directory;
    struct operator probe;
    struct op_source unmatched;
    struct job_context *job;
    struct join_plan plan;

    uint32_t value_count; /* key expressions: the keys, and the value of an as-of join */
    struct row_layout layout;
    uint32_t stored_count;  /* build columns kept behind the keys */
    uint32_t *stored;       /* their numbers in the build input */
    uint32_t *build_column; /* build input column -> layout column, UINT32_MAX: not kept */
    bool *residual_uses;    /* by residual and verdict: over probe, then build columns */
    bool keeps_build;       /* RIGHT, FULL, and when build rows are asked about */
    bool keeps_probe;       /* LEFT, FULL */
    bool hash_is_key;       /* equal hashes are equal keys */
    bool direct_wanted;     /* the kind allows join_direct.c; set at create */
    bool direct;            /* ... and no two build rows have the same key; after the directory */
    bool exists_only;       /* SEMI, ANTI, MARK of probe rows: no build columns come out */

    struct join_worker *workers;
    const struct radix_rows **worker_rows;
    uint64_t build_rows; /* in the directory */
    uint64_t null_rows;
    bool has_null;
    uint32_t partition_count;
    struct hash_dirs dirs;
    struct hash_dir_build *builds;
    struct join_asof_sort *asof_sorts; /* a partition; NULL: not an as-of join */
    bool *build_begun;
    uint16_t *partition_node; /* where a partition's directory lies: with its builder */
    struct join_unmatched_unit *unmatched_units;
    struct join_dense dense;
    struct join_mode_choice mode; /* made when the directory pipe starts */
    struct join_replicas replicas;
    struct join_routing routing;

    /* With emits_build; relaxed: set by any worker, read after the probe pipes have ended. */
    _Atomic bool probe_has_rows, probe_has_null;
};

extern const struct sink_kind join_build_sink_kind;
extern const struct source_kind join_dense_source_kind;
extern const struct source_kind join_directory_source_kind;
extern const struct source_kind join_replica_source_kind;
extern const struct source_kind join_routed_source_kind;
extern const struct operator_kind join_probe_operator_kind;
extern const struct source_kind join_unmatched_source_kind;

/* Fails the job; for returning from a push. */
enum push_result join_fail(const struct join *join, struct exec_error *err);
enum push_result join_fail_memory(const struct join *join, const struct nu_arena *arena,
                                  const char *what);

/* Keys of a batch, evaluated, text as codes where it is coded; false: the job has failed. */
bool join_eval_keys(const struct join *join, struct pipe_run *run, struct expr *const *keys,
                    const struct batch *in, struct vec *keys_out);

/* join_codes.c: whether a key is compared by its codes in the plan's dictionary; what is compared;
 * text keys exchanged for codes. false: out of scratch memory. */
bool join_key_is_coded(const struct join *join, uint32_t key);
struct exec_type join_key_type(const struct join *join, uint32_t key);
bool join_code_keys(const struct join *join, const struct batch *in, struct nu_arena *scratch,
                    struct vec *keys);

bool join_dense_is_wanted(const struct join *join);
/* After the dense pipe, before the directory's: whether the map answers. */
bool join_dense_settle(struct join *join);
/* The probe, where it does. */
enum push_result join_dense_push(struct join *join, struct pipe_run *run, uint32_t index,
                                 const struct batch *in);

/* After the probe: what workers of other nodes have left in their copies of a row's matched byte
 * joins that of the row itself. */
void join_replicas_merge_matched(const struct join *join, uint32_t partition, uint64_t row);

/* Gives back the staging memory. Idempotent. */
void join_free_staging(struct join *join);

/* ---- the probe's shared parts -------------------------------------------------------------------
 */

/* One batch being probed. `runs` are of the selection's positions. */
struct join_probe_state {
    struct join *join;
    struct pipe_run *run;
    uint32_t index;
    const struct batch *in;
    struct vec keys[EXEC_KEYS_MAX];
    uint64_t hashes[BATCH_ROWS];
    uint16_t present[BATCH_ROWS]; /* positions with keys */
    uint32_t present_count;
    unsigned char *run_rows[BATCH_ROWS];
    uint64_t run_counts[BATCH_ROWS];
    uint64_t run_max; /* the largest of them */
};

/* The direct probe, where join->direct is set (join_direct.c): of a batch, or of rows from the
 * routed pipe. */
enum push_result join_direct_push(struct join *join, struct pipe_run *run, uint32_t index,
                                  const struct batch *in, const struct vec *keys,
                                  const uint64_t *hashes);
enum push_result join_direct_push_routed(struct join *join, struct pipe_run *run, uint32_t index,
                                         uint32_t row_count);

/* Routing: made with the join; begun once the mode is chosen. */
bool join_routed_init(struct join *join); /* false: out of memory */
void join_routed_begin(struct join *join);
/* The probe is direct: rows leave their keys behind. Before the probe pipes; false: out of memory.
 */
bool join_routed_narrow(struct join *join);
/* Whether a batch that has not been begun is kept for the routed pipe, not looked up here. */
bool join_routed_wants(const struct join_probe_state *state);
enum push_result join_routed_keep(struct join_probe_state *state);

/* A list of (probe position, build row) pairs to be judged. */
struct join_candidates {
    uint32_t count;
    uint16_t positions[BATCH_ROWS];
    unsigned char *rows[BATCH_ROWS];
    uint16_t
        matches[BATCH_ROWS]; /* indices of candidates whose keys are equal and the residual true */
    uint32_t match_count;
    uint32_t unknown_count; /* with a verdict: candidates of which it is unknown */
    uint16_t unknowns[BATCH_ROWS];
};

/* A match, as SQL has it for IN: a side without rows answers no to everything; else a NULL on
 * either side makes a miss unknown. */
enum join_answer { JOIN_NO, JOIN_YES, JOIN_UNKNOWN };

static inline bool join_answer_is_kept(enum exec_join_kind kind, bool found,
                                       enum join_answer answer)
{
    switch (kind) {
        case EXEC_JOIN_LEFT_SEMI: return found;
        case EXEC_JOIN_LEFT_ANTI: return !found;
        case EXEC_JOIN_LEFT_ANTI_NULL_AWARE: return answer == JOIN_NO;
        default: return true;
    }
}

/* Fills matches and sets the matched bytes where they are wanted. PUSH_MORE or PUSH_FAILED. */
enum push_result join_match(struct join_probe_state *state, struct join_candidates *candidates);

/* Pushes the pairs on as one batch; a NULL row is a null-extended one. */
enum push_result join_push_pairs(struct join_probe_state *state, const uint16_t *positions,
                                 unsigned char *const *rows, uint32_t count);

/* As-of joins: puts the rows of every run of a partition in order by keys, value, other columns; a
 * step is about `rows` rows of work, true when it is done. Then narrows the runs of a batch that
 * has been looked up, from `first` of its present positions on, to the nearest row each. */
bool join_asof_step(struct join *join, uint32_t partition, uint64_t rows);
bool join_asof_narrow(struct join_probe_state *state, uint32_t first);

/* The probe of kinds that only ask whether there is a match. */
enum push_result join_exists_push(struct join_probe_state *state);

/* Work between two looks at the clock, in candidates. */
enum { JOIN_CHECK_ROWS = 4096 };

#endif
