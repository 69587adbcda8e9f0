#ifndef EXEC_SORT_WINDOW_STATE_H
#define EXEC_SORT_WINDOW_STATE_H

#include "sort/sort_state.h"
#include "sort/window.h"

/* Inside of windows. A window is a sort whose leading keys are hashed, with a source of its own. */

enum {
    WINDOW_UNIT_ROWS = 1 << 14,      /* at least so many rows a unit of the source */
    WINDOW_UNIT_BITS = 6,            /* at most 64 units */
    WINDOW_TOP_ROWS_MAX = 1024,      /* above this limit every row is kept */
    WINDOW_TOP_TRIAL_ROWS = 1 << 20, /* of a worker; then it is asked whether most were kept */
};

/* What the sink knows of one partition: the first rows of it so far, a max-heap. */
struct window_group {
    struct sort_entry *heap;
    uint32_t count, room;
};

struct window_slot {
    uint64_t hash;
    uint64_t worst_low;         /* of the heap's root once the heap is full, else all ones */
    unsigned char *row;         /* some row of the partition, for its keys */
    struct window_group *group; /* NULL: a free slot */
};

struct window_worker {
    _Alignas(128) struct window_slot *slots; /* open addressing by the hash's low bits */
    uint32_t slot_bits;
    uint32_t group_count;
    uint64_t worst_high; /* of the one partition there is without partition keys */
    bool has_strings, gave_up;
    uint32_t row_room; /* rows that the last block still takes */
    uint64_t rows_seen;
    struct nu_arena strings[2];
    uint32_t current;
    uint64_t string_bytes, live_bytes;
};

/* Counters of one partition; those of one hash are counted side by side. */
struct window_counter {
    const unsigned char *row; /* the last one */
    int64_t row_number, rank, dense_rank;
};

/* A unit of the source. It stays where it stands when its time slice ends. */
struct window_part {
    bool is_open, is_full; /* is_full: the pending batch waits to be taken */
    struct sort_tournament tournament;
    uint64_t hash;
    struct window_counter *counters;
    uint32_t counter_count, counter_room;
    uint32_t pending;
    unsigned char **rows; /* BATCH_ROWS */
    int64_t *numbers;     /* function after function, BATCH_ROWS each */
};

struct window {
    struct sort sort; /* first */
    struct op_source source;
    struct window_plan plan;
    bool compares_order; /* somebody asks for ranks */
    struct window_worker *workers;
    struct window_places *places; /* NULL: not that way (window_places.h) */
    struct window_part *parts;
    uint32_t part_bits;
};

static inline struct window *window_of_source(struct op_source *source)
{
    return (struct window *)((char *)source - offsetof(struct window, source));
}

extern const struct sink_kind window_top_sink_kind;
extern const struct source_kind window_source_kind;

/* Gives back what the sink keeps outside of the job's arenas. */
void window_top_destroy(struct window *window);

#endif
