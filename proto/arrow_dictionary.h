#ifndef ARROW_DICTIONARY_H
#define ARROW_DICTIONARY_H

#include "exec/column_buffers.h"
#include "exec/error.h"

#include <stdatomic.h>
#include <stdbool.h>

/* One version of a dictionary: immutable once it is there, shared by the batches that were read
 * while it was current, freed with the last of them, on whatever thread. */
struct arrow_dictionary {
    struct exec_column_buffers column; /* first: a batch's columns point here */
    atomic_uint references;
    atomic_bool checked; /* offsets and UTF-8 were found good */
    void *body;          /* malloc'd, under the column */
};

/* Takes `body`, also on failure. NULL: no memory. */
struct arrow_dictionary *arrow_dictionary_create(const struct exec_column_buffers *column,
                                                 void *body);
void arrow_dictionary_retain(struct arrow_dictionary *dictionary);
void arrow_dictionary_release(struct arrow_dictionary *dictionary); /* NULL is fine */

/* A delta: a new version, `head`'s values then those of `tail`; both stay the caller's. Both are
 * checked first. bytes_out: what was copied. */
enum exec_code arrow_dictionary_append(struct arrow_dictionary *head, struct arrow_dictionary *tail,
                                       struct arrow_dictionary **joined_out, size_t *bytes_out,
                                       struct exec_error *err);

/* Offsets and UTF-8 of the values, once. */
enum exec_code arrow_dictionary_check(struct arrow_dictionary *dictionary, struct exec_error *err);

#endif
