#include "op/group.h"
#include "plan/spec.h"
#include "table/table.h"

#include <inttypes.h>
#include <string.h>

#define BAD(...) EXEC_FAIL(err, EXEC_BAD_SPEC, __VA_ARGS__)

enum { BATCH_BYTES_MAX = 16 << 20, PATHS_MAX = 4096, MEASURES_MAX = EXEC_COLUMNS_MAX };

/* What is known of the expressions checked so far: nodes and depth when unfolded into a tree. */
struct unfolded {
    uint32_t nodes[EXEC_EXPRS_MAX];
    uint16_t depth[EXEC_EXPRS_MAX];
};

struct checker {
    const struct exec_job_spec *spec;
    struct exec_error *err;
    bool used[EXEC_RELS_MAX];
    uint32_t unfolded[EXEC_RELS_MAX]; /* relations in the tree below, itself included */
};

const char *spec_rel_name(enum exec_rel_kind kind)
{
    static const char *const names[] = {
        [EXEC_REL_NONE] = "none",           [EXEC_REL_SCAN] = "scan",
        [EXEC_REL_FILTER] = "filter",       [EXEC_REL_PROJECT] = "project",
        [EXEC_REL_JOIN] = "join",           [EXEC_REL_AGGREGATE] = "aggregate",
        [EXEC_REL_SORT] = "sort",           [EXEC_REL_LIMIT] = "limit",
        [EXEC_REL_UNION_ALL] = "union all", [EXEC_REL_DISTINCT] = "distinct",
        [EXEC_REL_WINDOW] = "window",
    };
    return kind <= EXEC_REL_WINDOW ? names[kind] : "unknown";
}

const char *spec_join_name(enum exec_join_kind kind)
{
    static const char *const names[] = {
        [EXEC_JOIN_NONE] = "none",
        [EXEC_JOIN_INNER] = "inner",
        [EXEC_JOIN_LEFT] = "left",
        [EXEC_JOIN_RIGHT] = "right",
        [EXEC_JOIN_FULL] = "full",
        [EXEC_JOIN_LEFT_SEMI] = "left semi",
        [EXEC_JOIN_LEFT_ANTI] = "left anti",
        [EXEC_JOIN_LEFT_MARK] = "left mark",
        [EXEC_JOIN_LEFT_ANTI_NULL_AWARE] = "left anti (null-aware)",
        [EXEC_JOIN_CROSS] = "cross",
        [EXEC_JOIN_ASOF] = "asof",
    };
    return kind <= EXEC_JOIN_ASOF ? names[kind] : "unknown";
}

/* ---- values
 * ------------------------------------------------------------------------------------------ */

static enum exec_code check_type(const struct exec_type *type, const char *field,
                                 struct exec_error *err)
{
    if (type->kind == EXEC_TYPE_NONE || type->kind >= EXEC_TYPE_COUNT) {
        return BAD("%s: no such type (%u)", field, type->kind);
    }
    if (type->kind == EXEC_TYPE_DECIMAL128 &&
        (type->precision < 1 || type->precision > EXEC_DECIMAL_DIGITS_MAX || type->scale < 0 ||
         type->scale > type->precision)) {
        return BAD(
            "%s: decimal128(%d,%d) is not possible: precision is 1 to %d, scale 0 to precision",
            field, type->precision, type->scale, EXEC_DECIMAL_DIGITS_MAX);
    }
    if (type->kind == EXEC_TYPE_TIMESTAMP &&
        (type->unit < EXEC_UNIT_SECOND || type->unit > EXEC_UNIT_NANO)) {
        return BAD("%s: a timestamp needs a unit (s, ms, us, ns)", field);
    }
    return memchr(type->zone, '\0', sizeof type->zone) == NULL
               ? BAD("%s: the zone is longer than %d bytes", field, EXEC_ZONE_BYTES - 1)
               : EXEC_OK;
}

static enum exec_code check_name(const char *name, const char *field, struct exec_error *err)
{
    if (name == NULL || name[0] == '\0') {
        return BAD("%s is empty", field);
    }
    if (strnlen(name, EXEC_NAME_BYTES_MAX + 1) > EXEC_NAME_BYTES_MAX) {
        return BAD("%s is longer than %d bytes", field, EXEC_NAME_BYTES_MAX);
    }
    return EXEC_OK;
}

