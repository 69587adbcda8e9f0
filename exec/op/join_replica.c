#include "op/join_state.h"

#include <string.h>

/* Probe mode replicated: between the directory pipe and the probe, every node gets a copy of the
 * partitions that lie elsewhere. Room for them is taken when the pipe starts, in the node's own
 * memory, so that whoever copies, a thief too, writes to the right place. A unit is a partition of
 * a node, and where it stands is kept beside it. Long strings are not copied: rows of all copies
 * point to the same. */

enum { COPY_STEP_BYTES = 256 << 10 }; /* between two looks at the clock */

static struct join *join_of_replicas(struct op_source *source)
{
    return (struct join *)(void *)((unsigned char *)source -
                                   offsetof(struct join, replicas.source));
}

static size_t slots_bytes(const struct hash_dir *dir)
{
    return ((size_t)1 + ((size_t)1 << dir->slot_bits)) * sizeof *dir->slots;
}

static size_t rows_bytes(const struct hash_dir *dir)
{
    return (size_t)dir->row_count * dir->row_bytes;
}

/* The partitions of one node: its own as they are, room for the others. */
static bool reserve_node(struct join *join, uint32_t node)
{
    struct hash_dirs *dirs = &join->replicas.by_node[node];
    struct nu_arena *arena = job_node_arena(join->job, node);

    *dirs = join->dirs;
    dirs->parts = arena == NULL ? NULL
                                : nu_arena_alloc(arena, join->partition_count * sizeof *dirs->parts,
                                                 _Alignof(struct hash_dir));
    if (dirs->parts == NULL) {
        return false;
    }
    for (uint32_t p = 0; p < join->partition_count; p++) {
        struct hash_dir *dir = &dirs->parts[p];
        *dir = join->dirs.parts[p];
        if (join->partition_node[p] == node) {
            continue;
        }
        dir->slots = nu_arena_alloc(arena, slots_bytes(dir), 64);
        dir->rows = nu_arena_alloc(arena, rows_bytes(dir) + dir->row_bytes, 64);
        if (dir->slots == NULL || dir->rows == NULL) {
            return false;
        }
    }
    return true;
}

static enum exec_code replicas_start(struct op_source *source, struct pipe *pipe,
                                     struct exec_error *err)
{
    struct join *join = join_of_replicas(source);
    struct join_replicas *replicas = &join->replicas;
    struct nu_arena *plan = &join->job->plan;
    const uint32_t nodes = join->job->node_count;
    const uint64_t units = (uint64_t)nodes * join->partition_count;
    bool ok;

    (void)err;
    if (join->dense.on || join->mode.mode != EXEC_PROBE_REPLICATED) {
        return EXEC_OK;
    }
    replicas->by_node = nu_arena_alloc(plan, nodes * sizeof *replicas->by_node, 64);
    replicas->copied = nu_arena_calloc(plan, units * sizeof *replicas->copied, 64);
    ok = replicas->by_node != NULL && replicas->copied != NULL;
    for (uint32_t n = 0; ok && n < nodes; n++) {
        ok = reserve_node(join, n);
    }
    if (!ok) { /* the answer is the same without */
        join->mode = (struct join_mode_choice){.mode = EXEC_PROBE_SHARED,
                                               .reason = "no memory for copies on every node"};
        return EXEC_OK;
    }
    replicas->on = true;
    source->units_total = units;
    for (uint32_t n = 0; n < nodes; n++) {
        pipe_add_range(pipe, (uint64_t)n * join->partition_count,
                       (uint64_t)(n + 1) * join->partition_count, n, false);
    }
    return EXEC_OK;
}

/* The next part of a unit; true: there is no more. */
static bool copy_step(struct join *join, uint64_t unit)
{
    const uint32_t node = (uint32_t)(unit / join->partition_count);
    const uint32_t p = (uint32_t)(unit % join->partition_count);
    const struct hash_dir *from = &join->dirs.parts[p];
    struct hash_dir *to = &join->replicas.by_node[node].parts[p];
    uint64_t *done = &join->replicas.copied[unit];
    const size_t slots = slots_bytes(from);
    const size_t total = slots + rows_bytes(from);

    if (to->rows == from->rows) {
        return true;
    }
    const bool in_slots = *done < slots;
    const size_t left = in_slots ? slots - *done : total - *done;
    const size_t bytes = left < COPY_STEP_BYTES ? left : COPY_STEP_BYTES;
    if (in_slots) {
        memcpy((unsigned char *)to->slots + *done, (const unsigned char *)from->slots + *done,
               bytes);
    } else {
        memcpy(to->rows + (*done - slots), from->rows + (*done - slots), bytes);
    }
    *done += bytes;
    return *done == total;
}

static enum push_result replicas_scan(struct op_source *source, struct pipe_run *run,
                                      struct sched_range *range, uint64_t unit_target)
{
    struct join *join = join_of_replicas(source);

    for (uint64_t u = 0; u < unit_target && range->begin < range->end; u++) {
        while (!copy_step(join, range->begin)) {
            if (pipe_time_is_up(run)) {
                run->out_of_time = true;
                return PUSH_SUSPEND;
            }
        }
        range->begin++;
        if (pipe_time_is_up(run)) {
            break;
        }
    }
    return PUSH_MORE;
}

const struct source_kind join_replica_source_kind = {
    .name = "join copies",
    .start = replicas_start,
    .scan = replicas_scan,
    .unit_hint = 1,
};

void join_replicas_merge_matched(const struct join *join, uint32_t partition, uint64_t row)
{
    const struct hash_dir *own = &join->dirs.parts[partition];
    const size_t at = (size_t)row * own->row_bytes + JOIN_MATCHED_BYTE;
    unsigned char *matched = own->rows + at;

    for (uint32_t n = 0; join->replicas.on && n < join->job->node_count; n++) {
        const unsigned char there = join->replicas.by_node[n].parts[partition].rows[at];
        if (there == JOIN_MATCHED_YES || there == JOIN_MATCHED_RUN_YES) {
            *matched = JOIN_MATCHED_YES;
        } else if (there == JOIN_MATCHED_UNKNOWN && *matched == JOIN_MATCHED_NONE) {
            *matched = JOIN_MATCHED_UNKNOWN;
        }
    }
}
