#include "sched/slots.h"

#include "sched/atomics.h"
#include "sched/spin.h"

#include <assert.h>
#include <string.h>

#define SLOT_SEAT (1ULL << 32)
#define SLOT_GENERATION (1ULL << 48) /* so that a stale word never matches that of a later job */
#define SLOT_SEATS(word) ((uint32_t)((word) % SLOT_GENERATION / SLOT_SEAT))
#define SLOT_IS_UNUSED(word) ((word) % SLOT_GENERATION == 0)
#define SLOT_OF_TICKET(ticket) ((uint32_t)((ticket) % SLOTS_MAX))

/* Decaying stride scheduling (Wagner, Kohn, Neumann, SIGMOD 2021): a job weighs DECAY_FLOOR times
 * less once it has had much, so a short job beside a long one runs as if nearly alone. The
 * thresholds are per worker: a job of 10 ms on all workers has not decayed yet. */
static const double DECAY_START_NS = 10e6;
static const double DECAY_QUANTUM_NS = 2e6;
static const double DECAY_PER_QUANTUM = 0.9;
static const double DECAY_FLOOR = 0.01;
static const double PRIORITY_STEP = 1.25; /* ten steps are a factor of nine */
static const int32_t PRIORITY_MAX = SLOTS_PRIORITIES / 2;

void slots_init(struct slots *slots, struct inject *inject, uint32_t worker_count,
                enum exec_policy default_policy)
{
    memset(slots, 0, sizeof *slots);
    slots->inject = inject;
    slots->worker_count = worker_count;
    slots->default_policy = default_policy;
    double decay = 1;
    for (uint32_t i = 0; i < SLOTS_DECAY_QUANTA; i++, decay *= DECAY_PER_QUANTUM) {
        slots->decay[i] = decay > DECAY_FLOOR ? decay : DECAY_FLOOR;
    }
    slots->priority_weight[PRIORITY_MAX] = 1;
    for (int32_t i = 1; i <= PRIORITY_MAX; i++) {
        slots->priority_weight[PRIORITY_MAX + i] =
            slots->priority_weight[PRIORITY_MAX + i - 1] * PRIORITY_STEP;
        slots->priority_weight[PRIORITY_MAX - i] =
            slots->priority_weight[PRIORITY_MAX - i + 1] / PRIORITY_STEP;
    }
}

enum exec_policy slots_policy_of(const struct slots *slots, const struct sched_job *job)
{
    return job->policy == EXEC_POLICY_DEFAULT ? slots->default_policy : job->policy;
}

/* ---- taking and freeing slots, under the lock -------------------------------------------------
 */

/* A free slot, or SLOTS_MAX. */
static uint32_t slots_find_free(struct slots *slots)
{
    for (uint32_t i = 0; i < SLOTS_MAX / 64; i++) {
        const uint64_t open = ~at_load(&slots->occupied[i]);
        if (open != 0) {
            return i * 64 + (uint32_t)__builtin_ctzll(open);
        }
    }
    return SLOTS_MAX;
}

static void slots_assign(struct slots *slots, uint32_t index, struct sched_job *job,
                         uint32_t queued)
{
    struct slot *slot = &slots->slots[index];
    const uint64_t ticket = ++slots->generation * SLOTS_MAX + index;
    const bool capped = job->workers_max > 0 && job->workers_max < slots->worker_count;

    at_store_relaxed(&slot->seats_max, capped ? job->workers_max : slots->worker_count);
    at_store_relaxed(&slot->policy, slots_policy_of(slots, job));
    at_store_relaxed(&slot->priority, job->priority > PRIORITY_MAX    ? PRIORITY_MAX
                                      : job->priority < -PRIORITY_MAX ? -PRIORITY_MAX
                                                                      : job->priority);
    at_store_relaxed(&slot->consumed_ns, 0);
    at_store(&slot->ticket, ticket);
    at_store(&job->ticket, ticket);
    /* Publishes the fields above to slots_sit; seats that others have taken by mistake stay. */
    at_add(&slot->word, SLOT_GENERATION + queued);
    at_or(&slots->occupied[index / 64], 1ULL << (index % 64));
}

