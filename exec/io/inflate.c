#include "io/inflate.h"

#include <string.h>

enum inflate_kind inflate_kind_of(const void *head, size_t size)
{
    if (size >= 2 && memcmp(head, "\x1f\x8b", 2) == 0) {
        return INFLATE_GZIP;
    }
    return size >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0 ? INFLATE_ZSTD : INFLATE_NONE;
}

const char *inflate_kind_name(enum inflate_kind kind)
{
    return kind == INFLATE_GZIP ? "gzip" : kind == INFLATE_ZSTD ? "zstd" : "plain";
}

struct inflate *inflate_create(enum inflate_kind kind)
{
    return kind == INFLATE_GZIP ? inflate_gzip_create() : inflate_zstd_create();
}
