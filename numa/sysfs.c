#include "sysfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long sysfs_read_path(char *buffer, size_t buffer_bytes, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    size_t length = 0;
    while (length + 1 < buffer_bytes) {
        const ssize_t got = read(fd, buffer + length, buffer_bytes - 1 - length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            const int failed = errno;
            close(fd);
            return -failed;
        }
        if (got == 0) {
            break;
        }
        length += (size_t)got;
    }
    close(fd);
    while (length > 0 && isspace((unsigned char)buffer[length - 1])) {
        length--;
    }
    buffer[length] = '\0';
    return (long)length;
}

long sysfs_read(char *buffer, size_t buffer_bytes, const char *path_format, ...)
{
    char path[PATH_MAX];
    va_list arguments;

    va_start(arguments, path_format);
    const int length = vsnprintf(path, sizeof path, path_format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof path) {
        return -ENAMETOOLONG;
    }
    return sysfs_read_path(buffer, buffer_bytes, path);
}

/* A run of digits at *text; moves past it. False when there is none or it does not fit. */
static bool sysfs_take_number(const char **text, uint64_t *number_out)
{
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    char *rest;
    errno = 0;
    const unsigned long long number = strtoull(*text, &rest, 10);
    if (errno != 0) {
        return false;
    }
    *text = rest;
    *number_out = number;
    return true;
}

bool sysfs_read_number(uint64_t *number_out, const char *path_format, ...)
{
    char path[PATH_MAX];
    char text[64];
    va_list arguments;

    va_start(arguments, path_format);
    const int length = vsnprintf(path, sizeof path, path_format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof path ||
        sysfs_read_path(text, sizeof text, path) <= 0) {
        return false;
    }
    const char *rest = text;
    return sysfs_take_number(&rest, number_out) && *rest == '\0';
}

bool sysfs_parse_list(const char *text, bool *set, size_t set_count)
{
    memset(set, 0, set_count * sizeof *set);
    while (*text != '\0') {
        uint64_t first, last;
        if (!sysfs_take_number(&text, &first)) {
            return false;
        }
        last = first;
        if (*text == '-') {
            text++;
            if (!sysfs_take_number(&text, &last) || last < first) {
                return false;
            }
        }
        for (uint64_t member = first; member <= last && member < set_count; member++) {
            set[member] = true;
        }
        if (*text == ',') {
            text++;
        } else if (*text != '\0') {
            return false;
        }
    }
    return true;
}

bool sysfs_list_first(const char *text, uint32_t *first_out)
{
    uint64_t first;
    if (!sysfs_take_number(&text, &first) || first > UINT32_MAX) {
        return false;
    }
    *first_out = (uint32_t)first;
    return *text == '\0' || *text == '-' || *text == ',';
}

bool sysfs_parse_size(const char *text, uint64_t *bytes_out)
{
    uint64_t number;
    if (!sysfs_take_number(&text, &number)) {
        return false;
    }
    unsigned shift = 0;
    if (*text == 'K') {
        shift = 10;
    } else if (*text == 'M') {
        shift = 20;
    } else if (*text == 'G') {
        shift = 30;
    }
    text += shift != 0;
    if (*text != '\0' || number > UINT64_MAX >> shift) {
        return false;
    }
    *bytes_out = number << shift;
    return true;
}
