/* Goal:   rows give back what was scattered into them, for every type, with nulls, constants,
 *         selections and positions; row_match, row_equal and row_compare agree with a comparison
 *         written out type by type; the layout wastes no more than its alignment needs.
 * Method: seeded random columns of all types (tests/exec/random_vec.h), 40 rounds of random shapes,
 *         each answer compared with a row-at-a-time twin below. */
#include "hash/row_layout.h"

#include "random_vec.h"

enum { COLUMNS = EXEC_TYPE_COUNT - 1, ROWS = 300, PREFIX = 12 };

static struct arena_fixture fixture;

static void init(void)
{
    arena_fixture_init(&fixture, UINT64_MAX);
}
static void fini(void)
{
    arena_fixture_fini(&fixture);
}
TestSuite(row_layout, .init = init, .fini = fini);

/* ---- the twin
 * --------------------------------------------------------------------------------------- */

static const unsigned char *value_at(const struct vec *vec, uint32_t row)
{
    return (const unsigned char *)vec->data +
           (vec->constant ? 0 : row) * exec_type_width(vec->kind);
}

static int twin_compare_float(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return (isnan(a) != 0) - (isnan(b) != 0);
    }
    return a < b ? -1 : a > b;
}

static int twin_compare_bytes(const struct string_view *a, const struct string_view *b)
{
    for (uint32_t i = 0; i < a->size && i < b->size; i++) {
        const unsigned char x = (unsigned char)string_view_bytes(a)[i];
        const unsigned char y = (unsigned char)string_view_bytes(b)[i];
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return a->size < b->size ? -1 : a->size > b->size;
}

static __int128 twin_integer(uint8_t kind, const void *at)
{
    const size_t width = exec_type_width(kind);
    const bool is_unsigned =
        kind == EXEC_TYPE_BOOL || (kind >= EXEC_TYPE_UINT8 && kind <= EXEC_TYPE_UINT64);
    unsigned __int128 bits = 0;
    memcpy(&bits, at, width);
    if (!is_unsigned && width < 16 && bits >> (width * 8 - 1) != 0) {
        bits |= ~(unsigned __int128)0 << (width * 8);
    }
    return (__int128)bits;
}

static int twin_compare(uint8_t kind, const void *a, const void *b)
{
    if (kind == EXEC_TYPE_FLOAT64) {
        double x;
        double y;
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        return twin_compare_float(x, y);
    }
    if (kind == EXEC_TYPE_FLOAT32) {
        float x;
        float y;
        memcpy(&x, a, 4);
        memcpy(&y, b, 4);
        return twin_compare_float((double)x, (double)y);
    }
    if (kind == EXEC_TYPE_UTF8 || kind == EXEC_TYPE_BINARY) {
        return twin_compare_bytes(a, b);
    }
    const __int128 x = twin_integer(kind, a);
    const __int128 y = twin_integer(kind, b);
    return x < y ? -1 : x > y;
}

static bool twin_equal(const struct vec *a, uint32_t a_row, const struct vec *b, uint32_t b_row)
{
    const bool a_valid = vec_is_valid(a, a_row);
    if (a_valid != vec_is_valid(b, b_row)) {
        return false;
    }
    return !a_valid || twin_compare(a->kind, value_at(a, a_row), value_at(b, b_row)) == 0;
}

/* ---- random rounds
 * ------------------------------------------------------------------------------------ */

struct round {
    struct exec_type types[COLUMNS];
    struct vec vecs[COLUMNS];
    struct batch batch;
    uint16_t sel[ROWS];
    uint16_t positions[ROWS];
    uint32_t position_count;
    struct row_layout layout;
    unsigned char *rows[ROWS];
};

static void make_round(struct round *round, uint64_t *state, bool canonical)
{
    struct nu_arena *arena = &fixture.arena;
    const uint32_t nulls = (uint32_t)(test_random(state) % 3 * 20);

    round->batch = (struct batch){.row_count = ROWS, .sel_count = ROWS};
    if (test_random(state) % 2 != 0) {
        round->batch.sel_count = random_sel(state, ROWS, 60, round->sel);
        round->batch.sel = round->sel;
    }
    for (uint8_t c = 0; c < COLUMNS; c++) {
        round->types[c] = (struct exec_type){.kind = (uint8_t)(c + 1)};
        round->vecs[c] = random_vec(state, (uint8_t)(c + 1), ROWS, nulls, true, arena);
    }
    round->position_count = random_sel(state, round->batch.sel_count, 70, round->positions);
    cr_assert(row_layout_init(&round->layout, arena, round->types, COLUMNS, PREFIX));
    for (uint32_t i = 0; i < round->position_count; i++) {
        round->rows[i] = nu_arena_alloc(arena, round->layout.row_bytes, 16);
        memset(round->rows[i], 0xa5, round->layout.row_bytes);
    }
    /* In two calls, as a group-by writes keys first and the rest later. */
    cr_assert(row_scatter(&round->layout, 0, 5, &round->batch, round->vecs, round->positions,
                          round->position_count, round->rows, canonical, arena));
    cr_assert(row_scatter(&round->layout, 5, COLUMNS - 5, &round->batch, round->vecs + 5,
                          round->positions, round->position_count, round->rows, canonical, arena));
}

static void check_gather(struct round *round)
{
    for (uint32_t c = 0; c < COLUMNS; c++) {
        struct vec out;
        cr_assert(row_gather(&round->layout, c, round->rows, round->position_count,
                             &fixture.scratch, &out));
        for (uint32_t i = 0; i < round->position_count; i++) {
            const uint32_t row = batch_row(&round->batch, round->positions[i]);
            cr_assert(twin_equal(&out, i, &round->vecs[c], row), "column %u row %u", c, row);
            if (!vec_is_valid(&out, i)) {
                const unsigned char zero[16] = {0};
                cr_assert_eq(memcmp(value_at(&out, i), zero, exec_type_width(out.kind)), 0);
            }
        }
    }
    for (uint32_t i = 0; i < round->position_count; i++) {
        for (int b = 0; b < PREFIX; b++) {
            cr_assert_eq(round->rows[i][b], 0xa5, "the prefix is the owner's");
        }
    }
}

static void check_match(struct round *round, uint64_t *state)
{
    uint16_t candidates[ROWS];
    unsigned char *rows[ROWS];
    uint16_t match[ROWS];
    uint16_t rest[ROWS];
    const uint32_t first = (uint32_t)(test_random(state) % COLUMNS);
    const uint32_t count = 1 + (uint32_t)(test_random(state) % 2) * (first + 1 < COLUMNS);
    uint32_t matches = 0;
    uint32_t rests = 0;

    for (uint32_t i = 0; i < ROWS; i++) {
        candidates[i] = (uint16_t)(test_random(state) % round->batch.sel_count);
        rows[i] = round->rows[test_random(state) % round->position_count];
    }
    const uint32_t found = row_match(&round->layout, first, count, &round->batch,
                                     round->vecs + first, candidates, ROWS, rows, match, rest);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t stored = 0;
        bool same = true;
        while (round->rows[stored] != rows[i]) {
            stored++;
        }
        for (uint32_t c = first; c < first + count; c++) {
            same &= twin_equal(&round->vecs[c], batch_row(&round->batch, candidates[i]),
                               &round->vecs[c], batch_row(&round->batch, round->positions[stored]));
        }
        if (same) {
            cr_assert_eq(match[matches++], i);
        } else {
            cr_assert_eq(rest[rests++], i);
        }
    }
    cr_assert_eq(found, matches);
    cr_assert_eq(row_match(&round->layout, first, count, &round->batch, round->vecs + first,
                           candidates, ROWS, rows, NULL, NULL),
                 matches);
}

