#ifndef EXEC_JOB_SPEC_H
#define EXEC_JOB_SPEC_H

#include "exec/types.h"

/* A job as data: the C twin of proto/morsel/v1/plan.proto, without protobuf. Flat: relations and
 * expressions are two arrays in topological order; every reference is 1-based, 0 means none, and
 * points to a smaller index than its user. The root is the last relation. All pointers are borrowed
 * by the calls that take a spec; the engine copies what it keeps. Arrays may be NULL when their
 * count is 0. What the engine does not implement yet ends in EXEC_NOT_IMPLEMENTED naming it. */

enum exec_expr_kind {
    EXEC_EXPR_NONE,
    EXEC_EXPR_COLUMN,
    EXEC_EXPR_LITERAL,
    EXEC_EXPR_CALL,
    EXEC_EXPR_CAST,
    EXEC_EXPR_IN_LIST,
    EXEC_EXPR_CASE,
};

struct exec_literal {
    struct exec_type type;
    bool is_null;
    union {
        bool boolean;
        int64_t i64;  /* every signed integer, date32 (days), timestamp (units) */
        uint64_t u64; /* every unsigned integer */
        double f64;   /* float32 too */
        struct {
            uint64_t low;
            int64_t high;
        } decimal; /* two's complement, unscaled */
        struct {
            const char *bytes;
            size_t size;
        } text; /* utf8, binary; not NUL-terminated */
    } value;
};

struct exec_when {
    uint32_t when;
    uint32_t then;
};

struct exec_expr {
    enum exec_expr_kind kind;
    union {
        struct {
            const char *name; /* NULL: by index */
            uint32_t index;   /* 1-based column of the input */
            uint32_t side;    /* join residuals only: 0 either, 1 left, 2 right */
        } column;
        struct exec_literal literal;
        struct {
            const char *function; /* a name of expr/signatures.def: "add", "lt", "and", ... */
            const uint32_t *args;
            uint32_t arg_count;
        } call;
        struct {
            uint32_t arg;
            struct exec_type to;
            bool null_on_failure;
        } cast;
        struct {
            uint32_t arg;
            const struct exec_literal *values;
            uint32_t value_count;
            bool negated;
        } in_list;
        struct {
            const struct exec_when *branches;
            uint32_t branch_count;
            uint32_t otherwise; /* 0: NULL */
        } case_when;
    } u;
};

enum exec_rel_kind {
    EXEC_REL_NONE,
    EXEC_REL_SCAN,
    EXEC_REL_FILTER,
    EXEC_REL_PROJECT,
    EXEC_REL_JOIN,
    EXEC_REL_AGGREGATE,
    EXEC_REL_SORT,
    EXEC_REL_LIMIT,
    EXEC_REL_UNION_ALL,
    EXEC_REL_DISTINCT,
    EXEC_REL_WINDOW,
};

enum exec_file_format {
    EXEC_FORMAT_NONE, /* by the file's extension: .csv .tsv .arrow .arrows, each also with .gz */
    EXEC_FORMAT_ARROW_STREAM,
    EXEC_FORMAT_ARROW_FILE,
    EXEC_FORMAT_CSV,
    EXEC_FORMAT_TSV,
    EXEC_FORMAT_JSON_LINES,
    EXEC_FORMAT_PARQUET,
};

struct exec_csv_options {
    char delimiter; /* 0: ',' (TSV: tab) */
    char quote;     /* 0: '"' */
    char thousands; /* may stand between groups of three digits: "1,234"; 0: nothing may */
    bool no_header;
    /* Texts that mean NULL when unquoted; the empty unquoted field always does. */
    const char *const *null_texts;
    uint32_t null_text_count;
};

enum exec_scan_kind {
    EXEC_SCAN_NONE,
    EXEC_SCAN_TABLE,
    EXEC_SCAN_FILES,
    EXEC_SCAN_INLINE,
    EXEC_SCAN_GENERATOR,
};

