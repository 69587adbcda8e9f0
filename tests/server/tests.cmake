# The daemon over an engine of one file (fake_engine.c), which takes the place of morsel_exec's.
add_library(fake_engine OBJECT server/fake_engine.c)
target_link_libraries(fake_engine PRIVATE morsel_exec morsel_flags)
add_executable(fake_morseld ${CMAKE_SOURCE_DIR}/server/morseld_main.c $<TARGET_OBJECTS:fake_engine>)
target_include_directories(fake_morseld PRIVATE ${CMAKE_SOURCE_DIR}/server)
target_compile_definitions(fake_morseld PRIVATE MORSEL_VERSION="fake")
target_link_libraries(fake_morseld PRIVATE morsel_server morsel_exec morsel_flags)
