// SPDX-License-Identifier: Apache-2.0
#include "core/plan/universal_names.h"

#include "core/base/text.h"

namespace shardscope {

Status checkUniversalName(std::string_view param)
{
    constexpr size_t kLongestName = 255;
    const bool fits = !param.empty() && param != "." && param != ".." && param != "optimizer_state.pt"
        && param.size() <= kLongestName && param.find('/') == std::string_view::npos
        && param.find('\0') == std::string_view::npos;
    if (fits)
        return {};
    return fail(ErrorCode::Refused,
        "`" + toValidUtf8(param.substr(0, 80))
            + "` cannot be the name of a folder, and a universal checkpoint keeps every parameter in a "
              "folder of "
              "its name",
        {}, "reshard it to another number of ranks or another stage instead");
}

} // namespace shardscope
