/* Load on a daemon through the project's own client: every connection is a thread that runs the
 * same job again and again, each answer read to its end and checked.
 *
 *   bench_load ADDRESS JOB CONNECTIONS SECONDS [DAEMON_PID]
 *
 * JOB is a file with a packed morsel.v1.ExecuteJobRequest. Prints one JSON object: the rate, the
 * latency's percentiles, the bytes of a job each way, and the CPU time a job cost here and, by
 * thread name, in the daemon (schedstat). The first 200 jobs of a connection are not counted. */
#include "morsel.h"
#include "morsel_connection.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { WARM_JOBS = 200, CONNECTIONS_MAX = 256, THREADS_MAX = 256 };

static void fail(const char *what, const struct morsel_error *err)
{
    fprintf(stderr, "bench_load: %s: %s\n", what, err != NULL ? err->message : "failed");
    exit(1);
}

static uint64_t clock_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the jobs -------------------------------------------------------------------------------- */

struct load {
    const char *address;
    void *job;
    size_t job_bytes;
    uint64_t duration_ns;
    pthread_barrier_t warm, start; /* all are warm; the counters were read */
};

struct connection {
    struct load *load;
    pthread_t thread;
    uint64_t *latencies_ns;
    size_t jobs, room;
    uint64_t cpu_ns, end_ns;
    uint64_t sent_bytes, received_bytes;
};

static void job_run(struct morsel_connection *connection, const struct load *load)
{
    struct morsel_result *result = NULL;
    struct morsel_batch *batch = NULL;
    struct morsel_error err;
    int more = 0;

    if (morsel_run_packed(connection, load->job, load->job_bytes, NULL, &result, &err) != 0) {
        fail("the job failed", &err);
    }
    while ((more = morsel_result_next(result, &batch, &err)) == 1) {
        morsel_batch_free(batch);
    }
    if (more != 0) {
        fail("the answer failed", &err);
    }
    morsel_result_close(result);
}

static struct tcp_info socket_figures(const struct morsel_connection *connection)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;

    if (getsockopt(connection->channel.fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
        fail("TCP_INFO", NULL);
    }
    return info;
}

static void latency_add(struct connection *conn, uint64_t latency_ns)
{
    if (conn->jobs == conn->room) {
        conn->room = conn->room == 0 ? 4096 : conn->room * 2;
        conn->latencies_ns = realloc(conn->latencies_ns, conn->room * sizeof *conn->latencies_ns);
        if (conn->latencies_ns == NULL) {
            fail("no memory", NULL);
        }
    }
    conn->latencies_ns[conn->jobs++] = latency_ns;
}

static void *connection_main(void *argument)
{
    struct connection *conn = argument;
    struct load *load = conn->load;
    struct morsel_connection *connection = NULL;
    struct morsel_error err;

    if (morsel_connect(load->address, 0, &connection, &err) != 0) {
        fail("no connection", &err);
    }
    for (int i = 0; i < WARM_JOBS; i++) {
        job_run(connection, load);
    }
    pthread_barrier_wait(&load->warm);
    pthread_barrier_wait(&load->start);
    const struct tcp_info before = socket_figures(connection);
    const uint64_t cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
    uint64_t now_ns = clock_of(CLOCK_MONOTONIC);
    for (const uint64_t end_ns = now_ns + load->duration_ns; now_ns < end_ns;) {
        job_run(connection, load);
        const uint64_t then_ns = now_ns;
        now_ns = clock_of(CLOCK_MONOTONIC);
        latency_add(conn, now_ns - then_ns);
    }
    conn->end_ns = now_ns;
    conn->cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    const struct tcp_info after = socket_figures(connection);
    conn->sent_bytes = after.tcpi_bytes_acked - before.tcpi_bytes_acked;
    conn->received_bytes = after.tcpi_bytes_received - before.tcpi_bytes_received;
    morsel_close(connection);
    return NULL;
}

/* ---- the daemon's threads -------------------------------------------------------------------- */

struct thread_figure {
    char id[24], name[32];
    uint64_t cpu_ns, runs; /* on a CPU; times it got one */
};

static size_t read_text(const char *pid, const char *task, const char *file, char *text_out,
                        size_t room)
{
    char path[128];

    snprintf(path, sizeof path, "/proc/%s/task/%s/%s", pid, task, file);
    FILE *stream = fopen(path, "r");
    const size_t size = stream != NULL ? fread(text_out, 1, room - 1, stream) : 0;
    text_out[size] = '\0';
    text_out[strcspn(text_out, "\n")] = '\0';
    if (stream != NULL) {
        fclose(stream);
    }
    return size;
}

