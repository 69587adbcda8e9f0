# Sources of exec/sched under the explorer (explore/explore.h). Not under sanitizers: coroutines that
# switch stacks millions of times are not their world, and they see the same sources elsewhere.
if(NOT MORSEL_SANITIZE)
  function(explore_test name)
    add_executable(test_${name} ${ARGN} explore/explore.c explore/explore_rt.c sim/sim_switch.c)
    target_compile_definitions(test_${name} PRIVATE SCHED_RT_HEADER="explore_rt.h")
    target_include_directories(test_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/explore
      ${CMAKE_CURRENT_SOURCE_DIR}/sim ${CMAKE_SOURCE_DIR}/exec ${CMAKE_SOURCE_DIR}/exec/include)
    target_link_libraries(test_${name} PRIVATE morsel_numa morsel_flags PkgConfig::CRITERION)
    add_test(NAME explore/${name} COMMAND test_${name})
    set_tests_properties(explore/${name} PROPERTIES LABELS "exec;unit" TIMEOUT 180)
  endfunction()
  foreach(ranges 2 4)
    explore_test(explore_deque_${ranges} explore/test_explore_deque.c ${CMAKE_SOURCE_DIR}/exec/sched/deque.c)
    target_compile_definitions(test_explore_deque_${ranges} PRIVATE DEQUE_RANGES=${ranges})
  endforeach()
  explore_test(explore_park explore/test_explore_park.c ${CMAKE_SOURCE_DIR}/exec/sched/park.c
                                                        ${CMAKE_SOURCE_DIR}/exec/sched/worker.c)
endif()
