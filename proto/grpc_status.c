#include "proto/grpc_status.h"

#include "wire_utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const code_names[GRPC_CODE_COUNT] = {
    [GRPC_OK] = "OK",
    [GRPC_CANCELLED] = "CANCELLED",
    [GRPC_UNKNOWN] = "UNKNOWN",
    [GRPC_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
    [GRPC_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
    [GRPC_NOT_FOUND] = "NOT_FOUND",
    [GRPC_ALREADY_EXISTS] = "ALREADY_EXISTS",
    [GRPC_PERMISSION_DENIED] = "PERMISSION_DENIED",
    [GRPC_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
    [GRPC_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
    [GRPC_ABORTED] = "ABORTED",
    [GRPC_OUT_OF_RANGE] = "OUT_OF_RANGE",
    [GRPC_UNIMPLEMENTED] = "UNIMPLEMENTED",
    [GRPC_INTERNAL] = "INTERNAL",
    [GRPC_UNAVAILABLE] = "UNAVAILABLE",
    [GRPC_DATA_LOSS] = "DATA_LOSS",
    [GRPC_UNAUTHENTICATED] = "UNAUTHENTICATED",
};

/* The units of grpc-timeout, finest first. */
static const struct {
    char letter;
    uint64_t ns;
} timeout_units[] = {
    {'n', 1},
    {'u', UINT64_C(1000)},
    {'m', UINT64_C(1000000)},
    {'S', UINT64_C(1000000000)},
    {'M', UINT64_C(60000000000)},
    {'H', UINT64_C(3600000000000)},
};
enum { TIMEOUT_UNITS = sizeof timeout_units / sizeof timeout_units[0], TIMEOUT_DIGITS = 8 };
static const uint64_t timeout_value_max = 99999999;

const char *grpc_code_name(enum grpc_code code)
{
    return (size_t)code < GRPC_CODE_COUNT ? code_names[code] : "UNKNOWN";
}

static size_t byte_encode(uint8_t byte, char *out)
{
    static const char digits[] = "0123456789ABCDEF";

    if (byte >= 0x20 && byte <= 0x7E && byte != '%') {
        out[0] = (char)byte;
        return 1;
    }
    out[0] = '%';
    out[1] = digits[byte >> 4];
    out[2] = digits[byte & 15];
    return 3;
}

size_t grpc_message_encode(const char *message, char *text_out)
{
    const uint8_t *bytes = (const uint8_t *)message;
    const size_t size = strlen(message);
    size_t at = 0, out = 0;

    while (at < size) {
        const size_t step = wire_utf8_char(bytes + at, size - at);
        const size_t taken = step == 0 ? 1 : step; /* a byte that is no UTF-8 becomes '?' */
        if (at + taken > GRPC_MESSAGE_BYTES) {
            break; /* cut between characters */
        }
        for (size_t i = 0; i < taken; i++) {
            out += byte_encode(step == 0 ? '?' : bytes[at + i], text_out + out);
        }
        at += taken;
    }
    text_out[out] = '\0';
    return out;
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'A' && digit <= 'F') {
        return digit - 'A' + 10;
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

void grpc_message_decode(const char *text, size_t text_bytes, char *message_out,
                         size_t message_bytes)
{
    size_t out = 0;

    if (message_bytes == 0) {
        return;
    }
    for (size_t at = 0; at < text_bytes && out + 1 < message_bytes; at++) {
        char byte = text[at];
        if (byte == '%' && text_bytes - at > 2) {
            const int high = hex_digit(text[at + 1]);
            const int low = hex_digit(text[at + 2]);
            if (high >= 0 && low >= 0) {
                byte = (char)(high * 16 + low);
                at += 2;
            }
        }
        message_out[out++] = byte == '\0' ? '?' : byte;
    }
    message_out[out] = '\0';
}

bool grpc_timeout_parse(const char *text, size_t text_bytes, uint64_t *timeout_ns_out)
{
    uint64_t value = 0;

    if (text_bytes < 2 || text_bytes > TIMEOUT_DIGITS + 1) {
        return false;
    }
    for (size_t i = 0; i + 1 < text_bytes; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    for (size_t unit = 0; unit < TIMEOUT_UNITS; unit++) {
        if (timeout_units[unit].letter == text[text_bytes - 1]) {
            const bool fits = value <= UINT64_MAX / timeout_units[unit].ns;
            *timeout_ns_out = fits ? value * timeout_units[unit].ns : UINT64_MAX;
            return true;
        }
    }
    return false;
}

void grpc_timeout_format(uint64_t timeout_ns, char text_out[16])
{
    size_t unit = 0;

    while (unit + 1 < TIMEOUT_UNITS && timeout_ns / timeout_units[unit].ns >= timeout_value_max) {
        unit++;
    }
    /* Rounded up: the peer must not give up before we do. */
    const uint64_t ns = timeout_units[unit].ns;
    const uint64_t value = timeout_ns / ns + (timeout_ns % ns != 0);
    snprintf(text_out, 16, "%" PRIu64 "%c", value, timeout_units[unit].letter);
}
