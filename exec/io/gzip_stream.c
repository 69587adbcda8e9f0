#include "io/inflate.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

enum {
    GZIP_ONLY = 16, /* added to the window bits: a gzip header is demanded, its CRC checked */
    GZIP_STATE_BYTES = 48 << 10 /* what inflate() is documented to need, rounded up */
};

struct gzip_stream {
    struct inflate base; /* first */
    z_stream zlib;
};

/* Behind a member: another one, or the zero padding that tape-minded tools leave. */
static bool gzip_begin(struct gzip_stream *gzip, const unsigned char **in,
                       const unsigned char *in_end)
{
    while (*in < in_end && **in == 0) {
        ++*in;
    }
    if (*in == in_end) {
        return true;
    }
    gzip->base.inside = true;
    return inflateReset(&gzip->zlib) == Z_OK;
}

static enum inflate_result gzip_fail(struct gzip_stream *gzip, int code)
{
    if (code == Z_MEM_ERROR) {
        return INFLATE_MEMORY;
    }
    gzip->base.what = gzip->zlib.msg != NULL ? gzip->zlib.msg : "ill-formed";
    return INFLATE_CORRUPT;
}

static unsigned clamp(size_t bytes)
{
    return bytes < UINT_MAX ? (unsigned)bytes : UINT_MAX;
}

static enum inflate_result gzip_run(struct inflate *base, const unsigned char **in,
                                    const unsigned char *in_end, unsigned char **out,
                                    unsigned char *out_end)
{
    struct gzip_stream *gzip = (struct gzip_stream *)base;

    while (*out < out_end) {
        if (!base->inside && !gzip_begin(gzip, in, in_end)) {
            return gzip_fail(gzip, Z_DATA_ERROR);
        }
        if (!base->inside) {
            return INFLATE_OK;
        }
        gzip->zlib.next_in = *in;
        gzip->zlib.avail_in = clamp((size_t)(in_end - *in));
        gzip->zlib.next_out = *out;
        gzip->zlib.avail_out = clamp((size_t)(out_end - *out));
        const int code = inflate(&gzip->zlib, Z_NO_FLUSH);
        *in = gzip->zlib.next_in;
        *out = gzip->zlib.next_out;
        if (code == Z_STREAM_END) {
            base->inside = false;
        } else if (code == Z_BUF_ERROR) {
            return INFLATE_OK; /* it wants input */
        } else if (code != Z_OK) {
            return gzip_fail(gzip, code);
        }
    }
    return INFLATE_OK;
}

static size_t gzip_memory(const struct inflate *base)
{
    (void)base;
    return GZIP_STATE_BYTES;
}

static void gzip_destroy(struct inflate *base)
{
    struct gzip_stream *gzip = (struct gzip_stream *)base;
    inflateEnd(&gzip->zlib);
    free(gzip);
}

static const struct inflate_kind_ops gzip_ops = {
    .run = gzip_run,
    .memory = gzip_memory,
    .destroy = gzip_destroy,
};

struct inflate *inflate_gzip_create(void)
{
    struct gzip_stream *gzip = calloc(1, sizeof *gzip);
    if (gzip == NULL) {
        return NULL;
    }
    if (inflateInit2(&gzip->zlib, MAX_WBITS + GZIP_ONLY) != Z_OK) {
        free(gzip);
        return NULL;
    }
    gzip->base.ops = &gzip_ops;
    return &gzip->base;
}
