#ifndef EXEC_EXPR_LIKE_PIECES_H
#define EXEC_EXPR_LIKE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A LIKE pattern of % and plain bytes, cut at its %: the first piece begins the text, the last one
 * ends it (either may be empty), those between are found one behind the other, each as early as it
 * comes, which leaves most for the next. Cut once, then matched with many texts. */
enum { LIKE_PIECES_MAX = 16 };

struct like_pieces {
    struct {
        const char *bytes; /* of the pattern, which must live on */
        size_t size;
    } piece[LIKE_PIECES_MAX];
    uint32_t count; /* 1: no %, the text is to be equal */
};

/* false: the pattern has a _, a backslash or too many pieces; string_like takes them all. */
bool like_pieces_cut(struct like_pieces *pieces, const char *pattern, size_t bytes);

/* As string_like says, of letters in their own case. */
bool like_pieces_match(const struct like_pieces *pieces, const char *text, size_t bytes);

#endif
