#ifndef EXEC_VEC_VEC_H
#define EXEC_VEC_VEC_H

#include "numa/arena.h"
#include "vec/batch.h"
#include "vec/value.h"

/* What everybody needs of vecs; memory comes from the arena given, false means it is used up. */

enum vec_storage {
    VEC_NONE,
#define VEC_INTEGER(TAG, tag, c_type) VEC_##TAG,
#define VEC_FLOAT(TAG, tag, c_type) VEC_##TAG,
#define VEC_VIEW(TAG, tag, c_type) VEC_##TAG,
#include "vec/vec_types.def"
    VEC_STORAGE_COUNT
};

enum vec_storage vec_storage(enum exec_type_kind kind);

/* One null for all rows; static memory. */
struct vec vec_null(enum exec_type_kind kind);

/* Room for `row_count` values (row_count + 1, so that branch-free writers may overshoot), 64-byte
 * aligned, contents undefined; valid is NULL. */
bool vec_alloc(enum exec_type_kind kind, uint32_t row_count, struct nu_arena *arena,
               struct vec *vec_out, void **data_out);

/* The same values without the constant form; borrows from `in` when it is flat already. */
bool vec_flatten(const struct vec *in, uint32_t row_count, struct nu_arena *arena, struct vec *out);

/* out[i] = in[rows[i]] for i < count: dense, without gaps. A constant stays one. */
bool vec_gather(const struct vec *in, const uint16_t *rows, uint32_t count, struct nu_arena *arena,
                struct vec *out);

/* The same into the data array given, of vec's kind; a constant is written out. Values alone: of
 * what is present, copied or not, the caller keeps account. */
void vec_gather_values(const struct vec *in, const uint16_t *rows, uint32_t count, void *data_out);

/* data_out[row] = vec[row] for the rows listed (NULL: the first `count`); values under cleared bits
 * are copied too. data_out is a data array of vec's kind. */
void vec_copy_rows(const struct vec *vec, const uint16_t *rows, uint32_t count, void *data_out);

/* The selected rows of `in` moved together, columns gathered: a batch without sel. Borrows from
 * `in` when it has no sel. */
bool batch_compact(const struct batch *in, struct nu_arena *arena, struct batch *out);

#endif
