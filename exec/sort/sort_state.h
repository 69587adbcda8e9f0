#ifndef EXEC_SORT_SORT_STATE_H
#define EXEC_SORT_SORT_STATE_H

#include "hash/row_layout.h"
#include "op/job_context.h"
#include "sort/sort.h"

/* Inside of sort/. A row is kept as in row_layout.h: 16 bytes of prefix, the input's columns, then
 * one column for every key that is not a column itself. The prefix is the beginning of all keys,
 * and of the columns that break their ties, as one big number: its order is the order of the rows,
 * except that equal prefixes say nothing. Where keys are hashed, `high` is their hash and `low` the
 * beginning of the others. */

enum {
    SORT_RUN_ROWS = 1 << 18,   /* rows of a run at most: a unit of the run pipe */
    SORT_CHECK_ROWS = 1 << 14, /* rows moved between two looks at the clock */
    SORT_TOP_ROWS_MAX = 8192,  /* above this many rows a top-n is a sort with a limit */
};

struct sort_entry {
    uint64_t high, low; /* the prefix */
    unsigned char *row;
};

struct sort_order {  /* of one key */
    uint32_t column; /* of the layout */
    bool descending, nulls_first;
};

/* What the rows look like and how they compare. Immutable. */
struct sort_rows {
    struct row_layout layout;
    uint32_t column_count; /* of the input */
    const struct sort_key *keys;
    struct sort_order *orders;
    uint32_t key_count;
    uint32_t extra_count;                  /* key columns behind the input's */
    uint32_t hashed_count, hash_bits_kept; /* of the plan */
    uint32_t tied_key_count; /* keys that rows of equal prefix may differ in, from the first on */
    bool ties_in_prefix;     /* columns that break ties stand in it behind the keys */
};

/* Rows of one batch, side by side. */
struct sort_block {
    struct sort_block *next;
    unsigned char *rows;
    uint32_t row_count;
};

/* Sorted by merging, from pieces of 16 rows up, between two arrays; stops and goes on anywhere. */
struct sort_run {
    struct sort_block *first_block; /* rows of the run: row_count from first_row of it on */
    uint32_t first_row;
    uint32_t row_count;
    uint32_t loaded; /* rows that have an entry; before that entries is NULL */
    struct sort_entry *entries, *spare;
    uint32_t width;                   /* pieces of this many rows are sorted; 0: none yet */
    uint32_t begin, left, right, out; /* of the merge under way */
    uint32_t node;
};

/* A max-heap of the rows that may be among the first; see top_n.c. */
struct sort_heap {
    struct sort_entry *entries;
    uint32_t count;
    struct nu_arena strings[2];
    uint32_t current; /* which of them holds the strings */
    uint64_t string_bytes, live_bytes;
};

struct sort_worker {
    _Alignas(128) struct sort_block *first, *last;
    uint64_t row_count;
    struct sort_heap heap;
};

/* Merges slices of sorted runs by a tournament: inner nodes of `tree` hold the loser. */
struct sort_tournament {
    const struct sort_rows *rows;
    const struct sort_run *runs;
    uint32_t run_count;
    uint32_t *heads, *ends; /* of run r: its next entry, and where its slice ends */
    uint32_t *tree, *winners;
    uint32_t winner;
};

/* The ordered source. One worker at a time. */
struct sort_merge {
    struct sort_tournament tournament;
    uint64_t skipped; /* rows of the offset that are behind us */
    uint32_t pending; /* rows of the batch that was not taken yet */
    unsigned char *rows[BATCH_ROWS];
};

struct sort {
    struct op_sink sink; /* first */
    struct op_source run_source, ordered_source;
    struct job_context *job;
    struct sort_rows rows;
    uint32_t rel;
    bool is_top;
    uint32_t top_rows; /* limit + offset */
    uint64_t limit, offset;
    struct sort_worker *workers;
    struct sort_run *runs;
    uint32_t run_count;
    uint64_t row_count;
    struct sort_merge merge;
};

static inline struct sort *sort_of_run_source(struct op_source *source)
{
    return (struct sort *)((char *)source - offsetof(struct sort, run_source));
}

static inline struct sort *sort_of_ordered_source(struct op_source *source)
{
    return (struct sort *)((char *)source - offsetof(struct sort, ordered_source));
}

extern const struct sink_kind sort_run_sink_kind, sort_top_sink_kind;
extern const struct source_kind sort_run_source_kind, sort_ordered_source_kind;

/* sort_rows.c */
bool sort_rows_init(struct sort_rows *rows, struct nu_arena *arena, const struct sort_plan *plan);

/* Evaluates the keys over the batch: extra_count vecs of the keys that are no columns, and of every
 * position the prefix, both in `scratch`. */
enum exec_code sort_rows_keys(const struct sort_rows *rows, const struct batch *in,
                              struct nu_arena *scratch, struct vec **extras_out,
                              struct sort_entry **entries_out, struct exec_error *err);
/* Writes the listed positions (NULL: the first `count`) to rows_out, prefixes included. */
bool sort_rows_write(const struct sort_rows *rows, const struct batch *in, const struct vec *extras,
                     const struct sort_entry *entries, const uint16_t *positions, uint32_t count,
                     unsigned char *const *rows_out, struct nu_arena *strings);

/* Copies the long strings of a row into `strings`, adding their bytes to *bytes. */
bool sort_rows_own_strings(const struct sort_rows *rows, unsigned char *row,
                           struct nu_arena *strings, uint64_t *bytes);

/* By keys first..end-1 alone. */
int sort_rows_compare_keys(const struct sort_rows *rows, uint32_t first, uint32_t end,
                           const unsigned char *a, const unsigned char *b);

/* Rows of equal prefix: by the keys, then by the whole row. 0 only for rows that no one can tell
 * apart. */
int sort_rows_compare_tied(const struct sort_rows *rows, const unsigned char *a,
                           const unsigned char *b);

static inline bool sort_entry_before(const struct sort_rows *rows, const struct sort_entry *a,
                                     const struct sort_entry *b)
{
    if (a->high != b->high) {
        return a->high < b->high;
    }
    if (a->low != b->low) {
        return a->low < b->low;
    }
    return sort_rows_compare_tied(rows, a->row, b->row) < 0;
}

/* sort_run.c: goes on sorting; false: `may_go_on` said no before the end. */
typedef bool sort_go_on_fn(void *context);
bool sort_run_step(struct sort_run *run, const struct sort_rows *rows, sort_go_on_fn *may_go_on,
                   void *context);

/* sort_tournament.c: runs whole, from one arena; the caller may narrow heads and ends before it
 * begins. false: out of memory. */
bool sort_tournament_init(struct sort_tournament *tournament, const struct sort_rows *rows,
                          const struct sort_run *runs, uint32_t run_count, struct nu_arena *arena);
void sort_tournament_begin(struct sort_tournament *tournament);
/* The next entry in the order of all slices; NULL: none is left. */
const struct sort_entry *sort_tournament_pop(struct sort_tournament *tournament);

/* sort.c: the parts of a sort, without choosing between them. */
enum exec_code sort_init(struct sort *sort, struct job_context *job, const struct sort_plan *plan,
                         struct exec_error *err);

void sort_heap_destroy(struct sort_heap *heap);

#endif
