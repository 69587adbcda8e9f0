#include "sim_core.h"

#include "sim_rt.h"
#include "sim_switch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_BYTES = 64 << 10, LINES_MAX = 1 << 18 };

enum core_state { CORE_READY, CORE_ASLEEP, CORE_OVER };

struct core {
    struct sim_context context;
    uint64_t clock_ns;
    enum core_state state;
    uint64_t order; /* breaks ties of clocks */
    void *(*thread_main)(void *);
    void (*client_main)(void *);
    void *argument;
    void *self; /* rt_self */
    struct nu_parker *parker;
    uint32_t node;
    uint32_t speed_per_cent;
    uint32_t heap_place; /* index + 1; 0: not in the heap */
    bool timed;          /* asleep until clock_ns */
};

/* A cache line: who wrote it last, who has read it since, and until when it is on its way. */
struct line {
    uintptr_t key;
    uint64_t world;  /* of which it is; of another: not in use */
    uint32_t writer; /* core + 1 */
    bool shared;     /* another has read it since */
    uint64_t free_ns;
    uint64_t readers[SIM_CORES_MAX / 64];
};

static struct {
    struct sim_costs costs;
    uint64_t random, hash, now_ns, orders;
    bool print, frozen;
    bool paused; /* the current core has paused and the others have not caught up yet */
    uint32_t core_count, worker_count;
    struct core cores[SIM_CORES_MAX];
    struct core *current;
    struct sim_context outside;
    struct core *heap[SIM_CORES_MAX]; /* ready or timed cores but the current, by clock */
    uint32_t heap_count;
    uint32_t line_count;
    unsigned char *stacks;
} sim;

static struct line lines[LINES_MAX]; /* hash table, linear probing */
static uint64_t world;               /* counts sim_begin */

/* ---- chance and trace -------------------------------------------------------------------------
 */

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ULL;
    uint64_t mixed = *state;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebULL;
    return mixed ^ mixed >> 31;
}

uint64_t sim_random(void)
{
    return next_random(&sim.random);
}

uint64_t rt_random(uint64_t *state)
{
    return next_random(state);
}

static void hash_word(uint64_t word)
{
    for (int i = 0; i < 8; i++) {
        sim.hash = (sim.hash ^ (word & 255)) * 0x100000001b3ULL;
        word >>= 8;
    }
}

void sim_trace(const char *event, uint64_t detail)
{
    const uint64_t core = sim.current != NULL ? (uint64_t)(sim.current - sim.cores) : UINT64_MAX;
    hash_word(core);
    hash_word(sim_now_ns());
    hash_word(detail);
    for (const char *letter = event; *letter != '\0'; letter++) {
        hash_word((unsigned char)*letter);
    }
    if (sim.print) {
        printf("%12" PRIu64 " ns  core %3" PRId64 "  %-10s %" PRIu64 "\n", sim_now_ns(),
               (int64_t)core, event, detail);
    }
}

uint64_t sim_trace_hash(void)
{
    return sim.hash;
}

void sim_print_trace(bool on)
{
    sim.print = on;
}

/* ---- who is next: a heap by clock ---------------------------------------------------------------
 */

static bool earlier(const struct core *a, const struct core *b)
{
    return a->clock_ns != b->clock_ns ? a->clock_ns < b->clock_ns : a->order < b->order;
}

static void heap_put(uint32_t place, struct core *core)
{
    sim.heap[place] = core;
    core->heap_place = place + 1;
}

static void heap_up(uint32_t place)
{
    struct core *core = sim.heap[place];
    while (place > 0 && earlier(core, sim.heap[(place - 1) / 2])) {
        heap_put(place, sim.heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    heap_put(place, core);
}

static void heap_down(uint32_t place)
{
    struct core *core = sim.heap[place];
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= sim.heap_count) {
            break;
        }
        if (child + 1 < sim.heap_count && earlier(sim.heap[child + 1], sim.heap[child])) {
            child++;
        }
        if (!earlier(sim.heap[child], core)) {
            break;
        }
        heap_put(place, sim.heap[child]);
        place = child;
    }
    heap_put(place, core);
}

static void heap_insert(struct core *core)
{
    core->order = ++sim.orders;
    heap_put(sim.heap_count++, core);
    heap_up(sim.heap_count - 1);
}

static void heap_remove(struct core *core)
{
    const uint32_t place = core->heap_place - 1;
    struct core *last = sim.heap[--sim.heap_count];
    core->heap_place = 0;
    if (last != core) {
        heap_put(place, last);
        heap_up(place);
        heap_down(last->heap_place - 1);
    }
}

/* ---- switching ------------------------------------------------------------------------------ */

