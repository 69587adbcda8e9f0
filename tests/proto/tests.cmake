foreach(name arrow_reader arrow_writer descriptors grpc_frame grpc_status job_json prescan wire_error wire_plan)
  morsel_test(proto ${name} LABELS unit LINKS morsel_exec)
  target_compile_definitions(test_${name} PRIVATE
    PROTO_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/proto/data")
endforeach()
