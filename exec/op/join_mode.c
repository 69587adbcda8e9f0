#include "op/join_mode.h"

#include <stdio.h>

#define LINE_BYTES 64.0
#define LINES_A_ROW 2.0 /* a slot and a build row */
#define LINES_IN_FLIGHT 16.0
#define LOCAL_NS 90.0      /* a line from the node's own memory */
#define LINK_BYTES_NS 40.0 /* into one node, at distance LINK_DISTANCE; less beyond */
#define LINK_DISTANCE 20.0
#define LOCAL_DISTANCE 10.0
#define COPY_BYTES_NS 10.0 /* one worker, writing or reading in a row */
#define PIPE_NS 200000.0   /* one pipe more: all workers wait for its last morsel */
#define WORTH_IT 0.9       /* of the shared cost: below the model's error nothing is changed */

enum {
    REPLICA_SHARE = 4, /* of the memory left, for all copies */
    ROUTED_SHARE = 2,  /* ... for rows on their way */
};

static double max_of(double a, double b)
{
    return a > b ? a : b;
}

static void price(const struct join_mode_input *in, struct join_mode_choice *choice)
{
    const double nodes = in->node_count;
    const double remote_share = (nodes - 1) / nodes;
    const double remote_ns = LOCAL_NS * in->distance / LOCAL_DISTANCE;
    const double link = LINK_BYTES_NS * LINK_DISTANCE / in->distance;
    const double rows_worker = in->probe_rows / in->worker_count;
    const double rows_node = in->probe_rows / nodes;
    const double local = rows_worker * LINES_A_ROW * LOCAL_NS / LINES_IN_FLIGHT;

    choice->shared_ns = max_of(local + rows_worker * LINES_A_ROW * remote_share *
                                           (remote_ns - LOCAL_NS) / LINES_IN_FLIGHT,
                               rows_node * LINES_A_ROW * LINE_BYTES * remote_share / link);
    choice->replicated_ns = PIPE_NS + local + (double)in->table_bytes * remote_share / link;
    choice->routed_ns = PIPE_NS + local +
                        max_of(rows_worker * 2 * in->probe_row_bytes / COPY_BYTES_NS,
                               rows_node * in->probe_row_bytes * remote_share / link);
}

static bool copies_fit(const struct join_mode_input *in)
{
    return in->table_bytes <= in->memory_bytes / REPLICA_SHARE / (in->node_count - 1);
}

static bool routed_fits(const struct join_mode_input *in)
{
    return in->can_route &&
           in->probe_rows * in->probe_row_bytes <= (double)(in->memory_bytes / ROUTED_SHARE);
}

static struct join_mode_choice by_cost(const struct join_mode_input *in)
{
    struct join_mode_choice choice = {.mode = EXEC_PROBE_SHARED};
    double best;

    price(in, &choice);
    best = choice.shared_ns * WORTH_IT;
    if (choice.replicated_ns < best && copies_fit(in)) {
        best = choice.replicated_ns;
        choice.mode = EXEC_PROBE_REPLICATED;
    }
    if (choice.routed_ns < best && routed_fits(in)) {
        choice.mode = EXEC_PROBE_ROUTED;
    }
    return choice;
}

struct join_mode_choice join_mode_choose(const struct join_mode_input *in)
{
    struct join_mode_choice shared = {.mode = EXEC_PROBE_SHARED};

    if (in->wanted == EXEC_PROBE_ROUTED && in->can_route) {
        return (struct join_mode_choice){.mode = EXEC_PROBE_ROUTED, .reason = "probe_mode says so"};
    }
    if (in->wanted == EXEC_PROBE_ROUTED) {
        shared.reason = "rows cannot be routed: there are no keys, or their order matters";
    } else if (in->node_count == 1) {
        shared.reason = "there is one node";
    } else if (in->wanted == EXEC_PROBE_REPLICATED) {
        return (struct join_mode_choice){.mode = EXEC_PROBE_REPLICATED,
                                         .reason = "probe_mode says so"};
    } else if (in->wanted == EXEC_PROBE_SHARED) {
        shared.reason = "probe_mode says so";
    } else if (in->table_bytes <= in->cache_bytes) {
        shared.reason = "the build side fits in every node's cache";
    } else if (in->probe_rows < 0) {
        shared.reason = "the number of probe rows is unknown";
    } else {
        return by_cost(in);
    }
    return shared;
}

const char *join_mode_name(enum exec_probe_mode mode)
{
    static const char *const names[] = {
        [EXEC_PROBE_DEFAULT] = "default", [EXEC_PROBE_AUTO] = "auto",
        [EXEC_PROBE_SHARED] = "shared",   [EXEC_PROBE_REPLICATED] = "replicated",
        [EXEC_PROBE_ROUTED] = "routed",
    };
    return names[mode];
}

void join_mode_text(const struct join_mode_choice *choice, char *text, size_t text_bytes)
{
    if (choice->reason != NULL) {
        snprintf(text, text_bytes, "%s: %s", join_mode_name(choice->mode), choice->reason);
        return;
    }
    snprintf(text, text_bytes, "%s: shared %.3g ms, replicated %.3g ms, routed %.3g ms",
             join_mode_name(choice->mode), choice->shared_ns / 1e6, choice->replicated_ns / 1e6,
             choice->routed_ns / 1e6);
}
