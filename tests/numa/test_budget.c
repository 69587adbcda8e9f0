/* Goal:   a charge holds at every level of the tree or at none, also under contention.
 * Method: a tree of three by hand; then threads that charge and refund while a watcher checks that
 * no limit is ever exceeded. */
#include "numa/budget.h"

#include <criterion/criterion.h>
#include <pthread.h>

static struct nu_budget process, pool, job;

static void tree(uint64_t process_limit, uint64_t pool_limit, uint64_t job_limit)
{
    nu_budget_init(&process, "process", process_limit, NULL);
    nu_budget_init(&pool, "jobs", pool_limit, &process);
    nu_budget_init(&job, "job", job_limit, &pool);
}

Test(budget, refusal_names_the_level_and_charges_nothing)
{
    tree(100, 60, 1000);
    cr_assert_null(nu_budget_charge(&job, 60));
    cr_assert_eq(nu_budget_charge(&job, 1), &pool);
    cr_assert_eq(nu_budget_used(&job), 60);
    cr_assert_eq(nu_budget_used(&process), 60);
    cr_assert_null(nu_budget_charge(&process, 40));
    nu_budget_refund(&job, 30);
    cr_assert_eq(nu_budget_charge(&job, 1), NULL);
    cr_assert_eq(nu_budget_charge(&job, 30), &pool);
    cr_assert_eq(nu_budget_charge(&pool, 29), NULL);
    cr_assert_eq(nu_budget_charge(&process, 1), &process);
    cr_assert_eq(process.peak_bytes, 100);
    cr_assert_eq(job.peak_bytes, 60);
}

Test(budget, huge_requests_do_not_wrap)
{
    tree(UINT64_MAX, UINT64_MAX, UINT64_MAX);
    cr_assert_null(nu_budget_charge(&job, 10));
    cr_assert_eq(nu_budget_charge(&job, SIZE_MAX), &job);
    cr_assert_eq(nu_budget_used(&process), 10);
}

static void *charge_and_refund(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 1103515245 + 12345;
        const size_t bytes = seed >> 16 & 63;
        if (nu_budget_charge(&job, bytes) == NULL) {
            cr_assert_leq(nu_budget_used(&pool), 100);
            nu_budget_refund(&job, bytes);
        }
    }
    return NULL;
}

Test(budget, threads_never_exceed_a_limit)
{
    pthread_t threads[4];
    tree(1000, 100, 1000);
    for (uintptr_t i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, charge_and_refund, (void *)(i + 1));
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    cr_assert_eq(nu_budget_used(&job), 0);
    cr_assert_eq(nu_budget_used(&process), 0);
    cr_assert_leq(pool.peak_bytes, 100);
}
