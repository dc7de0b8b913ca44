# SPDX-License-Identifier: Apache-2.0
# rooms.txt lists the folders of the source; a new .cpp in one of them is picked up by itself.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/rooms.txt)

# shardscope_rooms(BELOW OUT [EXCEPT PATTERN]): the rooms whose path begins with BELOW.
function(shardscope_rooms below out)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "EXCEPT" "")
  file(STRINGS ${PROJECT_SOURCE_DIR}/rooms.txt lines REGEX "^${below}(/| |$)")
  set(rooms "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^[^ ]+" room "${line}")
    if(NOT arg_EXCEPT OR NOT room MATCHES "${arg_EXCEPT}")
      list(APPEND rooms ${room})
    endif()
  endforeach()
  set(${out} ${rooms} PARENT_SCOPE)
endfunction()

# shardscope_sources(OUT PATTERN room...): the files of these rooms.
function(shardscope_sources out pattern)
  set(sources "")
  foreach(room IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${room}/${pattern})
    list(APPEND sources ${found})
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()
