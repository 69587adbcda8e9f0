#ifndef EXEC_HASH_HASH_DIR_H
#define EXEC_HASH_HASH_DIR_H

#include "hash/hash_bits.h"
#include "hash/radix_rows.h"
#include "hash/row_layout.h"

/* The join directory of one radix partition: an unchained table (Birler, Schmidt, Fent, Neumann,
 * "Simple, Efficient, and Robust Hash Tables for Join Processing", DaMoN 2024). The rows of a slot
 * lie side by side; a slot holds where they end and a 16-bit Bloom filter of their tags:
 *
 *   slots: | 0 | end << 16 | tags | ... |      rows: | slot 0 .. | slot 1 .. | ...
 *
 * so a miss costs one cache line and a hit two. One worker builds a partition alone, in memory of
 * its node; afterwards it is read-only. Inside a slot rows are ordered by hash, so that a probe
 * finds its run by bisection even where a hot key fills the slot with millions of rows. References
 * are row numbers: nothing in it depends on where it lies, but for the strings of the rows.
 *
 * Rows start with their hash (row_hash). */
struct hash_dir {
    uint64_t *slots; /* slots[0] is the end of "slot -1"; slot s is slots[s + 1] */
    unsigned char *rows;
    uint64_t row_count;
    uint64_t run_max; /* longest run of rows with one hash */
    uint32_t row_bytes;
    uint8_t slot_bits;
    uint8_t radix_bits;
    bool unique; /* no two rows have equal keys; false also where nobody looked */
};

/* Four bits (at most) of 16, chosen by the tag. */
static inline uint64_t hash_dir_tag_bits(uint16_t tag)
{
    return UINT64_C(1) << (tag & 15) | UINT64_C(1) << (tag >> 4 & 15) |
           UINT64_C(1) << (tag >> 8 & 15) | UINT64_C(1) << (tag >> 12);
}

static inline uint64_t hash_dir_slot(const struct hash_dir *dir, uint64_t hash)
{
    return hash_slot(hash << dir->radix_bits, dir->slot_bits);
}

/* Building is cut into steps, so that a large partition does not hold a worker. Passes over the
 * rows: count slots, place rows; over the slots: clear, add up, order and judge. */
enum hash_dir_pass { DIR_CLEAR, DIR_COUNT, DIR_SUM, DIR_PLACE, DIR_ORDER, DIR_DONE };

struct hash_dir_build {
    struct hash_dir *dir;
    const struct row_layout *layout;
    uint32_t key_count; /* columns 0..key_count-1 are the key */
    struct radix_reader reader;
    enum hash_dir_pass pass;
    uint64_t position; /* slot, in passes over slots */
    uint64_t sum;
    struct { /* a partition of a large slot that is under way */
        bool on;
        uint64_t pivot, low, at, high;
    } flag;
};

/* `reader` is at its start and yields `row_count` rows of the partition. Memory comes from `arena`,
 * here, and nothing later. false: out of memory. */
bool hash_dir_begin(struct hash_dir_build *build, struct hash_dir *dir,
                    const struct row_layout *layout, uint32_t key_count,
                    const struct radix_reader *reader, uint64_t row_count, struct nu_arena *arena);

/* About `rows` rows or slots of work; true when the directory is complete. */
bool hash_dir_step(struct hash_dir_build *build, uint64_t rows);

/* Rows of the reader's partition; for hash_dir_begin. Reads every foreign row. */
uint64_t hash_dir_count_rows(const struct radix_reader *at_start, uint32_t row_bytes);

/* Directories of all partitions, by the top radix_bits of the hash. */
struct hash_dirs {
    struct hash_dir *parts;
    uint32_t radix_bits;
    bool prefetch; /* larger than the near caches: worth the extra instructions */
};

/* Runs of build rows with the hash of each probe row: for positions[i] = p, run_rows[p] is the
 * first and run_counts[p] how many follow each other; 0: none. Equal hashes are not yet equal keys.
 */
void hash_dirs_lookup(const struct hash_dirs *dirs, const uint64_t *hashes,
                      const uint16_t *positions, uint32_t count, unsigned char **run_rows,
                      uint64_t *run_counts);

/* Where the hash is the key (hash_is_exact) and no two rows have the same one: the positions with a
 * build row, in order, and their rows; returns how many. Both have room for `count`, at most
 * BATCH_ROWS. */
uint32_t hash_dirs_find(const struct hash_dirs *dirs, const uint64_t *hashes,
                        const uint16_t *positions, uint32_t count, uint16_t *positions_out,
                        unsigned char **rows_out);

/* The same in one directory that lies in a near cache, for hashes of its partition alone; positions
 * are 0 to count - 1. */
uint32_t hash_dir_find(const struct hash_dir *dir, const uint64_t *hashes, uint32_t count,
                       uint16_t *positions_out, unsigned char **rows_out);

#endif
