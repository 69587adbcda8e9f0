#include "metrics_page.h"

#include "process_metrics.h"
#include "rpc_method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MORSEL_VERSION
#define MORSEL_VERSION "unknown"
#endif

static void page_family(FILE *page, const char *name, const char *type, const char *help)
{
    fprintf(page, "# HELP morsel_%s %s\n# TYPE morsel_%s %s\n", name, help, name, type);
}

/* ---- the server's own -------------------------------------------------------------------------
 */

/* `labels` ends in a comma when it is not empty. */
static void page_histogram(FILE *page, const char *name, const char *labels,
                           const struct metrics_histogram *histogram)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < METRICS_BUCKET_COUNT; i++) {
        total += metrics_get(&histogram->counts[i]);
        fprintf(page, "morsel_%s_bucket{%sle=\"%g\"} %llu\n", name, labels,
                (double)metrics_bounds_us[i] / 1e6, (unsigned long long)total);
    }
    total += metrics_get(&histogram->counts[METRICS_BUCKET_COUNT]);
    fprintf(page, "morsel_%s_bucket{%sle=\"+Inf\"} %llu\n", name, labels,
            (unsigned long long)total);
    char plain[64] = "";
    if (labels[0] != '\0') {
        snprintf(plain, sizeof plain, "{%.*s}", (int)strlen(labels) - 1, labels);
    }
    fprintf(page, "morsel_%s_sum%s %.6f\nmorsel_%s_count%s %llu\n", name, plain,
            (double)metrics_get(&histogram->sum_us) / 1e6, name, plain, (unsigned long long)total);
}

