# Real nodes: the stock Debian kernel in QEMU's software emulation. Minutes under a sanitizer, and the
# placement is the same: release only. The kernel comes from scripts/test.sh (packages_unpack).
if(NOT MORSEL_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  add_executable(vm_placement vm/vm_placement.c vm/vm_pages.c)
  target_include_directories(vm_placement PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/exec)
  target_link_libraries(vm_placement PRIVATE morsel_exec morsel_numa morsel_flags exec_test_support)
  target_link_options(vm_placement PRIVATE -Wl,--wrap=scan_span_take,--wrap=scan_span_give)
  add_executable(vm_readback vm/vm_readback.c vm/vm_pages.c)
  target_link_libraries(vm_readback PRIVATE morsel_flags)

  function(morsel_vm name)
    add_test(NAME vm/${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/vm/run_guest.sh
             ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/build/kernel ${ARGN})
    set_tests_properties(vm/${name} PROPERTIES LABELS vm TIMEOUT 600 RUN_SERIAL ON)
  endfunction()

  morsel_vm(two_nodes 2)
  morsel_vm(four_nodes 4)
endif()
