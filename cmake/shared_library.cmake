# libfusebox.so: the engine's C ABI and everything below it. Only fusebox_* is visible, nothing of
# ours or of a dependency can clash with the server's copies. dlclose leaves it in memory (nodelete):
# a thread that used it still runs thread-local destructors of a dependency when it exits, and their
# code must be there.

# The engine's objects are taken whole: nothing inside refers to the C ABI, and --exclude-libs
# would hide it if it came out of an archive.
add_library(fusebox SHARED $<TARGET_OBJECTS:fusebox_engine>)
add_library(fusebox::fusebox ALIAS fusebox)
target_link_libraries(fusebox PRIVATE fusebox_engine Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(fusebox INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_options(fusebox PRIVATE
  "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/fusebox.map" -Wl,--exclude-libs,ALL
  -Wl,-z,nodelete)
if(NOT FUSEBOX_SANITIZE)
  target_link_options(fusebox PRIVATE -Wl,-z,defs)
endif()
set_target_properties(fusebox PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX
  LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/fusebox.map")
