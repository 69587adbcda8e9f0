#include "hash/hash_vec.h"
#include "op/group_state.h"
#include "vec/vec.h"

/* Grand totals of grouping sets: a set without keys has one group, also of no rows. */

static bool has_rows(const struct group *group)
{
    /* relaxed: ordered by the end of the sink's pipes. */
    if (atomic_load_explicit(&group->flushed, memory_order_relaxed)) {
        return true;
    }
    for (uint32_t w = 0; w < group->job->worker_count; w++) {
        if (group->workers[w].hot.rows.row_count + group->workers[w].backlog_count != 0) {
            return true;
        }
    }
    return false;
}

bool group_add_totals(struct group *group)
{
    const struct group_plan *plan = &group->plan;
    const struct batch batch = {.row_count = 1, .sel_count = 1};
    struct group_table *hot = &group->workers[0].hot;
    const uint16_t position = 0;
    struct vec keys[EXEC_KEYS_MAX + 1];
    unsigned char *row;
    uint64_t hash;

    if (plan->total_count == 0 || has_rows(group)) {
        return true;
    }
    for (uint32_t t = 0; t < plan->total_count; t++) {
        keys[0] = (struct vec){.data = &plan->totals[t], .kind = EXEC_TYPE_INT64, .constant = true};
        for (uint32_t k = 1; k < plan->key_count; k++) {
            keys[k] = vec_null(expr_type(plan->keys[k])->kind);
        }
        hash_keys(&batch, keys, plan->key_count, group->job->hash_bits_kept, &hash);
        if (!group_table_find(hot, &batch, keys, &hash, &position, 1, UINT64_MAX, &row)) {
            return false;
        }
    }
    return true;
}
