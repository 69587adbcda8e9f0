# The simulator: the sources of exec/sched compiled once more, with the world replaced (sim/sim_rt.h).
# Not under ThreadSanitizer: coroutines on one thread are not its world.
if(NOT MORSEL_SANITIZE STREQUAL "thread")
  file(GLOB sim_sched_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/exec/sched/*.c)
  add_library(sim_support STATIC ${sim_sched_sources} sim/sim_core.c sim/sim_switch.c
                                 sim/sim_costs.c sim/sim_input.c sim/sim_model.c sim/sim_client.c
                                 sim/sim_race.c sim/sim_chaos.c sim/sim_fair.c)
  target_compile_definitions(sim_support PUBLIC SCHED_RT_HEADER="sim_rt.h")
  target_include_directories(sim_support PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/sim ${CMAKE_SOURCE_DIR}/exec
                                                ${CMAKE_SOURCE_DIR}/exec/include)
  target_link_libraries(sim_support PUBLIC morsel_numa morsel_flags)

  add_executable(morsel_sim sim/sim_main.c)
  set_target_properties(morsel_sim PROPERTIES OUTPUT_NAME morsel-sim)
  target_link_libraries(morsel_sim PRIVATE sim_support)

  add_executable(test_sim sim/test_sim.c)
  target_link_libraries(test_sim PRIVATE sim_support PkgConfig::CRITERION)
  add_test(NAME sim/sim COMMAND test_sim)
  set_tests_properties(sim/sim PROPERTIES LABELS "exec;unit" TIMEOUT 120)
endif()
