pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
morsel_test(client command_plans LABELS unit LINKS morsel_sql morsel_exec PkgConfig::JANSSON)
morsel_test(client sql_expr LABELS unit LINKS morsel_sql morsel_exec PkgConfig::JANSSON)
foreach(test command_plans sql_expr)
  target_sources(test_${test} PRIVATE client/plan_print.c)
  add_dependencies(test_${test} morsel-sqlparse)
  set_tests_properties(client/${test} PROPERTIES
    ENVIRONMENT "MORSEL_SQLPARSE=$<TARGET_FILE:morsel-sqlparse>")
endforeach()
