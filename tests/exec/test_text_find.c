#include "expr/like_pieces.h"
#include "expr/string_call.h"
#include "expr/text_find.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Random texts of few letters, at the very end of their memory, against memmem and string_like. */

static uint32_t state = 7;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(state >> 8) * below >> 24);
}

static char *draw_text(size_t size, const char *letters)
{
    char *text = malloc(size + !size);
    for (size_t i = 0; i < size; i++) {
        text[i] = letters[draw((uint32_t)strlen(letters))];
    }
    return text;
}

Test(text_find, finds_what_memmem_finds)
{
    uint32_t found = 0;
    for (int i = 0; i < 200000; i++) {
        const size_t text_bytes = draw(80), needle_bytes = draw(9);
        char *text = draw_text(text_bytes, "ab"), *needle = draw_text(needle_bytes, "ab");
        const char *expected = memmem(text, text_bytes, needle, needle_bytes);
        const char *got = text_find(text, text_bytes, needle, needle_bytes);
        found += expected != NULL;
        cr_assert(got == expected, "%.*s in %.*s", (int)needle_bytes, needle, (int)text_bytes,
                  text);
        free(text);
        free(needle);
    }
    cr_assert(found > 20000 && found < 180000);
}

Test(text_find, like_by_pieces_is_like)
{
    uint32_t matched = 0, cut = 0;
    for (int i = 0; i < 200000; i++) {
        const size_t text_bytes = draw(40), pattern_bytes = draw(10);
        char *text = draw_text(text_bytes, "aab"), *pattern = draw_text(pattern_bytes, "aab%%%_");
        struct like_pieces pieces;
        if (like_pieces_cut(&pieces, pattern, pattern_bytes)) {
            const bool expected = string_like(text, text_bytes, pattern, pattern_bytes, false);
            cr_assert(like_pieces_match(&pieces, text, text_bytes) == expected, "%.*s like %.*s",
                      (int)text_bytes, text, (int)pattern_bytes, pattern);
            matched += expected;
            cut++;
        }
        free(text);
        free(pattern);
    }
    cr_assert(cut > 20000 && matched > 2000 && matched < cut);
}

Test(text_find, patterns_of_other_kinds_are_not_cut)
{
    struct like_pieces pieces;
    cr_assert_not(like_pieces_cut(&pieces, "a_", 2));
    cr_assert_not(like_pieces_cut(&pieces, "a\\%", 3));
    cr_assert_not(like_pieces_cut(&pieces, "%%%%%%%%%%%%%%%%", LIKE_PIECES_MAX));
    cr_assert(like_pieces_cut(&pieces, "%%%%%%%%%%%%%%%", LIKE_PIECES_MAX - 1));
    cr_assert(like_pieces_cut(&pieces, "", 0) && pieces.count == 1);
}
