# What is under deploy/ for people with a debugger or a tracer, against the programs as built.
add_test(NAME deploy/probes COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/deploy/probes_test.py $<TARGET_FILE:morsel>
  $<TARGET_FILE:morseld>)
set_tests_properties(deploy/probes PROPERTIES LABELS "deploy;e2e" TIMEOUT 400
  ENVIRONMENT "MORSEL_HAS=$<IF:$<BOOL:${MORSEL_PROBES}>,PROBES,nothing>")
