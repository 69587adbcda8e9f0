#ifndef NUMA_BUDGET_H
#define NUMA_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An account of bytes with a limit and a parent: job -> pool ("jobs", "tables", "net") -> process.
 * A charge succeeds at every level or at none. Lock-free, any thread. A budget is plain memory of
 * its owner and outlives everything charged to it. */
struct nu_budget {
    _Alignas(128) _Atomic uint64_t used_bytes;
    _Atomic uint64_t peak_bytes;
    uint64_t limit_bytes; /* UINT64_MAX: no limit of its own */
    struct nu_budget *parent;
    const char *name; /* static storage; for messages: "job", "jobs", "process" */
};

void nu_budget_init(struct nu_budget *budget, const char *name, uint64_t limit_bytes,
                    struct nu_budget *parent);

/* Returns NULL on success, else the first budget on the way up that refused; nothing is charged
 * then. */
struct nu_budget *nu_budget_charge(struct nu_budget *budget, size_t bytes);
void nu_budget_refund(struct nu_budget *budget, size_t bytes);

static inline uint64_t nu_budget_used(const struct nu_budget *budget)
{
    return atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);
}

#endif
