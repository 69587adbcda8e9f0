/* Clears what each_*.h set; the last line of a template that is included through them. */
#undef K_TAG
#undef K_ENUM
#undef K_TYPE
#undef K_BITS
#undef K_SIGNED
#undef K_MIN
#undef K_MAX
