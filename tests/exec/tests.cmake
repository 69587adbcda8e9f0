# What tests of whole jobs share: specs written tersely, jobs run to their end.
add_library(exec_test_support STATIC ${CMAKE_CURRENT_SOURCE_DIR}/exec/spec_builder.c
                                     ${CMAKE_CURRENT_SOURCE_DIR}/exec/job_runner.c)
target_include_directories(exec_test_support PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/exec)
target_link_libraries(exec_test_support PUBLIC morsel_exec PRIVATE morsel_flags)

morsel_test(exec catalogue LABELS unit)
morsel_test(exec csv_text LABELS unit)
morsel_test(exec csv_types LABELS unit)
morsel_test(exec expr_bind LABELS unit)
morsel_test(exec deque LABELS unit)
morsel_test(exec hash_vec LABELS unit)
morsel_test(exec io LABELS unit)

morsel_test(exec row_layout LABELS unit)
morsel_test(exec sched LABELS unit)
morsel_test(exec spec_check LABELS unit LINKS exec_test_support)
morsel_test(exec sched_jobs LABELS unit)
morsel_test(exec table LABELS unit)
morsel_test(exec vec LABELS unit)
morsel_test(exec join LABELS unit)
target_sources(test_join PRIVATE exec/op_harness.c exec/op_harness_expr.c oracle/join_oracle.c)
