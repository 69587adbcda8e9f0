#ifndef EXEC_VEC_STRING_VIEW_H
#define EXEC_VEC_STRING_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { STRING_INLINE_BYTES = 12, STRING_PREFIX_BYTES = 4 };

/* A utf8 or binary value, 16 bytes (Neumann & Freitag, "Umbra", CIDR 2020). Up to 12 bytes live
 * inside, zero-padded, so that equal short strings are equal as two words; longer ones keep their
 * first 4 bytes here and, in the last 8, a pointer to memory that someone else owns (a table chunk,
 * an arena). */
struct string_view {
    uint32_t size;
    char inside[STRING_INLINE_BYTES];
};
_Static_assert(sizeof(struct string_view) == 16, "a view is two words");

static inline const char *string_view_bytes(const struct string_view *view)
{
    const char *outside;
    if (view->size <= STRING_INLINE_BYTES) {
        return view->inside;
    }
    memcpy(&outside, view->inside + STRING_PREFIX_BYTES, sizeof outside);
    return outside;
}

/* `bytes` is kept by pointer when size > 12. */
static inline struct string_view string_view_make(const char *bytes, uint32_t size)
{
    struct string_view view = {.size = size};
    if (size <= STRING_INLINE_BYTES) {
        if (size != 0) {
            memcpy(view.inside, bytes, size);
        }
        return view;
    }
    memcpy(view.inside, bytes, STRING_PREFIX_BYTES);
    memcpy(view.inside + STRING_PREFIX_BYTES, &bytes, sizeof bytes);
    return view;
}

/* By bytes, as unsigned; a prefix sorts before what it is a prefix of. */
static inline int string_view_compare(const struct string_view *a, const struct string_view *b)
{
    const uint32_t shorter = a->size < b->size ? a->size : b->size;
    const int order = memcmp(string_view_bytes(a), string_view_bytes(b), shorter);
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static inline bool string_view_equal(const struct string_view *a, const struct string_view *b)
{
    return memcmp(a, b, sizeof a->size + STRING_PREFIX_BYTES) == 0 &&
           memcmp(string_view_bytes(a), string_view_bytes(b), a->size) == 0;
}

#endif