static void page_server(FILE *page, const struct metrics *metrics)
{
#define METRIC(name, type, help)           \
    page_family(page, #name, #type, help); \
    fprintf(page, "morsel_%s %llu\n", #name, (unsigned long long)metrics_get(&metrics->name));
#define HISTOGRAM(name, help)                    \
    page_family(page, #name, "histogram", help); \
    page_histogram(page, #name, "", &metrics->name);
#include "metrics.def"
}

static const char *page_job_result(enum exec_code code)
{
    switch (code) {
        case EXEC_OK: return "ok";
        case EXEC_CANCELLED: return "cancelled";
        case EXEC_DEADLINE: return "deadline";
        case EXEC_BUSY:
        case EXEC_DRAINING: return "rejected";
        default: return "failed";
    }
}

static void page_lower(const char *text, char *out, size_t size)
{
    size_t i = 0;

    for (; text[i] != '\0' && i + 1 < size; i++) {
        out[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]);
    }
    out[i] = '\0';
}

static void page_jobs(FILE *page, const struct metrics *metrics)
{
    static const char *const ops[] = {"op=\"scan\",", "op=\"join\",", "op=\"groupby\",",
                                      "op=\"mixed\","};
    char reason[40];

    page_family(page, "jobs_total", "counter", "jobs by how they ended");
    for (uint32_t code = 0; code < EXEC_CODE_COUNT; code++) {
        page_lower(exec_code_name((enum exec_code)code), reason, sizeof reason);
        fprintf(page, "morsel_jobs_total{result=\"%s\",reason=\"%s\"} %llu\n",
                page_job_result((enum exec_code)code), reason,
                (unsigned long long)metrics_get(&metrics->jobs[code]));
    }
    page_family(page, "job_duration_seconds", "histogram",
                "time from a job's submission to its end");
    for (uint32_t op = 0; op < METRICS_OP_COUNT; op++) {
        page_histogram(page, "job_duration_seconds", ops[op], &metrics->job_duration[op]);
    }
}

/* Rows appear once they are not 0: fourteen methods by seventeen codes are mostly zeros. OK is
 * always there, so that a rate has a start. */
static void page_rpcs(FILE *page, const struct metrics *metrics)
{
    page_family(page, "rpc_requests_total", "counter", "finished RPCs");
    for (uint32_t id = 0; id <= RPC_COUNT; id++) {
        const struct rpc_method *row = rpc_method_row(id);
        for (uint32_t code = 0; code < GRPC_CODE_COUNT; code++) {
            const uint64_t count = metrics_get(&metrics->rpcs[id][code]);
            if (count > 0 || (code == GRPC_OK && id < RPC_COUNT)) {
                fprintf(page,
                        "morsel_rpc_requests_total{service=\"%s\",method=\"%s\",code=\"%s\"} "
                        "%llu\n",
                        row->service, row->method, grpc_code_name((enum grpc_code)code),
                        (unsigned long long)count);
            }
        }
    }
}

static void page_http2(FILE *page, const struct metrics *metrics)
{
    static const char *const reasons[] = {"drain", "violation", "idle"};

    page_family(page, "h2_protocol_violations_total", "counter",
                "connections closed for abuse of HTTP/2");
    for (uint32_t i = H2_FINE + 1; i < H2_VIOLATION_COUNT; i++) {
        fprintf(page, "morsel_h2_protocol_violations_total{kind=\"%s\"} %llu\n",
                h2_violation_name((enum h2_violation)i),
                (unsigned long long)metrics_get(&metrics->violations[i]));
    }
    page_family(page, "h2_goaway_sent_total", "counter", "GOAWAY frames sent");
    for (uint32_t i = 0; i < METRICS_GOAWAY_COUNT; i++) {
        fprintf(page, "morsel_h2_goaway_sent_total{reason=\"%s\"} %llu\n", reasons[i],
                (unsigned long long)metrics_get(&metrics->goaways[i]));
    }
}

/* ---- the engine's -----------------------------------------------------------------------------
 */

/* Engine counters that are one family with a label; the others are morsel_engine_<name>. */
struct page_engine_row {
    const char *counter, *family, *label;
};

static const struct page_engine_row engine_rows[] = {
    {"rows_scanned", "rows_processed_total", "op=\"scan\""},
    {"rows_built", "rows_processed_total", "op=\"build\""},
    {"rows_probed", "rows_processed_total", "op=\"probe\""},
    {"rows_aggregated", "rows_processed_total", "op=\"aggregate\""},
    {"rows_output", "rows_processed_total", "op=\"output\""},
    {"file_read_bytes", "bytes_read_total", "source=\"file\""},
    {"file_reads_uring", "io_requests_total", "engine=\"io_uring\""},
    {"file_reads_pread", "io_requests_total", "engine=\"pread\""},
    {"io_uring_available", "io_uring_available", ""},
    {"memory_jobs_bytes", "memory_used_bytes", "pool=\"jobs\""},
    {"memory_tables_bytes", "memory_used_bytes", "pool=\"tables\""},
    {"memory_used_bytes", "memory_charged_bytes", ""},
    {"memory_limit_bytes", "memory_limit_bytes", ""},
    {"memory_pool_bytes", "memory_pool_bytes", ""},
};

struct page_family_text {
    const char *name, *type, *help;
};

static const struct page_family_text engine_families[] = {
    {"rows_processed_total", "counter", "rows by what was done with them"},
    {"bytes_read_total", "counter", "bytes of input"},
    {"io_requests_total", "counter", "reads of input files"},
    {"io_uring_available", "gauge", "1 when io_uring is in use, 0 on the pread fallback"},
    {"memory_used_bytes", "gauge", "memory by who holds it"},
    {"memory_charged_bytes", "gauge", "memory charged to the process budget"},
    {"memory_limit_bytes", "gauge", "limit of the process budget"},
    {"memory_pool_bytes", "gauge", "memory the page pools hold from the system"},
};

struct page_engine_value {
    const char *name, *type, *help;
    uint64_t value;
};

enum {
#define ENGINE_COUNTER(name, kind, help) ENGINE_VALUE_##name,
#include "exec/engine_counters.def"
    ENGINE_VALUE_COUNT
};

static void page_engine_family(FILE *page, const struct page_family_text *family,
                               const struct page_engine_value *values)
{
    page_family(page, family->name, family->type, family->help);
    for (size_t i = 0; i < sizeof engine_rows / sizeof engine_rows[0]; i++) {
        const struct page_engine_row *row = &engine_rows[i];
        for (uint32_t v = 0; strcmp(row->family, family->name) == 0 && v < ENGINE_VALUE_COUNT;
             v++) {
            if (strcmp(values[v].name, row->counter) == 0) {
                fprintf(page, row->label[0] != '\0' ? "morsel_%s{%s} %llu\n" : "morsel_%s%s %llu\n",
                        family->name, row->label, (unsigned long long)values[v].value);
            }
        }
    }
}

static bool page_engine_is_mapped(const char *counter)
{
    for (size_t i = 0; i < sizeof engine_rows / sizeof engine_rows[0]; i++) {
        if (strcmp(engine_rows[i].counter, counter) == 0) {
            return true;
        }
    }
    return false;
}

static void page_engine(FILE *page, const struct metrics *metrics, const struct exec_engine *engine)
{
    struct exec_engine_counters counters;
    char name[80];

    exec_engine_counters(engine, &counters);
    const struct page_engine_value values[] = {
#define ENGINE_COUNTER(name, kind, help) {#name, #kind, help, counters.name},
#include "exec/engine_counters.def"
    };
    for (size_t i = 0; i < sizeof engine_families / sizeof engine_families[0]; i++) {
        page_engine_family(page, &engine_families[i], values);
        if (strcmp(engine_families[i].name, "memory_used_bytes") == 0) {
            fprintf(page, "morsel_memory_used_bytes{pool=\"net\"} %llu\n",
                    (unsigned long long)metrics_get(&metrics->net_bytes));
        }
    }
    for (uint32_t v = 0; v < ENGINE_VALUE_COUNT; v++) {
        if (!page_engine_is_mapped(values[v].name)) {
            snprintf(name, sizeof name, "engine_%s%s", values[v].name,
                     strcmp(values[v].type, "counter") == 0 ? "_total" : "");
            page_family(page, name, values[v].type, values[v].help);
            fprintf(page, "morsel_%s %llu\n", name, (unsigned long long)values[v].value);
        }
    }
}

/* ---- one row a worker -------------------------------------------------------------------------
 */

/* How a counter's name becomes a family and a label: morsels_local is locality="local" of
 * worker_morsels_total, steals_l3 is level="l3" of worker_steals_total, busy_ns is
 * worker_busy_seconds_total, anything else worker_<name>_total. */
struct page_worker_name {
    char family[64];
    char label[32];
    bool seconds;
};

static struct page_worker_name page_worker_name(const char *counter)
{
    static const char *const grouped[][2] = {
        {"morsels_", "locality"}, {"rows_", "locality"}, {"steals_", "level"}};
    struct page_worker_name name = {.label = ""};
    const size_t size = strlen(counter);

    if (size > 3 && strcmp(counter + size - 3, "_ns") == 0) {
        snprintf(name.family, sizeof name.family, "worker_%.*s_seconds_total", (int)size - 3,
                 counter);
        name.seconds = true;
        return name;
    }
    for (size_t i = 0; i < sizeof grouped / sizeof grouped[0]; i++) {
        const size_t stem = strlen(grouped[i][0]);
        if (strncmp(counter, grouped[i][0], stem) == 0 && strcmp(counter, "steals_tried") != 0) {
            snprintf(name.family, sizeof name.family, "worker_%.*s_total", (int)stem - 1, counter);
            snprintf(name.label, sizeof name.label, ",%s=\"%s\"", grouped[i][1], counter + stem);
            return name;
        }
    }
    snprintf(name.family, sizeof name.family, "worker_%s_total", counter);
    return name;
}

struct page_worker_counter {
    const char *name, *help;
    size_t offset;
};

static const struct page_worker_counter worker_counters[] = {
#define WORKER_COUNTER(name, help) {#name, help, offsetof(struct exec_worker_counters, name)},
#include "exec/worker_counters.def"
};
enum { WORKER_COUNTER_COUNT = sizeof worker_counters / sizeof worker_counters[0] };

static void page_worker_counter(FILE *page, const struct page_worker_counter *counter,
                                const struct exec_worker_info *infos, uint32_t count)
{
    const struct page_worker_name name = page_worker_name(counter->name);

    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = 0;
        memcpy(&value, (const char *)&infos[i].counters + counter->offset, sizeof value);
        fprintf(page, "morsel_%s{worker=\"%u\",node=\"%u\"%s} ", name.family, infos[i].worker,
                infos[i].node, name.label);
        if (name.seconds) {
            fprintf(page, "%.6f\n", (double)value / 1e9);
        } else {
            fprintf(page, "%llu\n", (unsigned long long)value);
        }
    }
}

static void page_workers(FILE *page, const struct exec_engine *engine)
{
    const uint32_t count = exec_engine_worker_count(engine);
    struct exec_worker_info *infos = calloc(count > 0 ? count : 1, sizeof *infos);

    page_family(page, "workers", "gauge", "worker threads");
    fprintf(page, "morsel_workers %u\n", count);
    if (infos == NULL) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        exec_engine_worker_info(engine, i, &infos[i]);
    }
    for (uint32_t i = 0; i < WORKER_COUNTER_COUNT; i++) {
        const struct page_worker_name name = page_worker_name(worker_counters[i].name);
        bool shown = false;
        for (uint32_t j = 0; j < i; j++) {
            shown |= strcmp(page_worker_name(worker_counters[j].name).family, name.family) == 0;
        }
        if (shown) {
            continue; /* its rows followed the first counter of the family */
        }
        page_family(page, name.family, "counter", worker_counters[i].help);
        for (uint32_t j = i; j < WORKER_COUNTER_COUNT; j++) {
            if (strcmp(page_worker_name(worker_counters[j].name).family, name.family) == 0) {
                page_worker_counter(page, &worker_counters[j], infos, count);
            }
        }
    }
    free(infos);
}

static void page_nodes(FILE *page, const struct exec_engine *engine)
{
    struct exec_node_info info;
    const uint32_t count = exec_engine_node_count(engine);

    page_family(page, "node_memory_pool_bytes", "gauge",
                "memory the node's pool holds from the system");
    for (uint32_t n = 0; n < count; n++) {
        exec_engine_node_info(engine, n, &info);
        fprintf(page, "morsel_node_memory_pool_bytes{node=\"%u\",os_node=\"%u\"} %llu\n", n,
                info.os_node, (unsigned long long)info.pool_bytes);
    }
    page_family(page, "node_memory_held_bytes", "gauge",
                "memory of the node's pool that tables and jobs hold");
    for (uint32_t n = 0; n < count; n++) {
        exec_engine_node_info(engine, n, &info);
        fprintf(page, "morsel_node_memory_held_bytes{node=\"%u\",os_node=\"%u\"} %llu\n", n,
                info.os_node, (unsigned long long)info.held_bytes);
    }
}

char *metrics_page_render(const struct metrics *metrics, const struct exec_engine *engine,
                          size_t *size_out)
{
    char *text = NULL;
    FILE *page = open_memstream(&text, size_out);

    if (page == NULL) {
        return NULL;
    }
    page_family(page, "build_info", "gauge", "the version that runs");
    fprintf(page, "morsel_build_info{version=\"%s\"} 1\n", MORSEL_VERSION);
    page_server(page, metrics);
    page_jobs(page, metrics);
    page_rpcs(page, metrics);
    page_http2(page, metrics);
    page_engine(page, metrics, engine);
    page_nodes(page, engine);
    page_workers(page, engine);
    process_metrics_render(page);
    if (fclose(page) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
