/* Goal:   a daemon's metrics and what it says of itself agree with the kernel. Method: inside a
 * guest, beside a morseld that has run a join and an aggregation: its pools' pages by node from
 * /proc/PID/numa_maps, its workers' CPUs from /proc/PID/task, nodes from sysfs; the metrics page
 * from a file.
 * Usage:  vm_readback PID METRICS_FILE; prints a line a check, exits 1 when one failed. */
#include "vm_pages.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 16, CPUS_MAX = 64, LINE_BYTES = 4096, SHARE_PERCENT = 95 };

static int faults;

__attribute__((format(printf, 2, 3))) static void expect(bool is_so, const char *fmt, ...)
{
    va_list args;

    printf("%s ", is_so ? "ok  " : "FAIL");
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    faults += !is_so;
}

static FILE *open_or_die(const char *path)
{
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

/* ---- metrics -----------------------------------------------------------------------------------
 */

static char *metrics;

static void read_metrics(const char *path)
{
    FILE *file = open_or_die(path);
    const size_t room = 1 << 20;

    metrics = calloc(1, room);
    if (metrics == NULL || fread(metrics, 1, room - 1, file) == 0) {
        exit(1);
    }
    fclose(file);
}

/* Of the series whose text begins so; -1: there is none. */
static double metric(const char *fmt, ...)
{
    char name[200];
    va_list args;

    name[0] = '\n';
    va_start(args, fmt);
    vsnprintf(name + 1, sizeof name - 1, fmt, args);
    va_end(args);
    const char *line = strstr(metrics, name);
    const char *value = line == NULL ? NULL : strchr(line + strlen(name), ' ');
    return value == NULL ? -1 : strtod(value, NULL);
}

/* ---- the process -------------------------------------------------------------------------------
 */

struct machine {
    int pid;
    bool allowed[CPUS_MAX];
    uint32_t node_count; /* nodes with an allowed CPU, in the kernel's order */
    int os_node[NODES_MAX];
    int cpus_on[NODES_MAX];
};

/* "Cpus_allowed_list:\t0,2-3" of a thread. Returns how many. */
static int read_affinity(const char *path, bool *allowed)
{
    FILE *file = open_or_die(path);
    char line[LINE_BYTES];
    int count = 0;

    memset(allowed, 0, CPUS_MAX * sizeof *allowed);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "Cpus_allowed_list:", 18) != 0) {
            continue;
        }
        for (char *at = line + 18; *at != '\0' && *at != '\n';) {
            const long first = strtol(at, &at, 10);
            const long last = *at == '-' ? strtol(at + 1, &at, 10) : first;
            for (long cpu = first; cpu <= last && cpu < CPUS_MAX; cpu++, count++) {
                allowed[cpu] = true;
            }
            at += *at == ',';
        }
    }
    fclose(file);
    return count;
}

static void read_machine(struct machine *machine, int pid)
{
    char path[64];

    *machine = (struct machine){.pid = pid};
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    read_affinity(path, machine->allowed);
    for (int node = 0; node < NODES_MAX; node++) {
        int cpus = 0;
        for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
            cpus += machine->allowed[cpu] && sysfs_node_of_cpu(cpu) == node;
        }
        if (cpus > 0) {
            machine->os_node[machine->node_count] = node;
            machine->cpus_on[machine->node_count++] = cpus;
        }
    }
}

/* ---- checks ------------------------------------------------------------------------------------
 */

/* Threads that may run on one CPU only are the workers: one an allowed CPU, and as many on each
 * node as the metrics have workers there. */
static void check_workers(const struct machine *machine)
{
    char path[300];
    int pinned_on[NODES_MAX] = {0};
    int pinned = 0;
    int allowed = 0;
    int outside = 0;
    bool taken[CPUS_MAX] = {false};

    snprintf(path, sizeof path, "/proc/%d/task", machine->pid);
    DIR *tasks = opendir(path);
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        bool cpus[CPUS_MAX];
        if (task->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", machine->pid, task->d_name);
        if (read_affinity(path, cpus) != 1) {
            continue;
        }
        for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
            if (cpus[cpu]) {
                outside += !machine->allowed[cpu] || taken[cpu];
                taken[cpu] = true;
                pinned_on[sysfs_node_of_cpu(cpu)]++;
                pinned++;
            }
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
        allowed += machine->allowed[cpu];
    }
    expect(pinned == allowed && outside == 0 && metric("morsel_workers") == allowed,
           "%d workers, each on an allowed CPU of its own", pinned);
    for (uint32_t n = 0; n < machine->node_count; n++) {
        int said = 0;
        for (int w = 0; w < allowed; w++) {
            said +=
                metric("morsel_worker_parks_total{worker=\"%d\",node=\"%" PRIu32 "\"}", w, n) >= 0;
        }
        expect(said == pinned_on[machine->os_node[n]],
               "%d workers on node %" PRIu32 " (the kernel's %d)", said, n, machine->os_node[n]);
    }
}