static enum exec_code check_schema(const struct exec_schema *schema, const char *field,
                                   struct exec_error *err)
{
    if (schema->field_count > EXEC_COLUMNS_MAX) {
        return BAD("%s has %" PRIu32 " fields, at most %d are allowed", field, schema->field_count,
                   EXEC_COLUMNS_MAX);
    }
    for (uint32_t f = 0; f < schema->field_count; f++) {
        if (check_name(schema->fields[f].name, field, err) != EXEC_OK ||
            check_type(&schema->fields[f].type, field, err) != EXEC_OK) {
            return err->code;
        }
    }
    return EXEC_OK;
}

static enum exec_code check_literal(const struct exec_literal *literal, const char *field,
                                    struct exec_error *err)
{
    const bool is_text =
        literal->type.kind == EXEC_TYPE_UTF8 || literal->type.kind == EXEC_TYPE_BINARY;

    if (check_type(&literal->type, field, err) != EXEC_OK) {
        return err->code;
    }
    return is_text && !literal->is_null && literal->value.text.bytes == NULL &&
                   literal->value.text.size != 0
               ? BAD("%s: the text is missing", field)
               : EXEC_OK;
}

/* ---- expressions
 * ---------------------------------------------------------------------------------------- */

static enum exec_code unfold(struct unfolded *unfolded, uint32_t self, uint32_t child,
                             const char *field, struct exec_error *err)
{
    if (child == 0) {
        return BAD("%s is missing", field);
    }
    if (child > self) {
        return BAD("%s refers to expression %" PRIu32 ", which is not before it", field, child);
    }
    unfolded->nodes[self] += unfolded->nodes[child - 1];
    if (unfolded->depth[self] <= unfolded->depth[child - 1]) {
        unfolded->depth[self] = (uint16_t)(unfolded->depth[child - 1] + 1);
    }
    if (unfolded->nodes[self] > SPEC_NODES_MAX) {
        return BAD("it unfolds to more than %d nodes", SPEC_NODES_MAX);
    }
    return unfolded->depth[self] > SPEC_DEPTH_MAX
               ? BAD("it is nested deeper than %d", SPEC_DEPTH_MAX)
               : EXEC_OK;
}

static enum exec_code check_in_list(const struct exec_expr *expr, struct exec_error *err)
{
    if (expr->u.in_list.value_count > EXEC_IN_VALUES_MAX) {
        return BAD("in_list.values has %" PRIu32 " entries, at most %d are allowed",
                   expr->u.in_list.value_count, EXEC_IN_VALUES_MAX);
    }
    for (uint32_t i = 0; i < expr->u.in_list.value_count; i++) {
        if (check_literal(&expr->u.in_list.values[i], "in_list.values", err) != EXEC_OK) {
            return err->code;
        }
    }
    return EXEC_OK;
}

