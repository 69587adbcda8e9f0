#ifndef EXEC_TYPES_H
#define EXEC_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Logical types. EXEC_TYPE_NONE (0) means "not given". */
enum exec_type_kind {
    EXEC_TYPE_NONE,
#define TYPE(NAME, text, width_bytes) EXEC_TYPE_##NAME,
#include "exec/types.def"
    EXEC_TYPE_COUNT
};

enum exec_time_unit {
    EXEC_UNIT_NONE,
    EXEC_UNIT_SECOND,
    EXEC_UNIT_MILLI,
    EXEC_UNIT_MICRO,
    EXEC_UNIT_NANO,
};

enum { EXEC_ZONE_BYTES = 32, EXEC_DECIMAL_DIGITS_MAX = 38 };

/* A type is a value: copied freely, compared with exec_type_equal. Unused members are 0. */
struct exec_type {
    uint8_t kind;               /* enum exec_type_kind */
    uint8_t unit;               /* enum exec_time_unit, timestamp only */
    uint8_t precision;          /* 1..38, decimal128 only */
    int8_t scale;               /* 0..precision, decimal128 only */
    char zone[EXEC_ZONE_BYTES]; /* timestamp: IANA zone or offset; "" is without time zone */
};

struct exec_field {
    const char *name; /* UTF-8, NUL-terminated */
    struct exec_type type;
    bool not_null; /* a promise of the producer; false: may hold nulls */
};

/* Owned by whoever hands it out; names live as long as the schema. */
struct exec_schema {
    const struct exec_field *fields;
    uint32_t field_count;
};

bool exec_type_equal(const struct exec_type *a, const struct exec_type *b);
size_t exec_type_width(enum exec_type_kind kind); /* bytes of one value inside the engine */
bool exec_type_is_integer(enum exec_type_kind kind);
bool exec_type_is_numeric(enum exec_type_kind kind); /* integers, floats, decimal128 */

/* "int64", "decimal128(38,0)", "timestamp[us]", "timestamp[ms, UTC]". Always NUL-terminated. */
enum { EXEC_TYPE_TEXT_BYTES = 64 };
const char *exec_type_text(const struct exec_type *type, char text_out[EXEC_TYPE_TEXT_BYTES]);

/* The reverse; also takes "string", "decimal(p,s)", "timestamp[us,UTC]", "timestamp" (us), "date",
 * "double", "bigint" and "int". Returns false when `text` names no type. */
bool exec_type_parse(const char *text, struct exec_type *type_out);

#endif