/* Leaves the current core, which has queued itself or sleeps, for the earliest; for outside when
 * there is none. */
static void switch_away(void)
{
    struct core *from = sim.current;
    if (sim.heap_count == 0) {
        sim.current = NULL;
        sim_switch(&from->context, &sim.outside);
        return;
    }
    struct core *to = sim.heap[0];
    heap_remove(to);
    to->state = CORE_READY;
    to->timed = false;
    sim.now_ns = to->clock_ns;
    sim.current = to;
    if (to != from) {
        sim_switch(&from->context, &to->context);
    }
}

/* The core has become later: others may be earlier. */
static void let_others(void)
{
    struct core *core = sim.current;
    if (sim.heap_count > 0 && earlier(sim.heap[0], core)) {
        heap_insert(core);
        switch_away();
    } else {
        sim.now_ns = core->clock_ns;
    }
}

static void core_entry(void)
{
    struct core *core = sim.current;
    if (core->thread_main != NULL) {
        core->thread_main(core->argument);
    } else {
        core->client_main(core->argument);
    }
    core->state = CORE_OVER;
    switch_away();
    abort(); /* nobody resumes a core that is over */
}

static struct core *core_add(uint64_t start_ns)
{
    assert(sim.core_count < SIM_CORES_MAX);
    const uint32_t index = sim.core_count++;
    struct core *core = &sim.cores[index];
    memset(core, 0, sizeof *core);
    core->clock_ns = start_ns;
    core->speed_per_cent = 100;
    sim_switch_prepare(&core->context, sim.stacks + (size_t)index * STACK_BYTES, STACK_BYTES,
                       core_entry);
    heap_insert(core);
    return core;
}