static enum exec_code check_expr(const struct exec_expr *expr, uint32_t self,
                                 struct unfolded *unfolded, struct exec_error *err)
{
    unfolded->nodes[self] = 1;
    unfolded->depth[self] = 1;
    switch (expr->kind) {
        case EXEC_EXPR_COLUMN:
            if (expr->u.column.side > 2) {
                return BAD("column.side is %" PRIu32 ", it must be 0, 1 or 2", expr->u.column.side);
            }
            if (expr->u.column.name == NULL) {
                return expr->u.column.index == 0 ? BAD("column has neither a name nor an index")
                                                 : EXEC_OK;
            }
            return check_name(expr->u.column.name, "column.name", err);
        case EXEC_EXPR_LITERAL: return check_literal(&expr->u.literal, "literal", err);
        case EXEC_EXPR_CALL:
            if (check_name(expr->u.call.function, "call.function", err) != EXEC_OK) {
                return err->code;
            }
            if (expr->u.call.arg_count > EXEC_EXPRS_MAX) {
                return BAD("call.args has %" PRIu32 " entries, at most %d are allowed",
                           expr->u.call.arg_count, EXEC_EXPRS_MAX);
            }
            for (uint32_t i = 0; i < expr->u.call.arg_count; i++) {
                if (unfold(unfolded, self, expr->u.call.args[i], "call.args", err) != EXEC_OK) {
                    return err->code;
                }
            }
            return EXEC_OK;
        case EXEC_EXPR_CAST:
            return unfold(unfolded, self, expr->u.cast.arg, "cast.arg", err) != EXEC_OK
                       ? err->code
                       : check_type(&expr->u.cast.to, "cast.to", err);
        case EXEC_EXPR_IN_LIST:
            return unfold(unfolded, self, expr->u.in_list.arg, "in_list.arg", err) != EXEC_OK
                       ? err->code
                       : check_in_list(expr, err);
        case EXEC_EXPR_CASE:
            if (expr->u.case_when.branch_count == 0 ||
                expr->u.case_when.branch_count > EXEC_EXPRS_MAX) {
                return BAD("case.branches has %" PRIu32 " entries, 1 to %d are allowed",
                           expr->u.case_when.branch_count, EXEC_EXPRS_MAX);
            }
            for (uint32_t i = 0; i < expr->u.case_when.branch_count; i++) {
                const struct exec_when *branch = &expr->u.case_when.branches[i];
                if (unfold(unfolded, self, branch->when, "case.when", err) != EXEC_OK ||
                    unfold(unfolded, self, branch->then, "case.then", err) != EXEC_OK) {
                    return err->code;
                }
            }
            return expr->u.case_when.otherwise == 0
                       ? EXEC_OK
                       : unfold(unfolded, self, expr->u.case_when.otherwise, "case.otherwise", err);
        default: return BAD("no such kind of expression (%d)", (int)expr->kind);
    }
}

/* ---- relations
 * -------------------------------------------------------------------------------------------- */

static enum exec_code check_input(struct checker *checker, uint32_t self, uint32_t input,
                                  const char *field)
{
    struct exec_error *err = checker->err;

    if (input == 0) {
        return BAD("%s is missing", field);
    }
    if (input > self) {
        return BAD("%s refers to relation %" PRIu32 ", which is not before it", field, input);
    }
    checker->used[input - 1] = true;
    checker->unfolded[self] += checker->unfolded[input - 1];
    return checker->unfolded[self] > SPEC_TREE_RELS_MAX
               ? BAD("%s: with relations used more than once the plan unfolds to more than %d "
                     "relations",
                     field, SPEC_TREE_RELS_MAX)
               : EXEC_OK;
}

static enum exec_code check_ref(const struct checker *checker, uint32_t expr, const char *field)
{
    struct exec_error *err = checker->err;

    if (expr == 0) {
        return BAD("%s is missing", field);
    }
    return expr > checker->spec->expr_count ? BAD("%s refers to expression %" PRIu32 " of %" PRIu32,
                                                  field, expr, checker->spec->expr_count)
                                            : EXEC_OK;
}

static enum exec_code check_count(const struct checker *checker, uint32_t count, uint32_t least,
                                  uint32_t most, const char *field)
{
    struct exec_error *err = checker->err;
    return count < least || count > most
               ? BAD("%s has %" PRIu32 " entries, %" PRIu32 " to %" PRIu32 " are allowed", field,
                     count, least, most)
               : EXEC_OK;
}

static enum exec_code check_named(const struct checker *checker,
                                  const struct exec_named_expr *named, uint32_t count,
                                  const char *field)
{
    for (uint32_t i = 0; i < count; i++) {
        if (check_name(named[i].name, field, checker->err) != EXEC_OK ||
            check_ref(checker, named[i].expr, field) != EXEC_OK) {
            return checker->err->code;
        }
    }
    return EXEC_OK;
}

static enum exec_code check_order(const struct checker *checker, const struct exec_sort_key *keys,
                                  uint32_t count, const char *field)
{
    struct exec_error *err = checker->err;

    for (uint32_t i = 0; i < count; i++) {
        if (check_ref(checker, keys[i].expr, field) != EXEC_OK) {
            return err->code;
        }
        if (keys[i].direction < EXEC_ASC_NULLS_LAST || keys[i].direction > EXEC_DESC_NULLS_FIRST) {
            return BAD("%s has no direction", field);
        }
    }
    return EXEC_OK;
}