struct exec_named_expr {
    const char *name;
    uint32_t expr;
};

enum exec_join_kind {
    EXEC_JOIN_NONE,
    EXEC_JOIN_INNER,
    EXEC_JOIN_LEFT,
    EXEC_JOIN_RIGHT,
    EXEC_JOIN_FULL,
    EXEC_JOIN_LEFT_SEMI,
    EXEC_JOIN_LEFT_ANTI,
    EXEC_JOIN_LEFT_MARK,
    EXEC_JOIN_LEFT_ANTI_NULL_AWARE,
    EXEC_JOIN_CROSS,
    EXEC_JOIN_ASOF,
};

enum exec_join_strategy { EXEC_STRATEGY_AUTO, EXEC_STRATEGY_SHARED_HASH, EXEC_STRATEGY_RADIX_HASH };
enum exec_build_side { EXEC_BUILD_AUTO, EXEC_BUILD_LEFT, EXEC_BUILD_RIGHT };

struct exec_join_key {
    uint32_t left;  /* expression over the left input */
    uint32_t right; /* expression over the right input */
    bool nulls_equal;
};

/* Which right row an ASOF join takes among those with equal keys. */
enum exec_asof_direction {
    EXEC_ASOF_NONE,
    EXEC_ASOF_BACKWARD,        /* the last right value <= the left one */
    EXEC_ASOF_BACKWARD_STRICT, /* < */
    EXEC_ASOF_FORWARD,         /* the first right value >= the left one */
    EXEC_ASOF_FORWARD_STRICT,  /* > */
};

/* Rows of one value: the last by the other columns read (FORWARD: the first). NULL matches nothing.
 */
struct exec_asof {
    uint32_t left;  /* expression over the left input */
    uint32_t right; /* expression over the right input */
    enum exec_asof_direction direction;
    bool keep_unmatched; /* left rows without a match stay */
};

enum exec_aggregate_function {
    EXEC_AGG_NONE,
    EXEC_AGG_COUNT_STAR,
    EXEC_AGG_COUNT,
    EXEC_AGG_SUM,
    EXEC_AGG_MIN,
    EXEC_AGG_MAX,
    EXEC_AGG_AVG,
    EXEC_AGG_COUNT_DISTINCT,
    EXEC_AGG_VAR_SAMP,
    EXEC_AGG_STDDEV_SAMP,
    EXEC_AGG_ANY_VALUE,
    EXEC_AGG_VAR_POP,
    EXEC_AGG_STDDEV_POP,
    EXEC_AGG_BOOL_AND,
    EXEC_AGG_BOOL_OR,
    EXEC_AGG_FIRST,
    EXEC_AGG_LAST,
    EXEC_AGG_STRING_AGG,
    EXEC_AGG_QUANTILE_CONT,
    EXEC_AGG_QUANTILE_DISC,
    EXEC_AGG_APPROX_COUNT_DISTINCT,
    EXEC_AGG_APPROX_QUANTILE,
    EXEC_AGG_ARG_MIN,
    EXEC_AGG_ARG_MAX,
    EXEC_AGG_MODE,
    EXEC_AGG_CORR,
    EXEC_AGG_COVAR_SAMP,
    EXEC_AGG_COVAR_POP,
    EXEC_AGG_BIT_AND,
    EXEC_AGG_BIT_OR,
    EXEC_AGG_BIT_XOR,
    EXEC_AGG_HISTOGRAM,
    EXEC_AGG_FUNCTION_COUNT
};

/* PARTIAL: measures are binary states; FINAL takes such columns, of any number of PARTIALs over
 * parts of the rows, and gives what SINGLE gives over all of them, bit for bit. */
enum exec_phase { EXEC_PHASE_SINGLE, EXEC_PHASE_PARTIAL, EXEC_PHASE_FINAL };

