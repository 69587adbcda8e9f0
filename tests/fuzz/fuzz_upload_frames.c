/* Goal:   no stream of bytes makes the reader of UploadTable's requests read or write out of
 * bounds, hand on more bytes than came, or depend on how the stream was split. Method: feed it
 * whole and in steps chosen by the first byte; both must end alike, with the same number of Arrow
 * bytes, begins and commits. */
#include "upload_frames.h"

#include <assert.h>

struct seen {
    size_t arrow_bytes, begins, commits;
};

static bool on_begin(void *owner, const Morsel__V1__UploadBegin *begin)
{
    struct seen *seen = owner;

    assert(begin->table != NULL);
    seen->begins++;
    return true;
}

static bool on_arrow(void *owner, const uint8_t *bytes, size_t size)
{
    struct seen *seen = owner;

    assert(size == 0 || bytes[size - 1] <= 255);
    seen->arrow_bytes += size;
    return true;
}

static bool on_commit(void *owner, const Morsel__V1__UploadCommit *commit)
{
    struct seen *seen = owner;

    assert(commit != NULL);
    seen->commits++;
    return true;
}

static enum upload_frames_result feed(const uint8_t *bytes, size_t size, size_t step,
                                      struct seen *seen)
{
    static const struct upload_frames_events events = {
        .begin = on_begin, .arrow = on_arrow, .commit = on_commit};
    enum upload_frames_result result = UPLOAD_FRAMES_OK;
    struct upload_frames frames;
    struct exec_error err;

    *seen = (struct seen){0};
    upload_frames_init(&frames, &events, seen);
    for (size_t at = 0; at < size && result == UPLOAD_FRAMES_OK; at += step) {
        const size_t left = size - at;
        result = upload_frames_feed(&frames, bytes + at, left < step ? left : step, &err);
    }
    upload_frames_fini(&frames);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct seen whole;
    struct seen split;

    if (size < 2) {
        return 0;
    }
    const size_t step = bytes[0] % 16 + 1u;
    const enum upload_frames_result first = feed(bytes + 1, size - 1, size, &whole);
    const enum upload_frames_result second = feed(bytes + 1, size - 1, step, &split);
    assert(first == second);
    assert(whole.begins == split.begins && whole.commits == split.commits);
    assert(whole.arrow_bytes == split.arrow_bytes && whole.arrow_bytes < size);
    return 0;
}
