# Third-party code other than abseil, as targets fusebox_<name>, named in DEPS by <name>.
# All are headers only here, so nothing of them is linked and nothing can clash with the server's.

# fusebox_header_dependency(<name> <header that identifies it> <Debian package>)
function(fusebox_header_dependency name header package)
  find_path(FUSEBOX_${name}_INCLUDE_DIR NAMES ${header})
  mark_as_advanced(FUSEBOX_${name}_INCLUDE_DIR)
  if(NOT FUSEBOX_${name}_INCLUDE_DIR)
    message(FATAL_ERROR
      "${header} was not found; install ${package} (scripts/install_packages.sh does)")
  endif()
  add_library(fusebox_${name} INTERFACE)
  add_library(fusebox::${name} ALIAS fusebox_${name})
  target_include_directories(fusebox_${name} SYSTEM INTERFACE "${FUSEBOX_${name}_INCLUDE_DIR}")
endfunction()

fusebox_header_dependency(json nlohmann/json.hpp nlohmann-json3-dev)
target_compile_definitions(fusebox_json INTERFACE JSON_USE_IMPLICIT_CONVERSIONS=0)

fusebox_header_dependency(xxhash xxhash.h libxxhash-dev)
target_compile_definitions(fusebox_xxhash INTERFACE XXH_INLINE_ALL)

if(FUSEBOX_HAS_CUDA_TOOLKIT)
  fusebox_header_dependency(fmt fmt/format.h libfmt-dev)
  target_compile_definitions(fusebox_fmt INTERFACE FMT_HEADER_ONLY)

  fusebox_header_dependency(spdlog spdlog/spdlog.h libspdlog-dev)
  target_compile_definitions(fusebox_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
  target_link_libraries(fusebox_spdlog INTERFACE fusebox_fmt)

  fusebox_header_dependency(cli11 CLI/CLI.hpp libcli11-dev)
endif()

if(FUSEBOX_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(FUSEBOX_BUILD_BENCHMARKS)
  find_package(benchmark QUIET)
endif()
find_package(Threads REQUIRED)
