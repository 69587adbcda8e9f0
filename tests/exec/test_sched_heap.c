/* Goal:   after start-up the dispatcher takes nothing from the heap, however many jobs and morsels.
 * Method: the linker routes every allocation of this program's own objects through counters
 * (--wrap, see tests.cmake); a thousand jobs with splits, parked ranges and cancels in between. */
#include "sched_probe.h"

static _Atomic uint64_t allocations;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    allocations++;
    return __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes)
{
    allocations++;
    return __real_calloc(count, bytes);
}
void *__wrap_realloc(void *old, size_t bytes)
{
    allocations++;
    return __real_realloc(old, bytes);
}
void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    allocations++;
    return __real_aligned_alloc(align, bytes);
}

enum { JOBS = 1000, UNITS = 2000 };

Test(sched_heap, a_thousand_jobs_allocate_nothing)
{
    static struct nu_topology topology;
    static struct probe_job jobs[JOBS];
    static struct probe probes[JOBS];

    probe_topology(&topology, 2, 2);
    struct sched *sched = probe_sched(&topology, 4, EXEC_POLICY_NUMA);
    for (uint32_t i = 0; i < JOBS; i++) {
        probe_job_init(&jobs[i], sched);
        probe_init(&probes[i], &jobs[i], UNITS);
        probes[i].pipeline.unit_fixed = 50;
        probes[i].block_per_1024 = i % 3 == 0 ? 100 : 0;
        probes[i].keep_parked = true;
    }
    const uint64_t before = allocations;
    cr_assert_gt(before, JOBS, "the counters count");
    for (uint32_t i = 0; i < JOBS; i++) {
        const struct sched_range range = {
            .begin = 0, .end = UNITS, .pipeline = &probes[i].pipeline, .node = (uint16_t)(i % 2)};
        sched_pipeline_start(&probes[i].pipeline, &range, 1);
        if (i % 3 == 0) {
            sched_job_cancel(&jobs[i].job);
        }
    }
    for (uint32_t i = 0; i < JOBS; i++) {
        probe_job_wait(&jobs[i], 1);
    }
    cr_assert_eq(allocations - before, 0);
    for (uint32_t i = 0; i < JOBS; i++) {
        probe_check(&probes[i]);
        probe_fini(&probes[i]);
    }
    sched_destroy(sched);
}
