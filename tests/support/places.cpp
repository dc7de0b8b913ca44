// SPDX-License-Identifier: Apache-2.0
#include "tests/support/places.h"

namespace shardscope {

std::string sourceFolder()
{
    return SHARDSCOPE_SOURCE_DIR;
}

std::string programPath()
{
    return SHARDSCOPE_PROGRAM;
}

std::string windowPath()
{
    return SHARDSCOPE_WINDOW;
}

} // namespace shardscope
