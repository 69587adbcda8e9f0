#include "op/join_state.h"
#include "table/dictionary.h"
#include "vec/vec.h"

#include <assert.h>

/* Text keys as codes of the probe column's dictionary: from here on the key is a 32-bit integer,
 * for the dense map too. Probe rows bring their codes along; a build row's text is looked up once,
 * and one that the dictionary lacks meets no probe row, just as a null does: null is what it
 * becomes. So kinds for which a null means something else keep their texts. */

static bool kind_is_taken(enum exec_join_kind kind)
{
    return kind != EXEC_JOIN_LEFT_MARK && kind != EXEC_JOIN_LEFT_ANTI_NULL_AWARE;
}

bool join_key_is_coded(const struct join *join, uint32_t key)
{
    const struct join_plan *plan = &join->plan;

    return plan->dictionaries != NULL && key < plan->key_count && plan->dictionaries[key] != NULL &&
           !plan->nulls_equal[key] && kind_is_taken(plan->kind);
}

struct exec_type join_key_type(const struct join *join, uint32_t key)
{
    return join_key_is_coded(join, key) ? (struct exec_type){.kind = EXEC_TYPE_UINT32}
                                        : *expr_type(join->plan.build_keys[key]);
}

/* The column has them. All rows are widened, selected or not. */
static bool take_codes(const struct vec *texts, uint32_t row_count, struct nu_arena *scratch,
                       struct vec *out)
{
    const uint8_t *restrict bytes = texts->codes;
    const uint16_t *restrict shorts = texts->codes;
    void *data;

    if (texts->code_bytes == sizeof(uint32_t)) {
        *out = (struct vec){.data = texts->codes, .valid = texts->valid, .kind = EXEC_TYPE_UINT32};
        return true;
    }
    if (!vec_alloc(EXEC_TYPE_UINT32, row_count, scratch, out, &data)) {
        return false;
    }
    uint32_t *restrict codes = data;
    out->valid = texts->valid;
    if (texts->code_bytes == sizeof(uint8_t)) {
        for (uint32_t i = 0; i < row_count; i++) {
            codes[i] = bytes[i];
        }
        return true;
    }
    for (uint32_t i = 0; i < row_count; i++) {
        codes[i] = shorts[i];
    }
    return true;
}

/* Each selected text is looked up. */
static bool seek_codes(const struct dictionary *dictionary, const struct batch *in,
                       const struct vec *texts, struct nu_arena *scratch, struct vec *out)
{
    struct batch selected;
    struct vec column = *texts;
    const struct batch whole = {.row_count = in->row_count,
                                .sel_count = in->sel_count,
                                .sel = in->sel,
                                .columns = &column,
                                .column_count = 1};
    uint32_t found[BATCH_ROWS];
    uint64_t present[BATCH_WORDS];
    void *data;

    if (!vec_flatten(texts, in->row_count, scratch, &column) ||
        !batch_compact(&whole, scratch, &selected) ||
        !vec_alloc(EXEC_TYPE_UINT32, in->row_count, scratch, out, &data)) {
        return false;
    }
    uint64_t *valid = nu_arena_calloc(scratch, BATCH_WORDS * sizeof *valid, 8);
    if (valid == NULL) {
        return false;
    }
    dictionary_seek(dictionary, selected.columns[0].data, selected.columns[0].valid, in->sel_count,
                    found, present);
    uint32_t *codes = data;
    for (uint32_t p = 0; p < in->sel_count; p++) {
        const uint32_t row = batch_row(in, p);
        codes[row] = found[p];
        valid[row / 64] |= (uint64_t)bitmap_get(present, p) << row % 64;
    }
    out->valid = valid;
    return true;
}

bool join_code_keys(const struct join *join, const struct batch *in, struct nu_arena *scratch,
                    struct vec *keys)
{
    bool ok = true;

    for (uint32_t k = 0; ok && k < join->plan.key_count; k++) {
        if (!join_key_is_coded(join, k)) {
            continue;
        }
        const struct dictionary *dictionary = join->plan.dictionaries[k];
        const struct vec texts = keys[k];
        ok = texts.dictionary == dictionary && !texts.constant
                 ? take_codes(&texts, in->row_count, scratch, &keys[k])
                 : seek_codes(dictionary, in, &texts, scratch, &keys[k]);
    }
    return ok;
}
