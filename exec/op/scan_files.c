#include "op/scan_files.h"

#include "op/scan_files_set.h"

#include <string.h>

enum {
    HEADS_BYTES = 16 << 20, /* of all heads together, as long as each has its minimum */
    HEAD_BYTES_MAX = 512 << 10,
    HEAD_BYTES_MIN = 16 << 10,
};

/* ---- memory --------------------------------------------------------------------------------- */

static size_t whole_pages(size_t bytes)
{
    return (bytes + NU_PAGE_BYTES - 1) / NU_PAGE_BYTES * (size_t)NU_PAGE_BYTES;
}

void *scan_span_take(struct job_context *job, unsigned node, size_t bytes,
                     const struct nu_budget **refused)
{
    const size_t charged = whole_pages(bytes);

    *refused = nu_budget_charge(&job->budget, charged);
    if (*refused != NULL) {
        return NULL;
    }
    void *span = nu_page_pool_take(job->pages, node, charged);
    if (span == NULL) {
        nu_budget_refund(&job->budget, charged);
    }
    return span;
}

void scan_span_give(struct job_context *job, unsigned node, void *span, size_t bytes)
{
    nu_page_pool_give(job->pages, node, span, whole_pages(bytes));
    nu_budget_refund(&job->budget, whole_pages(bytes));
}

void scan_files_drop_heads(struct scan_files *files)
{
    if (files->head_span != NULL) {
        scan_span_give(files->job, 0, files->head_span, files->head_span_bytes);
        files->head_span = NULL;
    }
}

/* ---- opening, on io's threads --------------------------------------------------------------- */

static void file_ready(struct scan_file *file)
{
    struct scan_files *files = file->files;

    /* acq_rel: whoever opens the last file hands on what all of them wrote. */
    if (atomic_fetch_sub_explicit(&files->pending, 1, memory_order_acq_rel) == 1) {
        files->opened(files, files->owner);
    }
}

static void file_head_read(struct io_request *request)
{
    struct scan_file *file = (struct scan_file *)request;

    if (request->result < 0) {
        file->failure = request->result;
        file->failed_to_read = true;
    } else {
        file->head_bytes = (size_t)request->result;
    }
    file_ready(file);
}

static void file_opened(struct io_request *request)
{
    struct scan_file *file = (struct scan_file *)request;
    struct scan_files *files = file->files;
    const size_t room = files->head_stride - CSV_SLACK_BYTES;

    if (request->result != 0) {
        file->failure = request->result;
        file_ready(file);
        return;
    }
    file->fd = request->fd;
    file->file_bytes = request->file_bytes;
    if (file->file_bytes == 0) {
        file_ready(file);
        return;
    }
    request->complete = file_head_read;
    io_read(files->job->io, request, file->fd, 0, file->head,
            file->file_bytes < room ? (size_t)file->file_bytes : room, 0);
}

static size_t head_stride(uint32_t file_count)
{
    size_t bytes = HEADS_BYTES / (file_count == 0 ? 1 : file_count);

    bytes = bytes < HEAD_BYTES_MAX ? bytes : HEAD_BYTES_MAX;
    bytes = bytes > HEAD_BYTES_MIN ? bytes : HEAD_BYTES_MIN;
    return bytes / 4096 * 4096 + CSV_SLACK_BYTES;
}

static struct scan_files *files_create(struct job_context *job, const struct exec_rel *rel)
{
    const uint32_t count = rel->u.scan.path_count;
    const struct nu_budget *refused;
    struct scan_files *files = nu_arena_calloc(
        &job->plan, sizeof *files + count * sizeof files->files[0], _Alignof(struct scan_files));

    if (files == NULL) {
        return NULL;
    }
    files->head_stride = head_stride(count);
    files->head_span_bytes = files->head_stride * count;
    if (count <= SCAN_FILES_MAX && count > 0) {
        files->head_span = scan_span_take(job, 0, files->head_span_bytes, &refused);
        if (files->head_span == NULL) {
            return NULL;
        }
    }
    return files;
}

struct scan_files *scan_files_open(struct job_context *job, uint32_t rel_index,
                                   const struct exec_rel *rel, scan_files_opened_fn *opened,
                                   void *owner)
{
    struct scan_files *files = files_create(job, rel);

    if (files == NULL) {
        return NULL;
    }
    files->job = job;
    files->rel = rel;
    files->rel_index = rel_index;
    files->opened = opened;
    files->owner = owner;
    files->file_count = files->head_span == NULL ? 0 : rel->u.scan.path_count;
    /* relaxed: io's queue orders it before the first completion. */
    atomic_store_explicit(&files->pending, files->file_count, memory_order_relaxed);
    for (uint32_t i = 0; i < files->file_count; i++) {
        struct scan_file *file = &files->files[i];
        file->files = files;
        file->path = rel->u.scan.paths[i];
        file->fd = -1;
        file->head = (char *)files->head_span + i * files->head_stride;
    }
    const uint32_t file_count = files->file_count;
    for (uint32_t i = 0; i < file_count; i++) { /* `files` may be gone after the last one */
        struct scan_file *file = &files->files[i];
        file->request.complete = file_opened;
        io_open(job->io, &file->request, job->data_root, file->path);
    }
    if (file_count == 0) {
        opened(files, owner); /* no files or too many: bind says so */
    }
    return files;
}

const struct exec_schema *scan_files_schema(const struct scan_files *files)
{
    return &files->schema;
}

uint64_t scan_files_row_estimate(const struct scan_files *files)
{
    return files->row_estimate;
}

uint64_t scan_files_bytes(const struct scan_files *files)
{
    return files->total_bytes;
}

void scan_files_close(struct scan_files *files)
{
    scan_files_drop_heads(files);
    for (uint32_t i = 0; i < files->file_count; i++) {
        if (files->files[i].fd >= 0) {
            io_close(files->job->io, files->files[i].fd);
            files->files[i].fd = -1;
        }
    }
}
