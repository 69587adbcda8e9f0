#include "op/job_context.h"

#include "sched/sched.h"
#include "table/dictionary.h"

#include <string.h>

void job_context_init(struct job_context *job, struct nu_page_pool *pages, struct nu_budget *parent,
                      uint64_t limit_bytes, uint32_t worker_count, const uint16_t *worker_node,
                      uint32_t node_count, struct job_worker *workers)
{
    memset(job, 0, sizeof *job);
    job->pages = pages;
    nu_budget_init(&job->budget, "job", limit_bytes, parent);
    nu_arena_init(&job->plan, pages, 0, &job->budget);
    job->worker_count = worker_count;
    job->node_count = node_count;
    job->worker_node = worker_node;
    job->workers = workers;
    job->hash_bits_kept = 64;
    pthread_mutex_init(&job->start_lock, NULL);
    pthread_mutex_init(&job->error_lock, NULL);
    for (uint32_t w = 0; w < worker_count; w++) {
        memset(&workers[w], 0, sizeof workers[w]);
        nu_arena_init(&workers[w].arena, pages, worker_node[w], &job->budget);
        nu_arena_init(&workers[w].scratch, pages, worker_node[w], &job->budget);
    }
}

struct job_dictionary {
    struct dictionary *dictionary;
    struct job_dictionary *next;
};

void job_context_fini(struct job_context *job)
{
    for (uint32_t w = 0; w < job->worker_count; w++) {
        nu_arena_destroy(&job->workers[w].scratch);
        nu_arena_destroy(&job->workers[w].arena);
    }
    for (uint32_t n = 0; job->node_arenas != NULL && n < job->node_count; n++) {
        nu_arena_destroy(&job->node_arenas[n]);
    }
    for (const struct job_dictionary *held = job->dictionaries; held != NULL; held = held->next) {
        dictionary_unref(held->dictionary);
    }
    nu_arena_destroy(&job->plan);
    pthread_mutex_destroy(&job->error_lock);
    pthread_mutex_destroy(&job->start_lock);
}

bool job_hold_dictionary(struct job_context *job, struct dictionary *dictionary)
{
    struct job_dictionary *held = nu_arena_alloc(&job->plan, sizeof *held, 8);

    if (held == NULL) {
        return false;
    }
    dictionary_ref(dictionary);
    *held = (struct job_dictionary){.dictionary = dictionary, .next = job->dictionaries};
    job->dictionaries = held;
    return true;
}

static void move(_Atomic uint64_t *total, uint64_t *rows)
{
    if (*rows != 0) {
        atomic_fetch_add_explicit(total, *rows, memory_order_relaxed);
        *rows = 0;
    }
}

void job_count(struct job_context *job, uint32_t worker)
{
    struct job_worker *own = &job->workers[worker];

    if (job->totals == NULL) {
        return;
    }
    move(&job->totals->rows_scanned, &own->rows_scanned);
    move(&job->totals->rows_built, &own->rows_built);
    move(&job->totals->rows_probed, &own->rows_probed);
    move(&job->totals->rows_aggregated, &own->rows_aggregated);
    move(&job->totals->rows_output, &own->rows_output);
}

enum exec_code job_fail(struct job_context *job, const struct exec_error *err)
{
    pthread_mutex_lock(&job->error_lock);
    const bool first = job->error.code == EXEC_OK && !job->is_over;
    if (first) {
        job->error = *err;
    }
    pthread_mutex_unlock(&job->error_lock);
    if (first) {
        /* relaxed: a hint to stop early; the error itself is read under the lock. */
        atomic_store_explicit(&job->failed, true, memory_order_relaxed);
        if (job->sched_job != NULL) {
            sched_job_cancel(job->sched_job);
        }
    }
    return err->code;
}

enum exec_code job_fail_memory(struct job_context *job, const struct nu_arena *arena,
                               const char *what)
{
    struct exec_error err;
    job_memory_error(&err, arena->refused, what);
    return job_fail(job, &err);
}
