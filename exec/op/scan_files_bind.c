#include "op/scan_files_set.h"

#include "io/csv_head.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* From heads to a schema: format, compression, names, types. */

enum { HEAD_TEXT_BYTES = 512 << 10 }; /* of a compressed head, inflated */

struct binder {
    struct scan_files *files;
    struct csv_head *heads; /* one a file */
    char *text;             /* room to inflate one head; NULL until a file is compressed */
    struct exec_error *err;
};

static enum exec_code fail_open(const struct scan_files *files, const struct scan_file *file,
                                struct exec_error *err)
{
    const int sys_errno = (int)-file->failure;
    const char *path = file->path;

    if (files->job->data_root != NULL && files->job->data_root[0] == '\0') {
        return EXEC_FAIL(err, EXEC_PATH_DENIED,
                         "'%.150s': no file may be read here, data_root is not set", path);
    }
    if (file->failed_to_read) {
        return EXEC_FAIL_ERRNO(err, EXEC_IO, sys_errno, "'%.150s' could not be read: %s", path,
                               strerrordesc_np(sys_errno));
    }
    switch (sys_errno) {
        case ENOENT:
        case ENOTDIR:
        case ENAMETOOLONG:
            return EXEC_FAIL_ERRNO(err, EXEC_FILE_NOT_FOUND, sys_errno, "there is no file '%.150s'",
                                   path);
        case EXDEV:
        case ELOOP:
            return EXEC_FAIL_ERRNO(err, EXEC_PATH_DENIED, sys_errno,
                                   files->job->data_root != NULL
                                       ? "the path '%.150s' leads out of the data root"
                                       : "the path '%.150s' holds too many links",
                                   path);
        case EACCES:
        case EPERM:
            return EXEC_FAIL_ERRNO(err, EXEC_PATH_DENIED, sys_errno,
                                   "'%.150s' may not be read by this process: %s", path,
                                   strerrordesc_np(sys_errno));
        case EISDIR:
        case EINVAL:
        case ENXIO: /* a socket */
            return EXEC_FAIL_ERRNO(err, EXEC_FILE_NOT_FOUND, sys_errno,
                                   "'%.150s' is not a regular file", path);
        default:
            return EXEC_FAIL_ERRNO(err, EXEC_IO, sys_errno, "'%.150s' could not be opened: %s",
                                   path, strerrordesc_np(sys_errno));
    }
}

/* ---- format --------------------------------------------------------------------------------- */

static bool ends_with(const char *path, size_t size, const char *end)
{
    const size_t end_bytes = strlen(end);
    return size >= end_bytes && strncasecmp(path + size - end_bytes, end, end_bytes) == 0;
}

static enum exec_file_format format_of_path(const char *path)
{
    size_t size = strlen(path);

    size -= ends_with(path, size, ".gz") ? 3 : 0;
    size -= ends_with(path, size, ".zst") ? 4 : 0;
    if (ends_with(path, size, ".csv")) {
        return EXEC_FORMAT_CSV;
    }
    if (ends_with(path, size, ".tsv")) {
        return EXEC_FORMAT_TSV;
    }
    if (ends_with(path, size, ".arrow") || ends_with(path, size, ".feather")) {
        return EXEC_FORMAT_ARROW_FILE;
    }
    if (ends_with(path, size, ".arrows")) {
        return EXEC_FORMAT_ARROW_STREAM;
    }
    if (ends_with(path, size, ".jsonl") || ends_with(path, size, ".ndjson")) {
        return EXEC_FORMAT_JSON_LINES;
    }
    return ends_with(path, size, ".parquet") ? EXEC_FORMAT_PARQUET : EXEC_FORMAT_NONE;
}

static enum exec_code bind_format(const struct scan_files *files, const struct scan_file *file,
                                  enum exec_file_format *format_out, struct exec_error *err)
{
    static const char *const names[] = {
        [EXEC_FORMAT_NONE] = "",
        [EXEC_FORMAT_ARROW_STREAM] = "Arrow streams",
        [EXEC_FORMAT_ARROW_FILE] = "Arrow files",
        [EXEC_FORMAT_CSV] = "CSV",
        [EXEC_FORMAT_TSV] = "TSV",
        [EXEC_FORMAT_JSON_LINES] = "JSON lines",
        [EXEC_FORMAT_PARQUET] = "Parquet files",
    };
    enum exec_file_format format = files->rel->u.scan.format;

