# abseil, built inside our build: position independent, hidden, with our standard and sanitizers.
# Debian's static archives are not PIC, its shared ones could clash with the server's own abseil.

set(FUSEBOX_ABSEIL_VERSION 20220623.1)

if(NOT FUSEBOX_ABSEIL_SOURCE_DIR)
  if(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(fusebox_cache_home "$ENV{XDG_CACHE_HOME}")
  else()
    set(fusebox_cache_home "$ENV{HOME}/.cache")
  endif()
  set(fusebox_fetched_abseil
    "${fusebox_cache_home}/fusebox-build/abseil-${FUSEBOX_ABSEIL_VERSION}-std")
  if(EXISTS "${fusebox_fetched_abseil}/CMakeLists.txt")
    set(FUSEBOX_ABSEIL_SOURCE_DIR "${fusebox_fetched_abseil}")
  endif()
endif()

if(FUSEBOX_ABSEIL_SOURCE_DIR)
  set(fusebox_abseil_source "${FUSEBOX_ABSEIL_SOURCE_DIR}")
  if(NOT EXISTS "${fusebox_abseil_source}/absl/status/statusor.h")
    message(FATAL_ERROR "FUSEBOX_ABSEIL_SOURCE_DIR holds no abseil: ${fusebox_abseil_source}")
  endif()
  file(STRINGS "${fusebox_abseil_source}/absl/base/options.h" fusebox_own_types
    REGEX "^#define ABSL_OPTION_USE_STD_STRING_VIEW 0")
  if(fusebox_own_types)
    message(FATAL_ERROR "${fusebox_abseil_source}: absl::string_view is not std::string_view there; "
      "run scripts/fetch_abseil.sh, which corrects Debian's choice")
  endif()
else()
  message(STATUS "abseil: no local source (scripts/fetch_abseil.sh makes one); fetching by git")
  include(FetchContent)
  FetchContent_Declare(abseil
    GIT_REPOSITORY https://github.com/abseil/abseil-cpp.git
    GIT_TAG ${FUSEBOX_ABSEIL_VERSION}
    GIT_SHALLOW TRUE
    SOURCE_SUBDIR populated-only-and-added-below)
  FetchContent_MakeAvailable(abseil)
  set(fusebox_abseil_source "${abseil_SOURCE_DIR}")
endif()
message(STATUS "abseil: ${fusebox_abseil_source}")
add_compile_options("-ffile-prefix-map=${fusebox_abseil_source}/=")

set(ABSL_PROPAGATE_CXX_STD ON)
set(ABSL_ENABLE_INSTALL OFF)
set(ABSL_BUILD_TESTING OFF)
set(BUILD_TESTING OFF)
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
set(CMAKE_WARN_DEPRECATED OFF)
get_directory_property(fusebox_compile_options COMPILE_OPTIONS)
add_compile_options(-w)  # its warnings are not ours to act on
add_subdirectory("${fusebox_abseil_source}" "${CMAKE_BINARY_DIR}/abseil" EXCLUDE_FROM_ALL SYSTEM)
set_directory_properties(PROPERTIES COMPILE_OPTIONS "${fusebox_compile_options}")
unset(CMAKE_WARN_DEPRECATED)
unset(BUILD_TESTING)
