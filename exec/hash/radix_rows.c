#include "hash/radix_rows.h"

#include "hash/hash_bits.h"

#include <assert.h>
#include <string.h>

void radix_rows_init(struct radix_rows *rows, struct nu_arena *arena, uint32_t row_bytes,
                     uint32_t radix_bits)
{
    *rows = (struct radix_rows){.arena = arena, .row_bytes = row_bytes, .radix_bits = radix_bits};
}

static unsigned char *append(struct radix_rows *rows, uint64_t hash)
{
    struct row_list *list = &rows->parts[hash_partition(hash, rows->radix_bits)];
    return row_list_append(list, rows->arena, rows->row_bytes);
}

static bool split(struct radix_rows *rows)
{
    const size_t list_bytes = sizeof(struct row_list) << rows->radix_bits;

    rows->parts = nu_arena_calloc(rows->arena, list_bytes, 64);
    if (rows->parts == NULL) {
        return false;
    }
    for (const struct row_chunk *chunk = rows->plain.first; chunk != NULL; chunk = chunk->next) {
        for (uint32_t i = 0; i < chunk->row_count; i++) {
            const unsigned char *from = chunk->rows + (size_t)i * rows->row_bytes;
            unsigned char *to = append(rows, row_hash(from));
            if (to == NULL) {
                return false;
            }
            memcpy(to, from, rows->row_bytes);
        }
    }
    return true;
}

bool radix_rows_reserve(struct radix_rows *rows, const uint64_t *hashes, const uint16_t *positions,
                        uint32_t count, unsigned char **rows_out)
{
    if (rows->parts == NULL && rows->plain.row_count + count > RADIX_PLAIN_ROWS && !split(rows)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t hash = hashes[positions[i]];
        unsigned char *row = rows->parts != NULL
                                 ? append(rows, hash)
                                 : row_list_append(&rows->plain, rows->arena, rows->row_bytes);
        if (row == NULL) {
            return false;
        }
        memcpy(row, &hash, sizeof hash);
        rows_out[i] = row;
    }
    return true;
}

uint64_t radix_rows_count(const struct radix_rows *rows)
{
    uint64_t count = 0;

    if (rows->parts == NULL) {
        return rows->plain.row_count;
    }
    for (uint32_t p = 0; p < UINT32_C(1) << rows->radix_bits; p++) {
        count += rows->parts[p].row_count;
    }
    return count;
}

void radix_reader_init(struct radix_reader *reader, const struct radix_rows *const *workers,
                       uint32_t worker_count, uint32_t radix_bits, uint32_t partition)
{
    *reader = (struct radix_reader){.workers = workers,
                                    .worker_count = worker_count,
                                    .radix_bits = radix_bits,
                                    .partition = partition};
}

void radix_reader_rewind(struct radix_reader *reader)
{
    reader->worker = 0;
    reader->part = 0;
    reader->chunk = NULL;
    reader->in_list = false;
}

/* The list the reader stands in, or NULL behind the last of this worker. */
static const struct row_list *reader_list(const struct radix_reader *reader)
{
    const struct radix_rows *rows = reader->workers[reader->worker];

    if (rows->parts == NULL) {
        return reader->part == 0 ? &rows->plain : NULL;
    }
    if (reader->radix_bits != 0) {
        assert(reader->radix_bits == rows->radix_bits);
        return reader->part == 0 ? &rows->parts[reader->partition] : NULL;
    }
    return reader->part < UINT32_C(1) << rows->radix_bits ? &rows->parts[reader->part] : NULL;
}

bool radix_reader_next(struct radix_reader *reader, struct radix_run *run_out)
{
    while (reader->worker < reader->worker_count) {
        const struct row_list *list = reader_list(reader);
        if (list == NULL) {
            reader->worker++;
            reader->part = 0;
            continue;
        }
        reader->chunk = reader->in_list ? reader->chunk->next : list->first;
        reader->in_list = reader->chunk != NULL;
        if (reader->chunk == NULL) {
            reader->part++;
            continue;
        }
        *run_out = (struct radix_run){
            .rows = reader->chunk->rows,
            .row_count = reader->chunk->row_count,
            .foreign = reader->radix_bits != 0 && reader->workers[reader->worker]->parts == NULL,
        };
        return true;
    }
    return false;
}