static enum exec_code check_scan(const struct checker *checker, const struct exec_rel *rel)
{
    struct exec_error *err = checker->err;
    const int64_t generator_rows_max = INT64_C(1000000000000);

    if (check_count(checker, rel->u.scan.column_count, 0, EXEC_COLUMNS_MAX, "scan.columns") !=
            EXEC_OK ||
        check_schema(&rel->u.scan.schema, "scan.schema", err) != EXEC_OK ||
        check_schema(&rel->u.scan.expected_schema, "scan.expected_schema", err) != EXEC_OK) {
        return err->code;
    }
    for (uint32_t c = 0; c < rel->u.scan.column_count; c++) {
        if (check_name(rel->u.scan.columns[c], "scan.columns", err) != EXEC_OK) {
            return err->code;
        }
    }
    if (rel->u.scan.filter != 0 &&
        check_ref(checker, rel->u.scan.filter, "scan.filter") != EXEC_OK) {
        return err->code;
    }
    switch (rel->u.scan.source) {
        case EXEC_SCAN_TABLE: return check_name(rel->u.scan.table, "scan.table", err);
        case EXEC_SCAN_FILES:
            if (check_count(checker, rel->u.scan.path_count, 1, PATHS_MAX, "scan.paths") !=
                EXEC_OK) {
                return err->code;
            }
            for (uint32_t i = 0; i < rel->u.scan.path_count; i++) {
                if (rel->u.scan.paths[i] == NULL || rel->u.scan.paths[i][0] == '\0') {
                    return BAD("scan.paths: a path is empty");
                }
            }
            return EXEC_OK;
        case EXEC_SCAN_GENERATOR:
            if (rel->u.scan.generator_rows < 0 || rel->u.scan.generator_rows > generator_rows_max) {
                return BAD("scan.generator_rows is %" PRId64 ", 0 to %" PRId64 " are allowed",
                           rel->u.scan.generator_rows, generator_rows_max);
            }
            return check_name(rel->u.scan.generator, "scan.generator", err);
        case EXEC_SCAN_INLINE:
            return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "scan.inline_stream: not implemented yet");
        default: return BAD("scan.source is missing");
    }
}

static enum exec_code check_asof(const struct checker *checker, const struct exec_rel *rel)
{
    struct exec_error *err = checker->err;
    const struct exec_asof *asof = &rel->u.join.asof;

    if (rel->u.join.kind != EXEC_JOIN_ASOF) {
        return asof->direction != EXEC_ASOF_NONE || asof->left != 0 || asof->right != 0 ||
                       asof->keep_unmatched
                   ? BAD("join.asof is for joins of kind ASOF")
                   : EXEC_OK;
    }
    if (asof->direction <= EXEC_ASOF_NONE || asof->direction > EXEC_ASOF_FORWARD_STRICT) {
        return BAD("join.asof.direction is missing");
    }
    if (rel->u.join.residual != 0) {
        return BAD("join.residual: an as-of join has none");
    }
    if (check_count(checker, rel->u.join.key_count, 0, EXEC_KEYS_MAX - 1, "join.keys") != EXEC_OK ||
        check_ref(checker, asof->left, "join.asof.left") != EXEC_OK) {
        return err->code;
    }
    return check_ref(checker, asof->right, "join.asof.right");
}

static enum exec_code check_join(struct checker *checker, const struct exec_rel *rel, uint32_t self)
{
    struct exec_error *err = checker->err;

