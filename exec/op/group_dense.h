#ifndef EXEC_OP_GROUP_DENSE_H
#define EXEC_OP_GROUP_DENSE_H

#include "kernel/agg_moments.h"
#include "kernel/lanes.h"
#include "op/group_state.h"

/* Aggregation without a hash table, where a table's statistics say beforehand how many keys there
 * can be: every key is a column whose values lie in a narrow range, the product of the ranges is
 * small, and every measure is made of sums of numbers known to fit a lane (kernel/lanes.h), or of
 * extremes.
 *
 *   place of a group = sum of (key - least) * stride; a null's key is one behind the largest
 *
 * A worker's state is an array of rows of lanes, by place, and an array of each extreme. Narrow
 * fields share a lane: a field of values between a and b takes the bits of b - a and `row_bits`
 * more, so that 2^row_bits - 1 rows fit; then the lanes are emptied into 128-bit sums. Floats are
 * fixed-point numbers of two fields: exact, so that the result is the one of float_sum.h. The first
 * field counts rows: a group is there when it has some.
 *
 * Few groups are kept several times over, row i in copy i % copies: additions to one address wait
 * for one another. */

enum {
    DENSE_PLACES_MAX = 1 << 20,
    DENSE_SPAN_MAX = INT32_MAX,  /* of one key */
    DENSE_PLACES_FREE = 1 << 12, /* worth it for however few rows */
    DENSE_BUDGET_SHARE = 4,      /* of the job's, at most for all workers' lanes */
    DENSE_ROWS_A_PLACE = 2,      /* else: at least, of the input as estimated */
    DENSE_COPIES_MAX = 8,
    DENSE_COPIED_BYTES = 16 << 10, /* of lanes, all copies together: half of an L1 */
    DENSE_ROW_BITS_MIN = 16,
    DENSE_ROW_BITS_MAX = 24, /* floats have 63 less that many bits a field */
    DENSE_FIELDS_MAX = 32,
    DENSE_WHOLE_LANE = 64,
    DENSE_KEPT_ROWS = 512,      /* of a chunk of kept values */
    DENSE_KEPT_UNITS = 64,      /* of output, at least, where values are kept */
    DENSE_KEPT_LOOK = 64 << 10, /* values between two looks at the job's stop flag */
};
#define DENSE_EXACT_MAX (INT64_C(1) << 53) /* integers up to there are float64 too */

struct dense_key {
    uint32_t column;
    enum vec_storage storage;
    bool may_be_null;
    struct dictionary *dictionary; /* of text: codes are grouped; NULL: an integer */
    int64_t least;
    uint32_t span;   /* values; a null's place is `span` */
    uint32_t stride; /* in places */
    uint8_t shift;   /* where the keys are packed: of (value - least) in the word */
};

/* A column of the input batches that measures read. */
struct dense_input {
    uint32_t column;
    enum vec_storage storage;
    bool may_be_null;
    bool has_bounds; /* integers: of least and most */
    int64_t least, most;
    int32_t high_exponent, low_exponent; /* floats: the units of their two fields */
    double unit, low_unit;               /* see lanes_float_fn */
};

enum dense_what {
    DENSE_ROWS,    /* 1 */
    DENSE_PRESENT, /* 1 where the input is not null */
    DENSE_VALUE,   /* an integer */
    DENSE_PRODUCT, /* of two of them, neither ever null */
    DENSE_HIGH,    /* of a float */
    DENSE_LOW,
};

struct dense_field {
    enum dense_what what;
    uint32_t input, other;
    int64_t bias; /* taken off every value */
    uint8_t lane, shift;
    uint8_t bits; /* DENSE_WHOLE_LANE: signed, of a lane of its own */
};

struct dense_extreme {
    uint32_t input;
    enum vec_storage storage;
    bool is_most;
};

/* Values of one input that are kept, for quantiles and for variances of floats: with their places,
 * dealt out to the units of output. */
struct dense_kept_chunk {
    struct dense_kept_chunk *next;
    uint32_t count;
    uint32_t places[DENSE_KEPT_ROWS];
    double values[DENSE_KEPT_ROWS];
};
struct dense_kept_list {
    struct dense_kept_chunk *last; /* newest first */
    uint64_t count;
};

