#ifndef TESTS_NUMA_SCRATCH_FILE_H
#define TESTS_NUMA_SCRATCH_FILE_H

/* Fixture files below a fresh directory of /tmp; removed by scratch_remove. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct scratch {
    char directory[64];
};

static inline void scratch_make(struct scratch *scratch)
{
    strcpy(scratch->directory, "/tmp/morsel-test-XXXXXX");
    cr_assert_not_null(mkdtemp(scratch->directory));
}

static inline void scratch_remove(struct scratch *scratch)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch->directory);
    cr_assert_eq(system(command), 0);
}

/* Writes directory/name with its parent folders; the path stays valid until the next call. */
static inline const char *scratch_write(struct scratch *scratch, const char *name, const char *text)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", scratch->directory, name);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

#endif