    if (check_input(checker, self, rel->u.join.left, "join.left") != EXEC_OK ||
        check_input(checker, self, rel->u.join.right, "join.right") != EXEC_OK ||
        check_count(checker, rel->u.join.key_count, 0, EXEC_KEYS_MAX, "join.keys") != EXEC_OK) {
        return err->code;
    }
    if (rel->u.join.kind <= EXEC_JOIN_NONE || rel->u.join.kind > EXEC_JOIN_ASOF) {
        return BAD("join.kind is missing");
    }
    if (rel->u.join.kind == EXEC_JOIN_CROSS &&
        (rel->u.join.key_count != 0 || rel->u.join.residual != 0)) {
        return BAD("join.%s: a cross join has none (use an inner join)",
                   rel->u.join.key_count != 0 ? "keys" : "residual");
    }
    if (rel->u.join.strategy > EXEC_STRATEGY_RADIX_HASH ||
        rel->u.join.build_side > EXEC_BUILD_RIGHT) {
        return BAD("join.strategy or join.build_side is out of range");
    }
    for (uint32_t k = 0; k < rel->u.join.key_count; k++) {
        if (check_ref(checker, rel->u.join.keys[k].left, "join.keys.left") != EXEC_OK ||
            check_ref(checker, rel->u.join.keys[k].right, "join.keys.right") != EXEC_OK) {
            return err->code;
        }
    }
    if (check_asof(checker, rel) != EXEC_OK) {
        return err->code;
    }
    return rel->u.join.residual == 0 ? EXEC_OK
                                     : check_ref(checker, rel->u.join.residual, "join.residual");
}

static enum exec_code check_measure_extras(const struct checker *checker,
                                           const struct exec_measure *measure,
                                           const struct group_function *function)
{
    struct exec_error *err = checker->err;
    const bool wants_fraction = (function->extras & AGG_FRACTION) != 0;
    const bool takes_parameter = wants_fraction || (function->extras & AGG_SEPARATOR) != 0;

    const bool own_order = (function->extras & AGG_OWN_ORDER) != 0;
    const bool is_final = measure->argument_type_count != 0; /* its order is not read */

    if (own_order && measure->order_count != 0 &&
        (measure->order_count > 1 || (!is_final && measure->order[0].expr != measure->args[0]))) {
        return BAD("aggregate.measures '%s': %s can be ordered by its argument only", measure->name,
                   function->text);
    }
    if (measure->order_count != 0 && !own_order && (function->extras & AGG_ORDER) == 0) {
        return BAD("aggregate.measures '%s': %s takes no order", measure->name, function->text);
    }
    if (check_count(checker, measure->order_count, 0, EXEC_KEYS_MAX, "aggregate.measures.order") !=
            EXEC_OK ||
        check_order(checker, measure->order, measure->order_count, "aggregate.measures.order") !=
            EXEC_OK) {
        return err->code;
    }
    if (measure->parameter_count > (uint32_t)takes_parameter ||
        (wants_fraction && measure->parameter_count == 0)) {
        return BAD("aggregate.measures '%s' has %" PRIu32 " parameters, %s takes %s", measure->name,
                   measure->parameter_count, function->text,
                   wants_fraction    ? "a fraction"
                   : takes_parameter ? "a separator at most"
                                     : "none");
    }
    return EXEC_OK;
}

/* FINAL: one column of states, and the types of what PARTIAL had. */
static enum exec_code check_final(const struct checker *checker, const struct exec_measure *measure,
                                  const struct group_function *function)
{
    struct exec_error *err = checker->err;
    const uint32_t types = function->argument_count + measure->order_count;

    if (measure->arg_count != 1 || measure->filter != 0) {
        return BAD("aggregate.measures '%s': FINAL takes one argument, the states, and no filter",
                   measure->name);
    }
    if (measure->argument_type_count != types) {
        return BAD("aggregate.measures '%s' has %" PRIu32
                   " argument_types; FINAL takes those of PARTIAL's arguments and order, %" PRIu32,
                   measure->name, measure->argument_type_count, types);
    }
    for (uint32_t t = 0; t < types; t++) {
        if (check_type(&measure->argument_types[t], "aggregate.measures.argument_types", err) !=
            EXEC_OK) {
            return err->code;
        }
    }
    return EXEC_OK;
}

static enum exec_code check_arguments(const struct checker *checker,
                                      const struct exec_measure *measure,
                                      const struct group_function *function, bool is_final)
{
    struct exec_error *err = checker->err;

    if (is_final) {
        return check_final(checker, measure, function);
    }
    if (measure->argument_type_count != 0) {
        return BAD("aggregate.measures '%s': argument_types are for FINAL", measure->name);
    }
    return measure->arg_count == function->argument_count
               ? EXEC_OK
               : BAD("aggregate.measures '%s' has %" PRIu32 " arguments, it takes %d",
                     measure->name, measure->arg_count, function->argument_count);
}

