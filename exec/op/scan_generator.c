#include "op/scan_generator.h"

#include "op/job_context.h"
#include "vec/string_view.h"

#include <math.h>
#include <string.h>

enum { COLUMN_I, COLUMN_V, COLUMN_F, COLUMN_S, COLUMN_K, COLUMN_COUNT };

#define ZIPF_KEYS 1e6

static const struct exec_field generator_fields[COLUMN_COUNT] = {
    [COLUMN_I] = {"i", {.kind = EXEC_TYPE_INT64}, true},
    [COLUMN_V] = {"v", {.kind = EXEC_TYPE_INT64}, true},
    [COLUMN_F] = {"f", {.kind = EXEC_TYPE_FLOAT64}, true},
    [COLUMN_S] = {"s", {.kind = EXEC_TYPE_UTF8}, true},
    [COLUMN_K] = {"k", {.kind = EXEC_TYPE_INT64}, true},
};
static const struct exec_schema sequence_schema = {generator_fields, COLUMN_K};
static const struct exec_schema skewed_schema = {generator_fields, COLUMN_COUNT};

struct scan_generator {
    struct op_source source; /* first */
    struct job_context *job;
    uint64_t rows, seed;
    const uint32_t *columns;
    uint32_t column_count;
};

const struct exec_schema *scan_generator_schema(const char *name)
{
    return strcmp(name, "sequence") == 0 ? &sequence_schema
           : strcmp(name, "skewed") == 0 ? &skewed_schema
                                         : NULL;
}

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a number per row without a state. */
static uint64_t row_random(uint64_t seed, uint64_t row)
{
    uint64_t z = seed + (row + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in the logarithm: a key's share falls like 1/key. */
static int64_t zipf_key(uint64_t seed, uint64_t row)
{
    const double unit = (double)(row_random(seed, row) >> 11) * 0x1p-53;
    return (int64_t)exp2(unit * log2(ZIPF_KEYS));
}

static void column_fill(const struct scan_generator *generator, uint32_t column, uint64_t first,
                        uint32_t count, void *data)
{
    int64_t *numbers = data;
    double *floats = data;
    struct string_view *views = data;

    for (uint32_t r = 0; r < count; r++) {
        const uint64_t row = first + r;
        switch (column) {
            case COLUMN_I: numbers[r] = (int64_t)row; break;
            case COLUMN_V: numbers[r] = (int64_t)(row % 1000); break;
            case COLUMN_F: floats[r] = (double)row * 0.5; break;
            case COLUMN_S: {
                const uint32_t tail = (uint32_t)(row % 100);
                char text[3] = {'s', (char)('0' + tail / 10), (char)('0' + tail % 10)};
                if (tail < 10) {
                    text[1] = text[2];
                }
                views[r] = string_view_make(text, tail < 10 ? 2 : 3);
                break;
            }
            default: numbers[r] = zipf_key(generator->seed, row); break;
        }
    }
}

static enum exec_code generator_start(struct op_source *source, struct pipe *pipe,
                                      struct exec_error *err)
{
    const struct scan_generator *generator = (const struct scan_generator *)source;
    const uint32_t nodes = generator->job->node_count;
    const uint64_t blocks = (generator->rows + BATCH_ROWS - 1) / BATCH_ROWS;

    (void)err;
    source->units_total = generator->rows;
    for (uint32_t node = 0; node < nodes; node++) {
        const uint64_t begin = blocks * node / nodes * BATCH_ROWS;
        const uint64_t end = blocks * (node + 1) / nodes * BATCH_ROWS;
        pipe_add_range(pipe, begin, end < generator->rows ? end : generator->rows, node, false);
    }
    return EXEC_OK;
}

static enum push_result generator_batch(const struct scan_generator *generator,
                                        struct pipe_run *run, uint64_t first, uint32_t count)
{
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    struct vec *columns =
        nu_arena_calloc(run->scratch, (generator->column_count + 1) * sizeof *columns, 64);
    struct batch batch = {
        .row_count = count,
        .sel_count = count,
        .columns = columns,
        .column_count = generator->column_count,
    };
    bool refused = columns == NULL;

    for (uint32_t c = 0; !refused && c < generator->column_count; c++) {
        const struct exec_type *type = &generator_fields[generator->columns[c]].type;
        void *data = nu_arena_alloc(run->scratch, count * exec_type_width(type->kind), 64);
        refused = data == NULL;
        if (!refused) {
            column_fill(generator, generator->columns[c], first, count, data);
            columns[c] = (struct vec){.data = data, .kind = type->kind};
        }
    }
    if (refused) {
        job_fail_memory(run->job, run->scratch, "a generated batch");
        return PUSH_FAILED;
    }
    const enum push_result result = pipe_push_source(run, &batch);
    nu_arena_rewind(run->scratch, mark);
    return result;
}

static enum push_result generator_scan(struct op_source *source, struct pipe_run *run,
                                       struct sched_range *range, uint64_t unit_target)
{
    const struct scan_generator *generator = (const struct scan_generator *)source;
    const uint64_t stop =
        range->end - range->begin > unit_target ? range->begin + unit_target : range->end;

    while (range->begin < stop) {
        /* Batches end at multiples of BATCH_ROWS wherever the range begins. */
        const uint64_t block_end = (range->begin / BATCH_ROWS + 1) * BATCH_ROWS;
        const uint64_t end = block_end < range->end ? block_end : range->end;
        const uint32_t count = (uint32_t)(end - range->begin);
        const enum push_result result = generator_batch(generator, run, range->begin, count);

        if (result == PUSH_SUSPEND || result == PUSH_FAILED) {
            return result;
        }
        run->job->workers[run->worker].rows_scanned += count;
        range->begin += count;
        if (result == PUSH_STOP) {
            return result;
        }
        if (pipe_time_is_up(run)) {
            break;
        }
    }
    return PUSH_MORE;
}

static const struct source_kind generator_kind = {
    .name = "generator",
    .start = generator_start,
    .scan = generator_scan,
    .unit_hint = 16 * BATCH_ROWS,
    .unit_align = BATCH_ROWS,
};

struct op_source *scan_generator_create(struct job_context *job, uint32_t rel, uint64_t rows,
                                        uint64_t seed, const uint32_t *columns,
                                        uint32_t column_count)
{
    struct scan_generator *generator =
        nu_arena_calloc(&job->plan, sizeof *generator, _Alignof(struct scan_generator));

    if (generator == NULL) {
        return NULL;
    }
    generator->source.kind = &generator_kind;
    generator->source.rel = rel;
    generator->job = job;
    generator->rows = rows;
    generator->seed = seed;
    generator->columns = columns;
    generator->column_count = column_count;
    return &generator->source;
}
