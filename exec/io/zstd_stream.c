#include "io/inflate.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Windows above 2^27 bytes (zstd --long=28 and more) are refused: a file could else demand any
 * amount of memory. */
enum { WINDOW_LOG_MAX = 27 };

struct zstd_stream {
    struct inflate base; /* first */
    ZSTD_DCtx *zstd;
};

static enum inflate_result zstd_fail(struct zstd_stream *stream, size_t code)
{
    if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) {
        return INFLATE_MEMORY;
    }
    stream->base.what = ZSTD_getErrorName(code);
    return INFLATE_CORRUPT;
}

static enum inflate_result zstd_run(struct inflate *base, const unsigned char **in,
                                    const unsigned char *in_end, unsigned char **out,
                                    unsigned char *out_end)
{
    struct zstd_stream *stream = (struct zstd_stream *)base;

    /* Also without input: decoded bytes may wait inside. */
    for (;;) {
        ZSTD_inBuffer input = {.src = *in, .size = (size_t)(in_end - *in)};
        ZSTD_outBuffer output = {.dst = *out, .size = (size_t)(out_end - *out)};
        const size_t code = ZSTD_decompressStream(stream->zstd, &output, &input);
        *in += input.pos;
        *out += output.pos;
        if (ZSTD_isError(code)) {
            return zstd_fail(stream, code);
        }
        if (input.pos > 0 || output.pos > 0 || code == 0) {
            base->inside = code != 0;
        }
        if (*out == out_end || (*in == in_end && output.pos < output.size)) {
            return INFLATE_OK;
        }
    }
}

static size_t zstd_memory(const struct inflate *base)
{
    return ZSTD_sizeof_DCtx(((const struct zstd_stream *)base)->zstd);
}

static void zstd_destroy(struct inflate *base)
{
    struct zstd_stream *stream = (struct zstd_stream *)base;
    ZSTD_freeDCtx(stream->zstd);
    free(stream);
}

static const struct inflate_kind_ops zstd_ops = {
    .run = zstd_run,
    .memory = zstd_memory,
    .destroy = zstd_destroy,
};

struct inflate *inflate_zstd_create(void)
{
    struct zstd_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return NULL;
    }
    stream->base.ops = &zstd_ops;
    stream->zstd = ZSTD_createDCtx();
    if (stream->zstd == NULL ||
        ZSTD_isError(ZSTD_DCtx_setParameter(stream->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))) {
        zstd_destroy(&stream->base);
        return NULL;
    }
    return &stream->base;
}