static enum exec_code check_measure(const struct checker *checker,
                                    const struct exec_measure *measure, bool is_final)
{
    struct exec_error *err = checker->err;
    const struct group_function *function = group_function(measure->function);

    if (check_name(measure->name, "aggregate.measures.name", err) != EXEC_OK) {
        return err->code;
    }
    if (function == NULL) {
        return BAD("aggregate.measures '%s': no such function", measure->name);
    }
    if (check_arguments(checker, measure, function, is_final) != EXEC_OK) {
        return err->code;
    }
    for (uint32_t a = 0; a < measure->arg_count; a++) {
        if (check_ref(checker, measure->args[a], "aggregate.measures.args") != EXEC_OK) {
            return err->code;
        }
    }
    if (measure->filter != 0 &&
        check_ref(checker, measure->filter, "aggregate.measures.filter") != EXEC_OK) {
        return err->code;
    }
    if (measure->distinct && function->argument_count == 0) {
        return BAD("aggregate.measures '%s': %s takes no distinct", measure->name, function->text);
    }
    return check_measure_extras(checker, measure, function);
}

static enum exec_code check_grouping_set(const struct checker *checker,
                                         const struct exec_grouping_set *set, uint32_t key_count)
{
    struct exec_error *err = checker->err;
    uint32_t seen = 0;

    for (uint32_t k = 0; k < set->key_count; k++) {
        if (set->keys[k] == 0 || set->keys[k] > key_count) {
            return BAD("aggregate.grouping_sets: key %" PRIu32 " of %" PRIu32, set->keys[k],
                       key_count);
        }
        if ((seen >> (set->keys[k] - 1) & 1) != 0) {
            return BAD("aggregate.grouping_sets: key %" PRIu32 " is in one set twice",
                       set->keys[k]);
        }
        seen |= UINT32_C(1) << (set->keys[k] - 1);
    }
    return EXEC_OK;
}

static enum exec_code check_grouping_sets(const struct checker *checker, const struct exec_rel *rel)
{
    struct exec_error *err = checker->err;

    if (check_count(checker, rel->u.aggregate.set_count, 0, EXEC_GROUPING_SETS_MAX,
                    "aggregate.grouping_sets") != EXEC_OK) {
        return err->code;
    }
    if (rel->u.aggregate.set_name != NULL && rel->u.aggregate.set_count == 0) {
        return BAD("aggregate.grouping_set_name without aggregate.grouping_sets");
    }
    if (rel->u.aggregate.set_count != 0 && rel->u.aggregate.phase != EXEC_PHASE_SINGLE) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED,
                         "aggregate.grouping_sets in a phase of its own is not implemented");
    }
    for (uint32_t s = 0; s < rel->u.aggregate.set_count; s++) {
        if (check_grouping_set(checker, &rel->u.aggregate.sets[s], rel->u.aggregate.key_count) !=
            EXEC_OK) {
            return err->code;
        }
    }
    return rel->u.aggregate.set_name == NULL
               ? EXEC_OK
               : check_name(rel->u.aggregate.set_name, "aggregate.grouping_set_name", err);
}

static enum exec_code check_aggregate(struct checker *checker, const struct exec_rel *rel,
                                      uint32_t self)
{
    struct exec_error *err = checker->err;

    if (check_input(checker, self, rel->u.aggregate.input, "aggregate.input") != EXEC_OK ||
        check_count(checker, rel->u.aggregate.key_count, 0, EXEC_KEYS_MAX, "aggregate.keys") !=
            EXEC_OK ||
        check_count(checker, rel->u.aggregate.measure_count, 0, MEASURES_MAX,
                    "aggregate.measures") != EXEC_OK ||
        check_named(checker, rel->u.aggregate.keys, rel->u.aggregate.key_count, "aggregate.keys") !=
            EXEC_OK) {
        return err->code;
    }
    if (check_grouping_sets(checker, rel) != EXEC_OK) {
        return err->code;
    }
    if (rel->u.aggregate.key_count + rel->u.aggregate.measure_count == 0) {
        return BAD("aggregate has neither keys nor measures");
    }
    for (uint32_t m = 0; m < rel->u.aggregate.measure_count; m++) {
        if (check_measure(checker, &rel->u.aggregate.measures[m],
                          rel->u.aggregate.phase == EXEC_PHASE_FINAL) != EXEC_OK) {
            return err->code;
        }
    }
    return EXEC_OK;
}

