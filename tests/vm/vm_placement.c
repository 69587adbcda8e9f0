/* Goal:   on a machine that really has nodes, what the engine says of a page, a worker and a victim
 * is so: pages of tables, file buffers, build partitions and group partitions lie on their owner's
 * node, workers run where they are said to run, far victims cost more, remote work is counted as
 * remote. Method: runs inside a guest with several nodes, on the engine itself. Jobs are stopped by
 * a consumer that gives no credit back, while their tables are alive; the tables' addresses are
 * taken from the operators' own structs, where the pages are from move_pages(2), distances and CPUs
 * from sysfs and /proc, none of it through numa/. Linked with --wrap for scan_span_take and _give,
 * so that the live file buffers are known.
 * Usage:  vm_placement CSV_FILE; prints a line a check, exits 1 when one failed. */
#include "engine.h"
#include "job.h"
#include "job_runner.h"
#include "op/group_state.h"
#include "op/join_state.h"
#include "op/scan_files_set.h"
#include "sched/worker.h"
#include "spec_builder.h"
#include "vm_pages.h"

#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ROWS = 300000,
    GROUPS = 60000,
    SHARE_PERCENT = 95, /* of pages that must be at home */
    PAGES_MIN = 200,    /* fewer would prove little */
    WAIT_ROUNDS = 6000, /* of 10 ms */
    CHUNKS_MAX = 256,
    ATTEMPTS = 20, /* where the host decides which worker comes first */
};

static int faults;

static void expect(bool is_so, const char *fmt, ...) EXEC_PRINTF(2, 3);
static void expect(bool is_so, const char *fmt, ...)
{
    va_list args;

    printf("%s ", is_so ? "ok  " : "FAIL");
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    faults += !is_so;
}

static void expect_home(const struct page_count *count, const char *what)
{
    expect(count->resident >= PAGES_MIN && count->at_home * 100 >= count->resident * SHARE_PERCENT,
           "%s: %" PRIu64 " of %" PRIu64 " pages on their owner's node", what, count->at_home,
           count->resident);
}

static int os_node(const struct exec_engine *engine, unsigned node)
{
    return engine->topology.nodes[node].os_node;
}

/* ---- workers and distances ----------------------------------------------------------------------
 */

static void check_workers(const struct exec_engine *engine)
{
    const uint32_t count = exec_engine_worker_count(engine);
    cpu_set_t allowed;
    cpu_set_t taken;
    uint32_t pinned = 0;

    CPU_ZERO(&taken);
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (uint32_t w = 0; w < count; w++) {
        const struct worker *worker = &engine->sched->workers[w];
        struct exec_worker_info info;
        cpu_set_t is;

        exec_engine_worker_info(engine, w, &info);
        pinned += info.os_cpu >= 0 && CPU_ISSET(info.os_cpu, &allowed) &&
                  pthread_getaffinity_np(worker->thread.handle, sizeof is, &is) == 0 &&
                  CPU_COUNT(&is) == 1 && CPU_ISSET(info.os_cpu, &is) &&
                  sysfs_node_of_cpu(info.os_cpu) == os_node(engine, info.node);
        CPU_SET(info.os_cpu, &taken);
    }
    expect(pinned == count, "%" PRIu32 " of %" PRIu32 " workers are pinned where they say", pinned,
           count);
    expect(CPU_EQUAL(&taken, &allowed), "workers on each of the %d CPUs that are allowed",
           CPU_COUNT(&allowed));
}

