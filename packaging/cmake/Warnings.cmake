# SPDX-License-Identifier: Apache-2.0
# One interface target carries warnings and sanitizers to every target of ours.
add_library(shardscope_options INTERFACE)
target_compile_options(shardscope_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105651: optimised std::string operations of the standard library itself draw this warning in GCC 12.
  target_compile_options(shardscope_options INTERFACE -Wno-restrict)
  if(SHARDSCOPE_PRECOMPILE)
    # GCC bug 105329: so do these, where the library's headers are precompiled. The minimal preset keeps them.
    target_compile_options(shardscope_options INTERFACE -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
  endif()
endif()
if(SHARDSCOPE_WERROR)
  target_compile_options(shardscope_options INTERFACE -Werror)
endif()
if(SHARDSCOPE_SANITIZE)
  target_compile_options(shardscope_options INTERFACE -fsanitize=${SHARDSCOPE_SANITIZE} -fno-omit-frame-pointer
                                                     -fno-sanitize-recover=all)
  # GCC warns about its own library when sanitized code is optimised (std::regex); release builds keep the warning.
  target_compile_options(shardscope_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(shardscope_options INTERFACE -fsanitize=${SHARDSCOPE_SANITIZE})
  if(SHARDSCOPE_SANITIZE MATCHES "address")
    target_sources(shardscope_options INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${CMAKE_CURRENT_LIST_DIR}/sanitizer_options.cpp>)
  endif()
endif()
add_feature_info(sanitizers SHARDSCOPE_SANITIZE "${SHARDSCOPE_SANITIZE}")
add_feature_info(warnings-as-errors SHARDSCOPE_WERROR "every warning stops the build")
