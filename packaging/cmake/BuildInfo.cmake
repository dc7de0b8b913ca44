# SPDX-License-Identifier: Apache-2.0
# Version, commit and build options in one generated file, so that --version --json and About say the same.
set(SHARDSCOPE_COMMIT "unknown")
find_package(Git QUIET)
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE SHARDSCOPE_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
configure_file(${PROJECT_SOURCE_DIR}/packaging/cmake/build_info.cpp.in ${PROJECT_BINARY_DIR}/generated/build_info.cpp)
