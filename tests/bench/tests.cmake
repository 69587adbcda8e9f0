# Programs that measure. ctest runs them for life signs only (smoke); numbers come from a quiet machine.
add_executable(bench_sched bench/bench_sched.c bench/bench_sched_steal.c)
target_include_directories(bench_sched PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/exec)
target_link_libraries(bench_sched PRIVATE morsel_exec morsel_numa morsel_flags)
add_test(NAME bench/sched COMMAND bench_sched smoke)
set_tests_properties(bench/sched PROPERTIES LABELS "exec;unit" TIMEOUT 60)

# Operators alone, without pipes and scheduler.
foreach(name group join)
  add_executable(bench_${name} bench/bench_${name}.c exec/op_harness.c exec/op_harness_expr.c)
  target_include_directories(bench_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/exec)
  target_link_libraries(bench_${name} PRIVATE morsel_exec morsel_numa morsel_flags PkgConfig::CRITERION)
  add_test(NAME bench/${name} COMMAND bench_${name})
  set_tests_properties(bench/${name} PROPERTIES LABELS "exec;bench" TIMEOUT 60)
endforeach()

# The machine's own limits, which tests/bench/compare measures first.
find_package(Threads REQUIRED)
add_executable(bench_limits bench/bench_limits.c)
target_link_libraries(bench_limits PRIVATE Threads::Threads morsel_flags)

# Whole jobs beside each other.
add_executable(bench_fairness bench/bench_fairness.c)
target_include_directories(bench_fairness PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(bench_fairness PRIVATE exec_test_support morsel_exec morsel_numa morsel_flags m)
add_test(NAME bench/fairness COMMAND bench_fairness smoke)
set_tests_properties(bench/fairness PROPERTIES LABELS "exec;unit" TIMEOUT 60)

add_executable(bench_lanes bench/bench_lanes.c)
target_include_directories(bench_lanes PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/exec)
target_link_libraries(bench_lanes PRIVATE morsel_exec morsel_numa morsel_flags)
add_test(NAME bench/lanes COMMAND bench_lanes)
set_tests_properties(bench/lanes PROPERTIES LABELS "exec;bench" TIMEOUT 60)

# Whole jobs on the engine.
foreach(name policies workers)
  add_executable(bench_${name} bench/bench_${name}.c bench/bench_engine.c)
  target_include_directories(bench_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(bench_${name} PRIVATE exec_test_support morsel_exec morsel_numa morsel_flags)
  add_test(NAME bench/${name} COMMAND bench_${name} smoke)
  set_tests_properties(bench/${name} PROPERTIES LABELS "exec;bench" TIMEOUT 120)
endforeach()

# Joins on the engine in every probe mode, over a grid of shapes.
add_executable(bench_join_grid bench/bench_join_grid.c)
target_include_directories(bench_join_grid PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(bench_join_grid PRIVATE exec_test_support morsel_exec morsel_numa morsel_flags m)
add_test(NAME bench/join_grid COMMAND bench_join_grid smoke)
set_tests_properties(bench/join_grid PROPERTIES LABELS "exec;bench" TIMEOUT 120)

# Constants of the simulator; not run by ctest: it measures the machine, there is nothing to break.
add_executable(bench_costs bench/bench_costs.c)
target_link_libraries(bench_costs PRIVATE morsel_numa morsel_flags Threads::Threads)

# The wire: load, ping-pong and a server that has nothing to do (tests/bench/wire).
pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
add_executable(bench_load bench/wire/bench_load.c)
target_include_directories(bench_load PRIVATE ${CMAKE_SOURCE_DIR}/client)
target_link_libraries(bench_load PRIVATE morsel_client morsel_proto morsel_exec morsel_flags Threads::Threads
  PkgConfig::NGHTTP2)
add_executable(bench_pingpong bench/wire/bench_pingpong.c)
target_link_libraries(bench_pingpong PRIVATE morsel_flags)
add_executable(constant_server bench/wire/constant_server.c)
target_link_libraries(constant_server PRIVATE morsel_flags PkgConfig::UV PkgConfig::NGHTTP2)
add_test(NAME bench/wire COMMAND ${e2e_python} ${CMAKE_CURRENT_SOURCE_DIR}/bench/wire smoke)
set_tests_properties(bench/wire PROPERTIES LABELS "server;bench;e2e" TIMEOUT 300 FIXTURES_REQUIRED stubs
  ENVIRONMENT "MORSEL_BUILD=${CMAKE_BINARY_DIR}")
