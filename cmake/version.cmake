# FUSEBOX_VERSION, as the public header states it: the one place where it stands.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../include/fusebox/export.h" fusebox_version_lines
  REGEX "^#define FUSEBOX_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
set(FUSEBOX_VERSION)
foreach(line IN LISTS fusebox_version_lines)
  string(REGEX MATCH "[0-9]+$" number "${line}")
  list(APPEND FUSEBOX_VERSION ${number})
endforeach()
list(JOIN FUSEBOX_VERSION "." FUSEBOX_VERSION)
if(NOT FUSEBOX_VERSION MATCHES "^[0-9]+[.][0-9]+[.][0-9]+$")
  message(FATAL_ERROR "include/fusebox/export.h: FUSEBOX_VERSION_MAJOR, _MINOR and _PATCH, in this "
    "order, each a number, were expected; found ${fusebox_version_lines}")
endif()
# A new version is a new configuration.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_LIST_DIR}/../include/fusebox/export.h")
