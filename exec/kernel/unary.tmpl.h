/* out[row] = K_OP(x[row]), as binary.tmpl.h: K_NAME, K_IN, K_OUT, bool K_OP(K_IN x, K_OUT *out). */
static bool K_NAME(const void *x_data, const uint16_t *sel, uint32_t count, void *out_data)
{
    const K_IN *x = x_data;
    K_OUT *restrict out = out_data;
    unsigned bad = 0;

    if (sel == NULL) {
        for (uint32_t p = 0; p < count; p++) {
            bad |= K_OP(x[p], &out[p]);
        }
        return bad != 0;
    }
    for (uint32_t p = 0; p < count; p++) {
        bad |= K_OP(x[sel[p]], &out[sel[p]]);
    }
    return bad != 0;
}

#undef K_NAME
#undef K_IN
#undef K_OUT
#undef K_OP
