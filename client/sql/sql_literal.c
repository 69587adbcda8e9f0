/* Literals and type names. */
#include "sql_expr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *string_of(json_t *node)
{
    return json_string_value(json_object_get(json_object_get(node, "String"), "sval"));
}

static bool number_literal(const char *digits, struct exec_literal *out)
{
    char *end = NULL;

    if (strspn(digits, "-0123456789") == strlen(digits)) {
        errno = 0;
        const long long value = strtoll(digits, &end, 10);
        if (errno == 0 && *end == '\0') {
            *out = (struct exec_literal){.type = {.kind = EXEC_TYPE_INT64}, .value.i64 = value};
            return true;
        }
    }
    const double value = strtod(digits, &end);
    *out = (struct exec_literal){.type = {.kind = EXEC_TYPE_FLOAT64}, .value.f64 = value};
    return *end == '\0';
}

/* "-12.50" as decimal128(4,2). False: an exponent, or more digits than a decimal has, or a whole
 * number that int64 holds. */
static bool decimal_literal(const char *digits, struct exec_literal *out)
{
    const bool negative = digits[0] == '-';
    int count = 0, scale = -1;
    unsigned __int128 value = 0;

    if (number_literal(digits, out) && out->type.kind == EXEC_TYPE_INT64) {
        return true;
    }
    for (const char *at = digits + negative; *at != '\0'; at++) {
        if (*at == '.' && scale < 0) {
            scale = 0;
            continue;
        }
        if (*at < '0' || *at > '9' || count == EXEC_DECIMAL_DIGITS_MAX) {
            return false;
        }
        value = value * 10 + (unsigned)(*at - '0');
        count += value != 0 || scale >= 0;
        scale += scale >= 0;
    }
    value = negative ? -value : value;
    *out = (struct exec_literal){
        .type = {.kind = EXEC_TYPE_DECIMAL128,
                 .precision = (uint8_t)(count > 0 ? count : 1),
                 .scale = (int8_t)(scale < 0 ? 0 : scale)},
        .value.decimal = {.low = (uint64_t)value, .high = (int64_t)(uint64_t)(value >> 64)},
    };
    return true;
}

/* libpg_query 15 leaves out negative integers as well as zero (PostgreSQL folds the minus into the
 * literal, whose place is then the minus): the digits are read from the text. */
static bool left_out_integer(struct sql_lowering *lowering, long location, int64_t *value_out)
{
    const char *at = lowering->text->text + sql_offset(lowering->text, location);

    *value_out = 0;
    if (*at != '-') {
        return true;
    }
    at += strspn(at, "-( \t\r\n");
    if (*at < '0' || *at > '9') {
        sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                   "write a number's digits right behind its minus");
        return false;
    }
    *value_out = -strtoll(at, NULL, 10); /* at most 2^31: larger ones come as fval */
    return true;
}

/* Whole numbers are int64 and others float64: there is no fixed-point literal but a cast.
 * Protobuf's JSON leaves zero and false out, so an empty object is one of them. */
bool sql_lower_literal(struct sql_lowering *lowering, json_t *body, struct exec_literal *out)
{
    const long location = (long)json_integer_value(json_object_get(body, "location"));
    json_t *part = NULL;

    if ((part = json_object_get(body, "ival")) != NULL) {
        json_t *value = json_object_get(part, "ival");
        *out = (struct exec_literal){.type = {.kind = EXEC_TYPE_INT64}};
        if (value == NULL) {
            return left_out_integer(lowering, location, &out->value.i64);
        }
        out->value.i64 = json_integer_value(value);
        return true;
    }
    if ((part = json_object_get(body, "fval")) != NULL && lowering->exact_literals &&
        decimal_literal(json_string_value(json_object_get(part, "fval")), out)) {
        return true;
    }
    if ((part = json_object_get(body, "fval")) != NULL &&
        number_literal(json_string_value(json_object_get(part, "fval")), out)) {
        return true;
    }
    if ((part = json_object_get(body, "boolval")) != NULL) {
        *out = (struct exec_literal){
            .type = {.kind = EXEC_TYPE_BOOL},
            .value.boolean = json_is_true(json_object_get(part, "boolval")),
        };
        return true;
    }
    if ((part = json_object_get(body, "sval")) != NULL) {
        const char *text = json_string_value(json_object_get(part, "sval"));
        text = text == NULL ? "" : text;
        *out = (struct exec_literal){
            .type = {.kind = EXEC_TYPE_UTF8},
            .value.text = {.bytes = builder_text(lowering->plan, text, strlen(text)),
                           .size = strlen(text)},
        };
        return true;
    }
    if (json_is_true(json_object_get(body, "isnull"))) {
        *out = (struct exec_literal){.is_null = true};
        return true;
    }
    sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
               "this kind of literal is not implemented yet");
    return false;
}