/* Address ranges bound "prefer:N" are the pools; "N0=12 N1=3 kernelpagesize_kB=4" their pages. */
static void check_pages(const struct machine *machine)
{
    char path[64];
    char line[LINE_BYTES];
    uint64_t bytes_on[NODES_MAX] = {0};
    uint64_t bytes = 0;
    uint64_t at_home = 0;

    snprintf(path, sizeof path, "/proc/%d/numa_maps", machine->pid);
    FILE *maps = open_or_die(path);
    while (fgets(line, sizeof line, maps) != NULL) {
        const char *policy = strstr(line, " prefer:");
        const char *size = strstr(line, "kernelpagesize_kB=");
        if (policy == NULL || size == NULL) {
            continue;
        }
        const long home = strtol(policy + 8, NULL, 10);
        const uint64_t page_bytes = 1024 * strtoull(size + 18, NULL, 10);
        for (int node = 0; node < NODES_MAX; node++) {
            char key[16];
            snprintf(key, sizeof key, " N%d=", node);
            const char *pages = strstr(line, key);
            const uint64_t here =
                pages == NULL ? 0 : page_bytes * strtoull(pages + strlen(key), NULL, 10);
            bytes += here;
            bytes_on[node] += here;
            at_home += node == home ? here : 0;
        }
    }
    fclose(maps);
    expect(bytes > 0 && at_home * 100 >= bytes * SHARE_PERCENT,
           "%" PRIu64 " of %" PRIu64 " KiB in pools lie on the node they are bound to",
           at_home / 1024, bytes / 1024);
    double held_all = 0;
    for (uint32_t n = 0; n < machine->node_count; n++) {
        const double pool =
            metric("morsel_node_memory_pool_bytes{node=\"%" PRIu32 "\",os_node=\"%d\"}", n,
                   machine->os_node[n]);
        const double held =
            metric("morsel_node_memory_held_bytes{node=\"%" PRIu32 "\",os_node=\"%d\"}", n,
                   machine->os_node[n]);
        const double real = (double)bytes_on[machine->os_node[n]];
        held_all += held;
        expect(held >= 0 && real >= held / 2 && real <= pool,
               "node %" PRIu32 ": metrics say %.0f KiB held of %.0f, the kernel has %.0f", n,
               held / 1024, pool / 1024, real / 1024);
    }
    expect(held_all > 0 && held_all >= metric("morsel_memory_used_bytes{pool=\"tables\"}"),
           "what tables hold is on some node");
}

/* What cannot be stolen is not counted, and there was local work. */
static void check_figures(const struct machine *machine)
{
    const int workers = (int)metric("morsel_workers");
    double local = 0;

    for (uint32_t n = 0; n < machine->node_count; n++) {
        double near_steals = 0;
        for (int w = 0; w < workers; w++) {
            static const char *const levels[] = {"smt", "l3", "node"};
            const double rows = metric("morsel_worker_rows_total{worker=\"%d\",node=\"%" PRIu32
                                       "\",locality=\"local\"}",
                                       w, n);
            local += rows > 0 ? rows : 0;
            for (int l = 0; l < 3; l++) {
                const double steals = metric(
                    "morsel_worker_steals_total{worker=\"%d\",node=\"%" PRIu32 "\",level=\"%s\"}",
                    w, n, levels[l]);
                near_steals += steals > 0 ? steals : 0;
            }
        }
        expect(machine->cpus_on[n] > 1 || near_steals == 0,
               "node %" PRIu32 ": %d CPUs, %.0f steals inside it", n, machine->cpus_on[n],
               near_steals);
    }
    expect(local > 0, "%.0f rows and bytes were local", local);
}

int main(int argc, char **argv)
{
    struct machine machine;

    if (argc != 3) {
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    read_metrics(argv[2]);
    read_machine(&machine, (int)strtol(argv[1], NULL, 10));
    check_workers(&machine);
    check_pages(&machine);
    check_figures(&machine);
    printf("%s\n", faults == 0 ? "readback: all good" : "readback: FAILED");
    return faults != 0;
}
