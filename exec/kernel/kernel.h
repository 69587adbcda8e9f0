#ifndef EXEC_KERNEL_KERNEL_H
#define EXEC_KERNEL_KERNEL_H

#include "vec/each_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of what the templates of this folder make; their contracts are in the templates. */
typedef bool kernel_binary_fn(const void *x, bool x_one, const void *y, bool y_one,
                              const uint16_t *sel, uint32_t count, void *out);
typedef bool kernel_unary_fn(const void *x, const uint16_t *sel, uint32_t count, void *out);

#endif
