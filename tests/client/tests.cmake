pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
morsel_test(client command_plans LABELS unit LINKS morsel_sql morsel_exec PkgConfig::JANSSON)
morsel_test(client sql_expr LABELS unit LINKS morsel_sql morsel_exec PkgConfig::JANSSON)
foreach(test command_plans sql_expr)
  target_sources(test_${test} PRIVATE client/plan_print.c)
  add_dependencies(test_${test} morsel-sqlparse)
  set_tests_properties(client/${test} PROPERTIES
    ENVIRONMENT "MORSEL_SQLPARSE=$<TARGET_FILE:morsel-sqlparse>")
endforeach()

# The C example, as a stranger would build it. Sanitized builds link their own runtime.
set(sanitize_flag "")
if(MORSEL_SANITIZE)
  set(sanitize_flag "-fsanitize=${MORSEL_SANITIZE}")
endif()
add_test(NAME client/c_example COMMAND ${CMAKE_SOURCE_DIR}/tests/client/c_example.sh
  ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER}
  "${sanitize_flag}")
set_tests_properties(client/c_example PROPERTIES LABELS "client;unit" TIMEOUT 300)

pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
morsel_test(client transport LABELS unit LINKS morsel_proto morsel_exec PkgConfig::NGHTTP2 PkgConfig::XXHASH)
target_sources(test_transport PRIVATE client/grpc_fake.c)
morsel_test(client cli_options LABELS unit LINKS morsel_cli morsel_sql morsel_client morsel_proto morsel_exec)
morsel_test(client remote_source LABELS unit LINKS morsel_cli morsel_sql morsel_client morsel_proto morsel_exec
  PkgConfig::NGHTTP2)
target_sources(test_remote_source PRIVATE client/grpc_fake.c)
morsel_test(client formats LABELS unit LINKS morsel_cli morsel_sql morsel_client morsel_proto morsel_exec m)

add_test(NAME client/cli COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/client/cli_test.py $<TARGET_FILE:morsel>)
set_tests_properties(client/cli PROPERTIES LABELS "client;e2e" TIMEOUT 600)
add_test(NAME client/remote COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/client/remote_test.py $<TARGET_FILE:morsel>
  $<TARGET_FILE:morseld>)
set_tests_properties(client/remote PROPERTIES LABELS "client;e2e" TIMEOUT 600)
add_test(NAME client/sql COMMAND ${e2e_python} ${CMAKE_SOURCE_DIR}/tests/client/sql_test.py $<TARGET_FILE:morsel>
  $<TARGET_FILE:morseld>)
set_tests_properties(client/sql PROPERTIES LABELS "client;e2e" TIMEOUT 900)
add_test(NAME client/zones COMMAND ${e2e_python} ${CMAKE_SOURCE_DIR}/tests/client/zone_test.py $<TARGET_FILE:morsel>)
set_tests_properties(client/zones PROPERTIES LABELS "client;e2e" TIMEOUT 300)
add_test(NAME client/tpch COMMAND ${e2e_python} ${CMAKE_SOURCE_DIR}/tests/client/tpch_test.py $<TARGET_FILE:morsel>)
set_tests_properties(client/tpch PROPERTIES LABELS "client;e2e" TIMEOUT 900 SKIP_RETURN_CODE 77)
add_test(NAME client/seen COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/client/seen_test.py $<TARGET_FILE:morsel>
  $<TARGET_FILE:morseld>)
set_tests_properties(client/seen PROPERTIES LABELS "client;e2e" TIMEOUT 900)
