# fusebox_embed_text(NAME n STRUCT S FUNCTION F HEADER h FOLDER f PATTERNS ...) makes the library
# fusebox_<n> with `std::span<const S> fusebox::F()`: every matching file under FOLDER, sorted by
# its path from the repository root. Rebuilt when a file is changed, added or removed.
function(fusebox_embed_text)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;STRUCT;FUNCTION;HEADER;FOLDER" "PATTERNS")
  list(TRANSFORM arg_PATTERNS PREPEND "${PROJECT_SOURCE_DIR}/${arg_FOLDER}/")
  file(GLOB_RECURSE paths RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS ${arg_PATTERNS})
  list(SORT paths COMPARE STRING)
  list(TRANSFORM paths PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE files)

  # The list is a file, so that a removed text also causes a rebuild.
  set(list_file "${PROJECT_BINARY_DIR}/generated/${arg_NAME}.list")
  set(output "${PROJECT_BINARY_DIR}/generated/${arg_NAME}.cc")
  list(JOIN paths "\n" lines)
  file(CONFIGURE OUTPUT "${list_file}" CONTENT "@lines@" @ONLY)

  set(script "${PROJECT_SOURCE_DIR}/cmake/write_embedded_text.cmake")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DROOT=${PROJECT_SOURCE_DIR}" "-DLIST=${list_file}"
      "-DOUTPUT=${output}" "-DSTRUCT=${arg_STRUCT}" "-DFUNCTION=${arg_FUNCTION}"
      "-DHEADER=${arg_HEADER}" -P "${script}"
    DEPENDS ${files} "${list_file}" "${script}"
    COMMENT "Embedding ${arg_FOLDER}" VERBATIM)
  fusebox_library(NAME ${arg_NAME} SOURCES "${output}")
endfunction()
