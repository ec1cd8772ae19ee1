# What `cmake --install` writes, in three components, each of use alone:
#   fusebox_library      libfusebox.so.<major> and the file it names: all that a serving image needs
#   fusebox_development  headers, libfusebox.so, the CMake package, fusebox.pc: to build an engine
#   fusebox_command      the command: to warm a cache
# The prefix may be chosen, staged (DESTDIR) and moved afterwards: no installed file names it. With an
# absolute CMAKE_INSTALL_LIBDIR it is that of the configuration, which fusebox.pc then names.

include(CMakePackageConfigHelpers)

install(TARGETS fusebox EXPORT fusebox_targets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT fusebox_library
  NAMELINK_COMPONENT fusebox_development)
install(TARGETS fusebox_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT fusebox_command)
install(DIRECTORY include/fusebox DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT fusebox_development FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT fusebox_development)

# CMake: find_package(fusebox), then link fusebox::fusebox. A major version serves every caller of an
# earlier minor one (include/fusebox/README.md), and so does the version file.
set(fusebox_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/fusebox")
set(fusebox_generated_dir "${PROJECT_BINARY_DIR}/generated/install")
install(EXPORT fusebox_targets NAMESPACE fusebox:: FILE fusebox-targets.cmake
  DESTINATION "${fusebox_package_dir}" COMPONENT fusebox_development)
write_basic_package_version_file("${fusebox_generated_dir}/fusebox-config-version.cmake"
  COMPATIBILITY SameMajorVersion)
configure_file(cmake/fusebox-config.cmake.in "${fusebox_generated_dir}/fusebox-config.cmake" @ONLY)
install(FILES "${fusebox_generated_dir}/fusebox-config.cmake"
    "${fusebox_generated_dir}/fusebox-config-version.cmake"
  DESTINATION "${fusebox_package_dir}" COMPONENT fusebox_development)

# pkg-config: paths are told from where fusebox.pc lies, so that the prefix may move.
set(fusebox_pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
foreach(which LIBDIR INCLUDEDIR)
  cmake_path(IS_ABSOLUTE CMAKE_INSTALL_${which} is_absolute)
  set(FUSEBOX_PC_${which} "${CMAKE_INSTALL_${which}}")
  if(NOT is_absolute)
    string(PREPEND FUSEBOX_PC_${which} "\${prefix}/")
  endif()
endforeach()
cmake_path(IS_ABSOLUTE fusebox_pc_dir is_absolute)
if(is_absolute)
  set(FUSEBOX_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  set(up "/some/prefix")
  cmake_path(RELATIVE_PATH up BASE_DIRECTORY "/some/prefix/${fusebox_pc_dir}")
  set(FUSEBOX_PC_PREFIX "\${pcfiledir}/${up}")
endif()
configure_file(cmake/fusebox.pc.in "${fusebox_generated_dir}/fusebox.pc" @ONLY)
install(FILES "${fusebox_generated_dir}/fusebox.pc" DESTINATION "${fusebox_pc_dir}"
  COMPONENT fusebox_development)