    format = format == EXEC_FORMAT_NONE ? format_of_path(file->path) : format;
    *format_out = format;
    if (format == EXEC_FORMAT_CSV || format == EXEC_FORMAT_TSV) {
        return EXEC_OK;
    }
    if (format == EXEC_FORMAT_NONE || (size_t)format >= sizeof names / sizeof names[0]) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC,
                         "the format of '%.150s' cannot be told from its name; give it "
                         "(files.format of a plan, --csv format:csv of morsel)",
                         file->path);
    }
    return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "reading %s ('%.150s') is not implemented",
                     names[format], file->path);
}

static enum exec_code bind_compression(struct scan_file *file, struct exec_error *err)
{
    const size_t size = strlen(file->path);
    const enum inflate_kind named = ends_with(file->path, size, ".gz")    ? INFLATE_GZIP
                                    : ends_with(file->path, size, ".zst") ? INFLATE_ZSTD
                                                                          : INFLATE_NONE;
    file->compression = inflate_kind_of(file->head, file->head_bytes);
    if (named != INFLATE_NONE && file->compression != named) {
        return EXEC_FAIL(err, EXEC_BAD_DATA,
                         file->head_bytes == 0 ? "'%.150s' is empty: it is not a %s file"
                                               : "'%.150s' is not a %s file",
                         file->path, inflate_kind_name(named));
    }
    return EXEC_OK;
}

/* ---- heads ---------------------------------------------------------------------------------- */

struct head_text {
    char *bytes;
    size_t size;
    bool is_whole;       /* the whole file */
    size_t packed_bytes; /* compressed bytes it came from */
};

static enum exec_code inflate_head(struct binder *binder, const struct scan_file *file,
                                   struct head_text *text)
{
    const struct nu_budget *refused;

    if (binder->text == NULL) {
        binder->text =
            scan_span_take(binder->files->job, 0, HEAD_TEXT_BYTES + CSV_SLACK_BYTES, &refused);
    }
    if (binder->text == NULL) {
        return job_memory_error(binder->err, refused, "the heads of the files");
    }
    struct inflate *inflate = inflate_create(file->compression);
    const unsigned char *in = (const unsigned char *)file->head;
    const unsigned char *in_end = in + file->head_bytes;
    unsigned char *out = (unsigned char *)binder->text;

    if (inflate == NULL) {
        return EXEC_FAIL(binder->err, EXEC_MEMORY_BUDGET, "no memory to inflate '%.150s'",
                         file->path);
    }
    const enum inflate_result result =
        inflate->ops->run(inflate, &in, in_end, &out, out + HEAD_TEXT_BYTES);
    text->bytes = binder->text;
    text->size = (size_t)(out - (unsigned char *)binder->text);
    text->packed_bytes = (size_t)(in - (const unsigned char *)file->head);
    text->is_whole =
        !inflate->inside && in == in_end && file->head_bytes == (size_t)file->file_bytes;
    if (result == INFLATE_CORRUPT) {
        EXEC_FAIL(binder->err, EXEC_BAD_DATA, "'%.150s': corrupt %s data near byte %zu: %s",
                  file->path, inflate_kind_name(file->compression), text->packed_bytes,
                  inflate->what);
    } else if (result == INFLATE_MEMORY) {
        EXEC_FAIL(binder->err, EXEC_MEMORY_BUDGET, "no memory to inflate '%.150s'", file->path);
    } else if (inflate->inside && in == in_end && file->head_bytes == (size_t)file->file_bytes) {
        EXEC_FAIL(binder->err, EXEC_BAD_DATA,
                  "'%.150s' is truncated: its %s data breaks off at byte %zu", file->path,
                  inflate_kind_name(file->compression), text->packed_bytes);
    } else {
        inflate->ops->destroy(inflate);
        return EXEC_OK;
    }
    inflate->ops->destroy(inflate);
    return binder->err->code;
}

static void estimate_rows(struct scan_files *files, const struct scan_file *file,
                          const struct csv_head *head, const struct head_text *text)
{
    const double row_bytes =
        head->row_count == 0 ? 64.0 : (double)head->row_bytes / (double)head->row_count;
    const double unpacked =
        text->packed_bytes == 0 ? 1.0 : (double)text->size / (double)text->packed_bytes;

    files->total_bytes += file->file_bytes;
    files->row_estimate += text->is_whole
                               ? head->row_count
                               : (uint64_t)((double)file->file_bytes * unpacked / row_bytes);
}

static enum exec_code bind_head(struct binder *binder, struct scan_file *file,
                                struct csv_head *head)
{
    struct scan_files *files = binder->files;
    struct head_text text = {.bytes = file->head,
                             .size = file->head_bytes,
                             .is_whole = file->head_bytes == (size_t)file->file_bytes};

