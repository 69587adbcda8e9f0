#include "expr/function_rules.h"
#include "expr/time_call.h"
#include "expr/zone_call.h"
#include "vec/string_view.h"

#include <string.h>

/* Rules of dates and timestamps. */

static enum exec_code check_time(const struct expr *node, uint32_t arg, struct exec_error *err)
{
    const struct exec_type *type = &node->args[arg]->type;

    if (type->kind != EXEC_TYPE_DATE32 && type->kind != EXEC_TYPE_TIMESTAMP) {
        return function_mismatch(node, err);
    }
    return EXEC_OK;
}

/* An argument in a zone becomes what the zone's clock shows. */
static enum exec_code to_local(struct nu_arena *arena, struct expr **arg, struct exec_error *err)
{
    struct exec_type local = (*arg)->type;

    memset(local.zone, 0, sizeof local.zone);
    return zone_is_utc((*arg)->type.zone) ? EXEC_OK : expr_cast(arena, *arg, &local, arg, err);
}

enum exec_code rule_time_part(struct nu_arena *arena, struct expr **node_ref,
                              struct exec_error *err)
{
    struct expr *node = *node_ref;

    node->type = function_int64;
    node->kernel = time_call_part;
    return check_time(node, 0, err) != EXEC_OK ? err->code : to_local(arena, &node->args[0], err);
}

/* The same instant in every zone. */
enum exec_code rule_time_epoch(struct nu_arena *arena, struct expr **node_ref,
                               struct exec_error *err)
{
    struct expr *node = *node_ref;
    const enum exec_type_kind kind = node->args[0]->type.kind;

    (void)arena;
    node->type = function_float64;
    node->kernel = time_call_epoch;
    return kind == EXEC_TYPE_DATE32 || kind == EXEC_TYPE_TIMESTAMP ? EXEC_OK
                                                                   : function_mismatch(node, err);
}

/* The literal in args[0] as node->variant. */
static enum exec_code bind_part(struct expr *node, struct exec_error *err)
{
    static const char *const names[TIME_TRUNCATED_COUNT] = {
        [TIME_YEAR] = "year",
        [TIME_QUARTER] = "quarter",
        [TIME_MONTH] = "month",
        [TIME_WEEK] = "week",
        [TIME_DAY] = "day",
        [TIME_HOUR] = "hour",
        [TIME_MINUTE] = "minute",
        [TIME_SECOND] = "second",
        [TIME_MILLISECOND] = "millisecond",
        [TIME_MICROSECOND] = "microsecond",
    };
    const struct expr *part = node->args[0];
    const struct string_view *text = part->literal.data;

    if (part->kind != EXPR_LITERAL || part->type.kind != EXEC_TYPE_UTF8 ||
        !vec_is_valid(&part->literal, 0)) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: the part must be a text literal",
                         node->function->name);
    }
    for (uint32_t i = 0; i < TIME_TRUNCATED_COUNT; i++) {
        const size_t size = strlen(names[i]);
        const bool plural = text->size == size + 1 && string_view_bytes(text)[size] == 's';
        if ((text->size == size || plural) &&
            memcmp(names[i], string_view_bytes(text), size) == 0) {
            node->variant = i;
            return EXEC_OK;
        }
    }
    return EXEC_FAIL(err, EXEC_BAD_SPEC,
                     "%s: no part '%.*s'; year, quarter, month, week, day, hour, minute, second, "
                     "millisecond, microsecond",
                     node->function->name, (int)(text->size < 40 ? text->size : 40),
                     string_view_bytes(text));
}

enum exec_code rule_time_trunc(struct nu_arena *arena, struct expr **node_ref,
                               struct exec_error *err)
{
    struct expr *node = *node_ref;
    const struct zone *zone;

    node->type = node->args[1]->type;
    node->kernel = time_call_trunc;
    node->can_raise = true;
    if (bind_part(node, err) != EXEC_OK || check_time(node, 1, err) != EXEC_OK ||
        zone_of_type(arena, &node->type, &zone, err) != EXEC_OK) {
        return err->code;
    }
    if (zone != NULL && node->variant <= TIME_MINUTE) { /* offsets are whole seconds */
        node->kernel = zone_call_trunc;
        node->prepared = zone;
    }
    return EXEC_OK;
}

/* In a zone: days and more on its clock, hours and minutes from the start of one to that of the
 * other, so that an hour shown twice counts twice. */
static enum exec_code diff_in_zone(struct nu_arena *arena, struct expr *node, uint32_t arg,
                                   struct exec_error *err)
{
    if (node->variant <= TIME_DAY) {
        return to_local(arena, &node->args[arg], err);
    }
    struct expr *const trunc_args[] = {node->args[0], node->args[arg]};
    return node->variant > TIME_MINUTE
               ? EXEC_OK
               : expr_call(arena, "date_trunc", trunc_args, 2, &node->args[arg], err);
}

enum exec_code rule_time_diff(struct nu_arena *arena, struct expr **node_ref,
                              struct exec_error *err)
{
    struct expr *node = *node_ref;
    struct exec_type common;
    enum exec_code code = bind_part(node, err);

    node->type = function_int64;
    node->kernel = time_call_diff;
    node->can_raise = true;
    for (uint32_t i = 1; i < 3 && code == EXEC_OK; i++) {
        code = function_text_literal(arena, &node->args[i], &node->args[3 - i]->type, err);
    }
    for (uint32_t i = 1; i < 3 && code == EXEC_OK; i++) {
        code = check_time(node, i, err);
    }
    if (code != EXEC_OK) {
        return code;
    }
    if (!expr_common_type(&node->args[1]->type, &node->args[2]->type, &common)) {
        return function_mismatch(node, err);
    }
    code = function_cast_args(arena, node, 1, &common, err);
    for (uint32_t i = 1; i < 3 && code == EXEC_OK && !zone_is_utc(common.zone); i++) {
        code = diff_in_zone(arena, node, i, err);
    }
    return code;
}

enum exec_code rule_time_shift(struct nu_arena *arena, struct expr **node_ref,
                               struct exec_error *err)
{
    struct expr *node = *node_ref;
    enum exec_code code = check_time(node, 0, err);
    const struct zone *zone = NULL;

    if (code == EXEC_OK && node->variant != SHIFT_MICROSECONDS) { /* as long in every zone */
        code = zone_of_type(arena, &node->args[0]->type, &zone, err);
    }
    if (code != EXEC_OK) {
        return code;
    }
    if (!exec_type_is_integer(node->args[1]->type.kind)) {
        return function_mismatch(node, err);
    }
    node->type = node->args[0]->type;
    node->kernel = zone == NULL ? time_shift_call : zone_call_shift;
    node->prepared = zone;
    node->can_raise = true;
    if (node->variant == SHIFT_MICROSECONDS &&
        (node->type.kind == EXEC_TYPE_DATE32 || node->type.unit < EXEC_UNIT_MICRO)) {
        node->type.kind = EXEC_TYPE_TIMESTAMP;
        node->type.unit = EXEC_UNIT_MICRO;
        code = expr_cast(arena, node->args[0], &node->type, &node->args[0], err);
    }
    return code != EXEC_OK ? code : function_cast_args(arena, node, 1, &function_int64, err);
}
