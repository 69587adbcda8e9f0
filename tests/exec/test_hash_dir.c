/* Goal:   the join directory finds, for every hash, exactly the rows that have it: whatever falls
 * into one slot, however large the slot, however small the steps it is built in, partitioned or
 *         not; and it says truly whether keys are unique and how long the longest run is.
 * Method: rows with hashes made by hand (several to a slot, one of them hot) go through radix_rows
 * and hash_dir; every hash, and others, are looked up and the rows counted. */
#include "hash/hash_bits.h"
#include "hash/hash_dir.h"
#include "hash/radix_rows.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ROWS_MAX = 60000 };

struct fixture {
    struct nu_topology topology;
    struct nu_page_pool *pool;
    struct nu_budget budget;
    struct nu_arena arena;
    struct row_layout layout;
    struct radix_rows rows;
    struct hash_dirs dirs;
    uint64_t hashes[ROWS_MAX];
    uint32_t row_count;
};

static void init(struct fixture *fixture)
{
    const struct exec_type type = {.kind = EXEC_TYPE_INT64};
    char why[256];

    memset(fixture, 0, sizeof *fixture);
    cr_assert_eq(nu_topology_read(&fixture->topology, NULL, why, sizeof why), 0);
    cr_assert_eq(nu_page_pool_create(&fixture->topology, 0, &fixture->pool), 0);
    nu_budget_init(&fixture->budget, "test", UINT64_MAX, NULL);
    nu_arena_init(&fixture->arena, fixture->pool, 0, &fixture->budget);
    cr_assert(row_layout_init(&fixture->layout, &fixture->arena, &type, 1, sizeof(uint64_t)));
    radix_rows_init(&fixture->rows, &fixture->arena, fixture->layout.row_bytes, 6);
}

static void fini(struct fixture *fixture)
{
    nu_arena_destroy(&fixture->arena);
    nu_page_pool_destroy(fixture->pool);
}

static void add(struct fixture *fixture, uint64_t hash, int64_t key)
{
    const uint16_t position = 0;
    const struct vec vec = {.data = &key, .kind = EXEC_TYPE_INT64};
    const struct batch batch = {.row_count = 1, .sel_count = 1};
    unsigned char *row;

    cr_assert(radix_rows_reserve(&fixture->rows, &hash, &position, 1, &row));
    cr_assert(row_scatter(&fixture->layout, 0, 1, &batch, &vec, &position, 1, &row, true,
                          &fixture->arena));
    fixture->hashes[fixture->row_count++] = hash;
}

static void build(struct fixture *fixture, uint32_t radix_bits, uint64_t step_rows)
{
    const struct radix_rows *const workers[] = {&fixture->rows};
    const uint32_t partitions = UINT32_C(1) << radix_bits;
    uint64_t total = 0;

    fixture->dirs.radix_bits = radix_bits;
    fixture->dirs.parts =
        nu_arena_calloc(&fixture->arena, partitions * sizeof(struct hash_dir), 64);
    for (uint32_t p = 0; p < partitions; p++) {
        struct radix_reader reader;
        struct hash_dir_build dir_build;
        radix_reader_init(&reader, workers, 1, radix_bits, p);
        const uint64_t rows = hash_dir_count_rows(&reader, fixture->layout.row_bytes);
        total += rows;
        cr_assert(hash_dir_begin(&dir_build, &fixture->dirs.parts[p], &fixture->layout, 1, &reader,
                                 rows, &fixture->arena));
        while (!hash_dir_step(&dir_build, step_rows)) {
        }
    }
    cr_assert_eq(total, fixture->row_count);
}

static uint64_t found(const struct fixture *fixture, uint64_t hash)
{
    const uint16_t position = 0;
    unsigned char *run;
    uint64_t count;

    hash_dirs_lookup(&fixture->dirs, &hash, &position, 1, &run, &count);
    for (uint64_t i = 0; i < count; i++) {
        cr_assert_eq(row_hash(run + i * fixture->layout.row_bytes), hash);
    }
    return count;
}