void sim_begin(uint64_t seed, const struct sim_costs *costs)
{
    unsigned char *stacks = sim.stacks;
    if (stacks == NULL) {
        stacks = mmap(NULL, (size_t)SIM_CORES_MAX * STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert(stacks != MAP_FAILED);
    }
    const bool print = sim.print;
    memset(&sim, 0, sizeof sim);
    world++;
    sim.print = print;
    sim.stacks = stacks;
    sim.costs = *costs;
    sim.random = seed;
    sim.hash = 0xcbf29ce484222325ULL;
}

void sim_spawn(void (*main)(void *argument), void *argument, uint64_t start_ns)
{
    struct core *core = core_add(start_ns);
    core->client_main = main;
    core->argument = argument;
}

void sim_run(void)
{
    assert(sim.current == NULL);
    if (sim.heap_count == 0) {
        return;
    }
    struct core *first = sim.heap[0];
    heap_remove(first);
    first->state = CORE_READY;
    first->timed = false;
    sim.now_ns = first->clock_ns;
    sim.current = first;
    sim_switch(&sim.outside, &first->context);
}

/* Before anything that others see: those that were behind during the pauses come first. */
static void pauses_end(void)
{
    if (sim.paused) {
        sim.paused = false;
        let_others();
    }
}

void sim_work(uint64_t ns)
{
    struct core *core = sim.current;
    sim.paused = false;
    core->clock_ns += ns * 100 / core->speed_per_cent;
    let_others();
}

void sim_freeze(bool frozen)
{
    sim.frozen = frozen;
}

uint64_t sim_now_ns(void)
{
    return sim.current != NULL ? sim.current->clock_ns : sim.now_ns;
}

void sim_set_speed(uint32_t worker, uint32_t per_cent)
{
    sim.cores[worker].speed_per_cent = per_cent;
}

/* ---- the world of exec/sched --------------------------------------------------------------------
 */

static struct line *line_of(uintptr_t word)
{
    const uintptr_t key = word / 128 + 1;
    uint32_t place = (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> 40) % LINES_MAX;
    while (lines[place].world == world && lines[place].key != key) {
        place = (place + 1) % LINES_MAX;
    }
    if (lines[place].world != world) {
        assert(sim.line_count < LINES_MAX / 2);
        sim.line_count++;
        lines[place] = (struct line){.key = key, .world = world};
    }
    return &lines[place];
}

/* Charges the core for an access; a line it does not have comes from its last writer, once whoever
 * asked before has got it. */
static void line_charge(struct core *core, uintptr_t word, enum sim_access access)
{
    struct line *line = line_of(word);
    const uint32_t me = (uint32_t)(core - sim.cores);
    const uint64_t bit = 1ULL << (me % 64);
    const bool writes = access != SIM_LOAD;
    const bool has = (line->readers[me / 64] & bit) != 0;

    core->clock_ns += access == SIM_LOAD    ? sim.costs.load_ns
                      : access == SIM_STORE ? sim.costs.store_ns
                                            : sim.costs.exchange_ns;
    if (line->writer != 0 && (writes ? line->writer != me + 1 || line->shared : !has)) {
        const bool near = sim.cores[line->writer - 1].node == core->node;
        const uint64_t move_ns = near ? sim.costs.line_near_ns : sim.costs.line_far_ns;
        if (access == SIM_LOAD && line->shared) {
            core->clock_ns += move_ns; /* copies of a clean line do not wait for one another */
        } else {
            /* A plain store waits in the store buffer; only the line's next user waits for it. */
            line->free_ns =
                (core->clock_ns > line->free_ns ? core->clock_ns : line->free_ns) + move_ns;
            core->clock_ns = access == SIM_STORE ? core->clock_ns : line->free_ns;
        }
    }
    if (writes) {
        memset(line->readers, 0, sizeof line->readers);
        line->writer = me + 1;
        line->shared = false;
    } else if (line->writer != me + 1) {
        line->shared = true;
    }
    line->readers[me / 64] |= bit;
}

void sim_charge(uintptr_t word, enum sim_access access)
{
    struct core *core = sim.current;
    if (core != NULL && !sim.frozen) {
        pauses_end();
        line_charge(core, word, access);
    }
}

void sim_touch(uintptr_t word, enum sim_access access)
{
    struct core *core = sim.current;
    if (core == NULL || sim.frozen) {
        return; /* outside: building and tearing down */
    }
    pauses_end();
    line_charge(core, word, access);
    if (sim.costs.preempt_per_million > 0 &&
        sim_random() % 1000000 < sim.costs.preempt_per_million) {
        core->clock_ns += sim_random() % sim.costs.preempt_ns;
    }
    let_others();
}

uint64_t rt_now_ns(void)
{
    if (sim.current == NULL) {
        return sim.now_ns;
    }
    sim.current->clock_ns += sim.costs.clock_ns;
    return sim.current->clock_ns;
}

/* Pauses in a row are one step: nothing of them can be seen before the next access. */
void rt_pause(void)
{
    struct core *core = sim.current;
    core->clock_ns += (uint64_t)sim.costs.pause_ns * 100 / core->speed_per_cent;
    sim.paused = true;
}

void rt_give_way(void)
{
    sim_work(sim.costs.give_way_ns);
}

void *rt_self(void)
{
    return sim.current != NULL ? sim.current->self : NULL;
}

void rt_set_self(void *self)
{
    sim.current->self = self;
}

void rt_park(struct nu_parker *parker, uint32_t expected, uint64_t timeout_ns)
{
    struct core *core = sim.current;
    sim_work(sim.costs.sleep_call_ns);
    if (atomic_load(&parker->word) != expected) {
        return;
    }
    sim_trace("idle", timeout_ns);
    core->parker = parker;
    core->state = CORE_ASLEEP;
    if (timeout_ns != 0) {
        core->timed = true;
        core->clock_ns += timeout_ns + sim.costs.wake_min_ns;
        heap_insert(core);
    }
    switch_away();
    core->parker = NULL;
    sim_trace("awake", 0);
}

void rt_wake(struct nu_parker *parker)
{
    if (sim.current != NULL) {
        pauses_end();
    }
    atomic_fetch_add(&parker->word, 1);
    if (sim.current != NULL) {
        sim_work(sim.costs.wake_call_ns);
    }
    for (uint32_t i = 0; i < sim.core_count; i++) {
        struct core *core = &sim.cores[i];
        if (core->state != CORE_ASLEEP || core->parker != parker) {
            continue;
        }
        const uint64_t spread = sim.costs.wake_max_ns - sim.costs.wake_min_ns + 1;
        const uint64_t wake_ns = sim_now_ns() + sim.costs.wake_min_ns + sim_random() % spread;
        if (core->timed) {
            if (core->clock_ns <= wake_ns) {
                return; /* its timeout comes first */
            }
            heap_remove(core);
        }
        core->clock_ns = wake_ns > core->clock_ns || core->timed ? wake_ns : core->clock_ns;
        core->timed = false;
        core->state = CORE_READY;
        heap_insert(core);
        return;
    }
}

int rt_thread_start(struct nu_thread *thread, const struct nu_topology *topology, uint32_t cpu,
                    const char *name, void *(*main)(void *), void *argument)
{
    (void)name;
    struct core *core = core_add(0);
    core->thread_main = main;
    core->argument = argument;
    core->node = topology->cpus[cpu].node;
    thread->os_cpu = (int)(core - sim.cores);
    return 0;
}

void rt_thread_join(struct nu_thread *thread)
{
    const struct core *core = &sim.cores[thread->os_cpu];
    sim_run();
    assert(core->state == CORE_OVER);
}