/* Every victim's level and price against sysfs. */
static void check_prices(const struct exec_engine *engine)
{
    uint32_t wrong = 0;
    uint32_t pairs = 0;
    uint32_t remote = 0;

    for (uint32_t w = 0; w < engine->worker_count; w++) {
        const struct worker *worker = &engine->sched->workers[w];
        const int home = sysfs_node_of_cpu(worker->thread.os_cpu);
        int farthest = 0;
        uint64_t price_max = 0;

        for (uint32_t v = 0; v < worker->prices.place_count; v++, pairs++) {
            const struct steal_place *place = &worker->prices.places[v];
            const int node = sysfs_node_of_cpu(engine->sched->workers[place->victim].thread.os_cpu);
            const int distance = sysfs_distance(home, node);
            const bool is_remote = node != home;

            remote += is_remote;
            wrong += (place->level == NU_LEVEL_REMOTE) != is_remote;
            /* Victims come nearest first, and further away costs more. */
            wrong += distance < farthest;
            wrong += is_remote && distance > farthest && place->price_ns <= price_max;
            wrong += is_remote && distance == farthest && place->price_ns != price_max;
            farthest = distance;
            price_max = place->price_ns;
        }
    }
    expect(wrong == 0 && remote > 0,
           "levels and prices of %" PRIu32 " victims, %" PRIu32 " of them remote, follow sysfs",
           pairs, remote);
}

/* ---- a job that waits for credit ----------------------------------------------------------------
 */

struct stalled {
    pthread_mutex_t lock;
    struct exec_chunk *chunks[CHUNKS_MAX];
    uint32_t chunk_count;
    bool is_done, is_open;
    struct exec_job *job;
};

static void on_schema(void *owner, struct exec_job *job, const struct exec_schema *schema)
{
    (void)owner;
    (void)job;
    (void)schema;
}

static void on_chunk(void *owner, struct exec_job *job, struct exec_chunk *chunk)
{
    struct stalled *stalled = owner;

    (void)job;
    pthread_mutex_lock(&stalled->lock);
    const bool keep = !stalled->is_open && stalled->chunk_count < CHUNKS_MAX;
    if (keep) {
        stalled->chunks[stalled->chunk_count++] = chunk;
    }
    pthread_mutex_unlock(&stalled->lock);
    if (!keep) {
        exec_chunk_release(chunk);
    }
}

