#include "plan/explain.h"

#include "plan/explain_figures.h"
#include "plan/profile.h"
#include "plan/spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { EXPR_TEXT_BYTES = 240, TREE_DEPTH_MAX = EXEC_RELS_MAX };

/* One walk writes both forms: a relation is a headline and a list of named texts. */
struct explainer {
    const struct plan *plan;
    const struct sched_job *ran; /* NULL: planned only */
    struct text text, json;
    bool continues[TREE_DEPTH_MAX]; /* a sibling follows at this depth of the tree */
};

/* ---- its details
 * ------------------------------------------------------------------------------------------- */

static void detail_columns(struct text *text, const struct plan_rel *rel)
{
    const char *separator = "";

    for (uint32_t c = 0; c < rel->schema.field_count; c++) {
        if (rel->needed[c]) {
            text_add(text, "%s%s", separator, rel->schema.fields[c].name);
            separator = ", ";
        }
    }
    text_add(text, *separator == '\0' ? "none" : "%s", "");
}

static void detail_exprs(struct text *text, struct expr *const *exprs, uint32_t count,
                         const struct exec_schema *input, const char *separator)
{
    for (uint32_t i = 0; i < count; i++) {
        char one[EXPR_TEXT_BYTES];
        expr_text(exprs[i], input, one, sizeof one);
        text_add(text, "%s%s", i == 0 ? "" : separator, one);
    }
}

static void detail_join_keys(struct text *text, const struct plan_rel *rel)
{
    for (uint32_t k = 0; k < rel->key_count; k++) {
        char left[EXPR_TEXT_BYTES], right[EXPR_TEXT_BYTES];
        expr_text(rel->exprs[k], &rel->inputs[0]->schema, left, sizeof left);
        expr_text(rel->right_keys[k], &rel->inputs[1]->schema, right, sizeof right);
        text_add(text, "%s%s %s %s", k == 0 ? "" : ", ", left,
                 rel->nulls_equal[k] ? "is not distinct from" : "=", right);
    }
}

static void detail_asof(struct text *text, const struct plan_rel *rel)
{
    static const char *const signs[] = {
        [EXEC_ASOF_BACKWARD] = ">=",
        [EXEC_ASOF_BACKWARD_STRICT] = ">",
        [EXEC_ASOF_FORWARD] = "<=",
        [EXEC_ASOF_FORWARD_STRICT] = "<",
    };
    char left[EXPR_TEXT_BYTES], right[EXPR_TEXT_BYTES];

    expr_text(rel->exprs[rel->key_count], &rel->inputs[0]->schema, left, sizeof left);
    expr_text(rel->right_keys[rel->key_count], &rel->inputs[1]->schema, right, sizeof right);
    text_add(text, "%s %s %s", left, signs[rel->spec->u.join.asof.direction], right);
}

static void detail_measures(struct text *text, const struct plan_rel *rel)
{
    const enum exec_phase phase = rel->spec->u.aggregate.phase;

    text_add(text, "%s",
             phase == EXEC_PHASE_PARTIAL ? "states of "
             : phase == EXEC_PHASE_FINAL ? "out of states: "
                                         : "");
    for (uint32_t m = 0; m < rel->spec->u.aggregate.measure_count; m++) {
        const struct group_measure *measure = &rel->measures[m];
        char argument[EXPR_TEXT_BYTES] = "";

        if (measure->state != NULL) {
            expr_text(measure->state, &rel->inputs[0]->schema, argument, sizeof argument);
        } else if (measure->argument != NULL) {
            expr_text(measure->argument, &rel->inputs[0]->schema, argument, sizeof argument);
        }
        text_add(text, "%s%s(%s%s", m == 0 ? "" : ", ", group_function_name(measure->function),
                 measure->distinct ? "distinct " : "", argument);
        for (uint32_t o = 0; measure->state == NULL && o < measure->other_count; o++) {
            const bool is_argument = o + 1 < group_function(measure->function)->argument_count;
            expr_text(measure->others[o], &rel->inputs[0]->schema, argument, sizeof argument);
            text_add(text, "%s%s", is_argument ? ", " : o == 0 ? " order by " : ", ", argument);
        }
        if ((group_function(measure->function)->extras & AGG_FRACTION) != 0) {
            text_add(text, ", %g", measure->fraction);
        }
        text_add(text, ")");
        if (measure->filter != NULL) {
            expr_text(measure->filter, &rel->inputs[0]->schema, argument, sizeof argument);
            text_add(text, " filter (%s)", argument);
        }
    }
}

