#include "top_picture.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* One worker, or all of them, between two samples. */
struct top_row {
    double busy, search, parked; /* seconds */
    uint64_t morsels_local, morsels_remote, rows;
    uint64_t smt, l3, node, remote;
};

struct top_page {
    FILE *to;
    const char *line_end;
    uint32_t rows_left;
};

static double seconds(const Google__Protobuf__Duration *duration)
{
    return duration == NULL ? 0 : (double)duration->seconds + duration->nanos / 1e9;
}

/* "12.3M" */
static const char *short_count(double value, char text_out[16])
{
    static const char units[] = " kMGT";
    size_t unit = 0;

    while (value >= 999.5 && unit + 2 < sizeof units) {
        value /= 1000;
        unit++;
    }
    snprintf(text_out, 16, unit == 0 ? "%.0f" : "%.1f%c", value, units[unit]);
    return text_out;
}

static const char *short_bytes(uint64_t bytes, char text_out[16])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 1023.5 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    snprintf(text_out, 16, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text_out;
}

static bool page_line(struct top_page *page)
{
    return page->rows_left > 0 && page->rows_left-- > 0;
}

/* ---- the server and its workers ---------------------------------------------------------------
 */

static void print_server(struct top_page *page, const Morsel__V1__GetServerStatusResponse *status)
{
    char used[16], limit[16], jobs[16], tables[16];

    if (page_line(page)) {
        fprintf(page->to, "morseld %s  up %.0f s  jobs: %u running, %u queued, %" PRIu64 " ended%s",
                status->version, seconds(status->uptime), status->jobs_running, status->jobs_queued,
                status->jobs_ended, page->line_end);
    }
    if (page_line(page)) {
        fprintf(page->to, "memory: %s of %s  jobs %s  tables %s%s",
                short_bytes(status->memory_used_bytes, used),
                short_bytes(status->memory_limit_bytes, limit),
                short_bytes(status->memory_jobs_bytes, jobs),
                short_bytes(status->memory_tables_bytes, tables), page->line_end);
    }
}

/* What has come since `before`, which may be NULL. A server that was started anew counts from 0. */
static uint64_t since(uint64_t now, uint64_t before)
{
    return now >= before ? now - before : now;
}

static double seconds_since(const Google__Protobuf__Duration *now,
                            const Google__Protobuf__Duration *before)
{
    const double difference = seconds(now) - seconds(before);
    return difference > 0 ? difference : 0;
}

static struct top_row row_of(const Morsel__V1__WorkerStatus *before,
                             const Morsel__V1__WorkerStatus *now)
{
    Morsel__V1__WorkerStatus none;

    morsel__v1__worker_status__init(&none);
    before = before == NULL ? &none : before;
    return (struct top_row){
        .busy = seconds_since(now->busy, before->busy),
        .search = seconds_since(now->search, before->search),
        .parked = seconds_since(now->parked, before->parked),
        .morsels_local = since(now->morsels_local, before->morsels_local),
        .morsels_remote = since(now->morsels_remote, before->morsels_remote),
        .rows = since(now->rows_local, before->rows_local) +
                since(now->rows_remote, before->rows_remote),
        .smt = since(now->steals_smt, before->steals_smt),
        .l3 = since(now->steals_l3, before->steals_l3),
        .node = since(now->steals_node, before->steals_node),
        .remote = since(now->steals_remote, before->steals_remote),
    };
}

static void add_row(struct top_row *all, const struct top_row *row)
{
    all->busy += row->busy;
    all->search += row->search;
    all->parked += row->parked;
    all->morsels_local += row->morsels_local;
    all->morsels_remote += row->morsels_remote;
    all->rows += row->rows;
    all->smt += row->smt;
    all->l3 += row->l3;
    all->node += row->node;
    all->remote += row->remote;
}

/* `time` is what a share of 100 % is of. */
static void print_row(struct top_page *page, const char *name, const struct top_row *row,
                      double time, double wall)
{
    const uint64_t morsels = row->morsels_local + row->morsels_remote;
    char morsels_text[16], rows_text[16], local_text[16] = "-";

    if (!page_line(page)) {
        return;
    }
    if (morsels != 0) {
        snprintf(local_text, sizeof local_text, "%.1f%%",
                 100.0 * (double)row->morsels_local / (double)morsels);
    }
    fprintf(page->to, "%-16s %5.1f%% %5.1f%% %5.1f%% %10s %8s %7s", name, 100 * row->busy / time,
            100 * row->search / time, 100 * row->parked / time,
            short_count((double)morsels / wall, morsels_text),
            short_count((double)row->rows / wall, rows_text), local_text);
    fprintf(page->to, " %8" PRIu64 " %7" PRIu64 " %7" PRIu64 " %7" PRIu64 "%s", row->smt, row->l3,
            row->node, row->remote, page->line_end);
}

