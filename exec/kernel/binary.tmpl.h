/* out[row] = K_OP(x[row], y[row]) over a selection or over all rows. Template; no include guard.
 * Set before including, cleared at the end: K_NAME      the function made K_IN, K_OUT types of both
 * arguments and of the result K_OP        bool K_OP(K_IN x, K_IN y, K_OUT *out): true when the row
 * is bad (out is then anything) An argument in constant form is read at row 0 (x_one, y_one).
 * Returns whether any row was bad; the flags are collected without branches, and whoever sees the
 * answer true looks for the row. */
static inline __attribute__((always_inline)) bool
K_JOIN(K_NAME, body)(const K_IN *x, const bool x_one, const K_IN *y, const bool y_one,
                     const uint16_t *sel, uint32_t count, K_OUT *restrict out)
{
    unsigned bad = 0;

    for (uint32_t p = 0; p < count; p++) {
        const uint32_t row = sel == NULL ? p : sel[p];
        bad |= K_OP(x[x_one ? 0 : row], y[y_one ? 0 : row], &out[row]);
    }
    return bad != 0;
}

static bool K_NAME(const void *x, bool x_one, const void *y, bool y_one, const uint16_t *sel,
                   uint32_t count, void *out)
{
    if (sel != NULL) {
        return K_JOIN(K_NAME, body)(x, x_one, y, y_one, sel, count, out);
    }
    if (x_one) {
        return K_JOIN(K_NAME, body)(x, true, y, y_one, NULL, count, out);
    }
    if (y_one) {
        return K_JOIN(K_NAME, body)(x, false, y, true, NULL, count, out);
    }
    return K_JOIN(K_NAME, body)(x, false, y, false, NULL, count, out);
}

#undef K_NAME
#undef K_IN
#undef K_OUT
#undef K_OP
