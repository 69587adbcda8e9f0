foreach(name arrow_reader grpc_frame job_json prescan)
  morsel_fuzz(proto ${name})
  target_link_libraries(fuzz_${name} PRIVATE morsel_exec)
endforeach()
