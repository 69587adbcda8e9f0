#ifndef EXEC_OP_SCAN_FILES_READER_H
#define EXEC_OP_SCAN_FILES_READER_H

#include "io/csv_rows.h"
#include "op/scan_files_set.h"

/* A reader turns one unit's bytes into batches: a segment of a plain file, or a whole file that is
 * read in one piece. It is the suspended state of its range and belongs to whoever runs that; its
 * memory is one span on the range's node (two, once a long line made it grow).
 *
 * Reads are under way only while the range is being run or is parked: a reader that is thrown away
 * has none. */

enum {
    READER_BLOCKS = 2, /* of compressed bytes: one is inflated while the other is read */
    READER_BLOCK_BYTES = 128 << 10,
    READER_TAIL_BYTES = 64 << 10, /* behind a segment, for the end of its last row */
    READER_TEXT_BYTES = SEGMENT_BYTES + READER_TAIL_BYTES,
    READER_GROWN_BYTES = CSV_LINE_BYTES_MAX + 2 * READER_TAIL_BYTES,
};

enum reader_step {
    READER_BATCH,  /* reader->batch is to be pushed */
    READER_WAIT,   /* for reads under way */
    READER_DONE,   /* nothing is left of the unit */
    READER_FAILED, /* job_fail has been called */
};

enum segment_place { PLACE_FIELD_BEGIN, PLACE_IN_FIELD, PLACE_QUOTED, PLACE_BEHIND_QUOTE };

struct reader_block {
    unsigned char *bytes;
    size_t size, used;
    uint64_t offset; /* in the file */
};

struct reader {
    struct io_request requests[READER_BLOCKS]; /* plain files use the first */
    /* Reads under way, plus READER_PARKED while the range waits for them in `parked`. */
    _Atomic uint32_t pending;
    struct sched_range parked;

    struct scan_files *files;
    struct scan_file *file;
    unsigned node;
    void *span, *grown_span;
    size_t span_bytes;

    char *buffer; /* of text, `capacity` bytes and CSV_SLACK_BYTES */
    size_t capacity;
    struct csv_text text;
    struct csv_rows rows;
    struct batch batch; /* of `rows` */
    bool has_batch;     /* it is not taken yet */
    bool primed;        /* text.at is at the begin of a row */
    bool stopped;       /* nobody wants more; wait for the reads, then say so */

    uint64_t begin, end;  /* plain: offsets in the file; once primed, begin is the first row's */
    uint64_t read_offset; /* next byte to read */
    size_t asked;         /* bytes of the read under way */

    struct inflate *inflate; /* compressed files */
    size_t inflate_bytes;    /* charged for it */
    size_t text_to_skip;     /* header */
    struct reader_block blocks[READER_BLOCKS];
    uint32_t block; /* being inflated */

    struct csv_fault fault; /* plain segments: waits for the count of lines before the segment */
    bool counting;
    uint64_t count_offset, lines_before;
    enum segment_place place; /* at count_offset */
};

/* The reader of the unit that begins at file offset `begin`; for segments the `end` of it. NULL:
 * refused by *refused. */
struct reader *reader_create(struct scan_files *files, struct scan_file *file, uint64_t begin,
                             uint64_t end, unsigned node, const struct nu_budget **refused);
void reader_destroy(struct reader *reader); /* no read under way */

/* Go on until one of these. out_of_time is asked between pieces of work. */
enum reader_step reader_next(struct reader *reader, struct pipe_run *run);
void reader_taken(struct reader *reader); /* the batch has been pushed whole */

/* File offset up to which the unit is done. */
uint64_t reader_position(const struct reader *reader);

static inline bool reader_is_idle(const struct reader *reader)
{
    /* acquire: pairs with the completion's release; what was read is visible. */
    return atomic_load_explicit(&reader->pending, memory_order_acquire) == 0;
}
/* Contract of source_kind.park. */
bool reader_park(struct reader *reader, const struct sched_range *range);

/* ---- between the files of the reader --------------------------------------------------------- */

void reader_read(struct reader *reader, uint32_t block, void *buffer, uint64_t offset, size_t size);
enum reader_step reader_fail(struct reader *reader, const struct exec_error *err);
/* An error or end of file where none was due, of a finished read of `asked` bytes at `offset`. */
bool reader_read_failed(struct reader *reader, const struct io_request *request, size_t asked);
/* Moves the unread text to the front, with room for at least `room` more bytes; false: no memory,
 * the job has failed. */
bool reader_make_room(struct reader *reader, size_t room);

enum reader_fill {
    FILL_OK, /* text has more bytes or is final */
    FILL_WAIT,
    FILL_FAILED,
};
enum reader_fill plain_fill(struct reader *reader);
enum reader_fill packed_fill(struct reader *reader, struct pipe_run *run);
bool packed_begin(struct reader *reader); /* false: no memory */

/* segments: scan_files_segment.c */

/* Text begins one byte before the segment, or at the file's first row: sets text.at to the first
 * row that begins in the segment, and reader->begin to its offset; false: none does. */
bool segment_find_begin(struct reader *reader);
/* The reader is done; the last one of a file checks that all agree. False: the job has failed. */
bool segment_end(struct reader *reader, uint64_t begin, uint64_t end);
/* A wrong row was found: counts the lines before the segment, a read at a time, then fails the job.
 */
enum reader_step segment_report_fault(struct reader *reader);

#endif
