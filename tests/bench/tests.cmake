# Programs that measure. ctest runs them for life signs only (smoke); numbers come from a quiet machine.
add_executable(bench_sched bench/bench_sched.c)
target_include_directories(bench_sched PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/exec)
target_link_libraries(bench_sched PRIVATE morsel_exec morsel_numa morsel_flags)
add_test(NAME bench/sched COMMAND bench_sched smoke)
set_tests_properties(bench/sched PROPERTIES LABELS "exec;unit" TIMEOUT 60)
