#include "vm_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ASK_PAGES = 512, NODES_MAX = 64 };

void pages_count(const void *at, size_t bytes, int home, struct page_count *count)
{
    const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t page = (uintptr_t)at / page_bytes * page_bytes;
    const uintptr_t end = (uintptr_t)at + bytes;

    while (page < end) {
        void *pages[ASK_PAGES];
        int nodes[ASK_PAGES];
        unsigned long asked = 0;

        for (; page < end && asked < ASK_PAGES; page += page_bytes) {
            pages[asked++] = (void *)page; // NOLINT: an address, page by page
        }
        if (syscall(SYS_move_pages, 0, asked, pages, NULL, nodes, 0) != 0) {
            perror("move_pages");
            exit(1);
        }
        for (unsigned long p = 0; p < asked; p++) {
            count->resident += nodes[p] >= 0; /* -ENOENT: not touched */
            count->at_home += nodes[p] == home;
        }
    }
}

int sysfs_node_of_cpu(int cpu)
{
    for (int node = 0; node < NODES_MAX; node++) {
        char path[96];

        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpu%d", node, cpu);
        if (access(path, F_OK) == 0) {
            return node;
        }
    }
    return -1;
}

/* A line of distances, one for every node that is online, in order. */
int sysfs_distance(int from, int to)
{
    char path[96];
    int distance = -1;

    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/distance", from);
    FILE *file = fopen(path, "re");
    for (int node = 0; file != NULL && node <= to; node++) {
        if (fscanf(file, "%d", &distance) != 1) {
            distance = -1;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return distance;
}
