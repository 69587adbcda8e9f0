#include "wire_rel.h"

#include "wire_expr.h"
#include "wire_types.h"
#include "wire_window.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SAME(exec, wire) _Static_assert((int)(exec) == (int)(wire), #exec " is " #wire)
#define SAME_JOIN(name) SAME(EXEC_JOIN_##name, MORSEL__V1__JOIN_TYPE__JOIN_TYPE_##name)
SAME_JOIN(INNER);
SAME_JOIN(LEFT);
SAME_JOIN(RIGHT);
SAME_JOIN(FULL);
SAME_JOIN(LEFT_SEMI);
SAME_JOIN(LEFT_ANTI);
SAME_JOIN(LEFT_MARK);
SAME_JOIN(LEFT_ANTI_NULL_AWARE);
SAME_JOIN(CROSS);
SAME_JOIN(ASOF);
#define SAME_ASOF(name) SAME(EXEC_ASOF_##name, MORSEL__V1__ASOF_DIRECTION__ASOF_DIRECTION_##name)
SAME_ASOF(BACKWARD);
SAME_ASOF(BACKWARD_STRICT);
SAME_ASOF(FORWARD);
SAME_ASOF(FORWARD_STRICT);
#define SAME_STRATEGY(name) \
    SAME(EXEC_STRATEGY_##name, MORSEL__V1__JOIN_STRATEGY__JOIN_STRATEGY_##name)
SAME_STRATEGY(SHARED_HASH);
SAME_STRATEGY(RADIX_HASH);
SAME(EXEC_BUILD_LEFT, MORSEL__V1__BUILD_SIDE__BUILD_SIDE_LEFT);
SAME(EXEC_BUILD_RIGHT, MORSEL__V1__BUILD_SIDE__BUILD_SIDE_RIGHT);
#define SAME_AGG(name) \
    SAME(EXEC_AGG_##name, MORSEL__V1__AGGREGATE_FUNCTION__AGGREGATE_FUNCTION_##name)
SAME_AGG(COUNT_STAR);
SAME_AGG(COUNT);
SAME_AGG(SUM);
SAME_AGG(MIN);
SAME_AGG(MAX);
SAME_AGG(AVG);
SAME_AGG(COUNT_DISTINCT);
SAME_AGG(VAR_SAMP);
SAME_AGG(STDDEV_SAMP);
SAME_AGG(ANY_VALUE);
SAME_AGG(VAR_POP);
SAME_AGG(STDDEV_POP);
SAME_AGG(BOOL_AND);
SAME_AGG(BOOL_OR);
SAME_AGG(FIRST);
SAME_AGG(LAST);
SAME_AGG(STRING_AGG);
SAME_AGG(QUANTILE_CONT);
SAME_AGG(QUANTILE_DISC);
SAME_AGG(APPROX_COUNT_DISTINCT);
SAME_AGG(APPROX_QUANTILE);
SAME_AGG(ARG_MIN);
SAME_AGG(ARG_MAX);
SAME_AGG(MODE);
SAME_AGG(CORR);
SAME_AGG(COVAR_SAMP);
SAME_AGG(COVAR_POP);
SAME_AGG(BIT_AND);
SAME_AGG(BIT_OR);
SAME_AGG(BIT_XOR);
SAME_AGG(HISTOGRAM);
SAME(EXEC_PHASE_PARTIAL, MORSEL__V1__AGGREGATE_PHASE__AGGREGATE_PHASE_PARTIAL);
SAME(EXEC_PHASE_FINAL, MORSEL__V1__AGGREGATE_PHASE__AGGREGATE_PHASE_FINAL);
#define SAME_DIRECTION(name) SAME(EXEC_##name, MORSEL__V1__SORT_DIRECTION__SORT_DIRECTION_##name)
SAME_DIRECTION(ASC_NULLS_LAST);
SAME_DIRECTION(ASC_NULLS_FIRST);
SAME_DIRECTION(DESC_NULLS_LAST);
SAME_DIRECTION(DESC_NULLS_FIRST);

enum { FIELD_PATH_BYTES = 96, MEASURE_ARGS_MAX = 16 };

/* ---- message -> spec ------------------------------------------------------------------------ */

static enum exec_code named_read(const struct wire_reader *reader, const char *field,
                                 Morsel__V1__NamedExpr *const *messages, size_t count,
                                 size_t count_max, const struct exec_named_expr **named_out)
{
    struct exec_named_expr *named;
    enum exec_code code = wire_count_check(reader, field, count, count_max);

    if (code != EXEC_OK) {
        return code;
    }
    named = wire_memory_array(reader->memory, count, sizeof *named);
    if (named == NULL) {
        return wire_fail_memory(reader);
    }
    for (size_t i = 0; i < count && code == EXEC_OK; i++) {
        char path[FIELD_PATH_BYTES];
        snprintf(path, sizeof path, "%s[%zu].name", field, i + 1);
        code = wire_name_check(reader, path, messages[i]->name);
        named[i] = (struct exec_named_expr){messages[i]->name, messages[i]->expr};
    }
    *named_out = named;
    return code;
}

enum exec_code wire_sort_keys_read(const struct wire_reader *reader, const char *field,
                                   Morsel__V1__SortKey *const *messages, size_t count,
                                   const struct exec_sort_key **keys_out)
{
    struct exec_sort_key *keys;
    enum exec_code code = wire_count_check(reader, field, count, EXEC_KEYS_MAX);

    if (code != EXEC_OK) {
        return code;
    }
    keys = wire_memory_array(reader->memory, count, sizeof *keys);
    if (keys == NULL) {
        return wire_fail_memory(reader);
    }
    for (size_t i = 0; i < count && code == EXEC_OK; i++) {
        char path[FIELD_PATH_BYTES];
        snprintf(path, sizeof path, "%s[%zu].direction", field, i + 1);
        code = wire_enum_check(reader, path, &morsel__v1__sort_direction__descriptor,
                               (int)messages[i]->direction, false, EXEC_DESC_NULLS_FIRST);
        keys[i].expr = messages[i]->expr;
        keys[i].direction = (enum exec_direction)messages[i]->direction;
    }
    *keys_out = keys;
    return code;
}

static enum exec_code project_read(const struct wire_reader *reader,
                                   const Morsel__V1__ProjectRel *message, struct exec_rel *rel)
{
    rel->kind = EXEC_REL_PROJECT;
    rel->u.project.input = message->input;
    rel->u.project.expr_count = (uint32_t)message->n_exprs;
    return named_read(reader, "project.exprs", message->exprs, message->n_exprs, EXEC_COLUMNS_MAX,
                      &rel->u.project.exprs);
}

static enum exec_code join_enums_read(const struct wire_reader *reader,
                                      const Morsel__V1__JoinRel *message, struct exec_rel *rel)
{
    enum exec_code code;

    code = wire_enum_check(reader, "join.type", &morsel__v1__join_type__descriptor,
                           (int)message->type, false, EXEC_JOIN_ASOF);
    if (code == EXEC_OK) {
        code = wire_enum_check(reader, "join.strategy", &morsel__v1__join_strategy__descriptor,
                               (int)message->strategy, true, EXEC_STRATEGY_RADIX_HASH);
    }
    if (code == EXEC_OK) {
        code = wire_enum_check(reader, "join.build_side", &morsel__v1__build_side__descriptor,
                               (int)message->build_side, true, EXEC_BUILD_RIGHT);
    }
    rel->u.join.kind = (enum exec_join_kind)message->type;
    rel->u.join.strategy = (enum exec_join_strategy)message->strategy;
    rel->u.join.build_side = (enum exec_build_side)message->build_side;
    return code;
}

static enum exec_code asof_read(const struct wire_reader *reader,
                                const Morsel__V1__JoinRel *message, struct exec_rel *rel)
{
    const Morsel__V1__AsofMatch *asof = message->asof;

    if (asof == NULL) {
        return EXEC_OK;
    }
    rel->u.join.asof = (struct exec_asof){
        .left = asof->left,
        .right = asof->right,
        .direction = (enum exec_asof_direction)asof->direction,
        .keep_unmatched = asof->keep_unmatched,
    };
    return wire_enum_check(reader, "join.asof.direction", &morsel__v1__asof_direction__descriptor,
                           (int)asof->direction, false, EXEC_ASOF_FORWARD_STRICT);
}

static enum exec_code join_read(const struct wire_reader *reader,
                                const Morsel__V1__JoinRel *message, struct exec_rel *rel)
{
    struct exec_join_key *keys;
    enum exec_code code;

    rel->kind = EXEC_REL_JOIN;
    rel->u.join.left = message->left;
    rel->u.join.right = message->right;
    rel->u.join.residual = message->residual;
    code = join_enums_read(reader, message, rel);
    if (code == EXEC_OK) {
        code = asof_read(reader, message, rel);
    }
    if (code == EXEC_OK) {
        code = wire_count_check(reader, "join.keys", message->n_keys, EXEC_KEYS_MAX);
    }
    if (code != EXEC_OK) {
        return code;
    }
    keys = wire_memory_array(reader->memory, message->n_keys, sizeof *keys);
    if (keys == NULL) {
        return wire_fail_memory(reader);
    }
    for (size_t i = 0; i < message->n_keys; i++) {
        keys[i].left = message->keys[i]->left;
        keys[i].right = message->keys[i]->right;
        keys[i].nulls_equal = message->keys[i]->nulls_equal;
    }
    rel->u.join.keys = keys;
    rel->u.join.key_count = (uint32_t)message->n_keys;
    return EXEC_OK;
}

/* FINAL: of PARTIAL's arguments and order. */
static enum exec_code argument_types_read(const struct wire_reader *reader, const char *field,
                                          const Morsel__V1__Measure *message,
                                          struct exec_measure *measure)
{
    const size_t count = message->n_argument_types;
    struct exec_type *types;
    enum exec_code code = wire_count_check(reader, field, count, MEASURE_ARGS_MAX + EXEC_KEYS_MAX);

    if (code != EXEC_OK) {
        return code;
    }
    types = wire_memory_array(reader->memory, count, sizeof *types);
    if (types == NULL) {
        return wire_fail_memory(reader);
    }
    for (size_t i = 0; i < count && code == EXEC_OK; i++) {
        code = wire_type_read(reader, field, message->argument_types[i], &types[i]);
    }
    measure->argument_types = types;
    measure->argument_type_count = (uint32_t)count;
    return code;
}

static enum exec_code measure_read(const struct wire_reader *reader, size_t at,
                                   const Morsel__V1__Measure *message, struct exec_measure *measure)
{
    char path[FIELD_PATH_BYTES];
    enum exec_code code;

    snprintf(path, sizeof path, "aggregate.measures[%zu].function", at);
    code = wire_enum_check(reader, path, &morsel__v1__aggregate_function__descriptor,
                           (int)message->function, false, EXEC_AGG_FUNCTION_COUNT - 1);
    if (code == EXEC_OK) {
        snprintf(path, sizeof path, "aggregate.measures[%zu].arguments", at);
        code = wire_count_check(reader, path, message->n_arguments, MEASURE_ARGS_MAX);
    }
    if (code == EXEC_OK) {
        snprintf(path, sizeof path, "aggregate.measures[%zu].name", at);
        code = wire_name_check(reader, path, message->name);
    }
    if (code == EXEC_OK) {
        snprintf(path, sizeof path, "aggregate.measures[%zu].order", at);
        code = wire_sort_keys_read(reader, path, message->order, message->n_order, &measure->order);
    }
    if (code == EXEC_OK) {
        snprintf(path, sizeof path, "aggregate.measures[%zu].parameters", at);
        code = wire_literals_read(reader, path, message->parameters, message->n_parameters,
                                  &measure->parameters);
    }
    if (code == EXEC_OK) {
        snprintf(path, sizeof path, "aggregate.measures[%zu].argument_types", at);
        code = argument_types_read(reader, path, message, measure);
    }
    measure->function = (enum exec_aggregate_function)message->function;
    measure->args = message->arguments;
    measure->arg_count = (uint32_t)message->n_arguments;
    measure->filter = message->filter;
    measure->name = message->name;
    measure->distinct = message->distinct;
    measure->order_count = (uint32_t)message->n_order;
    measure->parameter_count = (uint32_t)message->n_parameters;
    return code;
}

static enum exec_code grouping_sets_read(const struct wire_reader *reader,
                                         const Morsel__V1__AggregateRel *message,
                                         struct exec_rel *rel)
{
    const size_t count = message->n_grouping_sets;
    struct exec_grouping_set *sets;
    enum exec_code code =
        wire_count_check(reader, "aggregate.grouping_sets", count, EXEC_GROUPING_SETS_MAX);

    if (code != EXEC_OK) {
        return code;
    }
    sets = wire_memory_array(reader->memory, count, sizeof *sets);
    if (sets == NULL) {
        return wire_fail_memory(reader);
    }
    for (size_t s = 0; s < count && code == EXEC_OK; s++) {
        code = wire_count_check(reader, "aggregate.grouping_sets.keys",
                                message->grouping_sets[s]->n_keys, EXEC_KEYS_MAX);
        sets[s].keys = message->grouping_sets[s]->keys;
        sets[s].key_count = (uint32_t)message->grouping_sets[s]->n_keys;
    }
    rel->u.aggregate.sets = sets;
    rel->u.aggregate.set_count = (uint32_t)count;
    if (code == EXEC_OK && message->grouping_set_name[0] != 0) {
        code = wire_name_check(reader, "aggregate.grouping_set_name", message->grouping_set_name);
        rel->u.aggregate.set_name = message->grouping_set_name;
    }
    return code;
}

static enum exec_code aggregate_read(const struct wire_reader *reader,
                                     const Morsel__V1__AggregateRel *message, struct exec_rel *rel)
{
    struct exec_measure *measures;
    enum exec_code code;

    rel->kind = EXEC_REL_AGGREGATE;
    rel->u.aggregate.input = message->input;
    code = wire_enum_check(reader, "aggregate.phase", &morsel__v1__aggregate_phase__descriptor,
                           (int)message->phase, true, EXEC_PHASE_FINAL);
    rel->u.aggregate.phase = (enum exec_phase)message->phase;
    if (code == EXEC_OK) {
        code = named_read(reader, "aggregate.keys", message->keys, message->n_keys, EXEC_KEYS_MAX,
                          &rel->u.aggregate.keys);
        rel->u.aggregate.key_count = (uint32_t)message->n_keys;
    }
    if (code == EXEC_OK) {
        code = grouping_sets_read(reader, message, rel);
    }
    if (code == EXEC_OK) {
        code =
            wire_count_check(reader, "aggregate.measures", message->n_measures, EXEC_COLUMNS_MAX);
    }
    if (code != EXEC_OK) {
        return code;
    }
    measures = wire_memory_array(reader->memory, message->n_measures, sizeof *measures);
    if (measures == NULL) {
        return wire_fail_memory(reader);
    }
    for (size_t i = 0; i < message->n_measures && code == EXEC_OK; i++) {
        code = measure_read(reader, i + 1, message->measures[i], &measures[i]);
    }
    rel->u.aggregate.measures = measures;
    rel->u.aggregate.measure_count = (uint32_t)message->n_measures;
    return code;
}

enum exec_code wire_row_count_read(const struct wire_reader *reader, const char *field,
                                   const Morsel__V1__Int64Value *message, int64_t *count_out)
{
    *count_out = message == NULL ? -1 : message->value;
    return message == NULL || message->value >= 0
               ? EXEC_OK
               : wire_fail(reader, EXEC_BAD_SPEC, "%s: %" PRId64 " is negative", field,
                           message->value);
}

static enum exec_code sort_read(const struct wire_reader *reader,
                                const Morsel__V1__SortRel *message, struct exec_rel *rel)
{
    enum exec_code code;

    if (message->n_partition_by != 0) {
        return wire_fail(
            reader, EXEC_NOT_IMPLEMENTED,
            "sort.partition_by: not implemented; a window relation with a limit does it");
    }
    rel->kind = EXEC_REL_SORT;
    rel->u.sort.input = message->input;
    rel->u.sort.key_count = (uint32_t)message->n_keys;
    code =
        wire_sort_keys_read(reader, "sort.keys", message->keys, message->n_keys, &rel->u.sort.keys);
    return code != EXEC_OK
               ? code
               : wire_row_count_read(reader, "sort.limit", message->limit, &rel->u.sort.limit);
}

static enum exec_code limit_read(const struct wire_reader *reader,
                                 const Morsel__V1__LimitRel *message, struct exec_rel *rel)
{
    rel->kind = EXEC_REL_LIMIT;
    rel->u.limit.input = message->input;
    rel->u.limit.offset = message->offset;
    if (message->offset < 0) {
        return wire_fail(reader, EXEC_BAD_SPEC, "limit.offset: %" PRId64 " is negative",
                         message->offset);
    }
    return wire_row_count_read(reader, "limit.count", message->count, &rel->u.limit.count);
}

enum exec_code wire_rel_read(const struct wire_reader *reader, const Morsel__V1__Rel *message,
                             struct exec_rel *rel_out)
{
    memset(rel_out, 0, sizeof *rel_out);
    rel_out->label = message->label[0] == '\0' ? NULL : message->label;
    switch (message->kind_case) {
        case MORSEL__V1__REL__KIND_SCAN:
            rel_out->kind = EXEC_REL_SCAN;
            return wire_scan_read(reader, message->scan, rel_out);
        case MORSEL__V1__REL__KIND_FILTER:
            rel_out->kind = EXEC_REL_FILTER;
            rel_out->u.filter.input = message->filter->input;
            rel_out->u.filter.predicate = message->filter->predicate;
            return EXEC_OK;
        case MORSEL__V1__REL__KIND_PROJECT: return project_read(reader, message->project, rel_out);
        case MORSEL__V1__REL__KIND_JOIN: return join_read(reader, message->join, rel_out);
        case MORSEL__V1__REL__KIND_AGGREGATE:
            return aggregate_read(reader, message->aggregate, rel_out);
        case MORSEL__V1__REL__KIND_SORT: return sort_read(reader, message->sort, rel_out);
        case MORSEL__V1__REL__KIND_LIMIT: return limit_read(reader, message->limit, rel_out);
        case MORSEL__V1__REL__KIND_UNION_ALL:
            rel_out->kind = EXEC_REL_UNION_ALL;
            rel_out->u.union_all.inputs = message->union_all->inputs;
            rel_out->u.union_all.input_count = (uint32_t)message->union_all->n_inputs;
            return wire_count_check(reader, "union_all.inputs", message->union_all->n_inputs,
                                    EXEC_RELS_MAX);
        case MORSEL__V1__REL__KIND_DISTINCT:
            rel_out->kind = EXEC_REL_DISTINCT;
            rel_out->u.distinct.input = message->distinct->input;
            return EXEC_OK;
        case MORSEL__V1__REL__KIND_WINDOW:
            return wire_window_read(reader, message->window, rel_out);
        default: return wire_fail(reader, EXEC_BAD_SPEC, "kind is not set");
    }
}

/* ---- spec -> message ------------------------------------------------------------------------ */

static bool named_write(struct wire_memory *memory, const struct exec_named_expr *named,
                        size_t count, size_t *count_out, Morsel__V1__NamedExpr ***messages_out)
{
    Morsel__V1__NamedExpr **messages = wire_memory_array(memory, count, sizeof *messages);

    for (size_t i = 0; messages != NULL && i < count; i++) {
        messages[i] = wire_message_new(memory, &morsel__v1__named_expr__descriptor);
        if (messages[i] == NULL) {
            return false;
        }
        messages[i]->name = wire_memory_text(memory, named[i].name);
        messages[i]->expr = named[i].expr;
        if (messages[i]->name == NULL) {
            return false;
        }
    }
    *messages_out = messages;
    *count_out = count;
    return messages != NULL;
}

bool wire_sort_keys_write(struct wire_memory *memory, const struct exec_sort_key *keys,
                          size_t count, size_t *count_out, Morsel__V1__SortKey ***messages_out)
{
    Morsel__V1__SortKey **messages = wire_memory_array(memory, count, sizeof *messages);

    for (size_t i = 0; messages != NULL && i < count; i++) {
        messages[i] = wire_message_new(memory, &morsel__v1__sort_key__descriptor);
        if (messages[i] == NULL) {
            return false;
        }
        messages[i]->expr = keys[i].expr;
        messages[i]->direction = (Morsel__V1__SortDirection)keys[i].direction;
    }
    *messages_out = messages;
    *count_out = count;
    return messages != NULL;
}

bool wire_row_count_write(struct wire_memory *memory, int64_t count,
                          Morsel__V1__Int64Value **message_out)
{
    if (count < 0) {
        return true;
    }
    *message_out = wire_message_new(memory, &morsel__v1__int64_value__descriptor);
    if (*message_out == NULL) {
        return false;
    }
    (*message_out)->value = count;
    return true;
}

static bool asof_write(struct wire_memory *memory, const struct exec_asof *asof,
                       Morsel__V1__JoinRel *join)
{
    if (asof->direction == EXEC_ASOF_NONE) {
        return true;
    }
    join->asof = wire_message_new(memory, &morsel__v1__asof_match__descriptor);
    if (join->asof == NULL) {
        return false;
    }
    join->asof->left = asof->left;
    join->asof->right = asof->right;
    join->asof->direction = (Morsel__V1__AsofDirection)asof->direction;
    join->asof->keep_unmatched = asof->keep_unmatched;
    return true;
}

static bool join_write(struct wire_memory *memory, const struct exec_rel *rel,
                       Morsel__V1__JoinRel *join)
{
    join->left = rel->u.join.left;
    join->right = rel->u.join.right;
    join->type = (Morsel__V1__JoinType)rel->u.join.kind;
    join->residual = rel->u.join.residual;
    join->strategy = (Morsel__V1__JoinStrategy)rel->u.join.strategy;
    join->build_side = (Morsel__V1__BuildSide)rel->u.join.build_side;
    join->n_keys = rel->u.join.key_count;
    join->keys = wire_memory_array(memory, join->n_keys, sizeof *join->keys);
    for (size_t i = 0; join->keys != NULL && i < join->n_keys; i++) {
        join->keys[i] = wire_message_new(memory, &morsel__v1__join_key__descriptor);
        if (join->keys[i] == NULL) {
            return false;
        }
        join->keys[i]->left = rel->u.join.keys[i].left;
        join->keys[i]->right = rel->u.join.keys[i].right;
        join->keys[i]->nulls_equal = rel->u.join.keys[i].nulls_equal;
    }
    return join->keys != NULL && asof_write(memory, &rel->u.join.asof, join);
}

static bool argument_types_write(struct wire_memory *memory, const struct exec_measure *from,
                                 Morsel__V1__Measure *to)
{
    to->n_argument_types = from->argument_type_count;
    to->argument_types =
        wire_memory_array(memory, from->argument_type_count, sizeof *to->argument_types);
    for (size_t i = 0; to->argument_types != NULL && i < from->argument_type_count; i++) {
        to->argument_types[i] = wire_type_write(memory, &from->argument_types[i]);
        if (to->argument_types[i] == NULL) {
            return false;
        }
    }
    return to->argument_types != NULL;
}

static Morsel__V1__Measure *measure_write(struct wire_memory *memory,
                                          const struct exec_measure *from)
{
    Morsel__V1__Measure *to = wire_message_new(memory, &morsel__v1__measure__descriptor);

    if (to == NULL) {
        return NULL;
    }
    to->function = (Morsel__V1__AggregateFunction)from->function;
    to->filter = from->filter;
    to->distinct = from->distinct;
    to->name = wire_memory_text(memory, from->name);
    const bool whole =
        to->name != NULL &&
        wire_indices_write(memory, from->args, from->arg_count, &to->n_arguments, &to->arguments) &&
        wire_sort_keys_write(memory, from->order, from->order_count, &to->n_order, &to->order) &&
        wire_literals_write(memory, from->parameters, from->parameter_count, &to->n_parameters,
                            &to->parameters) &&
        argument_types_write(memory, from, to);
    return whole ? to : NULL;
}

static bool grouping_sets_write(struct wire_memory *memory, const struct exec_rel *rel,
                                Morsel__V1__AggregateRel *aggregate)
{
    const size_t count = rel->u.aggregate.set_count;

    if (rel->u.aggregate.set_name != NULL) {
        aggregate->grouping_set_name = (char *)(uintptr_t)rel->u.aggregate.set_name;
    }
    aggregate->n_grouping_sets = count;
    aggregate->grouping_sets = wire_memory_array(memory, count, sizeof *aggregate->grouping_sets);
    for (size_t s = 0; aggregate->grouping_sets != NULL && s < count; s++) {
        const struct exec_grouping_set *from = &rel->u.aggregate.sets[s];
        Morsel__V1__GroupingSet *to =
            wire_message_new(memory, &morsel__v1__grouping_set__descriptor);
        if (to == NULL) {
            return false;
        }
        to->n_keys = from->key_count;
        to->keys = (uint32_t *)(uintptr_t)from->keys;
        aggregate->grouping_sets[s] = to;
    }
    return aggregate->grouping_sets != NULL;
}

static bool aggregate_write(struct wire_memory *memory, const struct exec_rel *rel,
                            Morsel__V1__AggregateRel *aggregate)
{
    const size_t count = rel->u.aggregate.measure_count;

    aggregate->input = rel->u.aggregate.input;
    aggregate->phase = (Morsel__V1__AggregatePhase)rel->u.aggregate.phase;
    aggregate->n_measures = count;
    aggregate->measures = wire_memory_array(memory, count, sizeof *aggregate->measures);
    for (size_t i = 0; aggregate->measures != NULL && i < count; i++) {
        aggregate->measures[i] = measure_write(memory, &rel->u.aggregate.measures[i]);
        if (aggregate->measures[i] == NULL) {
            return false;
        }
    }
    return aggregate->measures != NULL && grouping_sets_write(memory, rel, aggregate) &&
           named_write(memory, rel->u.aggregate.keys, rel->u.aggregate.key_count,
                       &aggregate->n_keys, &aggregate->keys);
}

/* The message of one kind, made and hung into the oneof. */
#define KIND_NEW(memory, message, member, CASE, type)                                   \
    ((message)->kind_case = MORSEL__V1__REL__KIND_##CASE,                               \
     (message)->member = wire_message_new((memory), &morsel__v1__##type##__descriptor), \
     (message)->member != NULL)

static bool rel_kind_write(struct wire_memory *memory, const struct exec_rel *rel,
                           Morsel__V1__Rel *to)
{
    switch (rel->kind) {
        case EXEC_REL_SCAN:
            to->kind_case = MORSEL__V1__REL__KIND_SCAN;
            to->scan = wire_scan_write(memory, rel);
            return to->scan != NULL;
        case EXEC_REL_FILTER:
            if (!KIND_NEW(memory, to, filter, FILTER, filter_rel)) {
                return false;
            }
            to->filter->input = rel->u.filter.input;
            to->filter->predicate = rel->u.filter.predicate;
            return true;
        case EXEC_REL_PROJECT:
            if (!KIND_NEW(memory, to, project, PROJECT, project_rel)) {
                return false;
            }
            to->project->input = rel->u.project.input;
            return named_write(memory, rel->u.project.exprs, rel->u.project.expr_count,
                               &to->project->n_exprs, &to->project->exprs);
        case EXEC_REL_JOIN:
            return KIND_NEW(memory, to, join, JOIN, join_rel) && join_write(memory, rel, to->join);
        case EXEC_REL_AGGREGATE:
            return KIND_NEW(memory, to, aggregate, AGGREGATE, aggregate_rel) &&
                   aggregate_write(memory, rel, to->aggregate);
        case EXEC_REL_SORT:
            if (!KIND_NEW(memory, to, sort, SORT, sort_rel)) {
                return false;
            }
            to->sort->input = rel->u.sort.input;
            return wire_row_count_write(memory, rel->u.sort.limit, &to->sort->limit) &&
                   wire_sort_keys_write(memory, rel->u.sort.keys, rel->u.sort.key_count,
                                        &to->sort->n_keys, &to->sort->keys);
        case EXEC_REL_LIMIT:
            if (!KIND_NEW(memory, to, limit, LIMIT, limit_rel)) {
                return false;
            }
            to->limit->input = rel->u.limit.input;
            to->limit->offset = rel->u.limit.offset;
            return wire_row_count_write(memory, rel->u.limit.count, &to->limit->count);
        case EXEC_REL_UNION_ALL:
            return KIND_NEW(memory, to, union_all, UNION_ALL, union_rel) &&
                   wire_indices_write(memory, rel->u.union_all.inputs, rel->u.union_all.input_count,
                                      &to->union_all->n_inputs, &to->union_all->inputs);
        case EXEC_REL_DISTINCT:
            if (!KIND_NEW(memory, to, distinct, DISTINCT, distinct_rel)) {
                return false;
            }
            to->distinct->input = rel->u.distinct.input;
            return true;
        case EXEC_REL_WINDOW:
            return KIND_NEW(memory, to, window, WINDOW, window_rel) &&
                   wire_window_write(memory, rel, to->window);
        default: return true; /* the kind stays unset and the server names it */
    }
}

Morsel__V1__Rel *wire_rel_write(struct wire_memory *memory, const struct exec_rel *rel)
{
    Morsel__V1__Rel *message = wire_message_new(memory, &morsel__v1__rel__descriptor);

    if (message == NULL || !rel_kind_write(memory, rel, message)) {
        return NULL;
    }
    message->label = wire_memory_text(memory, rel->label);
    return message->label == NULL ? NULL : message;
}
