morsel_test(exec hash_vec LABELS unit)
morsel_test(exec io LABELS unit)
