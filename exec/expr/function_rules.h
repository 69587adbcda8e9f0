#ifndef EXEC_EXPR_FUNCTION_RULES_H
#define EXEC_EXPR_FUNCTION_RULES_H

#include "expr/expr_node.h"

/* signatures.def as data, and what the rules need. */

/* Takes a call node whose function, args, arg_count and index are set and whose arguments are
 * bound; gives it type, eval, kernel, variant, can_raise and casts its arguments, or replaces it.
 */
typedef enum exec_code function_rule_fn(struct nu_arena *arena, struct expr **node,
                                        struct exec_error *err);

struct expr_function {
    const char *name;
    function_rule_fn *rule;
    uint32_t variant;
    uint32_t args_min, args_max; /* args_max 0: any number */
    const char *help;
};

/* NULL: no such function. */
const struct expr_function *function_find(const char *name);

/* A call bound by its rule; checks the number of arguments. `args` is kept. */
enum exec_code function_call(struct nu_arena *arena, const struct expr_function *function,
                             struct expr **args, uint32_t arg_count, uint32_t index,
                             struct expr **expr_out, struct exec_error *err);

/* CASE from bound args (when, then, ..., otherwise); otherwise NULL: null. */
enum exec_code function_case(struct nu_arena *arena, struct expr **args, uint32_t arg_count,
                             uint32_t index, struct expr **expr_out, struct exec_error *err);

/* EXEC_TYPE_MISMATCH naming function and argument types. */
enum exec_code function_mismatch(const struct expr *node, struct exec_error *err);

/* A literal cast to `type` when it holds the same value there, else NULL: comparing a column with
 * it then needs no cast of the column. */
struct expr *function_narrow_literal(struct nu_arena *arena, struct expr *literal,
                                     const struct exec_type *type);

/* A text literal that meets a number, a bool, a date or a timestamp becomes a literal of that type,
 * once and for all rows; anything else stays. EXEC_TYPE_MISMATCH, naming the text, when it is no
 * such value.
 */
enum exec_code function_text_literal(struct nu_arena *arena, struct expr **literal,
                                     const struct exec_type *type, struct exec_error *err);

/* The same for values of which one is to be chosen: text literals among them
 * take the type of the first that is none. */
enum exec_code function_text_literals(struct nu_arena *arena, struct expr **values, uint32_t count,
                                      struct exec_error *err);

/* What rules share: whether all arguments are of one kind; their common type; casts of the
 * arguments from `first` on; the types many functions return. */
bool function_takes_only(const struct expr *node, enum exec_type_kind kind);
bool function_common_type(const struct expr *node, struct exec_type *common_out);
enum exec_code function_cast_args(struct nu_arena *arena, struct expr *node, uint32_t first,
                                  const struct exec_type *to, struct exec_error *err);
static const struct exec_type function_bool = {.kind = EXEC_TYPE_BOOL};
static const struct exec_type function_int64 = {.kind = EXEC_TYPE_INT64};
static const struct exec_type function_float64 = {.kind = EXEC_TYPE_FLOAT64};
static const struct exec_type function_utf8 = {.kind = EXEC_TYPE_UTF8};

function_rule_fn rule_arithmetic, rule_sign, rule_signum, rule_rounding, rule_math;
function_rule_fn rule_comparison, rule_distinct, rule_between, rule_extreme;
function_rule_fn rule_logic, rule_negation, rule_presence, rule_coalesce, rule_if;
function_rule_fn rule_single_value, rule_hash;
function_rule_fn rule_text_measure, rule_text_change, rule_text_concat, rule_text_part,
    rule_text_test, rule_text_trim, rule_text_replace, rule_text_position, rule_text_regex;
function_rule_fn rule_time_part, rule_time_trunc, rule_time_epoch, rule_time_diff, rule_time_shift;

#endif