static int hash_order(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void check(struct fixture *fixture)
{
    uint64_t run_max = 0;

    qsort(fixture->hashes, fixture->row_count, sizeof(uint64_t), hash_order);
    for (uint32_t begin = 0; begin < fixture->row_count;) {
        const uint64_t hash = fixture->hashes[begin];
        uint32_t end = begin + 1;
        while (end < fixture->row_count && fixture->hashes[end] == hash) {
            end++;
        }
        cr_assert_eq(found(fixture, hash), end - begin, "%lx", (unsigned long)hash);
        const bool next_is_absent = end == fixture->row_count || fixture->hashes[end] != hash + 1;
        cr_assert(!next_is_absent || found(fixture, hash + 1) == 0);
        run_max = end - begin > run_max ? end - begin : run_max;
        begin = end;
    }
    uint64_t seen = 0;
    for (uint32_t p = 0; p < UINT32_C(1) << fixture->dirs.radix_bits; p++) {
        const struct hash_dir *dir = &fixture->dirs.parts[p];
        seen = dir->run_max > seen ? dir->run_max : seen;
    }
    cr_assert_eq(seen, run_max);
}

static const uint64_t steps[] = {1, 1000, UINT64_MAX};

Test(hash_dir, a_few_rows)
{
    for (uint32_t s = 0; s < 3; s++) {
        for (uint32_t rows = 0; rows < 20; rows++) {
            static struct fixture fixture;
            init(&fixture);
            for (uint32_t r = 0; r < rows; r++) {
                add(&fixture, (uint64_t)r / 2 * UINT64_C(0x9e3779b97f4a7c15), r);
            }
            build(&fixture, 0, steps[s]);
            check(&fixture);
            cr_assert(fixture.dirs.parts[0].unique, "equal hashes, different keys");
            fini(&fixture);
        }
    }
}

/* One slot holds 40,000 rows of a hot hash, which go through the stepwise partition, and hashes
 * around it; the slots beside it hold several hashes each. */
static void fill_hot(struct fixture *fixture)
{
    const uint64_t hot = UINT64_C(0xabcd000000000000) + 500;

    for (uint32_t r = 0; r < 50000; r++) {
        const uint64_t near = UINT64_C(0xabcd000000000000) + r % 1000;
        const uint64_t other = (uint64_t)r * UINT64_C(0x9e3779b97f4a7c15);
        add(fixture, r % 5 != 0 ? hot : r % 10 == 0 ? near : other, r % 7);
    }
}

Test(hash_dir, a_hot_slot_is_ordered_in_steps)
{
    for (uint32_t radix_bits = 0; radix_bits <= 6; radix_bits += 6) {
        for (uint32_t s = 0; s < 3; s++) {
            static struct fixture fixture;
            init(&fixture);
            fill_hot(&fixture);
            build(&fixture, radix_bits, steps[s]);
            check(&fixture);
            const uint32_t p = hash_partition(UINT64_C(0xabcd000000000000), radix_bits);
            cr_assert_not(fixture.dirs.parts[p].unique);
            fini(&fixture);
        }
    }
}

Test(hash_dir, unsplit_rows_are_told_apart)
{
    static struct fixture fixture;
    init(&fixture);
    for (uint32_t r = 0; r < 3000; r++) { /* below RADIX_PLAIN_ROWS: one list for all partitions */
        add(&fixture, (uint64_t)r * UINT64_C(0x9e3779b97f4a7c15), r);
    }
    build(&fixture, 6, UINT64_MAX);
    check(&fixture);
    fini(&fixture);
}

Test(hash_dir, duplicate_keys_are_seen)
{
    static struct fixture fixture;
    init(&fixture);
    add(&fixture, 1, 5);
    add(&fixture, 1, 5);
    build(&fixture, 0, 1);
    cr_assert_not(fixture.dirs.parts[0].unique);
    fini(&fixture);
}
