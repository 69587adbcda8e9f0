#include "numa/budget.h"

#include <assert.h>

void nu_budget_init(struct nu_budget *budget, const char *name, uint64_t limit_bytes,
                    struct nu_budget *parent)
{
    *budget = (struct nu_budget){.limit_bytes = limit_bytes, .parent = parent, .name = name};
}

static bool budget_charge_one(struct nu_budget *budget, size_t bytes)
{
    /* relaxed throughout: the account orders nothing but itself. */
    uint64_t used = atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);
    do {
        if (bytes > budget->limit_bytes || used > budget->limit_bytes - bytes) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&budget->used_bytes, &used, used + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

/* Only after every level agreed: a refused charge must not show as a peak. */
static void budget_note_peak(struct nu_budget *budget)
{
    const uint64_t used = nu_budget_used(budget);
    uint64_t peak = atomic_load_explicit(&budget->peak_bytes, memory_order_relaxed);
    while (peak < used &&
           !atomic_compare_exchange_weak_explicit(&budget->peak_bytes, &peak, used,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

struct nu_budget *nu_budget_charge(struct nu_budget *budget, size_t bytes)
{
    for (struct nu_budget *level = budget; level != NULL; level = level->parent) {
        if (budget_charge_one(level, bytes)) {
            continue;
        }
        for (struct nu_budget *undo = budget; undo != level; undo = undo->parent) {
            atomic_fetch_sub_explicit(&undo->used_bytes, bytes, memory_order_relaxed);
        }
        return level;
    }
    for (struct nu_budget *level = budget; level != NULL; level = level->parent) {
        budget_note_peak(level);
    }
    return NULL;
}

void nu_budget_refund(struct nu_budget *budget, size_t bytes)
{
    for (struct nu_budget *level = budget; level != NULL; level = level->parent) {
        const uint64_t before =
            atomic_fetch_sub_explicit(&level->used_bytes, bytes, memory_order_relaxed);
        assert(before >= bytes);
    }
}
