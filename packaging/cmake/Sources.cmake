# SPDX-License-Identifier: Apache-2.0
# shardscope_sources(OUT BELOW PATTERN [EXCEPT REGEX]): the files of a folder and all below it; a new one is picked up by
# itself. tests/core/house checks that rooms.txt lists their folders.
function(shardscope_sources out below pattern)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "EXCEPT" "")
  set(folder ${PROJECT_SOURCE_DIR}/${below})
  file(GLOB_RECURSE sources RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/${pattern})
  if(arg_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "^${arg_EXCEPT}")
  endif()
  list(TRANSFORM sources PREPEND ${folder}/)
  set(${out} ${sources} PARENT_SCOPE)
endfunction()