/* The job at the head of the line takes the slot with all its ranges. False: nobody waits. */
static bool slots_admit(struct slots *slots, uint32_t index)
{
    struct sched_job *job = slots->waiting_head;
    if (job == NULL) {
        return false;
    }
    slots->waiting_head = job->next_waiting;
    if (slots->waiting_head == NULL) {
        slots->waiting_tail = NULL;
    }
    struct range_list list = {job->pending_head, job->pending_tail};
    const uint32_t count = job->pending_count;
    job->pending_head = job->pending_tail = job->pending_count = 0;
    job->next_waiting = NULL;
    slots_assign(slots, index, job, count);
    /* From here workers take the ranges, and the job may end before the last one is moved. */
    inject_list_to_lanes(slots->inject, &list, index);
    return true;
}

static void slots_wait(struct slots *slots, struct sched_job *job, uint32_t lane,
                       const struct sched_range *range)
{
    struct range_list list = {job->pending_head, job->pending_tail};
    inject_list_append(slots->inject, &list, lane, range);
    job->pending_head = list.head;
    job->pending_tail = list.tail;
    if (job->pending_count++ > 0) {
        return; /* in line already */
    }
    if (slots->waiting_tail != NULL) {
        slots->waiting_tail->next_waiting = job;
    } else {
        slots->waiting_head = job;
    }
    slots->waiting_tail = job;
}

/* ---- ranges --------------------------------------------------------------------------------- */

/* The slot the job holds, with `count` more ranges counted in it; SLOTS_MAX: it holds none. */
static uint32_t slots_add_held(struct slots *slots, struct sched_job *job, uint32_t count)
{
    const uint64_t ticket = at_load(&job->ticket);
    const uint32_t index = SLOT_OF_TICKET(ticket);
    if (ticket == 0 || at_load(&slots->slots[index].ticket) != ticket ||
        (at_load(&slots->occupied[index / 64]) >> (index % 64) & 1) == 0) {
        return SLOTS_MAX;
    }
    at_add(&slots->slots[index].word, (uint64_t)count);
    return index;
}

bool slots_push(struct slots *slots, struct sched_job *job, uint32_t lane,
                const struct sched_range *range)
{
    spin_lock(&slots->lock);
    uint32_t index = slots_add_held(slots, job, 1);
    if (index == SLOTS_MAX) {
        index = slots_find_free(slots);
        if (job->pending_count > 0 || index == SLOTS_MAX) {
            slots_wait(slots, job, lane, range);
            spin_unlock(&slots->lock);
            return false;
        }
        slots_assign(slots, index, job, 1);
    }
    spin_unlock(&slots->lock);
    /* The range is counted, so the slot stays the job's until it is popped. */
    inject_push(slots->inject, index, lane, range, INJECT_BACK);
    return true;
}

uint32_t slots_reserve(struct slots *slots, struct sched_job *job, uint32_t count)
{
    spin_lock(&slots->lock);
    uint32_t index = slots_add_held(slots, job, count);
    if (index == SLOTS_MAX && job->pending_count == 0) {
        index = slots_find_free(slots);
        if (index != SLOTS_MAX) {
            slots_assign(slots, index, job, count);
        }
    }
    spin_unlock(&slots->lock);
    return index;
}

void slots_push_seated(struct slots *slots, uint32_t slot, uint32_t lane,
                       const struct sched_range *range, enum inject_end end)
{
    at_add(&slots->slots[slot].word, 1);
    inject_push(slots->inject, slot, lane, range, end);
}

bool slots_pop_seated(struct slots *slots, uint32_t slot, uint32_t lane,
                      struct sched_range *range_out)
{
    if (!inject_pop(slots->inject, slot, lane, range_out)) {
        return false;
    }
    at_sub(&slots->slots[slot].word, 1); /* our seat keeps it above 0 */
    return true;
}

/* ---- seats ---------------------------------------------------------------------------------- */

