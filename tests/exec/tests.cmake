morsel_test(exec hash_vec LABELS unit)
morsel_test(exec io LABELS unit)
morsel_test(exec row_layout LABELS unit)
morsel_test(exec vec LABELS unit)