static void on_done(void *owner, struct exec_job *job)
{
    struct stalled *stalled = owner;

    (void)job;
    pthread_mutex_lock(&stalled->lock);
    stalled->is_done = true;
    pthread_mutex_unlock(&stalled->lock);
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static bool is_done(struct stalled *stalled)
{
    pthread_mutex_lock(&stalled->lock);
    const bool done = stalled->is_done;
    pthread_mutex_unlock(&stalled->lock);
    return done;
}

/* Until it waits for credit and nothing has moved for five looks. */
static void stall(struct exec_engine *engine, struct spec_builder *b, struct stalled *stalled)
{
    static const struct exec_job_events events = {on_schema, on_chunk, on_done};
    struct exec_job_status status;
    struct exec_error err;
    uint64_t morsels = 0;
    int still = 0;

    *stalled = (struct stalled){.lock = PTHREAD_MUTEX_INITIALIZER};
    if (exec_submit(engine, spec_job(b), &events, stalled, &stalled->job, &err) != EXEC_OK) {
        printf("FAIL submit: %s\n", err.detail);
        exit(1);
    }
    for (int round = 0; round < WAIT_ROUNDS && still < 5; round++) {
        sleep_ms(10);
        exec_job_status(stalled->job, &status);
        still = status.waiting_for_credit && status.morsels == morsels ? still + 1 : 0;
        morsels = status.morsels;
        if (is_done(stalled)) {
            break;
        }
    }
    expect(still == 5, "the job waits with its tables alive%s%s", is_done(stalled) ? ", but: " : "",
           is_done(stalled) ? exec_job_error(stalled->job)->detail : "");
}

static void let_go(struct stalled *stalled)
{
    pthread_mutex_lock(&stalled->lock);
    stalled->is_open = true;
    pthread_mutex_unlock(&stalled->lock);
    for (uint32_t c = 0; c < stalled->chunk_count; c++) {
        exec_chunk_release(stalled->chunks[c]);
    }
    for (int round = 0; round < WAIT_ROUNDS && !is_done(stalled); round++) {
        sleep_ms(10);
    }
    expect(is_done(stalled) && exec_job_error(stalled->job)->code == EXEC_OK,
           "the job goes on to its end");
    exec_job_release(stalled->job);
}

static void begin(struct spec_builder **b)
{
    *b = malloc(sizeof **b);
    if (*b == NULL) {
        abort();
    }
    spec_init(*b);
}

static void end(struct spec_builder *b)
{
    spec_fini(b);
    free(b);
}

/* ---- tables ------------------------------------------------------------------------------------
 */

/* False: some node has no chunk. */
static bool check_table(struct exec_engine *engine, const char *name)
{
    struct table *table = catalogue_get(engine->catalogue, name);
    struct page_count count = {0};
    uint32_t chunks_on[NU_NODES_MAX] = {0};
    uint32_t nodes_with_chunks = 0;

    if (table == NULL) {
        expect(false, "there is no table %s", name);
        return true;
    }
    for (uint32_t c = 0; c < table->chunk_count; c++) {
        const struct table_chunk *chunk = table->chunks[c];
        chunks_on[chunk->node]++;
        for (uint32_t f = 0; f < table->schema.field_count; f++) {
            const struct table_column *column = &chunk->columns[f];
            const uint32_t width = (uint32_t)exec_type_width(table->schema.fields[f].type.kind);
            pages_count(column->data, (size_t)chunk->row_count * width,
                        os_node(engine, chunk->node), &count);
        }
    }
    for (uint32_t n = 0; n < engine->topology.node_count; n++) {
        nodes_with_chunks += chunks_on[n] > 0;
    }
    expect_home(&count, name);
    printf("     %s: %" PRIu32 " chunks on %" PRIu32 " of %" PRIu32 " nodes\n", name,
           table->chunk_count, nodes_with_chunks, engine->topology.node_count);
    table_unref(table);
    return nodes_with_chunks == engine->topology.node_count;
}

static void make_table(struct exec_engine *engine, const char *name,
                       uint32_t source(struct spec_builder *))
{
    struct spec_builder *b;
    struct job_result result;

    begin(&b);
    source(b);
    b->job.into_table = name;
    b->job.into_replace = true;
    b->job.options.morsel_rows = 16384;
    job_run(engine, spec_job(b), &result);
    expect(result.error.code == EXEC_OK, "table %s is made%s", name, result.error.detail);
    job_result_fini(&result);
    end(b);
}

static uint32_t source_generator(struct spec_builder *b)
{
    return spec_generator(b, "sequence", ROWS, 0);
}

/* One worker at a time makes these rows; they must not end up on its node alone. */
static uint32_t source_sorted(struct spec_builder *b)
{
    const uint32_t sort = spec_sort(b, spec_generator(b, "sequence", ROWS, 0), -1);
    spec_order(b, spec_column(b, "i"), EXEC_ASC_NULLS_LAST);
    return sort;
}

/* On a busy host a node's CPUs may come too late for their share: then once more. */
static void check_tables(struct exec_engine *engine)
{
    bool everywhere = false;

    for (int attempt = 0; attempt < ATTEMPTS && !everywhere; attempt++) {
        make_table(engine, "t", source_generator);
        everywhere = check_table(engine, "t");
    }
    expect(everywhere, "a table made by all workers has chunks on every node");
    make_table(engine, "sorted", source_sorted);
    expect(check_table(engine, "sorted"), "a table made by one worker has chunks on every node");
}

/* ---- join and group ----------------------------------------------------------------------------
 */

static const struct plan_rel *find_rel(const struct exec_job *job, bool wants_join)
{
    const struct plan *plan = atomic_load(&job->running);

    for (uint32_t r = 0; plan != NULL && r < plan->rel_count; r++) {
        if (wants_join ? plan->rels[r].join != NULL : plan->rels[r].group != NULL) {
            return &plan->rels[r];
        }
    }
    printf("FAIL no such relation in the plan\n");
    exit(1);
}

static const struct pipe *find_pipe(const struct exec_job *job, const struct op_source *source)
{
    const struct plan *plan = atomic_load(&job->running);

    for (uint32_t p = 0; p < plan->pipe_count; p++) {
        if (plan->pipes[p]->source == source) {
            return plan->pipes[p];
        }
    }
    printf("FAIL no such pipe in the plan\n");
    exit(1);
}

/* Node of the range a unit was in at the start. */
static int home_of_unit(const struct pipe *pipe, uint64_t unit)
{
    for (uint32_t r = 0; r < pipe->range_count; r++) {
        if (unit >= pipe->ranges[r].begin && unit < pipe->ranges[r].end) {
            return pipe->ranges[r].node;
        }
    }
    return -1;
}

/* Every row with itself, by a key that is no dense run of integers. */
static void make_join(struct spec_builder *b, const char *table)
{
    const uint32_t left = spec_table(b, table);
    const uint32_t right = spec_table(b, table);
    const uint32_t join = spec_join(b, EXEC_JOIN_INNER, left, right);
    const uint32_t wide =
        spec_call2(b, "multiply", spec_column(b, "i"), spec_i64(b, INT64_C(1000003)));

    spec_on(b, wide, wide);
    spec_project(b, join);
    spec_item(b, "a", spec_column_at(b, 1));
    spec_item(b, "b", spec_column_at(b, 6));
}

static void check_join(struct exec_engine *engine, const char *table)
{
    struct spec_builder *b;
    struct stalled stalled;
    struct page_count count = {0};
    uint32_t at_home = 0;

    begin(&b);
    make_join(b, table);
    stall(engine, b, &stalled);
    const struct join *join = find_rel(stalled.job, true)->join;
    const struct pipe *pipe = find_pipe(stalled.job, &join->directory);
    for (uint32_t p = 0; p < join->partition_count; p++) {
        const struct hash_dir *dir = &join->dirs.parts[p];
        const int node = os_node(engine, join->partition_node[p]);
        const size_t slots = (size_t)1 + ((size_t)1 << dir->slot_bits);
        pages_count(dir->slots, slots * sizeof *dir->slots, node, &count);
        pages_count(dir->rows, dir->row_count * dir->row_bytes, node, &count);
        at_home += join->partition_node[p] == home_of_unit(pipe, p);
    }
    expect_home(&count, "build partitions");
    expect(join->build_rows == ROWS && at_home > 0,
           "%" PRIu32 " of %" PRIu32 " build partitions were built where they began", at_home,
           join->partition_count);
    let_go(&stalled);
    end(b);
}

/* The copies of a replicated build side: all partitions on every node. */
static void check_copies(struct exec_engine *engine, const char *table)
{
    struct spec_builder *b;
    struct stalled stalled;
    struct page_count count = {0};

    begin(&b);
    make_join(b, table);
    b->job.options.probe_mode = EXEC_PROBE_REPLICATED;
    stall(engine, b, &stalled);
    const struct join *join = find_rel(stalled.job, true)->join;
    expect(join->replicas.on, "the build side is copied to every node");
    for (uint32_t n = 0; join->replicas.on && n < engine->topology.node_count; n++) {
        for (uint32_t p = 0; p < join->partition_count; p++) {
            const struct hash_dir *dir = &join->replicas.by_node[n].parts[p];
            const size_t slots = (size_t)1 + ((size_t)1 << dir->slot_bits);
            pages_count(dir->slots, slots * sizeof *dir->slots, os_node(engine, n), &count);
            pages_count(dir->rows, dir->row_count * dir->row_bytes, os_node(engine, n), &count);
        }
    }
    expect_home(&count, "copies of build partitions");
    let_go(&stalled);
    end(b);
}

/* Probe rows on their way: with the worker that kept them, to be read where their partition lies.
 */
static void check_routed(struct exec_engine *engine, const char *table)
{
    struct spec_builder *b;
    struct stalled stalled;
    struct page_count count = {0};
    uint64_t rows = 0;

    begin(&b);
    make_join(b, table);
    b->job.options.probe_mode = EXEC_PROBE_ROUTED;
    stall(engine, b, &stalled);
    const struct join *join = find_rel(stalled.job, true)->join;
    const struct pipe *pipe = find_pipe(stalled.job, &join->routing.source);
    uint64_t at_home = 0;
    uint64_t dealt = 0;
    for (uint32_t w = 0; w < engine->worker_count; w++) {
        const struct join_routed_worker *worker = &join->routing.workers[w];
        rows += worker->row_count;
        for (uint32_t p = 0; worker->rows.parts != NULL && p < join->partition_count; p++) {
            const struct row_chunk *chunk = worker->rows.parts[p].first;
            for (; chunk != NULL; chunk = chunk->next) {
                pages_count(chunk->rows, (size_t)chunk->row_count * worker->rows.row_bytes,
                            os_node(engine, engine->worker_node[w]), &count);
            }
        }
    }
    for (uint64_t u = 0; u < join->routing.source.units_total; u++) {
        const struct join_routed_unit *unit = &join->routing.units[u];
        const uint32_t p = hash_partition(row_hash(unit->chunk->rows), join->dirs.radix_bits);
        at_home += join->partition_node[p] == home_of_unit(pipe, u);
        dealt++;
    }
    expect_home(&count, "routed rows");
    expect(rows == ROWS, "%" PRIu64 " probe rows are routed", rows);
    expect(dealt > 0 && at_home * 100 >= dealt * SHARE_PERCENT,
           "%" PRIu64 " of %" PRIu64 " chunks of routed rows are read where their partition lies",
           at_home, dealt);
    let_go(&stalled);
    end(b);
}

static void check_group(struct exec_engine *engine, const char *table)
{
    struct spec_builder *b;
    struct stalled stalled;
    struct page_count count = {0};
    uint32_t at_home = 0;
    uint64_t groups = 0;

    begin(&b);
    const uint32_t scan = spec_table(b, table);
    const uint32_t key = spec_call2(b, "modulo", spec_column(b, "i"), spec_i64(b, GROUPS));
    spec_group(b, scan);
    spec_key(b, "k", key);
    spec_measure(b, EXEC_AGG_SUM, spec_column(b, "i"), "s");
    spec_measure(b, EXEC_AGG_COUNT_STAR, 0, "n");
    stall(engine, b, &stalled);
    const struct group *group = find_rel(stalled.job, false)->group;
    const struct pipe *pipe = find_pipe(stalled.job, &group->source);
    for (uint32_t p = 0; p < UINT32_C(1) << group->merge_bits; p++) {
        const struct group_partition *partition = &group->partitions[p];
        const struct group_table *own = &partition->own;
        const int node = os_node(engine, partition->arena.node);

        at_home += (int)partition->arena.node == home_of_unit(pipe, p);
        if (partition->phase == GROUP_EMITTED) { /* its memory has gone back */
            continue;
        }
        for (const struct row_chunk *chunk = own->rows.first; chunk != NULL; chunk = chunk->next) {
            pages_count(chunk->rows, (size_t)chunk->row_count * own->row_bytes, node, &count);
            groups += chunk->row_count;
        }
        if (own->slots != NULL) {
            pages_count(own->slots, sizeof *own->slots << own->slot_bits, node, &count);
        }
    }
    expect_home(&count, "group partitions");
    expect(group->merge_bits != 0 && at_home == UINT32_C(1) << group->merge_bits && groups > 0,
           "%" PRIu32 " group partitions, %" PRIu32 " of them homed where they are merged",
           UINT32_C(1) << group->merge_bits, at_home);
    let_go(&stalled);
    end(b);
}

/* ---- file buffers ------------------------------------------------------------------------------
 */

enum { SPANS_MAX = 1024 };
static struct {
    pthread_mutex_t lock;
    struct span {
        void *at;
        size_t bytes;
        unsigned node;
    } live[SPANS_MAX];
} spans = {.lock = PTHREAD_MUTEX_INITIALIZER};

void *__real_scan_span_take(struct job_context *job, unsigned node, size_t bytes,
                            const struct nu_budget **refused);
void __real_scan_span_give(struct job_context *job, unsigned node, void *span, size_t bytes);
void *__wrap_scan_span_take(struct job_context *job, unsigned node, size_t bytes,
                            const struct nu_budget **refused);
void __wrap_scan_span_give(struct job_context *job, unsigned node, void *span, size_t bytes);

void *__wrap_scan_span_take(struct job_context *job, unsigned node, size_t bytes,
                            const struct nu_budget **refused)
{
    void *span = __real_scan_span_take(job, node, bytes, refused);

    pthread_mutex_lock(&spans.lock);
    for (uint32_t s = 0; span != NULL && s < SPANS_MAX; s++) {
        if (spans.live[s].at == NULL) {
            spans.live[s] = (struct span){.at = span, .bytes = bytes, .node = node};
            break;
        }
    }
    pthread_mutex_unlock(&spans.lock);
    return span;
}

void __wrap_scan_span_give(struct job_context *job, unsigned node, void *span, size_t bytes)
{
    pthread_mutex_lock(&spans.lock);
    for (uint32_t s = 0; s < SPANS_MAX; s++) {
        if (spans.live[s].at == span) {
            spans.live[s].at = NULL;
        }
    }
    pthread_mutex_unlock(&spans.lock);
    __real_scan_span_give(job, node, span, bytes);
}

/* Adds the file buffers of one stalled scan. */
static void count_buffers(struct exec_engine *engine, const char *path, struct page_count *count,
                          uint64_t *nodes)
{
    struct spec_builder *b;
    struct stalled stalled;

    begin(&b);
    spec_file(b, path);
    stall(engine, b, &stalled);
    pthread_mutex_lock(&spans.lock);
    for (uint32_t s = 0; s < SPANS_MAX; s++) {
        if (spans.live[s].at != NULL) {
            pages_count(spans.live[s].at, spans.live[s].bytes, os_node(engine, spans.live[s].node),
                        count);
            *nodes |= UINT64_C(1) << spans.live[s].node;
        }
    }
    pthread_mutex_unlock(&spans.lock);
    let_go(&stalled);
    end(b);
}

static void check_files(struct exec_engine *engine, const char *path)
{
    struct page_count count = {0};
    uint64_t nodes = 0;
    const uint64_t all = (UINT64_C(1) << engine->topology.node_count) - 1;

    for (int attempt = 0; attempt < ATTEMPTS && nodes != all; attempt++) {
        count_buffers(engine, path, &count, &nodes);
    }
    expect_home(&count, "file buffers");
    expect(nodes == all, "every node has read some of the file");
}

/* ---- steals ------------------------------------------------------------------------------------
 */

/* A table that lies on node 0 alone, and work on it: the others must come and take some, and what
 * they take is remote; levels nobody stands at are never counted. */
static void check_steals(struct exec_engine *engine, const char *table)
{
    struct exec_worker_info info[NU_CPUS_MAX];
    uint64_t remote_of_others = 0;
    uint64_t impossible = 0;
    uint64_t disagree = 0;

    for (uint32_t attempt = 0; attempt < ATTEMPTS && remote_of_others == 0; attempt++) {
        struct spec_builder *b;
        struct job_result result;

        begin(&b);
        const uint32_t scan = spec_table(b, table);
        const uint32_t key = spec_call2(b, "modulo", spec_column(b, "i"), spec_i64(b, 7));
        spec_filter(b, scan, spec_call2(b, "eq", key, spec_i64(b, 8)));
        job_run(engine, spec_job(b), &result);
        expect(result.error.code == EXEC_OK && result.row_count == 0, "a scan of node 0's rows");
        job_result_fini(&result);
        end(b);
        for (uint32_t w = 0; w < engine->worker_count; w++) {
            exec_engine_worker_info(engine, w, &info[w]);
            remote_of_others += info[w].node != 0 ? info[w].counters.steals_remote : 0;
        }
    }
    for (uint32_t w = 0; w < engine->worker_count; w++) {
        const struct worker *worker = &engine->sched->workers[w];
        bool at[NU_LEVEL_COUNT] = {false};

        for (uint32_t v = 0; v < worker->prices.place_count; v++) {
            at[worker->prices.places[v].level] = true;
        }
        impossible += at[NU_LEVEL_SMT] ? 0 : info[w].counters.steals_smt;
        impossible += at[NU_LEVEL_L3] ? 0 : info[w].counters.steals_l3;
        impossible += at[NU_LEVEL_NODE] ? 0 : info[w].counters.steals_node;
        disagree += info[w].counters.morsels_remote > 0 && info[w].counters.rows_remote == 0;
    }
    expect(remote_of_others > 0, "%" PRIu64 " ranges stolen from node 0 by other nodes",
           remote_of_others);
    expect(impossible == 0 && disagree == 0, "no steal at a level where nobody is");
}

static void make_skewed(struct exec_engine *engine, const char *name)
{
    static const struct exec_field fields[] = {{"i", {.kind = EXEC_TYPE_INT64}, true}};
    static const struct exec_schema schema = {fields, 1};
    static struct table_chunk *chunks[ROWS / TABLE_CHUNK_ROWS + 2];
    struct chunk_builder *builder =
        chunk_builder_create(engine->pages, catalogue_budget(engine->catalogue), 0, &schema);
    struct exec_error err;
    uint32_t count = 0;

    for (int64_t row = 0; row < ROWS; row += BATCH_ROWS) {
        int64_t values[BATCH_ROWS];
        struct vec column = {.data = values, .kind = EXEC_TYPE_INT64};
        const uint32_t rows = ROWS - row < BATCH_ROWS ? (uint32_t)(ROWS - row) : BATCH_ROWS;
        const struct batch batch = {
            .row_count = rows, .sel_count = rows, .columns = &column, .column_count = 1};
        for (uint32_t r = 0; r < rows; r++) {
            values[r] = row + r;
        }
        if (chunk_builder_append(builder, &batch, &err) != EXEC_OK) {
            expect(false, "%s", err.detail);
        }
    }
    for (struct table_chunk *chunk; (chunk = chunk_builder_take(builder, true)) != NULL;) {
        chunks[count++] = chunk;
    }
    chunk_builder_destroy(builder);
    if (catalogue_put(engine->catalogue, name, &schema, chunks, count, true, NULL, &err) !=
        EXEC_OK) {
        expect(false, "%s", err.detail);
    }
}

int main(int argc, char **argv)
{
    struct exec_engine *engine = test_engine(0, NULL);

    if (argc != 2) {
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("     %s\n", exec_engine_topology_text(engine));
    expect(engine->topology.can_bind, "memory can be bound");
    check_workers(engine);
    check_prices(engine);
    check_tables(engine);
    check_join(engine, "t");
    check_copies(engine, "t");
    check_routed(engine, "t");
    check_group(engine, "t");
    check_files(engine, argv[1]);
    make_skewed(engine, "skewed");
    check_steals(engine, "skewed");
    exec_engine_destroy(engine);
    printf("%s\n", faults == 0 ? "placement: all good" : "placement: FAILED");
    return faults != 0;
}
