#include "bench_sched_steal.h"

#include "bench_sample.h"
#include "exec/sched_probe_topology.h"
#include "sched/dispatcher.h"
#include "sched/morsel_length.h"
#include "sched/pipeline.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

/* Two workers are inside run() of one unit each, so that their rings, seats and counters are the
 * real ones, and go through the dispatcher's steps by hand: one is robbed, the other robs. Ranges
 * pushed meanwhile are this file's own and all taken off again before run() returns. */

enum {
    STEAL_ROUND = 50, /* steals timed together; with two entries each they fit the ring */
    STEAL_UNITS = 64, /* of a range: one morsel, the rest, the far half */
    STEAL_FULL = 60,
};

struct robbery {
    struct sched_pipeline pipeline; /* first */
    struct sched *sched;
    int rounds;
    _Atomic uint32_t arrived;
    _Atomic bool full, beside, over; /* the ring may be emptied; the victim pushes and pops; end */
    struct sample still, contended;  /* the thief's until both are back */
    sem_t done;
};

static struct sched_range loot(struct robbery *robbery)
{
    return (struct sched_range){.begin = 2, .end = 2 + STEAL_UNITS, .pipeline = &robbery->pipeline};
}

static void victim_main(struct robbery *robbery, struct worker *victim)
{
    const struct sched_range range = loot(robbery);
    struct sched_range popped;

    while (!robbery->over) {
        if (robbery->beside) {
            while (deque_count(&victim->deque) < STEAL_FULL / 2) {
                deque_push(&victim->deque, &range);
            }
            deque_push(&victim->deque, &range);
            deque_pop(&victim->deque, &popped);
        } else if (!robbery->full) {
            while (deque_count(&victim->deque) < STEAL_FULL) {
                deque_push(&victim->deque, &range);
            }
            robbery->full = true;
        }
        rt_pause();
    }
    while (deque_pop(&victim->deque, &popped)) {
    }
}

/* As worker_step and worker_run_morsel do up to the call of run(). False: nothing was there. */
static bool steal_one(struct worker *thief)
{
    struct sched_range range;

    thief->now_ns = rt_now_ns();
    if (thief->idle_since_ns == 0) {
        thief->idle_since_ns = thief->now_ns;
    }
    thief->paid_ns = UINT32_MAX; /* it has waited for as long as any place costs */
    if (dispatcher_next(thief, &range) == DISPATCHER_NOTHING) {
        return false;
    }
    if (thief->searching) {
        park_search_end(thief, true);
    }
    thief->idle_since_ns = 0;
    morsel_cut(thief, &range, morsel_units(thief, range.pipeline), DISPATCHER_KEEP);
    return true;
}

/* Untimed: a morsel behind it, of which to tell the pipeline; afterwards its deque is emptied of
 * what was cut off, as it is before a look round. */
static void time_one(struct robbery *robbery, struct worker *thief, uint64_t *round_ns,
                     uint32_t *stolen)
{
    struct sched_range rest;
    at_add(&robbery->pipeline.units_left, 1);
    thief->account =
        (struct pipeline_account){.pipeline = &robbery->pipeline, .units = 1, .morsels = 1};
    const uint64_t start_ns = rt_now_ns();

    if (steal_one(thief)) {
        *round_ns += rt_now_ns() - start_ns;
        ++*stolen;
    }
    while (deque_pop(&thief->deque, &rest)) {
    }
}

static void thief_main(struct robbery *robbery, struct worker *thief)
{
    for (int beside = 0; beside < 2; beside++) {
        struct sample *sample = beside ? &robbery->contended : &robbery->still;
        robbery->beside = beside;
        while (sample->count < robbery->rounds) {
            uint64_t round_ns = 0;
            uint32_t stolen = 0;
            robbery->full = false;
            while (!beside && !robbery->full) {
                rt_pause();
            }
            while (stolen < STEAL_ROUND) {
                time_one(robbery, thief, &round_ns, &stolen);
            }
            sample->each_ns[sample->count++] = (double)round_ns / STEAL_ROUND;
        }
    }
    robbery->over = true;
}

static enum sched_outcome robbery_run(struct sched_pipeline *pipeline, uint32_t index,
                                      struct sched_range *range, uint64_t unit_target)
{
    struct robbery *robbery = (struct robbery *)pipeline;
    struct worker *worker = &robbery->sched->workers[index];
    const bool robs = robbery->arrived++ == 1;

    (void)unit_target;
    while (robbery->arrived < 2) {
        rt_pause();
    }
    if (robs) {
        const struct pipeline_account account = worker->account;
        thief_main(robbery, worker);
        worker->account = account;
    } else {
        victim_main(robbery, worker);
    }
    range->begin++;
    return SCHED_RAN;
}

static void robbery_finish(struct sched_pipeline *pipeline, uint32_t worker)
{
    (void)worker;
    sem_post(&((struct robbery *)pipeline)->done);
}

static const struct sched_pipeline_ops robbery_ops = {
    .name = "robbery", .run = robbery_run, .finish = robbery_finish};

void bench_stolen_morsel(int rounds)
{
    static struct nu_topology topology;
    static struct robbery robbery;
    struct sched_job job = {.owner = NULL};

    probe_topology(&topology, 1, 2);
    const struct sched_config config = {
        .topology = &topology, .workers = 2, .policy = EXEC_POLICY_NUMA, .seed = 1};
    robbery = (struct robbery){.pipeline = {.ops = &robbery_ops, .job = &job, .unit_fixed = 1},
                               .rounds = rounds};
    if (sched_create(&config, &robbery.sched) != 0) {
        printf("cannot start 2 workers\n");
        return;
    }
    sem_init(&robbery.done, 0, 0);
    sched_job_init(robbery.sched, &job);
    const struct sched_range both = {.begin = 0, .end = 2, .pipeline = &robbery.pipeline};
    sched_pipeline_start(&robbery.pipeline, &both, 1);
    while (sem_wait(&robbery.done) != 0) {
    }
    sched_destroy(robbery.sched);
    sem_destroy(&robbery.done);
    sample_report("stolen morsel, from an empty deque to run(), victim still", &robbery.still);
    sample_report("stolen morsel, its owner pushing and popping all the time", &robbery.contended);
}
