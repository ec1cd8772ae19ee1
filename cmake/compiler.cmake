# Language, warnings, sanitizers and hardening of visibility, for our code and abseil alike.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(FUSEBOX_CCACHE ccache)
  mark_as_advanced(FUSEBOX_CCACHE)
  if(FUSEBOX_CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER "${FUSEBOX_CCACHE}")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${FUSEBOX_CCACHE}")
  endif()
endif()

# __FILE__ and debug information name files from the root, whatever the checkout is called.
add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections -Wl,--as-needed)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A unique symbol pins the library in the process, so dlclose would do nothing.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
endif()

set(FUSEBOX_SANITIZE "" CACHE STRING "Value for -fsanitize=, for example address,undefined")
if(FUSEBOX_SANITIZE)
  add_compile_options(-fsanitize=${FUSEBOX_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FUSEBOX_SANITIZE})
endif()

option(FUSEBOX_STATIC_LIBSTDCXX
  "Link libstdc++ and libgcc statically, so that binaries run on other distributions" OFF)
if(FUSEBOX_STATIC_LIBSTDCXX)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

# Warnings for our own targets only; abseil and other third-party headers are SYSTEM.
add_library(fusebox_warnings INTERFACE)
target_compile_options(fusebox_warnings INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wundef -Wformat=2 -Wcast-qual -Wvla -Wimplicit-fallthrough
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi
    -Wno-missing-field-initializers>  # designated initialisers leave the rest at its default
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wmissing-declarations -Wredundant-move -Wsuggest-override
    -Wno-restrict>  # gcc 12 reports std::string's own copies (gcc bug 105651)
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety -Wmissing-prototypes>)
if(FUSEBOX_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Instrumentation hides initialisation from gcc's flow analysis.
  target_compile_options(fusebox_warnings INTERFACE -Wno-maybe-uninitialized)
endif()
