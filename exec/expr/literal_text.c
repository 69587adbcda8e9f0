#include "exec/exec.h"
#include "expr/value_text.h"
#include "vec/vec.h"

#include <string.h>

/* Values in the form of a vec to literals of a spec. */
static void to_literal(const unsigned char *value, struct exec_literal *out)
{
    vec_decimal decimal;

    switch (vec_storage(out->type.kind)) {
#define VEC_INTEGER(TAG, tag, c_type)         \
    case VEC_##TAG: {                         \
        c_type typed;                         \
        memcpy(&typed, value, sizeof typed);  \
        if ((c_type)-1 < (c_type)1) {         \
            out->value.i64 = (int64_t)typed;  \
        } else {                              \
            out->value.u64 = (uint64_t)typed; \
        }                                     \
        break;                                \
    }
#define VEC_FLOAT(TAG, tag, c_type)          \
    case VEC_##TAG: {                        \
        c_type typed;                        \
        memcpy(&typed, value, sizeof typed); \
        out->value.f64 = (double)typed;      \
        break;                               \
    }
#include "vec/vec_types.def"
        default: break;
    }
    if (out->type.kind == EXEC_TYPE_BOOL) {
        out->value.boolean = *value != 0;
    }
    if (out->type.kind == EXEC_TYPE_DECIMAL128) {
        memcpy(&decimal, value, sizeof decimal);
        out->value.decimal.low = (uint64_t)(vec_decimal_bits)decimal;
        out->value.decimal.high = (int64_t)(decimal >> 64);
    }
}

enum exec_code exec_literal_parse(const struct exec_type *type, const char *text, size_t bytes,
                                  struct exec_literal *literal_out, struct exec_error *err)
{
    _Alignas(16) unsigned char value[16] = {0};
    char type_text[EXEC_TYPE_TEXT_BYTES];

    if (vec_storage(type->kind) == VEC_NONE || vec_storage(type->kind) == VEC_VIEW ||
        !zone_is_utc(type->zone)) {
        return EXEC_FAIL(err, EXEC_TYPE_MISMATCH, "no text is read as %s",
                         exec_type_text(type, type_text));
    }
    const enum value_parse parsed = value_parse(type, text, bytes, value);
    if (parsed != VALUE_OK) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "'%.*s' %s %s", (int)(bytes > 100 ? 100 : bytes), text,
                         parsed == VALUE_MALFORMED ? "is not a" : "does not fit",
                         exec_type_text(type, type_text));
    }
    *literal_out = (struct exec_literal){.type = *type};
    to_literal(value, literal_out);
    return EXEC_OK;
}
