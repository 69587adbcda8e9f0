#ifndef EXEC_KERNEL_AGG_STATE_H
#define EXEC_KERNEL_AGG_STATE_H

#include "kernel/agg.h"

/* States as bytes, to leave the process (PARTIAL) and come back (FINAL). Little-endian, nothing
 * between fields; the same values give the same bytes, however they were added up. What is behind
 * the header (op/group_phase.h), by kind:
 *
 *   COUNT        u64 count
 *   SUM64        u64 count, i64 sum
 *   SUM128       u64 count, u64 low, i64 middle, i64 high: low + middle * 2^64 + high * 2^128
 *   FLOAT_SUM    S = u64 count, u16 flags (1 NaN, 2 +inf, 4 -inf), u16 bins, 4 x (i64 low, i32
 * high), a bin high * 2^64 + low, the lowest first: kernel/float_sum.h says what they weigh MOMENTS
 * S of x, P of x * x; P = u16 bins, 6 x (i64 low, i32 high), kernel/product_sum.h COVARIANCE   S of
 * x, S of y, P of x * y CORRELATION  S of x, S of y, P of x * x, P of y * y, P of x * y VALUE
 * nothing, or a value as Arrow stores it (bool: one byte) TEXT         u8 1 and the bytes of the
 * text, or u8 0 HLL          u8 0 and up to 512 u64 hashes, ascending; or u8 1 and 4,096 registers
 * of one byte SKETCH       pairs of u64: bucket, count; buckets ascending (kernel/agg_sketch.h)
 *
 * A count is at most 2^40, so that no number of states a client sends overflows by itself. */
enum agg_state_kind {
    AGG_STATE_NONE,
    AGG_STATE_COUNT,
    AGG_STATE_SUM64,
    AGG_STATE_SUM128,
    AGG_STATE_FLOAT_SUM,
    AGG_STATE_MOMENTS,
    AGG_STATE_COVARIANCE,
    AGG_STATE_CORRELATION,
    AGG_STATE_VALUE,
    AGG_STATE_TEXT,
    AGG_STATE_HLL,
    AGG_STATE_SKETCH,
};

enum { AGG_STATE_COUNT_MAX_BITS = 40 };

/* Of the kernel that agg_kernel gives for the same. */
enum agg_state_kind agg_state_kind(enum exec_aggregate_function function, enum vec_storage storage);

/* bytes NULL: only counts. */
struct state_writer {
    unsigned char *bytes;
    uint64_t size;
};
void state_write(struct state_writer *writer, const void *from, size_t bytes);
void state_write_u64(struct state_writer *writer, uint64_t value);
void state_write_u32(struct state_writer *writer, uint32_t value);
void state_write_u16(struct state_writer *writer, uint16_t value);
void state_write_u8(struct state_writer *writer, uint8_t value);

/* Bytes of whoever sent them: every read looks whether there are as many. */
struct state_reader {
    const unsigned char *bytes;
    uint64_t left;
};
bool state_read(struct state_reader *reader, void *to, size_t bytes);
bool state_read_u64(struct state_reader *reader, uint64_t *out);
bool state_read_u32(struct state_reader *reader, uint32_t *out);
bool state_read_u16(struct state_reader *reader, uint16_t *out);
bool state_read_u8(struct state_reader *reader, uint8_t *out);

/* A value of the type is one it may have: bool 0 or 1, decimals within their precision. Floats come
 * out canonical. */
bool state_value_check(const struct exec_type *type, void *value);
/* NULL, or what is wrong with a text. */
const char *state_text_check(const struct exec_type *type, const unsigned char *bytes,
                             uint64_t size);

/* `type` is that of the argument, as the kernel sees it. */
void agg_state_write(enum agg_state_kind kind, const struct exec_type *type, const void *state,
                     struct state_writer *out);

enum agg_state_result { AGG_STATE_TAKEN, AGG_STATE_NO_MEMORY, AGG_STATE_BAD };

/* Checks the bytes, all of them, then combines them into the state at `into`. BAD: *why_out says
 * what is wrong, and nothing has been combined. */
enum agg_state_result agg_state_take(enum agg_state_kind kind, const struct exec_type *type,
                                     const struct agg_kernel *kernel, struct state_reader *reader,
                                     unsigned char *into, struct nu_arena *strings,
                                     const char **why_out);

#endif
