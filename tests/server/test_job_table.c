#include "job_table.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Goal:   ids are unique among live jobs, ended jobs stay known up to the limit, oldest end first
 * out. Method: many jobs in and out, with one that ends last though it began first. */

static struct job_table table;
static struct exec_error err;

static struct job_record *add(const char *id)
{
    struct job_record *record = NULL;

    cr_assert_eq(job_table_add(&table, id, NULL, &record, &err), EXEC_OK);
    return record;
}

Test(job_table, ids)
{
    struct job_record *record = add("mine");
    struct job_record *other = NULL;

    cr_assert_eq(job_table_add(&table, "mine", NULL, &other, &err), EXEC_EXISTS);
    cr_assert_eq(job_table_add(&table, "two words", NULL, &other, &err), EXEC_BAD_SPEC);
    char longest[JOB_ID_BYTES + 1];
    memset(longest, 'a', sizeof longest);
    longest[JOB_ID_BYTES] = '\0';
    cr_assert_eq(job_table_add(&table, longest, NULL, &other, &err), EXEC_BAD_SPEC);
    job_table_end(&table, record);
    cr_assert_eq(job_table_find(&table, "mine"), record);
    struct job_record *again = add("mine");
    cr_assert_eq(job_table_find(&table, "mine"), again);
    cr_assert_eq(again->state, JOB_QUEUED);
    struct job_record *random = add("");
    cr_assert_eq(strlen(random->id), 36);
    cr_assert_eq(random->id[14], '4');
    job_table_end(&table, again);
    job_table_end(&table, random);
    job_table_fini(&table);
}

Test(job_table, ended_jobs_are_forgotten_in_order_of_their_ends)
{
    struct job_record *first = add("first");
    char id[16];

    for (int i = 0; i < JOB_TABLE_ENDED_MAX + 10; i++) {
        snprintf(id, sizeof id, "job%d", i);
        job_table_end(&table, add(id));
    }
    job_table_end(&table, first);
    cr_assert_not_null(job_table_find(&table, "first"));
    cr_assert_null(job_table_find(&table, "job10"));
    cr_assert_not_null(job_table_find(&table, "job11"));
    cr_assert_eq(table.first, first, "still in order of submission");
    uint32_t count = 0;
    for (const struct job_record *record = table.first; record != NULL; record = record->next) {
        count++;
    }
    cr_assert_eq(count, JOB_TABLE_ENDED_MAX);
    job_table_fini(&table);
}
