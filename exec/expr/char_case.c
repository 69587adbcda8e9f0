#include "expr/char_case.h"

#include <utf8proc.h>

/* Whole words of ASCII need no table. */
static bool is_ascii(unsigned char byte)
{
    return byte < 0x80;
}

static char ascii_case(char c, bool to_upper)
{
    const char first = to_upper ? 'a' : 'A';

    return (char)(c >= first && c <= first + 25 ? c ^ 0x20 : c);
}

size_t char_case_change(const char *text, size_t bytes, bool to_upper, char *out)
{
    size_t at = 0, made = 0;

    while (at < bytes) {
        utf8proc_int32_t character = -1;
        if (is_ascii((unsigned char)text[at])) {
            out[made++] = ascii_case(text[at++], to_upper);
            continue;
        }
        const utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                       (utf8proc_ssize_t)(bytes - at), &character);
        if (used <= 0) { /* no UTF-8: as it is */
            out[made++] = text[at++];
            continue;
        }
        at += (size_t)used;
        character = to_upper ? utf8proc_toupper(character) : utf8proc_tolower(character);
        made += (size_t)utf8proc_encode_char(character, (utf8proc_uint8_t *)out + made);
    }
    return made;
}

int32_t char_case_lower_at(const char *text, size_t bytes, size_t *used_out)
{
    utf8proc_int32_t character = -1;

    *used_out = 1;
    if (is_ascii((unsigned char)*text)) {
        return ascii_case(*text, false);
    }
    const utf8proc_ssize_t used =
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)bytes, &character);
    if (used <= 0) {
        return (unsigned char)*text;
    }
    *used_out = (size_t)used;
    return utf8proc_tolower(character);
}
