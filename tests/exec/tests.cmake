morsel_test(exec hash_vec LABELS unit)
