#ifndef EXEC_HASH_RADIX_ROWS_H
#define EXEC_HASH_RADIX_ROWS_H

#include "hash/row_list.h"

/* Rows of one worker on their way to radix partitions. The first RADIX_PLAIN_ROWS stay in one list,
 * so that a small input pays for no partitions; then they are dealt out and later rows go straight
 * to their partition. A row starts with its 64-bit hash. */
enum { RADIX_PLAIN_ROWS = 4096 };

struct radix_rows {
    struct nu_arena *arena; /* rows live here */
    uint32_t row_bytes;
    uint32_t radix_bits;
    struct row_list plain;  /* until split */
    struct row_list *parts; /* NULL until split; 1 << radix_bits lists */
};

void radix_rows_init(struct radix_rows *rows, struct nu_arena *arena, uint32_t row_bytes,
                     uint32_t radix_bits);

/* Room for `count` rows (at most BATCH_ROWS): rows_out[i] belongs to hashes[positions[i]], which is
 * written into its first 8 bytes; the rest is uninitialised. false: out of memory. */
bool radix_rows_reserve(struct radix_rows *rows, const uint64_t *hashes, const uint16_t *positions,
                        uint32_t count, unsigned char **rows_out);

uint64_t radix_rows_count(const struct radix_rows *rows);

/* Reads the rows of one partition out of every worker's radix_rows, in worker order. With
 * `radix_bits` 0 the partition is everything. Runs may hold rows of other partitions where a
 * worker has not split: then `foreign` is set and the reader looks at each hash. */
struct radix_reader {
    const struct radix_rows *const *workers;
    uint32_t worker_count;
    uint32_t radix_bits;
    uint32_t partition;
    /* Where it stands. */
    uint32_t worker;
    uint32_t part;
    const struct row_chunk *chunk;
    bool in_list;
};

struct radix_run {
    const unsigned char *rows;
    uint32_t row_count;
    bool foreign;
};

void radix_reader_init(struct radix_reader *reader, const struct radix_rows *const *workers,
                       uint32_t worker_count, uint32_t radix_bits, uint32_t partition);
void radix_reader_rewind(struct radix_reader *reader);
bool radix_reader_next(struct radix_reader *reader, struct radix_run *run_out);

static inline uint64_t row_hash(const unsigned char *row)
{
    return *(const uint64_t *)(const void *)row;
}

#endif
