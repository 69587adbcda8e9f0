# End-to-end: real programs, stock clients (grpcio, pyarrow) from the venv that scripts/test.sh makes.
add_test(NAME e2e/stubs COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/e2e/make_stubs.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
set_tests_properties(e2e/stubs PROPERTIES LABELS e2e FIXTURES_SETUP stubs)

function(morsel_e2e name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME e2e/${name} COMMAND ${e2e_python} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/test_${name}.py)
  set_tests_properties(e2e/${name} PROPERTIES LABELS e2e TIMEOUT ${ARG_TIMEOUT} FIXTURES_REQUIRED stubs
    RUN_SERIAL ON ENVIRONMENT "MORSEL_BUILD=${CMAKE_BINARY_DIR};PYTHONUNBUFFERED=1;PYTHONDONTWRITEBYTECODE=1")
endfunction()

foreach(name main_job daemon idle tables phases bad_input trap_texts)
  morsel_e2e(${name})
endforeach()
morsel_e2e(streaming TIMEOUT 900)
