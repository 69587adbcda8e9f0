#include "exec/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_text[] = {
    [EXEC_TYPE_NONE] = "none",
#define TYPE(NAME, text, width_bytes) [EXEC_TYPE_##NAME] = (text),
#include "exec/types.def"
};

static const uint8_t kind_width[] = {
    [EXEC_TYPE_NONE] = 0,
#define TYPE(NAME, text, width_bytes) [EXEC_TYPE_##NAME] = (width_bytes),
#include "exec/types.def"
};

static const char *const unit_text[] = {"", "s", "ms", "us", "ns"};

static const struct {
    const char *text;
    struct exec_type type;
} type_aliases[] = {
    {"string", {.kind = EXEC_TYPE_UTF8}},
    {"text", {.kind = EXEC_TYPE_UTF8}},
    {"date", {.kind = EXEC_TYPE_DATE32}},
    {"double", {.kind = EXEC_TYPE_FLOAT64}},
    {"float", {.kind = EXEC_TYPE_FLOAT32}},
    {"int", {.kind = EXEC_TYPE_INT32}},
    {"bigint", {.kind = EXEC_TYPE_INT64}},
    {"boolean", {.kind = EXEC_TYPE_BOOL}},
    {"timestamp", {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_MICRO}},
};

bool exec_type_equal(const struct exec_type *a, const struct exec_type *b)
{
    return a->kind == b->kind && a->unit == b->unit && a->precision == b->precision &&
           a->scale == b->scale && strncmp(a->zone, b->zone, sizeof a->zone) == 0;
}

size_t exec_type_width(enum exec_type_kind kind)
{
    return (size_t)kind < EXEC_TYPE_COUNT ? kind_width[kind] : 0;
}

bool exec_type_is_integer(enum exec_type_kind kind)
{
    return kind >= EXEC_TYPE_INT8 && kind <= EXEC_TYPE_UINT64;
}

bool exec_type_is_numeric(enum exec_type_kind kind)
{
    return kind >= EXEC_TYPE_INT8 && kind <= EXEC_TYPE_DECIMAL128;
}

const char *exec_type_text(const struct exec_type *type, char text_out[EXEC_TYPE_TEXT_BYTES])
{
    const char *name = type->kind < EXEC_TYPE_COUNT ? kind_text[type->kind] : "unknown";

    if (type->kind == EXEC_TYPE_DECIMAL128) {
        snprintf(text_out, EXEC_TYPE_TEXT_BYTES, "%s(%d,%d)", name, type->precision, type->scale);
    } else if (type->kind == EXEC_TYPE_TIMESTAMP) {
        snprintf(text_out, EXEC_TYPE_TEXT_BYTES, "%s[%s%s%.*s]", name,
                 unit_text[type->unit <= EXEC_UNIT_NANO ? type->unit : 0],
                 type->zone[0] == '\0' ? "" : ", ", EXEC_ZONE_BYTES, type->zone);
    } else {
        snprintf(text_out, EXEC_TYPE_TEXT_BYTES, "%s", name);
    }
    return text_out;
}

static bool parse_decimal(const char *arguments, struct exec_type *type_out)
{
    char *end;
    const long precision = strtol(arguments, &end, 10);
    long scale = 0;

    if (end == arguments) {
        return false;
    }
    if (*end == ',') {
        const char *digits = end + 1;
        scale = strtol(digits, &end, 10);
        if (end == digits) {
            return false;
        }
    }
    if (strcmp(end, ")") != 0 || precision < 1 || precision > EXEC_DECIMAL_DIGITS_MAX ||
        scale < 0 || scale > precision) {
        return false;
    }
    *type_out = (struct exec_type){
        .kind = EXEC_TYPE_DECIMAL128, .precision = (uint8_t)precision, .scale = (int8_t)scale};
    return true;
}

static bool parse_timestamp(const char *arguments, struct exec_type *type_out)
{
    const size_t unit_bytes = strcspn(arguments, ",]");
    const char *zone = arguments + unit_bytes;
    struct exec_type type = {.kind = EXEC_TYPE_TIMESTAMP};

    for (uint8_t unit = EXEC_UNIT_SECOND; unit <= EXEC_UNIT_NANO; unit++) {
        if (strlen(unit_text[unit]) == unit_bytes &&
            strncmp(unit_text[unit], arguments, unit_bytes) == 0) {
            type.unit = unit;
        }
    }
    if (*zone == ',') {
        zone += 1 + strspn(zone + 1, " ");
        const size_t zone_bytes = strcspn(zone, "]");
        if (zone_bytes == 0 || zone_bytes >= sizeof type.zone) {
            return false;
        }
        memcpy(type.zone, zone, zone_bytes);
        zone += zone_bytes;
    }
    if (type.unit == EXEC_UNIT_NONE || strcmp(zone, "]") != 0) {
        return false;
    }
    *type_out = type;
    return true;
}

bool exec_type_parse(const char *text, struct exec_type *type_out)
{
    if (strncmp(text, "decimal(", 8) == 0) {
        return parse_decimal(text + 8, type_out);
    }
    if (strncmp(text, "decimal128(", 11) == 0) {
        return parse_decimal(text + 11, type_out);
    }
    if (strncmp(text, "timestamp[", 10) == 0) {
        return parse_timestamp(text + 10, type_out);
    }
    for (size_t i = 0; i < sizeof type_aliases / sizeof type_aliases[0]; i++) {
        if (strcmp(type_aliases[i].text, text) == 0) {
            *type_out = type_aliases[i].type;
            return true;
        }
    }
    for (uint8_t kind = EXEC_TYPE_BOOL; kind < EXEC_TYPE_COUNT; kind++) {
        if (kind != EXEC_TYPE_DECIMAL128 && kind != EXEC_TYPE_TIMESTAMP &&
            strcmp(kind_text[kind], text) == 0) {
            *type_out = (struct exec_type){.kind = kind};
            return true;
        }
    }
    return false;
}
