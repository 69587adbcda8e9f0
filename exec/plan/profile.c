#include "plan/profile.h"

#include "plan/spec.h"

#include <inttypes.h>

/* ---- rows and times ------------------------------------------------------------------------- */

uint64_t plan_rel_rows(const struct plan_rel *rel)
{
    uint64_t rows = 0;

    if (rel->rows_filtered != NULL) {
        return atomic_load_explicit(rel->rows_filtered, memory_order_relaxed);
    }
    if (rel->rows_out[0] == NULL) {
        for (uint32_t i = 0; i < rel->input_count; i++) {
            rows += plan_rel_rows(rel->inputs[i]);
        }
        return rows;
    }
    for (uint32_t i = 0; i < 2 && rel->rows_out[i] != NULL; i++) {
        rows += atomic_load_explicit(rel->rows_out[i], memory_order_relaxed);
    }
    return rows;
}

static uint64_t rows_in(const struct plan_rel *rel)
{
    uint64_t rows = 0;

    if (rel->input_count == 0 && rel->rows_out[0] != NULL) {
        return atomic_load_explicit(rel->rows_out[0], memory_order_relaxed);
    }
    for (uint32_t i = 0; i < rel->input_count; i++) {
        rows += plan_rel_rows(rel->inputs[i]);
    }
    return rows;
}

uint64_t plan_rel_busy_ns(const struct plan *plan, uint32_t rel)
{
    uint64_t busy_ns = 0;

    for (uint32_t p = 0; p < plan->pipe_count; p++) {
        const struct pipe *pipe = plan->pipes[p];
        const struct op_sink *sink = pipe->sink;
        bool is_counted = sink == NULL || sink->rel != rel;
        if (pipe->source->rel == rel) {
            busy_ns += atomic_load_explicit(&pipe->source->busy_ns, memory_order_relaxed);
        }
        for (uint32_t i = 0; i < pipe->op_count; i++) {
            if (pipe->ops[i]->rel == rel) {
                busy_ns += atomic_load_explicit(&pipe->ops[i]->busy_ns, memory_order_relaxed);
            }
        }
        for (uint32_t earlier = 0; earlier < p && !is_counted; earlier++) {
            is_counted = plan->pipes[earlier]->sink == sink; /* several pipes end in one sink */
        }
        if (!is_counted) {
            busy_ns += atomic_load_explicit(&sink->busy_ns, memory_order_relaxed);
        }
    }
    return busy_ns;
}

/* ---- names ---------------------------------------------------------------------------------- */

static void headline_scan(struct text *text, const struct exec_rel *spec)
{
    switch (spec->u.scan.source) {
        case EXEC_SCAN_TABLE: text_add(text, "scan table %s", spec->u.scan.table); break;
        case EXEC_SCAN_GENERATOR:
            text_add(text, "scan generator %s(%" PRId64 ")", spec->u.scan.generator,
                     spec->u.scan.generator_rows);
            break;
        default:
            text_add(text, "scan file %s", spec->u.scan.paths[0]);
            if (spec->u.scan.path_count > 1) {
                text_add(text, " and %" PRIu32 " more", spec->u.scan.path_count - 1);
            }
            break;
    }
}

const char *plan_window_name(enum exec_window_function function)
{
    static const char *const names[] = {[EXEC_WINDOW_ROW_NUMBER] = "row_number",
                                        [EXEC_WINDOW_RANK] = "rank",
                                        [EXEC_WINDOW_DENSE_RANK] = "dense_rank"};
    return names[function];
}