static enum exec_code check_window(struct checker *checker, const struct exec_rel *rel,
                                   uint32_t self)
{
    struct exec_error *err = checker->err;
    const uint32_t partition_count = rel->u.window.partition_count;

    if (check_input(checker, self, rel->u.window.input, "window.input") != EXEC_OK ||
        check_count(checker, partition_count, 0, EXEC_KEYS_MAX, "window.partition_by") != EXEC_OK ||
        check_count(checker, rel->u.window.order_count, 0, EXEC_KEYS_MAX - partition_count,
                    "window.order_by (with partition_by)") != EXEC_OK ||
        check_count(checker, rel->u.window.function_count, 1, EXEC_KEYS_MAX, "window.functions") !=
            EXEC_OK) {
        return err->code;
    }
    for (uint32_t k = 0; k < partition_count; k++) {
        if (check_ref(checker, rel->u.window.partition[k], "window.partition_by") != EXEC_OK) {
            return err->code;
        }
    }
    for (uint32_t f = 0; f < rel->u.window.function_count; f++) {
        const struct exec_named_window *window = &rel->u.window.functions[f];
        if (check_name(window->name, "window.functions.name", err) != EXEC_OK) {
            return err->code;
        }
        if (window->function <= EXEC_WINDOW_NONE || window->function > EXEC_WINDOW_DENSE_RANK) {
            return BAD("window.functions '%s': no such function", window->name);
        }
    }
    return rel->u.window.limit < -1
               ? BAD("window.limit is %" PRId64 ", -1 means none", rel->u.window.limit)
               : check_order(checker, rel->u.window.order, rel->u.window.order_count,
                             "window.order_by");
}

static enum exec_code check_rel(struct checker *checker, const struct exec_rel *rel, uint32_t self)
{
    struct exec_error *err = checker->err;

    if (rel->label != NULL && strnlen(rel->label, EXEC_NAME_BYTES_MAX + 1) > EXEC_NAME_BYTES_MAX) {
        return BAD("label is longer than %d bytes", EXEC_NAME_BYTES_MAX);
    }
    checker->unfolded[self] = 1;
    switch (rel->kind) {
        case EXEC_REL_SCAN: return check_scan(checker, rel);
        case EXEC_REL_FILTER:
            return check_input(checker, self, rel->u.filter.input, "filter.input") != EXEC_OK
                       ? err->code
                       : check_ref(checker, rel->u.filter.predicate, "filter.predicate");
        case EXEC_REL_PROJECT:
            if (check_input(checker, self, rel->u.project.input, "project.input") != EXEC_OK ||
                check_count(checker, rel->u.project.expr_count, 1, EXEC_COLUMNS_MAX,
                            "project.exprs") != EXEC_OK) {
                return err->code;
            }
            return check_named(checker, rel->u.project.exprs, rel->u.project.expr_count,
                               "project.exprs");
        case EXEC_REL_JOIN: return check_join(checker, rel, self);
        case EXEC_REL_AGGREGATE: return check_aggregate(checker, rel, self);
        case EXEC_REL_SORT:
            if (check_input(checker, self, rel->u.sort.input, "sort.input") != EXEC_OK ||
                check_count(checker, rel->u.sort.key_count, 1, EXEC_KEYS_MAX, "sort.keys") !=
                    EXEC_OK) {
                return err->code;
            }
            return rel->u.sort.limit < -1
                       ? BAD("sort.limit is %" PRId64 ", -1 means none", rel->u.sort.limit)
                       : check_order(checker, rel->u.sort.keys, rel->u.sort.key_count, "sort.keys");
        case EXEC_REL_LIMIT:
            if (check_input(checker, self, rel->u.limit.input, "limit.input") != EXEC_OK) {
                return err->code;
            }
            return rel->u.limit.offset < 0 || rel->u.limit.count < -1
                       ? BAD("limit.offset or limit.count is negative")
                       : EXEC_OK;
        case EXEC_REL_UNION_ALL:
            if (check_count(checker, rel->u.union_all.input_count, 1, EXEC_RELS_MAX,
                            "union_all.inputs") != EXEC_OK) {
                return err->code;
            }
            for (uint32_t i = 0; i < rel->u.union_all.input_count; i++) {
                if (check_input(checker, self, rel->u.union_all.inputs[i], "union_all.inputs") !=
                    EXEC_OK) {
                    return err->code;
                }
            }
            return EXEC_OK;
        case EXEC_REL_DISTINCT:
            return check_input(checker, self, rel->u.distinct.input, "distinct.input");
        case EXEC_REL_WINDOW: return check_window(checker, rel, self);
        default: return BAD("no such kind of relation (%d)", (int)rel->kind);
    }
}

