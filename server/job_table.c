#include "job_table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

static struct job_record **table_bucket(const struct job_table *table, const char *id)
{
    const uint64_t hash = XXH3_64bits(id, strlen(id));

    return (struct job_record **)(uintptr_t)&table->buckets[hash % JOB_TABLE_BUCKETS];
}

struct job_record *job_table_find(const struct job_table *table, const char *id)
{
    struct job_record *record = *table_bucket(table, id);

    while (record != NULL && strcmp(record->id, id) != 0) {
        record = record->bucket_next;
    }
    return record;
}

static void table_forget(struct job_table *table, struct job_record *record)
{
    struct job_record **link = table_bucket(table, record->id);

    assert(record->state == JOB_ENDED);
    while (*link != record) {
        link = &(*link)->bucket_next;
    }
    *link = record->bucket_next;
    if (record->prev != NULL) {
        record->prev->next = record->next;
    } else {
        table->first = record->next;
    }
    if (record->next != NULL) {
        record->next->prev = record->prev;
    } else {
        table->last = record->prev;
    }
    table->ended[record->ended_slot] = NULL;
    free(record->profile);
    free(record);
}

/* A random UUID, version 4. */
static void table_make_id(char id_out[JOB_ID_BYTES])
{
    uint8_t b[16] = {0};

    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b) {
        abort(); /* 16 bytes never fall short once the pool is ready */
    }
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    snprintf(id_out, JOB_ID_BYTES,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
}

enum exec_code job_table_add(struct job_table *table, const char *id, struct job_run *run,
                             struct job_record **record_out, struct exec_error *err)
{
    if (strlen(id) >= JOB_ID_BYTES) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "job_id is longer than %d bytes", JOB_ID_BYTES - 1);
    }
    for (const char *c = id; *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~') {
            return EXEC_FAIL(err, EXEC_BAD_SPEC, "job_id holds a byte that is not printable ASCII");
        }
    }
    struct job_record *old = job_table_find(table, id);
    if (old != NULL && old->state != JOB_ENDED) {
        return EXEC_FAIL(err, EXEC_EXISTS, "job '%s' is still under way", id);
    }
    if (old != NULL) {
        table_forget(table, old);
    }
    struct job_record *record = calloc(1, sizeof *record);
    if (record == NULL) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for a job record");
    }
    if (*id == '\0') {
        table_make_id(record->id);
    } else {
        memcpy(record->id, id, strlen(id));
    }
    record->number = ++table->next_number;
    record->run = run;
    clock_gettime(CLOCK_REALTIME, &record->submitted_at);
    struct job_record **bucket = table_bucket(table, record->id);
    record->bucket_next = *bucket;
    *bucket = record;
    record->prev = table->last;
    if (table->last != NULL) {
        table->last->next = record;
    } else {
        table->first = record;
    }
    table->last = record;
    table->live_count++;
    *record_out = record;
    return EXEC_OK;
}

void job_table_end(struct job_table *table, struct job_record *record)
{
    assert(record->state != JOB_ENDED);
    record->state = JOB_ENDED;
    record->run = NULL;
    table->live_count--;
    if (table->ended[table->ended_next] != NULL) {
        table_forget(table, table->ended[table->ended_next]);
    }
    table->ended[table->ended_next] = record;
    record->ended_slot = table->ended_next;
    table->ended_next = (table->ended_next + 1) % JOB_TABLE_ENDED_MAX;
}

void job_table_fini(struct job_table *table)
{
    assert(table->live_count == 0);
    while (table->first != NULL) {
        table_forget(table, table->first);
    }
}