enum slots_sat slots_sit(struct slots *slots, uint32_t slot)
{
    struct slot *to = &slots->slots[slot];
    uint64_t word;

    if (at_load_relaxed(&to->seats_max) == slots->worker_count) {
        word = at_add(&to->word, SLOT_SEAT);
        /* Looked at again: the slot may have gone to a job with a cap meanwhile. */
        return SLOT_IS_UNUSED(word) || SLOT_SEATS(word) >= at_load_relaxed(&to->seats_max)
                   ? SLOTS_MISTAKEN
                   : SLOTS_SAT;
    }
    word = at_load(&to->word);
    while (!SLOT_IS_UNUSED(word) && SLOT_SEATS(word) < at_load_relaxed(&to->seats_max)) {
        if (at_cas(&to->word, &word, word + SLOT_SEAT)) {
            return SLOTS_SAT;
        }
    }
    return SLOTS_NO_SEAT;
}

bool slots_has_seat(struct slots *slots, uint32_t slot)
{
    const struct slot *to = &slots->slots[slot];
    const uint32_t seats_max = at_load_relaxed(&to->seats_max);
    /* Without a cap there is one for every worker. */
    return seats_max == slots->worker_count || SLOT_SEATS(at_load(&to->word)) < seats_max;
}

enum slots_left slots_leave(struct slots *slots, uint32_t slot)
{
    struct slot *from = &slots->slots[slot];
    const uint64_t word = at_sub(&from->word, SLOT_SEAT);

    assert(SLOT_SEATS(word) > 0);
    if (!SLOT_IS_UNUSED(word - SLOT_SEAT)) {
        const uint32_t seats_max = at_load_relaxed(&from->seats_max);
        return seats_max < slots->worker_count && SLOT_SEATS(word) >= seats_max ? SLOTS_LEFT_ROOM
                                                                                : SLOTS_LEFT;
    }
    enum slots_left left = SLOTS_LEFT;
    const uint64_t bit = 1ULL << (slot % 64);
    spin_lock(&slots->lock);
    if ((at_load(&slots->occupied[slot / 64]) & bit) != 0 && SLOT_IS_UNUSED(at_load(&from->word))) {
        at_and(&slots->occupied[slot / 64], ~bit);
        left = slots_admit(slots, slot) ? SLOTS_NEXT_JOB : SLOTS_LEFT;
    }
    spin_unlock(&slots->lock);
    return left;
}

bool slots_is_of(struct slots *slots, uint32_t slot, const struct sched_job *job)
{
    return at_load(&slots->slots[slot].ticket) == at_load(&job->ticket);
}

/* ---- fairness ------------------------------------------------------------------------------- */

double slots_weight(struct slots *slots, uint32_t slot)
{
    const struct slot *of = &slots->slots[slot];
    const double weight = slots->priority_weight[at_load_relaxed(&of->priority) + PRIORITY_MAX];
    /* By weight as well: otherwise a heavy job would decay sooner and lose what its weight gives.
     */
    const double consumed_ns =
        (double)at_load_relaxed(&of->consumed_ns) / ((double)slots->worker_count * weight);
    if (consumed_ns <= DECAY_START_NS) {
        return weight;
    }
    const double quanta = (consumed_ns - DECAY_START_NS) / DECAY_QUANTUM_NS;
    return weight *
           slots
               ->decay[quanta < SLOTS_DECAY_QUANTA - 1 ? (uint32_t)quanta : SLOTS_DECAY_QUANTA - 1];
}

bool slots_contended(struct slots *slots)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SLOTS_MAX / 64; i++) {
        count += (uint32_t)__builtin_popcountll(at_load_relaxed(&slots->occupied[i]));
    }
    return count > 1;
}

uint32_t slots_next(struct slots *slots, uint32_t from)
{
    while (from < SLOTS_MAX) {
        const uint64_t word = at_load(&slots->occupied[from / 64]) >> (from % 64);
        if (word != 0) {
            return from + (uint32_t)__builtin_ctzll(word);
        }
        from = (from / 64 + 1) * 64;
    }
    return SLOTS_MAX;
}
