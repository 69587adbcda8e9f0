#ifndef EXEC_OP_JOIN_MODE_H
#define EXEC_OP_JOIN_MODE_H

#include "exec/job_spec.h"

#include <stddef.h>

/* How probe rows meet a directory whose partitions lie on several nodes, chosen by cost once the
 * build side is known:
 *
 *   shared      every worker reads every partition where it lies
 *   replicated  every node gets a copy of all partitions first
 *   routed      probe rows are dealt out by the hash bits that choose the partition, and workers of
 *               the partition's node read them
 *
 * The model counts, per probe row, two lines of the directory (a slot and a row), LINES_IN_FLIGHT
 * of them at once; a remote line takes the local time times distance / 10, and all workers of a
 * node share its link. A copy is bound by the link, a routed row by writing and reading it once
 * more. The constants in join_mode.c are those of current two-socket servers; what scales them to a
 * machine is its distances. */
struct join_mode_input {
    uint32_t node_count, worker_count;
    double distance;      /* mean between two different nodes; 10 is local */
    uint64_t cache_bytes; /* last-level cache of a node: a smaller table is in all of them anyway */
    uint64_t table_bytes; /* directories and build rows */
    uint64_t memory_bytes;    /* that the job may still take */
    double probe_rows;        /* < 0: unknown */
    uint32_t probe_row_bytes; /* of a row on its way */
    bool can_route;
    enum exec_probe_mode wanted; /* AUTO: by cost */
};

struct join_mode_choice {
    enum exec_probe_mode mode;                  /* never AUTO */
    const char *reason;                         /* static storage; NULL: the costs below */
    double shared_ns, replicated_ns, routed_ns; /* wall time of the whole probe; 0: not asked */
};

struct join_mode_choice join_mode_choose(const struct join_mode_input *input);

const char *join_mode_name(enum exec_probe_mode mode); /* "auto", "shared", ... */

/* "shared: the machine has one node"; cut at text_bytes. */
void join_mode_text(const struct join_mode_choice *choice, char *text, size_t text_bytes);

#endif
