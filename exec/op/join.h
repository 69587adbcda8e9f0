#ifndef EXEC_OP_JOIN_H
#define EXEC_OP_JOIN_H

#include "exec/job_spec.h"
#include "expr/expr.h"
#include "op/pipe.h"

/* A hash join as three pipes: build input -> build sink; then the directory pipe (one unit a radix
 * partition, no operators, no sink); then the probe input runs through the probe operator. Kinds
 * that emit build rows without a match need a fourth: unmatched source -> the same downstream. */

struct dictionary; /* table/dictionary.h */
struct join;

struct join_output {
    bool from_build;
    uint32_t column; /* 0-based, of the build or probe input */
};

/* Everything is borrowed from the plan arena and outlives the job. `kind` is said from the probe
 * side's view: INNER, LEFT (keep unmatched probe rows), RIGHT (keep unmatched build rows), FULL,
 * LEFT_SEMI, LEFT_ANTI, LEFT_ANTI_NULL_AWARE, LEFT_MARK (adds a bool column behind the outputs).
 * Keys of both sides have equal types, pairwise (the planner has cast them). Without keys every
 * pair is a candidate: INNER is then the cross product, and a residual any condition. */
struct join_plan {
    uint32_t rel;
    enum exec_join_kind kind;
    uint32_t key_count;
    struct expr *const *build_keys;
    struct expr *const *probe_keys;
    const bool *nulls_equal;
    /* By key: of a text column that is the probe's key and has all its values; else NULL. NULL: no
     * key has one. Held for the job (job_hold_dictionary). */
    struct dictionary *const *dictionaries;
    const struct exec_type *build_types; /* of the build input's columns */
    uint32_t build_column_count;
    const struct exec_type *probe_types;
    uint32_t probe_column_count;
    const struct join_output *outputs; /* columns of the probe operator's output batches */
    uint32_t output_count;
    /* Part of the match: over the probe columns followed by the build columns; NULL: none. */
    struct expr *residual;
    /* LEFT_MARK and LEFT_ANTI_NULL_AWARE only, over the same columns; NULL: the one key decides.
     * Says true, false or unknown of each pair whose keys are equal and whose residual is true. */
    struct expr *verdict;
    /* INNER and LEFT without residual: of the build rows with equal keys only the nearest is a
     * candidate, by the value of build_keys[key_count] against that of probe_keys[key_count];
     * nulls_equal[key_count] is false. EXEC_ASOF_NONE: all are. */
    enum exec_asof_direction asof;
    bool is_exists; /* LEFT_MARK: what has no match is false, never unknown */
    /* LEFT_SEMI, LEFT_ANTI, LEFT_ANTI_NULL_AWARE, LEFT_MARK only: it is the build rows that are
     * asked about. They come out of the unmatched source, the probe pushes nothing, and every
     * output is from_build. */
    bool emits_build;
    double build_rows; /* estimate, < 0: unknown; for the number of partitions */
    double probe_rows; /* estimate, < 0: unknown; for the choice of the probe mode */
    bool keeps_order;  /* rows must come out in the order of the probe side */
};

/* EXEC_OK, EXEC_NOT_IMPLEMENTED (a kind that is not there yet) or EXEC_MEMORY_BUDGET. */
enum exec_code join_create(struct job_context *job, const struct join_plan *plan,
                           struct join **join_out, struct exec_error *err);
struct op_sink *join_build_sink(struct join *join);
/* May be left out; for distinct integer keys that lie close together it makes the join faster. Runs
 * between the build pipes and the directory pipe. NULL when the join cannot use it. */
struct op_source *join_dense_source(struct join *join);
struct op_source *join_directory_source(struct join *join);
/* Where the machine has several nodes, or probe_mode asks for it (op/join_mode.h), two pipes more;
 * NULL: not needed. Copies of the directory, between the directory pipe and the probe pipes: */
struct op_source *join_replica_source(struct join *join);
/* Rows the probe operator has kept for other nodes, behind the probe pipes: they go through the
 * probe operator and all that follows. */
struct op_source *join_routed_source(struct join *join);
struct operator* join_probe_operator(struct join *join);
struct op_source *join_unmatched_source(struct join *join); /* NULL when none is needed */

/* For explain --analyze. */
struct join_figures {
    uint64_t build_rows, directory_slots, memory_bytes, max_chain;
    uint64_t routed_rows;
    uint32_t partitions;
    bool unique_keys;
    char probe_mode[120]; /* which, and why */
};
void join_figures(const struct join *join, struct join_figures *out);

#endif
