#ifndef TESTS_VM_PAGES_H
#define TESTS_VM_PAGES_H

#include <stddef.h>
#include <stdint.h>

/* What the kernel says, asked past the code under test. Nodes and CPUs by the kernel's numbers. */
struct page_count {
    uint64_t resident; /* pages that have been touched */
    uint64_t at_home;
};

/* Adds the pages of [at, at + bytes); those nobody has touched do not count. */
void pages_count(const void *at, size_t bytes, int home, struct page_count *count);

int sysfs_node_of_cpu(int cpu); /* -1: unknown */
int sysfs_distance(int from, int to);

#endif