/* Where a measure finds its parts; indices of fields. */
struct dense_measure {
    uint32_t count;       /* of values */
    uint32_t sum;         /* of an integer, or the high field of a float */
    uint32_t low;         /* field; UINT32_MAX: there is none */
    uint32_t other_sum;   /* of pairs */
    uint32_t products[3]; /* xx, yy, xy */
    uint32_t extreme;
    uint32_t kept; /* UINT32_MAX: nothing is */
    uint32_t input;
};

struct dense_worker {
    _Alignas(128) struct nu_arena arena;
    int64_t *lanes; /* NULL: no rows yet */
    __int128 *sums; /* by place, then field: what lanes were emptied into; NULL: never */
    struct dense_kept_list *kept; /* by kept input, then unit */
    void **extremes;              /* arrays by place */
    bool holds_dictionaries;      /* a reference of each key's */
    uint64_t rows;                /* in the lanes */
    uint64_t all_rows;
    /* Packed keys: records by partition, and how many words they have together. */
    struct packed_list *packed;
    struct nu_arena packed_arena;
    uint64_t packed_words;
};

/* Where keys are too many for places but fit one word (op/group_packed.c): records of key and
 * inputs, a word each, dealt out by hash; a partition's table finds a key's row of lanes. */
enum {
    PACKED_BITS = 63,
    PACKED_ROW_BITS = 22,
    PACKED_RADIX_BITS = 8,
    PACKED_ROWS_MIN = 1 << 16, /* of the input as estimated: below, the hash table does */
    PACKED_CHUNK_WORDS = 1 << 10,
    PACKED_WORDS_MAX = 8 << 20, /* a worker's, then its records go to the tables: */
    PACKED_BUDGET_SHARE = 16,   /* or when those of all workers are that share of the budget */
};
struct packed_chunk {
    struct packed_chunk *next;
    uint32_t count; /* records */
    uint32_t unused;
    uint64_t words[PACKED_CHUNK_WORDS];
};
struct packed_list {
    struct packed_chunk *last; /* newest first */
    uint64_t count;
};
struct packed_partition {
    _Alignas(128) _Atomic bool busy; /* acquire to take, release to leave: guards the rest */
    struct dense_worker state;       /* lanes by group, its arena all of this */
    uint64_t *slots;                 /* high half of the hash, group + 1; 0: empty */
    uint64_t *keys;                  /* by group */
    uint32_t group_count, group_capacity, slot_bits;
    uint32_t emitted;
    bool is_merged;
    uint64_t released_bytes; /* of the arena, once all groups are out */
};

struct group_dense {
    const struct lane_kernels *kernels;
    struct dense_key *keys;
    struct dense_input *inputs;
    struct dense_field fields[DENSE_FIELDS_MAX];
    struct dense_extreme *extremes;
    uint32_t *kept; /* inputs */
    struct dense_measure *measures;
    uint32_t key_count, input_count, field_count, extreme_count, kept_count;
    uint32_t places;
    uint32_t unit_shift; /* a unit of output is 2^unit_shift places, at most BATCH_ROWS */
    uint32_t lane_count; /* in use */
    uint32_t lane_width; /* of a row: 1, 2, 4, 8 */
    uint32_t copies;
    uint32_t slot_shift; /* a slot is place * copies * lane_width: a power of two apart */
    uint32_t row_bits;
    bool is_packed;
    uint32_t record_words;
    uint64_t packed_words_max; /* a worker's */
    struct packed_partition *partitions;
    /* What every row adds to a lane whatever its values: counts, and the biases of fields that are
     * never null. */
    int64_t constants[LANES_MAX];
    uint32_t first_slots[LANES_BLOCK_ROWS]; /* of place 0: the copies, one after the other */
    struct dense_worker *workers;
};

extern const struct sink_kind group_dense_sink_kind;
extern const struct source_kind group_dense_source_kind;

/* Whether the group can be done that way; then group->dense is made and the kinds of sink and
 * source are set. EXEC_OK also where it cannot; else err is filled in. */