static size_t threads_read(const char *pid, struct thread_figure threads_out[THREADS_MAX])
{
    char path[64], text[128];
    size_t count = 0;

    if (pid == NULL) {
        return 0;
    }
    snprintf(path, sizeof path, "/proc/%s/task", pid);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        fail("no such daemon", NULL);
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL && count < THREADS_MAX;) {
        struct thread_figure *thread = &threads_out[count];
        unsigned long long cpu_ns = 0, waited_ns = 0, runs = 0;
        if (entry->d_name[0] == '.' ||
            read_text(pid, entry->d_name, "comm", thread->name, sizeof thread->name) == 0 ||
            read_text(pid, entry->d_name, "schedstat", text, sizeof text) == 0 ||
            sscanf(text, "%llu %llu %llu", &cpu_ns, &waited_ns, &runs) != 3) {
            continue;
        }
        snprintf(thread->id, sizeof thread->id, "%.20s", entry->d_name);
        thread->cpu_ns = cpu_ns;
        thread->runs = runs;
        count++;
    }
    closedir(folder);
    return count;
}

static void threads_print(const struct thread_figure *before, size_t before_count,
                          const struct thread_figure *after, size_t after_count, size_t jobs)
{
    const char *comma = "";

    printf(", \"daemon\": [");
    for (size_t i = 0; i < after_count; i++) {
        for (size_t j = 0; j < before_count; j++) {
            if (strcmp(after[i].id, before[j].id) != 0) {
                continue;
            }
            printf("%s{\"thread\": \"%s\", \"cpu_us\": %.3f, \"runs\": %.3f}", comma, after[i].name,
                   (double)(after[i].cpu_ns - before[j].cpu_ns) / 1e3 / (double)jobs,
                   (double)(after[i].runs - before[j].runs) / (double)jobs);
            comma = ", ";
        }
    }
    printf("]");
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static void *file_read(const char *path, size_t *size_out)
{
    FILE *file = fopen(path, "rb");
    void *bytes = NULL;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || ftell(file) <= 0) {
        fail("cannot read the job", NULL);
    }
    *size_out = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*size_out);
    if (bytes == NULL || fread(bytes, 1, *size_out, file) != *size_out) {
        fail("cannot read the job", NULL);
    }
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    static struct connection connections[CONNECTIONS_MAX];
    static struct thread_figure before[THREADS_MAX], after[THREADS_MAX];
    const unsigned count = argc >= 5 ? (unsigned)atoi(argv[3]) : 0;
    const char *daemon = argc >= 6 ? argv[5] : NULL;
    uint64_t end_ns = 0, cpu_ns = 0, sent_bytes = 0, received_bytes = 0;
    size_t jobs = 0;

    if (count < 1 || count > CONNECTIONS_MAX) {
        fail("usage: bench_load ADDRESS JOB CONNECTIONS SECONDS [DAEMON_PID]", NULL);
    }
    struct load load = {.address = argv[1], .duration_ns = (uint64_t)(atof(argv[4]) * 1e9)};
    load.job = file_read(argv[2], &load.job_bytes);
    pthread_barrier_init(&load.warm, NULL, count + 1);
    pthread_barrier_init(&load.start, NULL, count + 1);
    for (unsigned i = 0; i < count; i++) {
        connections[i].load = &load;
        pthread_create(&connections[i].thread, NULL, connection_main, &connections[i]);
    }
    pthread_barrier_wait(&load.warm);
    const size_t before_count = threads_read(daemon, before);
    const uint64_t start_ns = clock_of(CLOCK_MONOTONIC);
    pthread_barrier_wait(&load.start);
    for (unsigned i = 0; i < count; i++) {
        const struct connection *conn = &connections[i];
        pthread_join(conn->thread, NULL);
        jobs += conn->jobs;
        cpu_ns += conn->cpu_ns;
        sent_bytes += conn->sent_bytes;
        received_bytes += conn->received_bytes;
        end_ns = conn->end_ns > end_ns ? conn->end_ns : end_ns;
    }
    const size_t after_count = threads_read(daemon, after);

    uint64_t *all_ns = malloc(jobs * sizeof *all_ns);
    size_t used = 0;
    if (all_ns == NULL) {
        fail("no memory", NULL);
    }
    for (unsigned i = 0; i < count; i++) {
        memcpy(all_ns + used, connections[i].latencies_ns, connections[i].jobs * sizeof *all_ns);
        used += connections[i].jobs;
        free(connections[i].latencies_ns);
    }
    qsort(all_ns, jobs, sizeof *all_ns, by_size);
    printf("{\"connections\": %u, \"jobs\": %zu, \"jobs_a_second\": %.1f, \"p50_us\": %.1f, "
           "\"p99_us\": %.1f, \"request_bytes\": %.0f, \"answer_bytes\": %.0f, \"client_us\": %.3f",
           count, jobs, (double)jobs / ((double)(end_ns - start_ns) / 1e9),
           (double)all_ns[jobs / 2] / 1e3, (double)all_ns[jobs * 99 / 100] / 1e3,
           (double)sent_bytes / (double)jobs, (double)received_bytes / (double)jobs,
           (double)cpu_ns / 1e3 / (double)jobs);
    threads_print(before, before_count, after, after_count, jobs);
    printf("}\n");
    free(all_ns);
    free(load.job);
    return 0;
}
