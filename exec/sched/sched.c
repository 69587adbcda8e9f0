#include "sched/sched.h"

#include "sched/atomics.h"
#include "sched/rt.h"
#include "sched/worker.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHED_WORKERS_MAX = 4096 };

/* ---- which worker stands where ----------------------------------------------------------------
 */

/* CPUs in the order workers take them: nodes in turn, and on each node the cores before the SMT
 * siblings of cores already taken. */
static void sched_order_cpus(const struct nu_topology *topology, uint32_t *order)
{
    uint32_t rank[NU_CPUS_MAX]; /* (position among siblings, position on the node) -> turn */
    uint32_t taken = 0;

    for (uint32_t cpu = 0; cpu < topology->cpu_count; cpu++) {
        uint32_t siblings_before = 0, node_before = 0;
        for (uint32_t other = 0; other < cpu; other++) {
            if (topology->cpus[other].node != topology->cpus[cpu].node) {
                continue;
            }
            node_before++;
            siblings_before += nu_topology_level(topology, other, cpu) == NU_LEVEL_SMT;
        }
        rank[cpu] = siblings_before * NU_CPUS_MAX + node_before;
    }
    /* Each round takes, from every node that has one left, its CPU of the lowest rank. */
    bool used[NU_CPUS_MAX] = {false};
    while (taken < topology->cpu_count) {
        for (uint32_t node = 0; node < topology->node_count; node++) {
            uint32_t best = NU_CPUS_MAX;
            for (uint32_t cpu = 0; cpu < topology->cpu_count; cpu++) {
                if (!used[cpu] && topology->cpus[cpu].node == node &&
                    (best == NU_CPUS_MAX || rank[cpu] < rank[best])) {
                    best = cpu;
                }
            }
            if (best != NU_CPUS_MAX) {
                used[best] = true;
                order[taken++] = best;
            }
        }
    }
}

/* ---- building ------------------------------------------------------------------------------- */

static int sched_make_nodes(struct sched *sched)
{
    sched->nodes =
        aligned_alloc(_Alignof(struct park_node), sched->node_count * sizeof *sched->nodes);
    if (sched->nodes == NULL) {
        return -ENOMEM;
    }
    memset(sched->nodes, 0, sched->node_count * sizeof *sched->nodes);
    for (uint32_t node = 0; node < sched->node_count; node++) {
        struct park_node *at = &sched->nodes[node];
        at->workers = calloc(sched->worker_count, sizeof *at->workers);
        if (at->workers == NULL) {
            return -ENOMEM;
        }
        for (uint32_t i = 0; i < sched->worker_count; i++) {
            if (sched->workers[i].node == node) {
                at->workers[at->worker_count++] = i;
            }
        }
        at->searching_max = (int32_t)(at->worker_count + 1) / 2;
    }
    return 0;
}

static int sched_make_workers(struct sched *sched, uint64_t seed)
{
    uint32_t order[NU_CPUS_MAX];
    uint32_t *cpu = calloc(sched->worker_count, sizeof *cpu);
    sched->workers =
        aligned_alloc(_Alignof(struct worker), sched->worker_count * sizeof *sched->workers);
    if (cpu == NULL || sched->workers == NULL) {
        free(cpu);
        return -ENOMEM;
    }
    memset(sched->workers, 0, sched->worker_count * sizeof *sched->workers);
    sched_order_cpus(sched->topology, order);
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        struct worker *worker = &sched->workers[i];
        cpu[i] = order[i % sched->topology->cpu_count];
        worker->sched = sched;
        worker->index = i;
        worker->cpu = cpu[i];
        worker->node = sched->topology->cpus[cpu[i]].node;
        worker->random = (seed + i + 1) * 0x9e3779b97f4a7c15ULL | 1;
        atomic_init(&worker->slot, -1);
    }
    int failed = 0;
    for (uint32_t i = 0; i < sched->worker_count && failed == 0; i++) {
        failed = steal_list_make(&sched->workers[i].prices, sched->topology, cpu,
                                 sched->worker_count, i);
    }
    free(cpu);
    return failed;
}

static void sched_free(struct sched *sched)
{
    idle_logs_fini(sched->workers, sched->worker_count);
    for (uint32_t node = 0; sched->nodes != NULL && node < sched->node_count; node++) {
        free(sched->nodes[node].workers);
    }
    for (uint32_t i = 0; sched->workers != NULL && i < sched->worker_count; i++) {
        steal_list_free(&sched->workers[i].prices);
    }
    free(sched->nodes);
    free(sched->workers);
    free(sched);
}