static void check_pairs(struct round *round, uint64_t *state)
{
    for (int n = 0; n < 200; n++) {
        const uint32_t i = (uint32_t)(test_random(state) % round->position_count);
        const uint32_t j = (uint32_t)(test_random(state) % round->position_count);
        const uint32_t x = batch_row(&round->batch, round->positions[i]);
        const uint32_t y = batch_row(&round->batch, round->positions[j]);
        for (uint32_t c = 0; c < COLUMNS; c++) {
            const struct vec *vec = &round->vecs[c];
            const bool same = twin_equal(vec, x, vec, y);
            const int order = row_compare(&round->layout, c, round->rows[i], round->rows[j]);
            cr_assert_eq(row_equal(&round->layout, c, 1, round->rows[i], round->rows[j]), same);
            cr_assert_eq(order == 0, same);
            if (vec_is_valid(vec, x) && vec_is_valid(vec, y)) {
                const int twin = twin_compare(vec->kind, value_at(vec, x), value_at(vec, y));
                cr_assert_eq((order > 0) - (order < 0), twin);
            } else if (!same) {
                cr_assert_eq(order > 0, !vec_is_valid(vec, x), "nulls come last");
            }
        }
    }
}

Test(row_layout, random_rows_of_every_type)
{
    uint64_t state = 42;
    static struct round round;

    for (int n = 0; n < 40; n++) {
        make_round(&round, &state, n % 2 == 0);
        check_gather(&round);
        check_match(&round, &state);
        check_pairs(&round, &state);
        nu_arena_reset(&fixture.scratch);
    }
}

