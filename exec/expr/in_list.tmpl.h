/* Whether a value is in a list, one storage. Template; included through vec/each_type.h. */

/* found[row] for the rows selected: a search in the sorted list that takes the same steps for every
 * value, so that the compiler can do without branches. */
static void K_FN(in_list)(const struct expr_call *call, const void *list_data, uint32_t list_count,
                          uint8_t *found)
{
    const K_TYPE *values = call->args[0].data;
    const K_TYPE *list = list_data;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const K_TYPE value = values[expr_arg_row(&call->args[0], row)];
        uint32_t begin = 0;
        uint32_t length = list_count;
        while (length > 1) {
            const uint32_t half = length / 2;
            begin += K_FN(value_less)(value, list[begin + half]) ? 0 : half;
            length -= half;
        }
        found[row] = length == 1 && K_FN(value_equal)(list[begin], value);
    }
}

/* Heap sort: in place and without malloc, which qsort() may use. */
static void K_FN(list_sort)(void *list_data, uint32_t count)
{
    K_TYPE *list = list_data;
    uint32_t heap_begin = count / 2;
    uint32_t heap_end = count;

    while (heap_end > 1) {
        if (heap_begin > 0) {
            heap_begin--;
        } else {
            const K_TYPE largest = list[0];
            heap_end--;
            list[0] = list[heap_end];
            list[heap_end] = largest;
        }
        uint32_t at = heap_begin;
        const K_TYPE sinking = list[at];
        for (uint32_t child = 2 * at + 1; child < heap_end; child = 2 * at + 1) {
            if (child + 1 < heap_end && K_FN(value_less)(list[child], list[child + 1])) {
                child++;
            }
            if (!K_FN(value_less)(sinking, list[child])) {
                break;
            }
            list[at] = list[child];
            at = child;
        }
        list[at] = sinking;
    }
}

#include "vec/each_done.h"
