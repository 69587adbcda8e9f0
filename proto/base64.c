#include "base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_encode(const uint8_t *bytes, size_t size, enum base64_padding padding, char *text_out)
{
    size_t out = 0;

    for (size_t at = 0; at < size; at += 3) {
        const size_t have = size - at < 3 ? size - at : 3;
        const uint32_t word = (uint32_t)bytes[at] << 16 |
                              (have > 1 ? (uint32_t)bytes[at + 1] << 8 : 0) |
                              (have > 2 ? bytes[at + 2] : 0);
        for (size_t i = 0; i <= have; i++) {
            text_out[out++] = alphabet[word >> (18 - 6 * i) & 63];
        }
        for (size_t i = have; padding == BASE64_PADDED && i < 3; i++) {
            text_out[out++] = '=';
        }
    }
    text_out[out] = '\0';
    return out;
}

static int digit_value(char digit)
{
    if (digit >= 'A' && digit <= 'Z') {
        return digit - 'A';
    }
    if (digit >= 'a' && digit <= 'z') {
        return digit - 'a' + 26;
    }
    if (digit >= '0' && digit <= '9') {
        return digit - '0' + 52;
    }
    if (digit == '+' || digit == '-') {
        return 62;
    }
    return digit == '/' || digit == '_' ? 63 : -1;
}

bool base64_decode(const char *text, size_t text_bytes, uint8_t *bytes_out, size_t *size_out)
{
    uint32_t word = 0;
    uint32_t bits = 0;
    size_t out = 0;

    if (text_bytes % 4 == 0) {
        for (int i = 0; i < 2 && text_bytes != 0 && text[text_bytes - 1] == '='; i++) {
            text_bytes--;
        }
    }
    if (text_bytes % 4 == 1) {
        return false;
    }
    for (size_t at = 0; at < text_bytes; at++) {
        const int value = digit_value(text[at]);
        if (value < 0) {
            return false;
        }
        word = word << 6 | (uint32_t)value;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes_out[out++] = (uint8_t)(word >> bits);
        }
    }
    *size_out = out;
    return true;
}
