#ifndef EXEC_OP_GROUP_PHASE_H
#define EXEC_OP_GROUP_PHASE_H

#include "kernel/agg_state.h"
#include "op/group_state.h"

/* PARTIAL gives states instead of results, FINAL takes states instead of values: a binary value a
 * group and measure. Little-endian:
 *
 *   u8 version (1) | u8 function | u8 form: 0 a kernel's state, 1 BEST, 2 SET, 3 BAG, 4 TALLY |
 *   u8 columns
 *   per column: u8 type (enum exec_type_kind) | u8 scale of a decimal, unit of a timestamp, else 0
 *   the state
 *
 * The columns are the argument, then the second one or the order's keys; a count has none. Behind a
 * kernel's header follows what kernel/agg_state.h says. BEST, SET, BAG and TALLY keep rows of the
 * columns, in the aggregate's order: at most one, each value once, all of them. A row is (of a
 * TALLY, behind its u64 count) a value a column: u8 0 for NULL, or u8 1 and the value as Arrow
 * stores it, texts as u32 length and bytes.
 *
 * The same rows give the same bytes. A NULL state is one of no rows. */
enum { GROUP_STATE_VERSION = 1, GROUP_STATE_BYTES_MAX = 1 << 30 };

bool group_measure_counts(const struct group_measure *measure); /* rows, not values */
/* Of the argument, as the state has it. */
const struct exec_type *group_state_type(const struct group_aggregate *aggregate);
enum agg_state_kind group_state_kind(const struct group_aggregate *aggregate);
void group_state_header(const struct group_aggregate *aggregate, struct state_writer *out);

/* A column of the states of measure m; memory from run->scratch. EXEC_LIMIT: a state larger than
 * GROUP_STATE_BYTES_MAX. */
enum push_result group_state_column(const struct group *group, struct pipe_run *run, uint32_t m,
                                    unsigned char *const *rows, uint32_t count, struct vec *out);

/* As group_update, of a measure whose input is a column of states. false: `strings` is out of
 * memory, or the job has failed with EXEC_BAD_DATA that names the measure and what is wrong. */
bool group_states_take(const struct group *group, uint32_t m, const struct vec *states,
                       const uint16_t *source, uint32_t count, unsigned char *const *rows,
                       struct nu_arena *strings);

#endif