static void detail_sets(struct text *text, const struct plan_rel *rel)
{
    const struct exec_rel *spec = rel->spec;

    for (uint32_t s = 0; s < spec->u.aggregate.set_count; s++) {
        const struct exec_grouping_set *set = &spec->u.aggregate.sets[s];
        text_add(text, "%s(", s == 0 ? "" : ", ");
        for (uint32_t k = 0; k < set->key_count; k++) {
            text_add(text, "%s%s", k == 0 ? "" : ", ",
                     spec->u.aggregate.keys[set->keys[k] - 1].name);
        }
        text_add(text, ")");
    }
    text_add(text, "%s", rel->groups_first ? ", out of the groups of all keys" : ", row by row");
}

static void detail_order(struct text *text, struct expr *const *exprs,
                         const struct exec_sort_key *keys, uint32_t count,
                         const struct exec_schema *input)
{
    static const char *const directions[] = {
        [EXEC_ASC_NULLS_LAST] = "asc",
        [EXEC_ASC_NULLS_FIRST] = "asc nulls first",
        [EXEC_DESC_NULLS_LAST] = "desc nulls last",
        [EXEC_DESC_NULLS_FIRST] = "desc",
    };

    for (uint32_t k = 0; k < count; k++) {
        char key[EXPR_TEXT_BYTES];
        expr_text(exprs[k], input, key, sizeof key);
        text_add(text, "%s%s %s", k == 0 ? "" : ", ", key, directions[keys[k].direction]);
    }
}

static void detail_functions(struct text *text, const struct exec_rel *spec)
{
    for (uint32_t f = 0; f < spec->u.window.function_count; f++) {
        text_add(text, "%s%s", f == 0 ? "" : ", ",
                 plan_window_name(spec->u.window.functions[f].function));
    }
}

static void detail_join_figures(struct text *text, const struct plan_rel *rel)
{
    struct join_figures figures;

    join_figures(rel->join, &figures);
    text_add(text,
             "%" PRIu64 " build rows, %" PRIu64 " slots, %" PRIu32 " partitions, %" PRIu64
             " bytes%s; probe %s",
             figures.build_rows, figures.directory_slots, figures.partitions, figures.memory_bytes,
             figures.unique_keys ? ", keys unique" : "", figures.probe_mode);
    if (figures.routed_rows != 0) {
        text_add(text, "; %" PRIu64 " rows routed", figures.routed_rows);
    }
}

static void detail_group_figures(struct text *text, const struct plan_rel *rel)
{
    struct group_figures figures;

    group_figures(rel->group, &figures);
    text_add(text,
             "%" PRIu64 " groups, %" PRIu64 " hot hits, %" PRIu64 " misses, %" PRIu32
             " partitions on %" PRIu32 " node%s, %" PRIu64 " bytes",
             figures.groups, figures.hot_hits, figures.hot_misses, figures.partitions,
             figures.nodes, figures.nodes == 1 ? "" : "s", figures.memory_bytes);
}

/* Names and texts of what there is to say about a relation, one after another. Returns false behind
 * the last. */