static void print_workers(struct top_page *page, const Morsel__V1__GetServerStatusResponse *before,
                          const Morsel__V1__GetServerStatusResponse *now)
{
    const bool same = before != NULL && before->n_workers == now->n_workers &&
                      seconds(before->uptime) < seconds(now->uptime);
    const double wall = seconds(now->uptime) - (same ? seconds(before->uptime) : 0);
    struct top_row all = {0};

    if (wall <= 0 || now->n_workers == 0) {
        return;
    }
    if (page_line(page)) {
        fprintf(page->to, "%-16s %6s %6s %6s %10s %8s %7s %8s %7s %7s %7s%s", "worker", "busy",
                "search", "park", "morsels/s", "rows/s", "local", "steals:smt", "l3", "node",
                "remote", page->line_end);
    }
    for (size_t i = 0; i < now->n_workers; i++) {
        const struct top_row row = row_of(same ? before->workers[i] : NULL, now->workers[i]);
        add_row(&all, &row);
    }
    print_row(page, "all", &all, wall * (double)now->n_workers, wall);
    for (size_t i = 0; i < now->n_workers; i++) {
        const struct top_row row = row_of(same ? before->workers[i] : NULL, now->workers[i]);
        char name[40];
        snprintf(name, sizeof name, "%u node %u cpu %d", now->workers[i]->worker,
                 now->workers[i]->node, now->workers[i]->cpu);
        print_row(page, name, &row, wall, wall);
    }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static const Morsel__V1__JobInfo *job_before(const struct top_sample *before, const char *id)
{
    for (size_t i = 0; before->jobs != NULL && i < before->jobs->n_jobs; i++) {
        if (strcmp(before->jobs->jobs[i]->job_id, id) == 0) {
            return before->jobs->jobs[i];
        }
    }
    return NULL;
}

static void print_job(struct top_page *page, const Morsel__V1__JobInfo *before,
                      const Morsel__V1__JobInfo *job)
{
    const Morsel__V1__Progress *progress = job->progress;
    const double elapsed = progress == NULL ? 0 : seconds(progress->elapsed);
    const double was =
        before == NULL || before->progress == NULL ? 0 : seconds(before->progress->elapsed);
    const double wall = elapsed - was;
    char done[16] = "-", rows[16], memory[16];

    if (!page_line(page)) {
        return;
    }
    if (progress != NULL && progress->rows_total > 0) {
        snprintf(done, sizeof done, "%.0f%%",
                 100.0 * (double)progress->rows_done / (double)progress->rows_total);
    }
    fprintf(page->to, "%-36.36s %-7s %9.1f %8.2f %8" PRIu64 " %7" PRIu64 " %7" PRIu64, job->job_id,
            job->state == MORSEL__V1__JOB_STATE__JOB_STATE_QUEUED ? "queued" : "running", elapsed,
            wall > 0 ? seconds_since(job->busy, before == NULL ? NULL : before->busy) / wall : 0,
            job->morsels, job->remote_morsels, job->steals);
    fprintf(page->to, " %8s %5s %10s%s",
            short_count(progress == NULL ? 0 : (double)progress->rows_done, rows), done,
            short_bytes(progress == NULL ? 0 : progress->memory_bytes, memory), page->line_end);
}

static void print_jobs(struct top_page *page, const struct top_sample *before,
                       const struct top_sample *now)
{
    if (now->jobs == NULL || now->jobs->n_jobs == 0) {
        return;
    }
    if (page_line(page)) {
        fprintf(page->to, "%-36s %-7s %9s %8s %8s %7s %7s %8s %5s %10s%s", "job", "state",
                "elapsed s", "workers", "morsels", "remote", "steals", "rows", "done", "memory",
                page->line_end);
    }
    for (size_t i = 0; i < now->jobs->n_jobs; i++) {
        const Morsel__V1__JobInfo *job = now->jobs->jobs[i];
        print_job(page, job_before(before, job->job_id), job);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

void top_picture_print(FILE *to, const struct top_sample *before, const struct top_sample *now,
                       const char *line_end, uint32_t rows_max)
{
    struct top_page page = {
        .to = to, .line_end = line_end, .rows_left = rows_max == 0 ? UINT32_MAX : rows_max};

    print_server(&page, now->status);
    print_workers(&page, before->status, now->status);
    print_jobs(&page, before, now);
}

void top_sample_free(struct top_sample *sample)
{
    if (sample->status != NULL) {
        morsel__v1__get_server_status_response__free_unpacked(sample->status, NULL);
    }
    if (sample->jobs != NULL) {
        morsel__v1__list_jobs_response__free_unpacked(sample->jobs, NULL);
    }
    *sample = (struct top_sample){0};
}
