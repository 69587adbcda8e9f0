#ifndef EXEC_IO_INFLATE_H
#define EXEC_IO_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

/* Compressed bytes in, plain bytes out, a piece at a time on a worker. Several members (gzip) or
 * frames (zstd) behind one another are one text. One owner at a time. gzip_stream.c and
 * zstd_stream.c. */

enum inflate_kind { INFLATE_NONE, INFLATE_GZIP, INFLATE_ZSTD };

/* By the first bytes; INFLATE_NONE when they are of neither. */
enum inflate_kind inflate_kind_of(const void *head, size_t size);
const char *inflate_kind_name(enum inflate_kind kind); /* "gzip", "zstd" */

enum inflate_result {
    INFLATE_OK,      /* the input is used up or the output is full */
    INFLATE_CORRUPT, /* at *in */
    INFLATE_MEMORY,
};

struct inflate;
struct inflate_kind_ops;

struct inflate {
    const struct inflate_kind_ops *ops;
    bool inside; /* a member has begun and not ended: the end of the file now means truncation */
    const char *what; /* of INFLATE_CORRUPT; static storage */
};

struct inflate_kind_ops {
    enum inflate_result (*run)(struct inflate *inflate, const unsigned char **in,
                               const unsigned char *in_end, unsigned char **out,
                               unsigned char *out_end);
    size_t (*memory)(const struct inflate *inflate); /* bytes held, for the account */
    void (*destroy)(struct inflate *inflate);
};

/* NULL: out of memory. kind is not INFLATE_NONE. */
struct inflate *inflate_create(enum inflate_kind kind);
struct inflate *inflate_gzip_create(void);
struct inflate *inflate_zstd_create(void);

#endif
