// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/universal_names.h"

#include "core/base/text.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Why a name cannot be a path below zero/; empty where it can.
std::string_view whyNoPath(std::string_view param)
{
    constexpr size_t kLongestName = 255;
    if (param == "optimizer_state.pt" || param.starts_with("optimizer_state.pt/"))
        return "a file of the universal checkpoint has that name";
    for (size_t begin = 0; begin <= param.size();) {
        const size_t end = std::min(param.find('/', begin), param.size());
        const std::string_view part = param.substr(begin, end - begin);
        if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos)
            return "it is not a path below the folder";
        if (part.size() > kLongestName)
            return "it is too long";
        if (begin > 0 && part.ends_with(".pt"))
            return "a state's file may have that name";
        begin = end + 1;
    }
    return {};
}

} // namespace

Status checkUniversalName(std::string_view param)
{
    const std::string_view why = whyNoPath(param);
    if (why.empty())
        return {};
    return fail(ErrorCode::Refused,
        "`" + toValidUtf8(param.substr(0, 80))
            + "` cannot be the name of a folder, and a universal checkpoint keeps every parameter in a "
              "folder of its name: "
            + std::string(why),
        {}, "reshard it to another number of ranks or another stage instead");
}

} // namespace shardscope
