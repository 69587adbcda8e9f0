#include "expr/zone_call.h"

#include "expr/cast.h"
#include "expr/time_call.h"
#include "vec/civil_date.h"

enum { DAY_SECONDS = 86400, HOUR_SECONDS = 3600, MINUTE_SECONDS = 60 };

/* ---- zones of types ------------------------------------------------------------------------- */

static enum exec_code fixed_zone(struct nu_arena *arena, int32_t offset, const struct zone **out,
                                 struct exec_error *err)
{
    struct room {
        struct zone zone;
        int64_t begin;
        int32_t offset;
    } *room = nu_arena_alloc(arena, sizeof *room, _Alignof(struct room));

    if (room == NULL) {
        return expr_no_memory(arena, err);
    }
    *room = (struct room){.begin = INT64_MIN, .offset = offset};
    room->zone = (struct zone){.begins = &room->begin,
                               .offsets = &room->offset,
                               .span_count = 1,
                               .cycle_begin = INT64_MAX};
    *out = &room->zone;
    return EXEC_OK;
}

enum exec_code zone_of_type(struct nu_arena *arena, const struct exec_type *type,
                            const struct zone **zone_out, struct exec_error *err)
{
    int32_t offset;

    *zone_out = NULL;
    if (type->kind != EXEC_TYPE_TIMESTAMP || zone_is_utc(type->zone)) {
        return EXEC_OK;
    }
    if (zone_fixed_offset(type->zone, &offset)) {
        return fixed_zone(arena, offset, zone_out, err);
    }
    *zone_out = zone_find(type->zone);
    if (*zone_out == NULL) {
        return EXEC_FAIL(err, EXEC_BAD_ARGUMENT,
                         "no time zone '%s': it is no offset such as +02:00 and no good file in "
                         "%s (package tzdata)",
                         type->zone, ZONE_DIRECTORY);
    }
    return EXEC_OK;
}

/* ---- one clock, read row after row ---------------------------------------------------------- */

struct clock {
    const struct zone *zone;
    int64_t per_second;
    struct zone_span span; /* where the last row was */
};

static struct clock clock_of(const struct expr_call *call, const struct exec_type *type)
{
    return (struct clock){.zone = call->expr->prepared,
                          .per_second = civil_unit_ticks(type->unit),
                          .span = zone_span_at(call->expr->prepared, 0)};
}

/* What the clock shows at an instant; both in ticks. False: beyond int64. */
static bool clock_local(struct clock *clock, int64_t ticks, int64_t *local_out)
{
    const int64_t seconds = civil_floor_div(ticks, clock->per_second);

    if (seconds < clock->span.begin || seconds >= clock->span.end) {
        clock->span = zone_span_at(clock->zone, seconds);
    }
    return !__builtin_add_overflow(ticks, clock->span.offset * clock->per_second, local_out);
}

/* Most rows are far from any transition. */
static bool clock_instants(struct clock *clock, int64_t local, struct zone_instants *out)
{
    const struct zone_span *span = &clock->span;
    int64_t instant;

    if (!__builtin_sub_overflow(local, (int64_t)span->offset, &instant) &&
        (span->begin == INT64_MIN || instant >= span->begin + 2 * ZONE_OFFSET_MAX) &&
        (span->end == INT64_MAX || instant < span->end - 2 * ZONE_OFFSET_MAX)) {
        *out = (struct zone_instants){.first = instant, .last = instant};
        return true;
    }
    if (!zone_instants_of(clock->zone, local, out)) {
        return false;
    }
    clock->span = zone_span_at(clock->zone, out->last);
    return true;
}

static bool clock_instant(struct clock *clock, int64_t local, int64_t *ticks_out)
{
    const int64_t fraction = civil_floor_mod(local, clock->per_second);
    struct zone_instants instants;

    return clock_instants(clock, civil_floor_div(local, clock->per_second), &instants) &&
           !__builtin_mul_overflow(instants.last, clock->per_second, ticks_out) &&
           !__builtin_add_overflow(*ticks_out, fraction, ticks_out);
}

