#include "process_metrics.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void process_row(FILE *page, const char *name, const char *type, const char *help,
                        double value)
{
    fprintf(page, "# HELP process_%s %s\n# TYPE process_%s %s\nprocess_%s %.15g\n", name, help,
            name, type, name, value);
}

/* Field `number` (1-based, as in proc(5)) of /proc/self/stat; 0 when it cannot be read. */
static double process_stat(int number)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");

    if (file == NULL) {
        return 0;
    }
    const size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    char *field = strrchr(text, ')'); /* the name may hold spaces; field 3 follows it */
    for (int i = 2; field != NULL && i < number; i++) {
        field = strchr(field + 1, ' ');
    }
    return field != NULL ? strtod(field, NULL) : 0;
}

static int process_open_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count > 3 ? count - 3 : 0; /* ".", ".." and the folder itself */
}

static double process_start_time(void)
{
    struct timespec now;
    struct timespec boot;

    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    return (double)(now.tv_sec - boot.tv_sec) + process_stat(22) / (double)sysconf(_SC_CLK_TCK);
}

void process_metrics_render(FILE *page)
{
    struct rusage usage;
    struct rlimit files;

    getrusage(RUSAGE_SELF, &usage);
    getrlimit(RLIMIT_NOFILE, &files);
    process_row(page, "cpu_seconds_total", "counter", "user and system time",
                (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                    (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    process_row(page, "virtual_memory_bytes", "gauge", "address space in use", process_stat(23));
    process_row(page, "resident_memory_bytes", "gauge", "memory in RAM",
                process_stat(24) * (double)sysconf(_SC_PAGESIZE));
    process_row(page, "open_fds", "gauge", "open file descriptors", process_open_fds());
    process_row(page, "max_fds", "gauge", "limit of open file descriptors", (double)files.rlim_cur);
    process_row(page, "start_time_seconds", "gauge", "start of the process, Unix time",
                process_start_time());
}
