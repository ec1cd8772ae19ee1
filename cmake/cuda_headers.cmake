# fusebox_cuda_headers: the CUDA toolkit's headers, and nothing to link. libcuda and libnvrtc are
# opened at run time. Without the headers the build is host-only: src/ and its tests.

set(FUSEBOX_WITH_CUDA_TOOLKIT AUTO CACHE STRING
  "Build runtime/ against the CUDA toolkit's headers: ON, OFF (host-only) or AUTO (if found)")
set_property(CACHE FUSEBOX_WITH_CUDA_TOOLKIT PROPERTY STRINGS AUTO ON OFF)

set(FUSEBOX_HAS_CUDA_TOOLKIT OFF)
if(NOT FUSEBOX_WITH_CUDA_TOOLKIT STREQUAL "OFF")
  find_path(FUSEBOX_CUDA_INCLUDE_DIR NAMES nvrtc.h
    HINTS ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda
    PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include)
  mark_as_advanced(FUSEBOX_CUDA_INCLUDE_DIR)
  if(FUSEBOX_CUDA_INCLUDE_DIR AND EXISTS "${FUSEBOX_CUDA_INCLUDE_DIR}/cuda.h")
    set(FUSEBOX_HAS_CUDA_TOOLKIT ON)
    add_library(fusebox_cuda_headers INTERFACE)
    add_library(fusebox::cuda_headers ALIAS fusebox_cuda_headers)
    target_include_directories(fusebox_cuda_headers SYSTEM INTERFACE "${FUSEBOX_CUDA_INCLUDE_DIR}")
    message(STATUS "CUDA toolkit headers: ${FUSEBOX_CUDA_INCLUDE_DIR}")
  elseif(NOT FUSEBOX_WITH_CUDA_TOOLKIT STREQUAL "AUTO")
    message(FATAL_ERROR "FUSEBOX_WITH_CUDA_TOOLKIT is ${FUSEBOX_WITH_CUDA_TOOLKIT}, but cuda.h and "
      "nvrtc.h were not found; set CUDA_HOME to the toolkit, or build the host-only preset")
  endif()
endif()
if(NOT FUSEBOX_HAS_CUDA_TOOLKIT)
  message(STATUS "CUDA toolkit headers: none; host-only build (src/ and its tests)")
endif()