/* ---- casts ---------------------------------------------------------------------------------- */

static enum exec_code convert(struct expr_call *call, bool to_local, struct exec_error *err)
{
    struct clock clock = clock_of(call, &call->expr->type);

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        int64_t ticks = 0;
        if (!expr_call_present(call, row)) {
            continue;
        }
        const int64_t value = time_load(&call->args[0], row);
        const bool fits =
            to_local ? clock_local(&clock, value, &ticks) : clock_instant(&clock, value, &ticks);
        const enum exec_code code = fits ? EXEC_OK : cast_refuse(call, row, false, err);
        if (code != EXEC_OK) {
            return code;
        }
        ((int64_t *)call->out)[row] = fits ? ticks : 0;
    }
    return EXEC_OK;
}

enum exec_code zone_call_local(struct expr_call *call, struct exec_error *err)
{
    return convert(call, true, err);
}

enum exec_code zone_call_instant(struct expr_call *call, struct exec_error *err)
{
    return convert(call, false, err);
}

/* ---- starts of parts ------------------------------------------------------------------------ */

/* The second at which the part begins that the clock shows at `seconds`. */
static bool part_begin(struct clock *clock, enum time_part part, int64_t seconds, int64_t *out)
{
    const bool is_of_day = part == TIME_HOUR || part == TIME_MINUTE;
    const int64_t step = part == TIME_HOUR ? HOUR_SECONDS : MINUTE_SECONDS;
    struct zone_instants instants;
    int64_t local;

    if (__builtin_add_overflow(seconds, (int64_t)clock->span.offset, &local) ||
        __builtin_mul_overflow(is_of_day
                                   ? civil_floor_div(local, step)
                                   : time_first_day(part, civil_floor_div(local, DAY_SECONDS)),
                               is_of_day ? step : (int64_t)DAY_SECONDS, &local) ||
        !clock_instants(clock, local, &instants)) {
        return false;
    }
    *out = instants.is_skipped                     ? instants.transition
           : is_of_day && instants.last <= seconds ? instants.last
                                                   : instants.first;
    return true;
}

enum exec_code zone_call_trunc(struct expr_call *call, struct exec_error *err)
{
    struct clock clock = clock_of(call, &call->expr->type);

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        int64_t *out = (int64_t *)call->out + row;
        int64_t ignored;
        if (!expr_call_present(call, row)) {
            continue;
        }
        const int64_t ticks = time_load(&call->args[1], row);
        const int64_t seconds = civil_floor_div(ticks, clock.per_second);
        if (!clock_local(&clock, ticks, &ignored) ||
            !part_begin(&clock, call->expr->variant, seconds, out) ||
            __builtin_mul_overflow(*out, clock.per_second, out)) {
            char text[EXPR_VALUE_TEXT_BYTES];
            return EXEC_FAIL(err, EXEC_OVERFLOW, "date_trunc: %s begins before the first instant",
                             expr_arg_text(call, 1, row, text));
        }
    }
    return EXEC_OK;
}

/* ---- intervals ------------------------------------------------------------------------------ */

enum exec_code zone_call_shift(struct expr_call *call, struct exec_error *err)
{
    struct clock clock = clock_of(call, &call->expr->type);
    const int64_t per_day = time_day_ticks(&call->expr->type);
    const enum time_shift unit = call->expr->variant;
    const struct vec *counts = &call->args[1];

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        int64_t *out = (int64_t *)call->out + row;
        int64_t local;
        if (!expr_call_present(call, row)) {
            continue;
        }
        const int64_t count = ((const int64_t *)counts->data)[expr_arg_row(counts, row)];
        const int64_t ticks = time_load(&call->args[0], row);
        if (count == 0) {
            *out = ticks;
        } else if (!clock_local(&clock, ticks, &local) ||
                   !time_shift(unit, local, count, per_day, &local) ||
                   !clock_instant(&clock, local, out)) {
            return time_shift_overflow(call, row, count, err);
        }
    }
    return EXEC_OK;
}
