/* Goal:   grpc-message and grpc-timeout go out and come in as the protocol says, whatever they
 * hold. Method: hand-written pairs, every byte once, random texts there and back with a fixed seed.
 */
#include "proto/grpc_status.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(grpc_status, codes_have_names)
{
    cr_assert_str_eq(grpc_code_name(GRPC_OK), "OK");
    cr_assert_str_eq(grpc_code_name(GRPC_UNAUTHENTICATED), "UNAUTHENTICATED");
    cr_assert_str_eq(grpc_code_name((enum grpc_code)99), "UNKNOWN");
    for (int code = 0; code < GRPC_CODE_COUNT; code++) {
        cr_assert_not_null(grpc_code_name((enum grpc_code)code));
    }
}

Test(grpc_status, messages_are_percent_encoded)
{
    static const struct {
        const char *message;
        const char *text;
    } rows[] = {
        {"", ""},
        {"plain ~ text", "plain ~ text"},
        {"100%", "100%25"},
        {"tab\tnew\n", "tab%09new%0A"},
        {"gr\xC3\xBC\xC3\x9F", "gr%C3%BC%C3%9F"},
        {"\x7F", "%7F"},
        {"broken \xC3 end", "broken ? end"},
    };
    char text[GRPC_MESSAGE_ENCODED_BYTES];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t size = grpc_message_encode(rows[i].message, text);
        cr_assert_str_eq(text, rows[i].text);
        cr_assert_eq(size, strlen(text));
    }
}

Test(grpc_status, long_messages_are_cut_between_characters)
{
    char message[3000], text[GRPC_MESSAGE_ENCODED_BYTES], back[3000];

    message[0] = 'x'; /* so that 1024 falls into a character */
    for (size_t i = 1; i + 1 < sizeof message; i += 2) {
        memcpy(message + i, "\xC3\xBC", 2);
    }
    message[sizeof message - 1] = '\0';
    const size_t size = grpc_message_encode(message, text);
    cr_assert_lt(size, GRPC_MESSAGE_ENCODED_BYTES);
    grpc_message_decode(text, size, back, sizeof back);
    cr_assert_eq(strlen(back), GRPC_MESSAGE_BYTES - 1);
    cr_assert_eq(memcmp(back, message, strlen(back)), 0);
}

Test(grpc_status, decoding_never_fails)
{
    static const struct {
        const char *text;
        const char *message;
    } rows[] = {
        {"%", "%"},       {"%4", "%4"},   {"%zz", "%zz"}, {"%41", "A"}, {"%c3%BC", "\xC3\xBC"},
        {"a%00b", "a?b"}, {"%%41", "%A"},
    };
    char message[64];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        grpc_message_decode(rows[i].text, strlen(rows[i].text), message, sizeof message);
        cr_assert_str_eq(message, rows[i].message);
    }
    grpc_message_decode("abcdef", 6, message, 4);
    cr_assert_str_eq(message, "abc");
}

Test(grpc_status, timeouts_are_parsed)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t ns;
    } rows[] = {
        {"1n", true, 1},
        {"5u", true, 5000},
        {"100m", true, 100000000},
        {"1S", true, 1000000000},
        {"1M", true, 60000000000},
        {"2H", true, 7200000000000},
        {"0S", true, 0},
        {"99999999H", true, UINT64_MAX}, /* more than 64 bits of nanoseconds */
        {"123456789n", false, 0},
        {"", false, 0},
        {"n", false, 0},
        {"1", false, 0},
        {"1x", false, 0},
        {"-1S", false, 0},
        {"1 S", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t ns = 0;
        cr_assert_eq(grpc_timeout_parse(rows[i].text, strlen(rows[i].text), &ns), rows[i].good,
                     "%s", rows[i].text);
        cr_assert_eq(ns, rows[i].ns, "%s", rows[i].text);
    }
}

Test(grpc_status, timeouts_are_written_rounded_up)
{
    char text[16];
    uint64_t back, ns = 1;

    for (int i = 0; i < 64; i++, ns *= 2) {
        grpc_timeout_format(ns + 1, text);
        cr_assert(grpc_timeout_parse(text, strlen(text), &back), "%s", text);
        cr_assert_geq(back, ns + 1);
        cr_assert_leq(back - (ns + 1), (ns + 1) / 90000, "%s", text);
    }
    grpc_timeout_format(60000000000, text);
    cr_assert_str_eq(text, "60000000u");
}
