#include "op/limit.h"

#include "op/job_context.h"
#include "op/pipe_life.h"

/* Row numbers are handed out batch by batch in order of arrival. A batch that downstream has not
 * taken whole keeps its numbers in its cursor; so the pipe may be stopped only when every row
 * handed out has arrived below, not when the last number is given away: a stop drops parked
 * batches. */
struct limit {
    struct operator op;                     /* first */
    uint64_t offset, end;                   /* rows with numbers in [offset, end) pass */
    _Alignas(128) _Atomic uint64_t claimed; /* next row number */
    _Atomic uint64_t passed;                /* rows downstream has taken */
};

/* All numbers are given away. Before the last row has arrived below, this batch waits together with
 * the one that carries it: for the sink's credit, or for its next time slice. */
static enum push_result limit_exhausted(struct limit *limit, struct pipe_run *run)
{
    const struct op_sink *sink = run->pipe->sink;

    /* acquire: pairs with the release in limit_push; what passed is in the sink before a stop. */
    if (atomic_load_explicit(&limit->passed, memory_order_acquire) >= limit->end - limit->offset) {
        return PUSH_STOP;
    }
    run->out_of_time = sink == NULL || sink->kind->park == NULL;
    return PUSH_SUSPEND;
}

static enum push_result limit_push(struct operator* op, struct pipe_run *run, uint32_t index,
                                   const struct batch *in)
{
    struct limit *limit = (struct limit *)op;
    struct op_cursor *cursor = &run->cursors[index];
    uint16_t sel[BATCH_ROWS];
    struct batch out = *in;

    if (limit->end == limit->offset) {
        return PUSH_STOP;
    }
    if (cursor->detail == 0) {
        /* relaxed: only the numbers must be distinct; the early look keeps the counter from running
         * away while others wait. */
        if (atomic_load_explicit(&limit->claimed, memory_order_relaxed) >= limit->end) {
            return limit_exhausted(limit, run);
        }
        cursor->offset =
            atomic_fetch_add_explicit(&limit->claimed, in->sel_count, memory_order_relaxed);
        if (cursor->offset >= limit->end) {
            return limit_exhausted(limit, run);
        }
        cursor->detail = 1;
    }
    const uint64_t first = cursor->offset;
    const uint32_t skip = first >= limit->offset ? 0
                          : limit->offset - first > in->sel_count
                              ? in->sel_count
                              : (uint32_t)(limit->offset - first);
    const uint64_t left = limit->end - first;
    const uint32_t stop = left > in->sel_count ? in->sel_count : (uint32_t)left;

    if (skip >= stop) {
        return PUSH_MORE;
    }
    if (skip != 0 || stop != in->sel_count) {
        for (uint32_t p = skip; p < stop; p++) {
            sel[p - skip] = (uint16_t)batch_row(in, p);
        }
        out.sel = sel;
        out.sel_count = stop - skip;
    }
    const enum push_result result = pipe_push(run, index + 1, &out);
    if (result != PUSH_MORE) {
        return result;
    }
    /* release: pairs with the acquire in limit_exhausted. */
    const uint64_t passed = out.sel_count + atomic_fetch_add_explicit(&limit->passed, out.sel_count,
                                                                      memory_order_acq_rel);
    return passed >= limit->end - limit->offset ? PUSH_STOP : PUSH_MORE;
}

static const struct operator_kind limit_kind = {.name = "limit", .push = limit_push};

struct operator*
    limit_create(struct job_context *job, uint32_t rel, uint64_t offset, uint64_t count)
{
    struct limit *limit = nu_arena_calloc(&job->plan, sizeof *limit, _Alignof(struct limit));

    if (limit == NULL) {
        return NULL;
    }
    limit->op.kind = &limit_kind;
    limit->op.rel = rel;
    limit->offset = offset;
    limit->end = count > UINT64_MAX - offset ? UINT64_MAX : offset + count;
    return &limit->op;
}
