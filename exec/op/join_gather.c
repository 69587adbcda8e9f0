#include "op/join_state.h"

#include <string.h>

/* Probe columns of the pairs that come out. */

#define JOIN_GATHER(tag, c_type)                                                                \
    static void gather_##tag(const void *from, const uint16_t *rows, uint32_t count, void *out) \
    {                                                                                           \
        const c_type *restrict values = from;                                                   \
        c_type *restrict to = out;                                                              \
        for (uint32_t i = 0; i < count; i++) {                                                  \
            to[i] = values[rows[i]];                                                            \
        }                                                                                       \
    }

struct wide {
    uint64_t word[2];
};

JOIN_GATHER(1, uint8_t)
JOIN_GATHER(2, uint16_t)
JOIN_GATHER(4, uint32_t)
JOIN_GATHER(8, uint64_t)
JOIN_GATHER(16, struct wide)

static void gather_values(size_t width, const void *from, const uint16_t *rows, uint32_t count,
                          void *out)
{
    switch (width) {
        case 1: gather_1(from, rows, count, out); break;
        case 2: gather_2(from, rows, count, out); break;
        case 4: gather_4(from, rows, count, out); break;
        case 8: gather_8(from, rows, count, out); break;
        default: gather_16(from, rows, count, out); break;
    }
}

static bool gather_validity(const uint64_t *from, const uint16_t *rows, uint32_t count,
                            struct nu_arena *scratch, const uint64_t **out)
{
    uint64_t *valid = nu_arena_calloc(scratch, BATCH_WORDS * sizeof *valid, 8);

    if (valid == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        valid[i / 64] |= (uint64_t)bitmap_get(from, rows[i]) << i % 64;
    }
    *out = valid;
    return true;
}

bool join_gather(const struct vec *from, const uint16_t *rows, uint32_t count,
                 struct nu_arena *scratch, struct vec *out)
{
    const size_t width = exec_type_width(from->kind);

    *out = *from;
    if (from->constant) {
        return true;
    }
    void *data = nu_arena_alloc(scratch, width * (count + 1), 64);
    if (data == NULL) {
        return false;
    }
    gather_values(width, from->data, rows, count, data);
    out->data = data;
    return from->valid == NULL || gather_validity(from->valid, rows, count, scratch, &out->valid);
}

bool join_null_column(uint8_t kind, struct nu_arena *scratch, struct vec *out)
{
    static const uint64_t no_bits[1] = {0};
    void *data = nu_arena_calloc(scratch, 16, 16);

    *out = (struct vec){.data = data, .valid = no_bits, .kind = kind, .constant = true};
    return data != NULL;
}