static void sched_join(struct sched *sched, uint32_t started)
{
    at_store(&sched->stopping, true);
    park_wake_all(sched);
    for (uint32_t i = 0; i < started; i++) {
        rt_thread_join(&sched->workers[i].thread);
    }
}

static int sched_start(struct sched *sched)
{
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        char name[16];
        snprintf(name, sizeof name, "worker-%u", (unsigned)(i % 100000));
        const int failed =
            rt_thread_start(&sched->workers[i].thread, sched->topology, sched->workers[i].cpu, name,
                            worker_main, &sched->workers[i]);
        if (failed != 0) {
            sched_join(sched, i);
            return failed;
        }
    }
    return 0;
}

int sched_create(const struct sched_config *config, struct sched **sched_out)
{
    if (config->workers == 0 || config->workers > SCHED_WORKERS_MAX ||
        config->policy == EXEC_POLICY_DEFAULT) {
        return -EINVAL;
    }
    struct sched *sched = aligned_alloc(_Alignof(struct sched), sizeof *sched);
    if (sched == NULL) {
        return -ENOMEM;
    }
    memset(sched, 0, sizeof *sched);
    sched->topology = config->topology;
    sched->worker_count = config->workers;
    sched->node_count = config->topology->node_count;
    sched->policy = config->policy;
    const uint32_t lanes =
        sched->node_count > sched->worker_count ? sched->node_count : sched->worker_count;
    int failed = inject_init(&sched->inject, SLOTS_MAX, lanes);
    if (failed != 0) {
        goto fail_inject;
    }
    slots_init(&sched->slots, &sched->inject, sched->worker_count, config->policy);
    failed = sched_make_workers(sched, config->seed != 0 ? config->seed : rt_now_ns());
    if (failed == 0) {
        failed = sched_make_nodes(sched);
    }
    if (failed == 0) {
        failed = idle_logs_init(sched->workers, sched->worker_count);
    }
    if (failed == 0) {
        failed = sched_start(sched);
    }
    if (failed != 0) {
        goto fail_workers;
    }
    *sched_out = sched;
    return 0;

fail_workers:
    inject_fini(&sched->inject);
fail_inject:
    sched_free(sched);
    return failed;
}

void sched_destroy(struct sched *sched)
{
    sched_join(sched, sched->worker_count);
    SLOTS_EACH_OCCUPIED(&sched->slots, slot)
    {
        assert(!"every job has ended");
    }
    inject_fini(&sched->inject);
    sched_free(sched);
}

/* ---- figures -------------------------------------------------------------------------------- */

uint32_t sched_worker_count(const struct sched *sched)
{
    return sched->worker_count;
}

uint32_t sched_worker_node(const struct sched *sched, uint32_t worker)
{
    return sched->workers[worker].node;
}

int sched_worker_os_cpu(const struct sched *sched, uint32_t worker)
{
    return sched->workers[worker].thread.os_cpu;
}

uint32_t sched_current_worker(const struct sched *sched)
{
    const struct worker *self = worker_self(sched);
    return self != NULL ? self->index : UINT32_MAX;
}

void sched_worker_counters(const struct sched *sched, uint32_t worker,
                           struct exec_worker_counters *out)
{
    const struct worker_figures *figures = &sched->workers[worker].figures;
#define WORKER_COUNTER(name, help) out->name = at_load_relaxed(&figures->name);
#include "exec/worker_counters.def"
    if ((out->parked_ns & WORKER_ASLEEP) != 0) {
        const uint64_t zero_ns = out->parked_ns & ~WORKER_ASLEEP;
        const uint64_t now_ns = rt_now_ns();
        out->parked_ns = now_ns > zero_ns ? now_ns - zero_ns : 0;
    }
}

bool sched_alive(const struct sched *sched, uint64_t stuck_ns)
{
    const uint64_t now_ns = rt_now_ns();
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        const uint64_t since_ns = at_load_relaxed(&sched->workers[i].run_since_ns);
        if (since_ns != 0 && now_ns > since_ns && now_ns - since_ns > stuck_ns) {
            return false;
        }
    }
    return true;
}