/* ---- the whole
 * --------------------------------------------------------------------------------------------- */

static enum exec_code check_options(const struct exec_job_spec *spec, struct exec_error *err)
{
    const struct exec_job_options *options = &spec->options;

    if (options->priority < -10 || options->priority > 10) {
        return BAD("options.priority is %" PRId32 ", -10 to 10 are allowed", options->priority);
    }
    if (options->trace_events > EXEC_TRACE_EVENTS_MAX) {
        return BAD("options.trace_events is %" PRIu32 ", at most %d are allowed",
                   options->trace_events, EXEC_TRACE_EVENTS_MAX);
    }
    if (options->batch_bytes > BATCH_BYTES_MAX) {
        return BAD("options.batch_bytes is %" PRIu32 ", at most %d are allowed",
                   options->batch_bytes, BATCH_BYTES_MAX);
    }
    if (options->probe_mode > EXEC_PROBE_ROUTED) {
        return BAD("options.probe_mode: no such mode (%d)", (int)options->probe_mode);
    }
    if (options->policy > EXEC_POLICY_STATIC) {
        return BAD("options.policy: no such policy (%d)", (int)options->policy);
    }
    if (options->explain && options->analyze) {
        return BAD("options.explain and options.analyze exclude each other");
    }
    return spec->into_table == NULL ? EXEC_OK : table_name_check(spec->into_table, err);
}

static enum exec_code check_exprs(const struct exec_job_spec *spec, struct exec_error *err)
{
    struct unfolded unfolded;

    for (uint32_t i = 0; i < spec->expr_count; i++) {
        if (check_expr(&spec->exprs[i], i, &unfolded, err) != EXEC_OK) {
            err->expr = i + 1;
            return err->code;
        }
    }
    return EXEC_OK;
}

enum exec_code spec_check(const struct exec_job_spec *spec, struct exec_error *err)
{
    struct checker checker = {.spec = spec, .err = err};

    if (spec->rel_count == 0 || spec->rel_count > EXEC_RELS_MAX) {
        return BAD("the plan has %" PRIu32 " relations, 1 to %d are allowed", spec->rel_count,
                   EXEC_RELS_MAX);
    }
    if (spec->expr_count > EXEC_EXPRS_MAX) {
        return BAD("the plan has %" PRIu32 " expressions, at most %d are allowed", spec->expr_count,
                   EXEC_EXPRS_MAX);
    }
    if (check_options(spec, err) != EXEC_OK || check_exprs(spec, err) != EXEC_OK) {
        return err->code;
    }
    for (uint32_t i = 0; i < spec->rel_count; i++) {
        if (check_rel(&checker, &spec->rels[i], i) != EXEC_OK) {
            err->rel = i + 1;
            return err->code;
        }
    }
    for (uint32_t i = 0; i + 1 < spec->rel_count; i++) {
        if (!checker.used[i]) {
            BAD("relation %" PRIu32 " (%s) is not used by any other; only the last one may be",
                i + 1, spec_rel_name(spec->rels[i].kind));
            err->rel = i + 1;
            return err->code;
        }
    }
    return EXEC_OK;
}