enum exec_direction {
    EXEC_ASC_NULLS_LAST = 1,
    EXEC_ASC_NULLS_FIRST,
    EXEC_DESC_NULLS_LAST,
    EXEC_DESC_NULLS_FIRST,
};

struct exec_sort_key {
    uint32_t expr;
    enum exec_direction direction;
};

struct exec_measure {
    enum exec_aggregate_function function;
    const uint32_t *args;
    uint32_t arg_count;
    uint32_t filter; /* boolean expression; 0: none */
    const char *name;
    bool distinct;
    const struct exec_sort_key *order;
    uint32_t order_count;
    const struct exec_literal *parameters;
    uint32_t parameter_count;
    /* EXEC_PHASE_FINAL: the one argument is a column of states, and these are the types of what
     * PARTIAL's arguments and the keys of its order were; else none. */
    const struct exec_type *argument_types;
    uint32_t argument_type_count;
};

enum exec_window_function {
    EXEC_WINDOW_NONE,
    EXEC_WINDOW_ROW_NUMBER, /* 1, 2, 3: rows equal in all order keys are told apart by all columns
                               that the plan reads, from left to right */
    EXEC_WINDOW_RANK,       /* 1 + the rows before, equal ones not counted */
    EXEC_WINDOW_DENSE_RANK, /* 1 + the distinct order keys before */
};

struct exec_named_window {
    enum exec_window_function function;
    const char *name;
};

/* One of GROUPING SETS, ROLLUP or CUBE written out. */
struct exec_grouping_set {
    const uint32_t *keys; /* 1-based positions in the aggregate's keys, each once */
    uint32_t key_count;   /* 0: the grand total, one row also of no input */
};

/* Output columns of each kind, in order: scan: `columns` or all of them; filter, sort, limit: those
 * of the input; project: `exprs`; join: left then right (names may repeat; a name that occurs twice
 * can be referred to by index only); aggregate: keys then measures, then the number of the grouping
 * set where it has a name; window: the input's, then one int64 for each function. */
struct exec_rel {
    enum exec_rel_kind kind;
    const char *label; /* NULL or shown by explain */
    union {
        struct {
            enum exec_scan_kind source;
            const char *table; /* EXEC_SCAN_TABLE */
            uint64_t table_min_version;
            const char *const *paths; /* EXEC_SCAN_FILES, below the data root */
            uint32_t path_count;
            enum exec_file_format format;
            struct exec_csv_options csv;
            struct exec_schema
                schema;            /* of the files; by name, others are inferred; may be empty */
            const char *generator; /* EXEC_SCAN_GENERATOR: "sequence", "skewed" */
            int64_t generator_rows;
            uint64_t generator_seed;
            const void *inline_stream; /* EXEC_SCAN_INLINE: see exec_submit's `inline_tables` */
            size_t inline_stream_bytes;
            const char *const *columns; /* by name; none: all */
            uint32_t column_count;
            struct exec_schema expected_schema; /* field_count 0: not checked */
            uint32_t filter;                    /* over the scan's output */
        } scan;
        struct {
            uint32_t input, predicate;
        } filter;
        struct {
            uint32_t input;
            const struct exec_named_expr *exprs;
            uint32_t expr_count;
        } project;
        struct {
            uint32_t left, right;
            enum exec_join_kind kind;
            const struct exec_join_key *keys;
            uint32_t key_count;
            uint32_t residual;
            enum exec_join_strategy strategy;
            enum exec_build_side build_side;
            struct exec_asof asof; /* EXEC_JOIN_ASOF, else all zero */
        } join;
        struct {
            uint32_t input;
            const struct exec_named_expr *keys;
            uint32_t key_count;
            const struct exec_measure *measures;
            uint32_t measure_count;
            enum exec_phase phase;
            /* Groups of every set, keys that are not in the set NULL; none: one set of all keys. */
            const struct exec_grouping_set *sets;
            uint32_t set_count;
            const char *set_name; /* NULL, or the column of set numbers, int64 from 1 */
        } aggregate;
        struct {
            uint32_t input;
            const struct exec_sort_key *keys;
            uint32_t key_count;
            int64_t limit; /* top-n; -1: none */
        } sort;
        struct {
            uint32_t input;
            int64_t offset;
            int64_t count; /* -1: none */
        } limit;
        struct {
            const uint32_t *inputs;
            uint32_t input_count;
        } union_all;
        struct {
            uint32_t input;
        } distinct;
        struct {
            uint32_t input;
            const uint32_t *partition; /* expressions; none: one partition. NULL equals NULL */
            uint32_t partition_count;
            const struct exec_sort_key *order; /* none: all rows are equal */
            uint32_t order_count;              /* with partition_count at most EXEC_KEYS_MAX */
            const struct exec_named_window *functions; /* 1..EXEC_KEYS_MAX */
            uint32_t function_count;
            int64_t limit; /* only rows whose first function is at most this; -1: all */
        } window;
    } u;
};