/* PostgreSQL's internal names and a few that people write. */
static const struct {
    const char *sql, *type;
} type_names[] = {
    {"bool", "bool"},
    {"boolean", "bool"},
    {"int2", "int16"},
    {"tinyint", "int8"},
    {"int4", "int32"},
    {"int8", "int64"},
    {"float4", "float32"},
    {"float8", "float64"},
    {"text", "utf8"},
    {"varchar", "utf8"},
    {"bpchar", "utf8"},
    {"utf8", "utf8"},
    {"string", "utf8"},
    {"bytea", "binary"},
    {"binary", "binary"},
    {"date", "date32"},
    {"date32", "date32"},
    {"timestamp", "timestamp[us]"},
    {"timestamptz", "timestamp[us,UTC]"},
    {"int16", "int16"},
    {"int32", "int32"},
    {"int64", "int64"},
    {"uint8", "uint8"},
    {"uint16", "uint16"},
    {"uint32", "uint32"},
    {"uint64", "uint64"},
    {"float32", "float32"},
    {"float64", "float64"},
    {"double", "float64"},
};

static long typmod(json_t *type_name, size_t index, long fallback)
{
    json_t *constant =
        json_object_get(json_array_get(json_object_get(type_name, "typmods"), index), "A_Const");
    json_t *value = json_object_get(json_object_get(constant, "ival"), "ival");

    return constant == NULL ? fallback : (long)json_integer_value(value);
}

bool sql_lower_type(struct sql_lowering *lowering, json_t *type_name, struct exec_type *type_out)
{
    json_t *names = json_object_get(type_name, "names");
    const char *name = string_of(json_array_get(names, json_array_size(names) - 1));
    const long location = json_integer_value(json_object_get(type_name, "location"));

    if (name == NULL || json_object_get(type_name, "arrayBounds") != NULL) {
        sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED, "this type is not implemented yet");
        return false;
    }
    if (strcmp(name, "numeric") == 0 || strcmp(name, "decimal") == 0) {
        if (json_array_size(json_object_get(type_name, "typmods")) == 0) {
            sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                       "%s of any scale is not implemented: write %s(38, 6) or the digits wanted",
                       name, name);
            return false;
        }
        const long precision = typmod(type_name, 0, 38), scale = typmod(type_name, 1, 0);
        if (precision < 1 || precision > EXEC_DECIMAL_DIGITS_MAX || scale < 0 ||
            scale > precision) {
            sql_refuse(lowering, location, EXEC_BAD_SPEC,
                       "decimal(%ld,%ld) is outside 1..38 digits, 0..precision behind the point",
                       precision, scale);
            return false;
        }
        *type_out = (struct exec_type){
            .kind = EXEC_TYPE_DECIMAL128, .precision = (uint8_t)precision, .scale = (int8_t)scale};
        return true;
    }
    if (json_object_get(type_name, "typmods") != NULL || strcmp(name, "bpchar") == 0) {
        sql_refuse(lowering, location, EXEC_NOT_IMPLEMENTED,
                   "a length or precision of '%.40s' is not implemented yet: write varchar, "
                   "timestamp",
                   name);
        return false;
    }
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (strcmp(type_names[i].sql, name) == 0) {
            return exec_type_parse(type_names[i].type, type_out);
        }
    }
    if (exec_type_parse(name, type_out)) { /* quoted: "timestamp[us,UTC]" */
        return true;
    }
    sql_refuse(lowering, location, EXEC_BAD_SPEC, "unknown type '%.60s'", name);
    return false;
}