static bool detail(const struct explainer *explainer, const struct plan_rel *rel, uint32_t number,
                   const char **name_out, struct text *text)
{
    const struct exec_rel *spec = rel->spec;
    const struct exec_schema *input =
        rel->input_count == 0 ? &rel->schema : &rel->inputs[0]->schema;

    *name_out = NULL; /* nothing under this number */
    switch (number) {
        case 0:
            if (spec->kind == EXEC_REL_SCAN) {
                *name_out = "columns";
                detail_columns(text, rel);
            } else if (spec->kind == EXEC_REL_PROJECT) {
                *name_out = "columns";
                detail_exprs(text, rel->exprs, rel->schema.field_count, input, ", ");
            } else if (spec->kind == EXEC_REL_JOIN && rel->key_count != 0) {
                *name_out = "on";
                detail_join_keys(text, rel);
            } else if (spec->kind == EXEC_REL_AGGREGATE && spec->u.aggregate.key_count != 0) {
                *name_out = "keys";
                detail_exprs(text, rel->exprs, spec->u.aggregate.key_count, input, ", ");
            } else if (spec->kind == EXEC_REL_SORT) {
                *name_out = "by";
                detail_order(text, rel->exprs, spec->u.sort.keys, spec->u.sort.key_count, input);
            } else if (spec->kind == EXEC_REL_WINDOW && spec->u.window.partition_count != 0) {
                *name_out = "partition by";
                detail_exprs(text, rel->exprs, spec->u.window.partition_count, input, ", ");
            }
            return true;
        case 1:
            if (spec->kind == EXEC_REL_AGGREGATE && spec->u.aggregate.measure_count != 0) {
                *name_out = "measures";
                detail_measures(text, rel);
            } else if (spec->kind == EXEC_REL_JOIN && rel->join_kind == EXEC_JOIN_ASOF) {
                *name_out = "nearest";
                detail_asof(text, rel);
            } else if (spec->kind == EXEC_REL_JOIN && rel->residual != NULL) {
                *name_out = "residual";
                detail_exprs(text, &rel->residual, 1, &rel->both, "");
            } else if (spec->kind == EXEC_REL_WINDOW && spec->u.window.order_count != 0) {
                *name_out = "order by";
                detail_order(text, rel->exprs + spec->u.window.partition_count,
                             spec->u.window.order, spec->u.window.order_count, input);
            }
            return true;
        case 2:
            if (rel->predicate_count > rel->pushed_count) {
                *name_out = "filter";
                detail_exprs(text, rel->predicates, rel->predicate_count - rel->pushed_count,
                             &rel->schema, " and ");
            } else if (spec->kind == EXEC_REL_FILTER) {
                *name_out = "filter";
                text_add(text, "moved down");
            }
            return true;
        case 3:
            if (rel->pushed_count != 0) {
                *name_out = "filter pushed here";
                detail_exprs(text, rel->predicates + rel->predicate_count - rel->pushed_count,
                             rel->pushed_count, &rel->schema, " and ");
            }
            return true;
        case 4:
            if (rel->verdict != NULL) {
                *name_out = "compared";
                detail_exprs(text, &rel->verdict, 1, &rel->both, "");
            } else if (spec->kind == EXEC_REL_WINDOW) {
                *name_out = "functions";
                detail_functions(text, spec);
            } else if (spec->kind == EXEC_REL_AGGREGATE && spec->u.aggregate.set_count != 0) {
                *name_out = "grouping sets";
                detail_sets(text, rel);
            }
            return true;
        case 5:
            if (explainer->ran != NULL && rel->join != NULL) {
                *name_out = "table";
                detail_join_figures(text, rel);
            } else if (explainer->ran != NULL && rel->group != NULL) {
                *name_out = "table";
                detail_group_figures(text, rel);
            }
            return true;
        default: return false;
    }
}

/* ---- the tree
 * ------------------------------------------------------------------------------------------------
 */

static void tree_indent(struct explainer *explainer, uint32_t depth, bool is_head)
{
    for (uint32_t d = 1; d <= depth; d++) {
        const bool last = d == depth;
        text_add(&explainer->text, "%s",
                 last && is_head           ? (explainer->continues[d] ? "|- " : "`- ")
                 : explainer->continues[d] ? "|  "
                                           : "   ");
    }
}

static void tree_rows(struct explainer *explainer, const struct plan_rel *rel)
{
    if (rel->rows >= 0) {
        text_add(&explainer->text, "  rows %s%.0f", rel->rows_exact ? "" : "~", rel->rows);
        text_add(&explainer->json, ",\"rows_estimate\":%.0f,\"rows_exact\":%s", rel->rows,
                 rel->rows_exact ? "true" : "false");
    }
    if (explainer->ran != NULL) {
        text_add(&explainer->text, "  actual %" PRIu64, plan_rel_rows(rel));
        text_add(&explainer->json, ",\"rows\":%" PRIu64, plan_rel_rows(rel));
        if (explainer->plan->job->is_profiled) {
            const uint64_t busy_ns = plan_rel_busy_ns(explainer->plan, rel->index);
            text_add(&explainer->text, "  time %.3f ms", (double)busy_ns / 1e6);
            text_add(&explainer->json, ",\"busy_ns\":%" PRIu64, busy_ns);
        }
    }
}

