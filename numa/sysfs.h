#ifndef NUMA_SYSFS_H
#define NUMA_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Small files of /sys, /proc and cgroupfs: one short text each. */

/* Reads the file named by the format into buffer, NUL-terminated, trailing white space cut. Returns
 * the length, or a negative errno. */
long sysfs_read(char *buffer, size_t buffer_bytes, const char *path_format, ...)
    __attribute__((format(printf, 3, 4)));

/* A single unsigned number. False when the file is missing or holds something else. */
bool sysfs_read_number(uint64_t *number_out, const char *path_format, ...)
    __attribute__((format(printf, 2, 3)));

/* Parses a list such as "0-3,8,10-11" into set[0..set_count). Numbers beyond are left out. Returns
 * false on malformed text; an empty text is an empty list. */
bool sysfs_parse_list(const char *text, bool *set, size_t set_count);

/* Lowest member of the list in `text`; false when it is empty or malformed. */
bool sysfs_list_first(const char *text, uint32_t *first_out);

/* Sizes as sysfs writes them: "1024K", "32M", plain bytes. */
bool sysfs_parse_size(const char *text, uint64_t *bytes_out);

#endif
