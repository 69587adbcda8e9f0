foreach(name arrow_reader arrow_writer descriptors grpc_frame grpc_status job_json prescan wire_error wire_plan)
  morsel_test(proto ${name} LABELS unit LINKS morsel_exec)
  target_compile_definitions(test_${name} PRIVATE
    PROTO_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/proto/data")
endforeach()
add_test(NAME proto/buf_lint
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/proto/buf_lint.sh ${CMAKE_SOURCE_DIR}/proto)
set_tests_properties(proto/buf_lint PROPERTIES LABELS "proto;lint" SKIP_RETURN_CODE 77 TIMEOUT 240)