static void tree_details(struct explainer *explainer, const struct plan_rel *rel, uint32_t depth)
{
    for (uint32_t number = 0;; number++) {
        struct text value = {.arena = explainer->text.arena};
        const char *name;

        if (!detail(explainer, rel, number, &name, &value)) {
            return;
        }
        explainer->text.refused |= value.refused;
        if (name == NULL || value.bytes == NULL) {
            continue;
        }
        tree_indent(explainer, depth, false);
        text_add(&explainer->text, "%s  %s: %s\n", rel->input_count == 0 ? " " : "|", name,
                 value.bytes);
        text_add(&explainer->json, ",");
        text_add_json_string(&explainer->json, name);
        text_add(&explainer->json, ":");
        text_add_json_string(&explainer->json, value.bytes);
    }
}

static void tree(struct explainer *explainer, const struct plan_rel *rel, uint32_t depth)
{
    struct text head = {.arena = explainer->text.arena};

    plan_rel_headline(&head, rel);
    tree_indent(explainer, depth, true);
    text_add(&explainer->text, "%" PRIu32 " %s", rel->index, head.bytes == NULL ? "" : head.bytes);
    text_add(&explainer->json, "{\"rel\":%" PRIu32 ",\"kind\":", rel->index);
    text_add_json_string(&explainer->json, spec_rel_name(rel->spec->kind));
    text_add(&explainer->json, ",\"title\":");
    text_add_json_string(&explainer->json, head.bytes == NULL ? "" : head.bytes);
    if (rel->spec->label != NULL) {
        text_add(&explainer->text, " '%s'", rel->spec->label);
        text_add(&explainer->json, ",\"label\":");
        text_add_json_string(&explainer->json, rel->spec->label);
    }
    if (rel->spec->kind == EXEC_REL_JOIN) {
        text_add(&explainer->json, ",\"build_side\":\"%s\"", rel->builds_left ? "left" : "right");
    }
    tree_rows(explainer, rel);
    text_add(&explainer->text, "\n");
    explainer->continues[depth + 1] = rel->input_count != 0;
    tree_details(explainer, rel, depth);
    text_add(&explainer->json, ",\"inputs\":[");
    for (uint32_t i = 0; i < rel->input_count; i++) {
        text_add(&explainer->json, i == 0 ? "" : ",");
        explainer->continues[depth + 1] = i + 1 < rel->input_count;
        tree(explainer, rel->inputs[i], depth + 1);
    }
    text_add(&explainer->json, "]}");
}

enum exec_code plan_explain(const struct plan *plan, const struct sched_job *ran,
                            uint64_t elapsed_ns, char **text_out, char **json_out,
                            struct exec_error *err)
{
    struct nu_arena *arena = &plan->job->plan;
    struct explainer *explainer = nu_arena_calloc(arena, sizeof *explainer, 16);

    if (explainer == NULL) {
        return job_memory_error(err, arena->refused, "explaining the plan");
    }
    explainer->plan = plan;
    explainer->ran = ran;
    explainer->text.arena = explainer->json.arena = arena;
    text_add(&explainer->json, "{\"plan\":");
    tree(explainer, plan->root, 0);
    explain_pipes(plan, ran != NULL, &explainer->text, &explainer->json);
    if (ran != NULL) {
        explain_workers(plan, ran, elapsed_ns, &explainer->text, &explainer->json);
    }
    text_add(&explainer->json, "}\n");
    if (explainer->text.refused || explainer->json.refused) {
        return job_memory_error(err, arena->refused, "explaining the plan");
    }
    *text_out = explainer->text.bytes;
    *json_out = explainer->json.bytes;
    return EXEC_OK;
}