enum exec_code group_dense_create(struct group *group, struct exec_error *err);

/* ---- between the files of group_dense_*.c -------------------------------------------------------
 */

/* What is known of the column an expression is; NULL: nothing, or it is none. */
const struct group_column *dense_column_of(const struct group *group, const struct expr *expr,
                                           uint32_t *column_out);
bool dense_may_be_null(const struct group_column *column);
/* The inputs and fields of measure m; false: it cannot be made of any. */
bool dense_plan_measure(struct group *group, uint32_t m);
/* The field itself where it is there already; UINT32_MAX: no room. Bits are those of one value. */
uint32_t dense_add_field(struct group_dense *dense, const struct dense_field *field);

/* Room for the kept values of a worker; values of a block into it. `values` and `valid` as in a vec
 * without gaps, slots of the block. false: out of memory. */
bool dense_keep_start(const struct group_dense *dense, struct dense_worker *worker);
bool dense_keep(const struct group_dense *dense, struct dense_worker *worker, uint32_t k,
                const struct vec *vec, uint32_t first, uint32_t count, const uint32_t *slot);

/* All kept values of a unit by place: those of place p of the unit at values[begin[p]] to
 * values[begin[p + 1]]. Memory from `scratch`; false: out of it, or the job is stopping. */
struct dense_gathered {
    double *values;
    uint64_t begin[BATCH_ROWS + 1];
};
bool dense_gather_kept(const struct group *group, uint32_t k, uint32_t unit,
                       struct nu_arena *scratch, struct dense_gathered *out);
/* Interpolated, of count > 0 values, which it moves about. */
double dense_quantile(double *values, uint64_t count, double fraction);
/* Sum and squares of values of that input. */
void dense_moments(const struct dense_input *input, const double *values, uint64_t count,
                   struct agg_moments *out);

static inline uint32_t dense_units(const struct group_dense *dense)
{
    return ((dense->places - 1) >> dense->unit_shift) + 1;
}

static inline uint32_t dense_bit_length(uint64_t value)
{
    return value == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(value);
}

/* Empties the lanes of so many places into the 128-bit sums, made here at first. false: out of
 * memory. */
bool group_dense_settle(const struct group_dense *dense, struct dense_worker *worker,
                        uint32_t places);

/* A block of rows on its way into lanes. */
struct dense_block {
    uint32_t slot[LANES_BLOCK_ROWS];
    int64_t lanes[LANES_MAX][LANES_BLOCK_ROWS];
    int64_t x[LANES_BLOCK_ROWS], y[LANES_BLOCK_ROWS];
    int64_t wide[2][LANES_BLOCK_ROWS]; /* factors of products: of these inputs, */
    uint32_t wide_inputs[2];           /* UINT32_MAX: of none yet */
};
struct dense_push {
    const struct group_dense *dense;
    struct dense_worker *worker;
    const struct vec *keys;   /* dense, without constants */
    const struct vec *inputs; /* likewise */
    uint32_t first, count;    /* of the block */
    struct dense_block *block;
};
/* Adds what the fields say to the lanes at block->slot. */
void dense_add_lanes(const struct dense_push *push);
/* Keys and inputs of a batch as push wants them. false: out of memory. */
bool dense_columns(const struct group *group, struct nu_arena *scratch, const struct batch *in,
                   struct dense_push *push);

/* ---- packed keys: op/group_packed.c -------------------------------------------------------------
 */

/* Whether the measures can be had with packed keys, too. */
bool group_packed_plan(struct group *group);
bool group_packed_init(struct group *group); /* false: out of memory */
void group_packed_free(struct group *group);
void group_packed_figures(const struct group *group, struct group_figures *figures);
/* A batch to the worker's records. */
enum push_result group_packed_push(struct group *group, struct pipe_run *run,
                                   const struct dense_push *push, uint32_t row_count);
/* What is left of the partition's records joins its table, once. */
bool group_packed_merge(struct group *group, struct pipe_run *run, uint32_t partition);
/* All its groups are out. */
void group_packed_release(struct packed_partition *partition);

void group_dense_figures(const struct group *group, struct group_figures *figures);
void group_dense_free(struct group *group);

#endif
