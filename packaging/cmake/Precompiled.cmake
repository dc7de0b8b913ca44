# SPDX-License-Identifier: Apache-2.0
# Headers of the standard library and of Qt that most files include, parsed once per library: half of the time of a
# build was parsing. Only headers from outside the project are listed, so that changing one of ours rebuilds only what
# includes it. A file still includes what it uses; the minimal preset builds without these.
option(SHARDSCOPE_PRECOMPILE "Precompile the headers of the standard library and of Qt" ON)

set(SHARDSCOPE_STANDARD_HEADERS
  <algorithm> <array> <atomic> <bit> <chrono> <cstddef> <cstdint> <cstring> <filesystem> <functional> <map> <memory>
  <mutex> <optional> <set> <span> <sstream> <stop_token> <string> <string_view> <thread> <type_traits>
  <unordered_map> <unordered_set> <utility> <variant> <vector> <tl/expected.hpp>)

# shardscope_precompile(TARGET header...): headers in addition to those of the standard library.
function(shardscope_precompile target)
  if(SHARDSCOPE_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${SHARDSCOPE_STANDARD_HEADERS} ${ARGN})
  endif()
endfunction()

# shardscope_precompiled_by(TARGET OTHER): what OTHER has precompiled; both need the same compile options.
function(shardscope_precompiled_by target other)
  if(SHARDSCOPE_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()
