#include "sched/morsel_length.h"

#include "sched/atomics.h"

enum { UNIT_HINT = 16384 };
/* Heavy is what was cut short by time with less than half a morsel's units done, and would take as
 * long again for every piece it is spread into. */
static const uint64_t HEAVY_NS = SCHED_MORSEL_NS_MAX;
enum { HEAVY_PIECES_MAX = 8 };

/* ---- size ----------------------------------------------------------------------------------- */

uint64_t morsel_units(struct worker *worker, struct sched_pipeline *pipeline)
{
    if (pipeline->unit_fixed > 0) {
        return pipeline->unit_fixed;
    }
    if (worker->paced == pipeline) {
        return worker->pace_units;
    }
    /* relaxed: a hint of the workers that have run it. */
    const uint32_t units = at_load_relaxed(&pipeline->units_per_ms);
    if (units > 0) {
        return units;
    }
    return pipeline->unit_hint > 0 ? pipeline->unit_hint : UNIT_HINT;
}

/* One morsel may say at most twice or half as much: one that was preempted must not shrink the next
 * ones to nothing. Down goes the whole way, up half of it, for an overlong morsel is the worse
 * error. */
static uint64_t morsel_next(uint64_t target, uint64_t done, uint64_t run_ns)
{
    const double said = (double)done * (double)SCHED_MORSEL_NS / (double)(run_ns > 0 ? run_ns : 1);
    const double was = (double)target;
    const double bound = said > 2 * was ? 2 * was : said < was / 2 ? was / 2 : said;
    const double next = bound < was ? bound : (was + bound + 1) / 2; /* rounded up: 1 grows too */
    return next >= UINT32_MAX ? UINT32_MAX : next < 1 ? 1 : (uint64_t)next;
}

void morsel_measure(struct worker *worker, struct sched_pipeline *pipeline, uint64_t target,
                    uint64_t done, uint64_t run_ns)
{
    if (pipeline->unit_fixed > 0 || (done < target / 4 && run_ns < SCHED_MORSEL_NS)) {
        return;
    }
    worker->paced = pipeline;
    worker->pace_units = morsel_next(target, done, run_ns);
    /* Written only when it misleads: every worker reads the line. */
    const uint64_t told = at_load_relaxed(&pipeline->units_per_ms);
    if (worker->pace_units < told - told / 4 || worker->pace_units > told + told / 4) {
        at_store_relaxed(&pipeline->units_per_ms, (uint32_t)worker->pace_units);
    }
}

/* ---- cutting ------------------------------------------------------------------------------- */

static uint64_t align_down(uint64_t unit, uint64_t align)
{
    return align > 1 ? unit / align * align : unit; /* a division is a fifth of a dispatch */
}

void morsel_cut(struct worker *worker, struct sched_range *range, uint64_t target,
                enum dispatcher_source source)
{
    struct sched_pipeline *pipeline = range->pipeline;
    const uint64_t align = pipeline->unit_align > 0 ? pipeline->unit_align : 1;
    const uint64_t least = target > range->unsplit ? target : range->unsplit;
    const uint64_t crumb = pipeline->unit_fixed > 0 ? 0 : target / 2; /* not worth a morsel */
    struct sched_range rest = *range;

    /* A pipeline whose morsels block would be shredded by cutting: every piece would park alone. */
    if (range->serial != 0 || at_load_relaxed(&pipeline->congested) ||
        range->end - range->begin <= least + crumb) {
        return;
    }
    rest.begin = align_down(range->begin + least + align - 1, align);
    if (rest.begin >= range->end) {
        return;
    }
    rest.cursor = NULL;
    rest.unsplit = 0;
    range->end = rest.begin;
    /* A thief takes the oldest entry: give it half of all, and never leave it with nothing. */
    const uint64_t middle = align_down(range->begin + (rest.end - range->begin) / 2, align);
    if (source == DISPATCHER_KEEP && middle > rest.begin && deque_count(&worker->deque) == 0) {
        struct sched_range far = rest;
        far.begin = middle;
        rest.end = middle;
        dispatcher_share(worker, &far);
    }
    dispatcher_keep(worker, &rest, source);
}

uint32_t morsel_pieces(const struct sched_range *rest, uint64_t target, uint64_t done,
                       uint64_t run_ns)
{
    const struct sched_pipeline *pipeline = rest->pipeline;
    const uint64_t units = rest->end - rest->begin;

    if (run_ns < HEAVY_NS || done > target / 2 || rest->serial != 0 || units <= rest->unsplit ||
        at_load_relaxed(&pipeline->congested)) {
        return 1;
    }
    const uint64_t rest_ns = units * (run_ns / (done > 0 ? done : 1));
    const uint64_t pieces = rest_ns / HEAVY_NS;
    const uint64_t possible = units < HEAVY_PIECES_MAX ? units : HEAVY_PIECES_MAX;
    return pieces < 2 ? 1 : (uint32_t)(pieces < possible ? pieces : possible);
}
