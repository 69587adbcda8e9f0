/* Goal:   parsing values and matching LIKE patterns take any bytes: no fault, nothing undefined,
 * and what was parsed is printed as a text that parses to the same value. Method: byte 0 picks a
 * type, the rest is the text; parse, print, parse again, compare. The text cut in two is matched as
 * text and pattern, short ones also by plain recursion. */
#include "expr/like_pieces.h"
#include "expr/string_call.h"
#include "expr/value_text.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct exec_type types[] = {
    {.kind = EXEC_TYPE_BOOL},
    {.kind = EXEC_TYPE_INT8},
    {.kind = EXEC_TYPE_INT64},
    {.kind = EXEC_TYPE_UINT64},
    {.kind = EXEC_TYPE_FLOAT32},
    {.kind = EXEC_TYPE_FLOAT64},
    {.kind = EXEC_TYPE_DECIMAL128, .precision = 38, .scale = 10},
    {.kind = EXEC_TYPE_DECIMAL128, .precision = 5, .scale = 0},
    {.kind = EXEC_TYPE_DATE32},
    {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_SECOND},
    {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_NANO},
};

static bool is_nan(const struct exec_type *type, const void *value)
{
    float single;
    double number;
    memcpy(&single, value, sizeof single);
    memcpy(&number, value, sizeof number);
    return (type->kind == EXEC_TYPE_FLOAT32 && single != single) ||
           (type->kind == EXEC_TYPE_FLOAT64 && number != number);
}

static void check_value(const struct exec_type *type, const char *text, size_t bytes)
{
    _Alignas(16) unsigned char value[16] = {0};
    _Alignas(16) unsigned char again[16] = {0};
    char printed[VALUE_TEXT_BYTES];
    size_t printed_bytes;

    if (value_parse(type, text, bytes, value) != VALUE_OK) {
        return;
    }
    printed_bytes = value_text(type, value, printed);
    assert(printed_bytes <= VALUE_TEXT_BYTES);
    assert(value_parse(type, printed, printed_bytes, again) == VALUE_OK);
    assert(is_nan(type, value) || memcmp(value, again, sizeof value) == 0);
}

/* ASCII only: one byte is one character. */
static bool like_slowly(const char *text, size_t bytes, const char *pattern, size_t pattern_bytes)
{
    if (pattern_bytes == 0) {
        return bytes == 0;
    }
    if (*pattern == '%') {
        return like_slowly(text, bytes, pattern + 1, pattern_bytes - 1) ||
               (bytes > 0 && like_slowly(text + 1, bytes - 1, pattern, pattern_bytes));
    }
    if (bytes == 0) {
        return false;
    }
    if (*pattern == '\\' && pattern_bytes > 1) {
        return *text == pattern[1] &&
               like_slowly(text + 1, bytes - 1, pattern + 2, pattern_bytes - 2);
    }
    return (*pattern == '_' || *text == *pattern) &&
           like_slowly(text + 1, bytes - 1, pattern + 1, pattern_bytes - 1);
}

static bool is_ascii(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if ((unsigned char)text[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;

    if (size == 0 || size > 4096) {
        return 0;
    }
    const size_t bytes = size - 1;
    const size_t cut = bytes == 0 ? 0 : data[0] % bytes;
    check_value(&types[data[0] % (sizeof types / sizeof types[0])], text, bytes);
    const bool matches = string_like(text, cut, text + cut, bytes - cut, false);
    struct like_pieces pieces;
    if (like_pieces_cut(&pieces, text + cut, bytes - cut)) {
        assert(matches == like_pieces_match(&pieces, text, cut));
    }
    if (bytes <= 16 && is_ascii(text, bytes)) {
        assert(matches == like_slowly(text, cut, text + cut, bytes - cut));
    }
    return 0;
}