void plan_rel_headline(struct text *text, const struct plan_rel *rel)
{
    switch (rel->spec->kind) {
        case EXEC_REL_SCAN: headline_scan(text, rel->spec); break;
        case EXEC_REL_JOIN:
            text_add(text, "%s join%s, build side %s",
                     rel->join_kind != EXEC_JOIN_INNER ? spec_join_name(rel->join_kind)
                     : rel->key_count == 0 && rel->residual == NULL
                         ? spec_join_name(EXEC_JOIN_CROSS)
                         : spec_join_name(EXEC_JOIN_INNER),
                     rel->is_reordered ? " (reordered)" : "", rel->builds_left ? "left" : "right");
            break;
        case EXEC_REL_SORT:
            text_add(text, rel->sort_limit >= 0 ? "top-n" : "sort");
            if (rel->sort_limit >= 0) {
                text_add(text, " %" PRId64, rel->sort_limit);
            }
            if (rel->sort_offset > 0) {
                text_add(text, " after %" PRId64, rel->sort_offset);
            }
            break;
        case EXEC_REL_WINDOW:
            text_add(text, "window");
            if (rel->window_limit >= 0) {
                text_add(text, ", %s to %" PRId64, plan_window_name(rel->limited),
                         rel->window_limit);
            }
            break;
        case EXEC_REL_LIMIT:
            text_add(text, "limit %" PRId64 " offset %" PRId64 "%s", rel->spec->u.limit.count,
                     rel->spec->u.limit.offset, rel->is_folded ? " (done by the sort)" : "");
            break;
        default: text_add(text, "%s", spec_rel_name(rel->spec->kind)); break;
    }
}

void plan_pipe_steps(struct text *text, const struct pipe *pipe)
{
    text_add(text, "%s (%" PRIu32 ")", pipe->source->kind->name, pipe->source->rel);
    for (uint32_t i = 0; i < pipe->op_count; i++) {
        text_add(text, " -> %s (%" PRIu32 ")", pipe->ops[i]->kind->name, pipe->ops[i]->rel);
    }
    if (pipe->sink != NULL) {
        text_add(text, " -> %s (%" PRIu32 ")", pipe->sink->kind->name, pipe->sink->rel);
    }
}

/* ---- all of it ------------------------------------------------------------------------------ */

static const char *text_or_empty(const struct text *text)
{
    return text->bytes != NULL ? text->bytes : "";
}

static bool profile_relations(const struct plan *plan, struct plan_profile *out)
{
    bool refused = false;

    for (uint32_t i = 0; i < plan->ordered_count; i++) {
        const struct plan_rel *rel = plan->ordered[i];
        struct text name = {.arena = &plan->job->plan};
        bool is_again = false;

        for (uint32_t earlier = 0; earlier < i && !is_again; earlier++) {
            is_again = plan->ordered[earlier]->index == rel->index;
        }
        plan_rel_headline(&name, rel);
        refused |= name.refused;
        out->relations[i] = (struct exec_job_relation){
            .rel = rel->index,
            .name = text_or_empty(&name),
            .rows_estimate = rel->rows,
            .rows_in = rows_in(rel),
            .rows_out = plan_rel_rows(rel),
            .busy_ns = is_again ? 0 : plan_rel_busy_ns(plan, rel->index),
        };
    }
    return refused;
}

static bool profile_pipes(const struct plan *plan, struct plan_profile *out)
{
    bool refused = false;

    for (uint32_t p = 0; p < plan->pipe_count; p++) {
        const struct pipe *pipe = plan->pipes[p];
        struct text steps = {.arena = &plan->job->plan};

        plan_pipe_steps(&steps, pipe);
        refused |= steps.refused;
        out->pipes[p] = (struct exec_job_pipe){
            .number = pipe->number,
            .steps = text_or_empty(&steps),
            .rows = atomic_load_explicit(&pipe->source->rows_out, memory_order_relaxed),
            .morsels = atomic_load_explicit(&pipe->morsels, memory_order_relaxed),
            .busy_ns = atomic_load_explicit(&pipe->busy_ns, memory_order_relaxed),
        };
    }
    return refused;
}

enum exec_code plan_profile(const struct plan *plan, struct plan_profile *out,
                            struct exec_error *err)
{
    struct nu_arena *arena = &plan->job->plan;
    const size_t relations = (plan->ordered_count + 1) * sizeof *out->relations;
    const size_t pipes = (plan->pipe_count + 1) * sizeof *out->pipes;

    *out = (struct plan_profile){
        .relations = nu_arena_calloc(arena, relations, _Alignof(struct exec_job_relation)),
        .pipes = nu_arena_calloc(arena, pipes, _Alignof(struct exec_job_pipe)),
    };
    if (out->relations == NULL || out->pipes == NULL || profile_relations(plan, out) ||
        profile_pipes(plan, out)) {
        *out = (struct plan_profile){0};
        return job_memory_error(err, arena->refused, "the profile");
    }
    out->relation_count = plan->ordered_count;
    out->pipe_count = plan->pipe_count;
    return EXEC_OK;
}