enum exec_policy {
    EXEC_POLICY_DEFAULT, /* the engine's setting */
    EXEC_POLICY_NUMA,    /* own node first, topology-priced stealing */
    EXEC_POLICY_STEAL,   /* stealing without topology */
    EXEC_POLICY_SHARED,  /* one queue */
    EXEC_POLICY_STATIC,  /* fixed split, no stealing */
};

/* Where probe rows of a join meet the build side on a machine with several nodes; see
 * exec/op/join_mode.h. The rows that come out are the same. */
enum exec_probe_mode {
    EXEC_PROBE_DEFAULT, /* the engine's setting */
    EXEC_PROBE_AUTO,    /* by cost; on one node always shared */
    EXEC_PROBE_SHARED,
    EXEC_PROBE_REPLICATED,
    EXEC_PROBE_ROUTED,
};

struct exec_job_options {
    uint64_t memory_limit_bytes; /* 0: engine default */
    uint32_t workers_max;        /* 0: all */
    int32_t priority;            /* -10..10 */
    uint64_t timeout_ns;         /* 0: none; counted from submit */
    uint64_t result_rows_max;    /* 0: no limit; more rows fail the job with EXEC_LIMIT */
    uint32_t batch_rows;         /* rows of one result chunk at most; 0: by bytes only */
    uint32_t batch_bytes;        /* target size of one result chunk; 0: 256 KiB; at most 16 MiB */
    uint32_t morsel_rows;        /* 0: adaptive, about 1 ms */
    uint32_t hash_bits; /* bits of every hash that are kept; 0: all 64. Forces collisions */
    enum exec_policy policy;
    enum exec_probe_mode probe_mode;
    bool plain_float_sums; /* add floats as they come: less work, other last digits each time */
    bool explain;          /* bind and plan only; the text is the result */
    bool analyze;          /* run, drop the rows, explain with figures */
    bool profile;          /* time relations, see exec_job_relation; costs a clock read a batch */
    uint32_t trace_events; /* events to keep a worker, see exec/trace.h; 0: no trace */
};

struct exec_job_spec {
    const struct exec_rel *rels;
    uint32_t rel_count;
    const struct exec_expr *exprs;
    uint32_t expr_count;
    struct exec_job_options options;
    const char *into_table; /* NULL: stream the result; else keep it as this table */
    bool into_replace;      /* false: EXEC_EXISTS when the table is there */
};

/* Limits of a spec, checked at submit (EXEC_BAD_SPEC names the one exceeded). */
enum {
    EXEC_RELS_MAX = 256,
    EXEC_EXPRS_MAX = 4096,
    EXEC_KEYS_MAX = 32,
    EXEC_GROUPING_SETS_MAX = 4096,
    EXEC_COLUMNS_MAX = 4096,
    EXEC_IN_VALUES_MAX = 10000,
    EXEC_NAME_BYTES_MAX = 255,
    EXEC_TRACE_EVENTS_MAX = 1 << 16,
};

#endif