    if (file->compression != INFLATE_NONE) {
        const enum exec_code inflated = inflate_head(binder, file, &text);
        if (inflated != EXEC_OK) {
            return inflated;
        }
    }
    const enum exec_code code = csv_head_read(
        head, &files->layout.dialect, &files->layout.nulls, !files->rel->u.scan.csv.no_header,
        file->path, text.bytes, text.size, text.is_whole, &files->job->plan, binder->err);
    if (code != EXEC_OK) {
        return code;
    }
    file->rows_begin = head->rows_begin;
    file->rows_line_feeds = head->rows_line_feeds;
    file->serial = file->compression != INFLATE_NONE || head->quoted_feeds;
    estimate_rows(files, file, head, &text);
    return EXEC_OK;
}

/* ---- schema --------------------------------------------------------------------------------- */

static enum exec_code check_same_names(struct binder *binder, uint32_t file)
{
    const struct csv_head *first = &binder->heads[0];
    const struct csv_head *other = &binder->heads[file];
    const char *first_path = binder->files->files[0].path;
    const char *path = binder->files->files[file].path;

    if (other->column_count != first->column_count) {
        return EXEC_FAIL(binder->err, EXEC_SCHEMA_MISMATCH,
                         "'%.120s' has %u columns, but '%.120s' has %u", path, other->column_count,
                         first_path, first->column_count);
    }
    for (uint32_t c = 0; c < first->column_count; c++) {
        if (strcmp(first->names[c], other->names[c]) != 0) {
            EXEC_FAIL(binder->err, EXEC_SCHEMA_MISMATCH,
                      "column %u of '%.120s' is '%.60s', but of '%.120s' it is '%.60s'", c + 1,
                      path, other->names[c], first_path, first->names[c]);
            binder->err->column = c + 1;
            return binder->err->code;
        }
    }
    return EXEC_OK;
}

static struct csv_column *find_column(struct scan_files *files, const char *name)
{
    for (uint32_t c = 0; c < files->layout.column_count; c++) {
        if (strcmp(files->columns[c].name, name) == 0) {
            return &files->columns[c];
        }
    }
    return NULL;
}