Test(row_layout, strings_are_copied)
{
    char text[] = "longer than twelve bytes";
    const struct string_view view = string_view_make(text, sizeof text - 1);
    const struct vec vec = {.data = &view, .kind = EXEC_TYPE_UTF8};
    const struct batch batch = {.row_count = 1, .sel_count = 1};
    const struct exec_type type = {.kind = EXEC_TYPE_UTF8};
    struct row_layout layout;
    struct vec out;

    cr_assert(row_layout_init(&layout, &fixture.arena, &type, 1, 0));
    cr_assert(layout.has_strings);
    unsigned char *row = nu_arena_alloc(&fixture.arena, layout.row_bytes, 8);
    cr_assert(row_scatter(&layout, 0, 1, &batch, &vec, NULL, 1, &row, false, &fixture.arena));
    memset(text, 'x', sizeof text - 1);
    cr_assert(row_gather(&layout, 0, &row, 1, &fixture.scratch, &out));
    const struct string_view *stored = out.data;
    cr_assert_eq(memcmp(string_view_bytes(stored), "longer than twelve bytes", 24), 0);
}

Test(row_layout, canonical_floats)
{
    const double values[] = {-0.0, -NAN, 1.5};
    const struct vec vec = {.data = values, .kind = EXEC_TYPE_FLOAT64};
    const struct batch batch = {.row_count = 3, .sel_count = 3};
    const struct exec_type type = {.kind = EXEC_TYPE_FLOAT64};
    struct row_layout layout;
    unsigned char *rows[3];
    uint64_t bits[3];

    cr_assert(row_layout_init(&layout, &fixture.arena, &type, 1, 0));
    for (int canonical = 0; canonical < 2; canonical++) {
        for (int i = 0; i < 3; i++) {
            rows[i] = nu_arena_calloc(&fixture.arena, layout.row_bytes, 8);
        }
        cr_assert(row_scatter(&layout, 0, 1, &batch, &vec, NULL, 3, rows, canonical != 0, NULL));
        for (int i = 0; i < 3; i++) {
            memcpy(&bits[i], rows[i] + layout.columns[0].offset, 8);
        }
        cr_assert_eq(bits[0], canonical ? 0 : UINT64_C(1) << 63);
        cr_assert_eq(bits[1] == UINT64_C(0x7ff8000000000000), canonical != 0);
    }
}

Test(row_layout, null_row_pointers_gather_as_nulls)
{
    const int32_t values[] = {7};
    const struct vec vec = {.data = values, .kind = EXEC_TYPE_INT32};
    const struct batch batch = {.row_count = 1, .sel_count = 1};
    const struct exec_type type = {.kind = EXEC_TYPE_INT32};
    struct row_layout layout;
    unsigned char *rows[2] = {NULL, NULL};
    struct vec out;

    cr_assert(row_layout_init(&layout, &fixture.arena, &type, 1, 8));
    rows[1] = nu_arena_calloc(&fixture.arena, layout.row_bytes, 8);
    cr_assert(row_scatter(&layout, 0, 1, &batch, &vec, NULL, 1, &rows[1], false, NULL));
    cr_assert(row_gather(&layout, 0, rows, 2, &fixture.scratch, &out));
    cr_assert(!vec_is_valid(&out, 0));
    cr_assert(vec_is_valid(&out, 1));
    cr_assert_eq(((const int32_t *)out.data)[1], 7);
}

Test(row_layout, narrow_columns_fill_the_gap)
{
    const struct exec_type types[] = {
        {.kind = EXEC_TYPE_INT64}, {.kind = EXEC_TYPE_INT32}, {.kind = EXEC_TYPE_BOOL}};
    struct row_layout layout;

    cr_assert(row_layout_init(&layout, &fixture.arena, types, 3, 8));
    cr_assert_eq(layout.row_bytes, 24);
    cr_assert_eq(layout.columns[0].offset, 16);
    cr_assert_eq(layout.columns[1].offset, 12);
    cr_assert_eq(layout.columns[2].offset, 9);
    cr_assert(row_layout_init(&layout, &fixture.arena, NULL, 0, 8));
    cr_assert_eq(layout.row_bytes, 8);
}

Test(row_layout, a_refused_budget_is_an_answer)
{
    const struct exec_type type = {.kind = EXEC_TYPE_INT32};
    struct arena_fixture small;
    struct row_layout layout;

    arena_fixture_init(&small, 0);
    cr_assert_not(row_layout_init(&layout, &small.arena, &type, 1, 0));
    arena_fixture_fini(&small);
}
