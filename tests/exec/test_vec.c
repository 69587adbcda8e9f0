/* Goal:   the bitmap and vec helpers do what their headers say at word borders and in every form.
 * Method: random ranges against a loop over single bits; gather, flatten, copy and compact of
 * random columns of every type against the source value by value. */
#include "vec/bitmap.h"
#include "vec/vec.h"

#include "random_vec.h"

static struct arena_fixture fixture;

static void init(void)
{
    arena_fixture_init(&fixture, UINT64_MAX);
}
static void fini(void)
{
    arena_fixture_fini(&fixture);
}
TestSuite(vec, .init = init, .fini = fini);

Test(vec, bitmap_ranges)
{
    enum { BITS = 300 };
    uint64_t state = 7;
    for (int n = 0; n < 2000; n++) {
        uint64_t bits[5];
        uint64_t before[5];
        uint64_t slice[5];
        for (int w = 0; w < 5; w++) {
            before[w] = bits[w] = test_random(&state);
        }
        const uint64_t first = test_random(&state) % BITS;
        const uint64_t count = test_random(&state) % (BITS - first + 1);
        const bool value = n % 2;
        uint64_t ones = 0;
        for (uint64_t b = first; b < first + count; b++) {
            ones += bitmap_get(bits, (uint32_t)b);
        }
        cr_assert_eq(bitmap_count(bits, first, count), ones);
        bitmap_slice(slice, bits, first, count);
        for (uint64_t b = 0; b < count; b++) {
            cr_assert_eq(bitmap_get(slice, (uint32_t)b), bitmap_get(bits, (uint32_t)(first + b)));
        }
        if (count % 64 != 0) {
            cr_assert_eq(slice[count / 64] >> count % 64, 0);
        }
        bitmap_set_range(bits, first, count, value);
        for (uint64_t b = 0; b < 320; b++) {
            const bool inside = b >= first && b < first + count;
            cr_assert_eq(bitmap_get(bits, (uint32_t)b),
                         inside ? value : bitmap_get(before, (uint32_t)b));
        }
    }
}

static bool same_bytes(const struct vec *a, uint32_t a_row, const struct vec *b, uint32_t b_row)
{
    const size_t width = exec_type_width(a->kind);
    return vec_is_valid(a, a_row) == vec_is_valid(b, b_row) &&
           memcmp((const char *)a->data + (a->constant ? 0 : a_row) * width,
                  (const char *)b->data + (b->constant ? 0 : b_row) * width, width) == 0;
}

Test(vec, moves_of_every_type)
{
    enum { ROWS = 200 };
    uint64_t state = 11;
    for (int n = 0; n < 20; n++) {
        for (uint8_t kind = EXEC_TYPE_BOOL; kind < EXEC_TYPE_COUNT; kind++) {
            struct vec in = random_vec(&state, kind, ROWS, n % 2 * 30, true, &fixture.arena);
            uint16_t sel[ROWS];
            const uint32_t count = random_sel(&state, ROWS, 50, sel);
            struct vec flat;
            struct vec dense;
            struct vec copy;
            void *data;

            cr_assert(vec_flatten(&in, ROWS, &fixture.arena, &flat));
            cr_assert(!flat.constant);
            cr_assert(vec_gather(&in, sel, count, &fixture.arena, &dense));
            cr_assert(vec_alloc(kind, ROWS, &fixture.arena, &copy, &data));
            vec_copy_rows(&in, sel, count, data);
            copy.valid = flat.valid;
            const struct batch batch = {.row_count = ROWS,
                                        .sel_count = count,
                                        .sel = sel,
                                        .columns = &in,
                                        .column_count = 1};
            struct batch compact;
            cr_assert(batch_compact(&batch, &fixture.arena, &compact));
            cr_assert(compact.sel == NULL && compact.row_count == count);
            for (uint32_t i = 0; i < count; i++) {
                cr_assert(same_bytes(&in, sel[i], &flat, sel[i]));
                cr_assert(same_bytes(&in, sel[i], &dense, i));
                cr_assert(same_bytes(&in, sel[i], &copy, sel[i]));
                cr_assert(same_bytes(&in, sel[i], &compact.columns[0], i));
            }
        }
    }
}

Test(vec, null_is_null_everywhere)
{
    for (uint8_t kind = EXEC_TYPE_BOOL; kind < EXEC_TYPE_COUNT; kind++) {
        const struct vec null = vec_null(kind);
        cr_assert(null.constant && !vec_is_valid(&null, 77));
    }
}