bool scan_files_is_blank(const struct scan_files *files, const char *name)
{
    for (uint32_t c = 0; c < files->layout.column_count; c++) {
        if (files->columns[c].blank && strcmp(files->columns[c].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Given types win: by name, or by place where the files have no names. */
static enum exec_code apply_given(struct binder *binder)
{
    struct scan_files *files = binder->files;
    const struct exec_schema *given = &files->rel->u.scan.schema;
    const bool by_place = files->rel->u.scan.csv.no_header && given->field_count > 0;

    if (by_place && given->field_count != files->layout.column_count) {
        return EXEC_FAIL(binder->err, EXEC_SCHEMA_MISMATCH,
                         "'%.150s' has %u columns and no header, but the schema given has %u",
                         files->files[0].path, files->layout.column_count, given->field_count);
    }
    for (uint32_t f = 0; f < given->field_count; f++) {
        const struct exec_field *field = &given->fields[f];
        struct csv_column *column = by_place ? &files->columns[f] : find_column(files, field->name);
        if (column == NULL) {
            return EXEC_FAIL(binder->err, EXEC_COLUMN_NOT_FOUND,
                             "'%.150s' has no column '%.100s', which the schema given names",
                             files->files[0].path, field->name);
        }
        if (by_place) {
            column->name = field->name;
        }
        if (field->type.kind != EXEC_TYPE_NONE) {
            column->type = field->type;
            column->inferred = false;
            column->blank = false;
        }
    }
    return EXEC_OK;
}

static enum exec_code make_schema(struct binder *binder)
{
    struct scan_files *files = binder->files;
    struct nu_arena *arena = &files->job->plan;
    const uint32_t count = binder->heads[0].column_count;
    struct exec_field *fields =
        nu_arena_calloc(arena, count * sizeof *fields, _Alignof(struct exec_field));

    files->columns =
        nu_arena_calloc(arena, count * sizeof *files->columns, _Alignof(struct csv_column));
    if (fields == NULL || files->columns == NULL) {
        return job_memory_error(binder->err, arena->refused, "the columns of a file scan");
    }
    files->layout.columns = files->columns;
    files->layout.column_count = count;
    for (uint32_t c = 0; c < count; c++) {
        struct csv_guess guess = {.seen = false};
        for (uint32_t i = 0; i < files->file_count; i++) {
            csv_guess_merge(&guess, &binder->heads[i].guesses[c]);
        }
        files->columns[c] = (struct csv_column){.name = binder->heads[0].names[c],
                                                .type = csv_guess_type(&guess),
                                                .inferred = true,
                                                .blank = !guess.seen};
    }
    const enum exec_code code = apply_given(binder);
    for (uint32_t c = 0; code == EXEC_OK && c < count; c++) {
        fields[c] =
            (struct exec_field){.name = files->columns[c].name, .type = files->columns[c].type};
    }
    files->schema = (struct exec_schema){.fields = fields, .field_count = count};
    return code;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static enum exec_code set_dialect(struct scan_files *files, enum exec_file_format format,
                                  struct exec_error *err)
{
    const struct exec_csv_options *csv = &files->rel->u.scan.csv;
    struct csv_dialect *dialect = &files->layout.dialect;

    dialect->delimiter = csv->delimiter != 0         ? csv->delimiter
                         : format == EXEC_FORMAT_TSV ? '\t'
                                                     : ',';
    dialect->quote = csv->quote != 0 ? csv->quote : '"';
    if (dialect->delimiter == dialect->quote || dialect->delimiter == '\n' ||
        dialect->delimiter == '\r' || dialect->quote == '\n' || dialect->quote == '\r') {
        return EXEC_FAIL(err, EXEC_BAD_SPEC,
                         "the delimiter and the quote of a CSV file must differ and not end lines");
    }
    dialect->thousands = csv->thousands;
    if (csv->thousands != 0 &&
        (strchr("+-eE\r\n", csv->thousands) != NULL || csv->thousands == dialect->quote ||
         (csv->thousands >= '0' && csv->thousands <= '9'))) {
        return EXEC_FAIL(
            err, EXEC_BAD_SPEC,
            "the thousands mark of a CSV file must not be a digit, a sign, an 'e', the "
            "quote or a line end");
    }
    files->layout.nulls = csv_null_texts_make(csv->null_texts, csv->null_text_count);
    return EXEC_OK;
}

static enum exec_code bind_file(struct binder *binder, uint32_t i)
{
    struct scan_files *files = binder->files;
    struct scan_file *file = &files->files[i];
    enum exec_file_format format;

    if (file->failure != 0) {
        return fail_open(files, file, binder->err);
    }
    enum exec_code code = bind_format(files, file, &format, binder->err);
    if (code == EXEC_OK && i == 0) {
        code = set_dialect(files, format, binder->err);
    }
    if (code == EXEC_OK) {
        code = bind_compression(file, binder->err);
    }
    if (code == EXEC_OK) {
        code = bind_head(binder, file, &binder->heads[i]);
    }
    if (code == EXEC_OK) {
        files->layout.inferred_rows += binder->heads[i].row_count;
        code = check_same_names(binder, i);
    }
    return code;
}

static enum exec_code bind_all(struct binder *binder)
{
    struct scan_files *files = binder->files;

    for (uint32_t i = 0; i < files->file_count; i++) {
        const enum exec_code code = bind_file(binder, i);
        if (code != EXEC_OK) {
            return code;
        }
    }
    return make_schema(binder);
}

enum exec_code scan_files_bind(struct scan_files *files, struct exec_error *err)
{
    struct job_context *job = files->job;
    const uint32_t asked = files->rel->u.scan.path_count;
    enum exec_code code;

    if (asked == 0) {
        code = EXEC_FAIL(err, EXEC_BAD_SPEC, "a scan of files names no path");
        err->rel = files->rel_index;
        return code;
    }
    if (asked > SCAN_FILES_MAX) {
        code = EXEC_FAIL(err, EXEC_LIMIT, "a scan names %u files; at most %d are allowed", asked,
                         SCAN_FILES_MAX);
        err->rel = files->rel_index;
        return code;
    }
    struct binder binder = {.files = files, .err = err};
    binder.heads = nu_arena_calloc(&job->plan, files->file_count * sizeof *binder.heads,
                                   _Alignof(struct csv_head));
    code = binder.heads == NULL ? job_memory_error(err, job->plan.refused, "the heads of the files")
                                : bind_all(&binder);
    if (binder.text != NULL) {
        scan_span_give(job, 0, binder.text, HEAD_TEXT_BYTES + CSV_SLACK_BYTES);
    }
    scan_files_drop_heads(files);
    if (code != EXEC_OK) {
        err->rel = files->rel_index;
    }
    return code;
}
