// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/target.h"

#include "core/base/text.h"

#include <charconv>
#include <string>

namespace shardscope {

namespace {

constexpr uint32_t kMaxRanks = 1'000'000;

std::optional<uint32_t> parseCount(std::string_view text)
{
    uint32_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return out;
}

Status take(CheckTarget& target, std::string_view key, std::string_view value)
{
    const auto wrong = [&](const char* wanted) {
        return fail(
            ErrorCode::Usage, std::string(key) + " takes " + wanted + ", not `" + std::string(value) + "`");
    };
    const auto count = parseCount(value);
    if (key == "world-size") {
        if (!count || *count == 0 || *count > kMaxRanks)
            return wrong("a number of ranks, at least 1");
        target.worldSize = *count;
    } else if (key == "stage") {
        if (!count || *count > 3)
            return wrong("a ZeRO stage from 0 to 3");
        target.stage = static_cast<int>(*count);
    } else if (key == "memory") {
        target.memoryBytes = parseBytes(value);
        if (!target.memoryBytes)
            return wrong("a size such as 64G");
    } else if (key == "disk") {
        if (value.empty())
            return wrong("a folder");
        target.disk = io::Path(std::string(value));
    } else {
        return fail(ErrorCode::Usage, "`" + std::string(key) + "` is not a key of a target", {},
            "use world-size=N, stage=S, memory=SIZE and disk=PATH, separated by commas");
    }
    return {};
}

} // namespace

Result<CheckTarget> parseCheckTarget(std::string_view text)
{
    CheckTarget target;
    std::string seen = ",";
    while (!text.empty()) {
        const size_t comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
        const size_t equals = part.find('=');
        const std::string key(part.substr(0, equals));
        if (equals == std::string_view::npos)
            return fail(ErrorCode::Usage, "`" + std::string(part) + "` is not KEY=VALUE", {},
                "write a target as world-size=N,stage=S,memory=SIZE,disk=PATH");
        if (seen.find("," + key + ",") != std::string::npos)
            return fail(ErrorCode::Usage, "the target has `" + key + "` twice");
        seen += key + ",";
        SHARDSCOPE_CHECK(take(target, key, part.substr(equals + 1)));
    }
    return target;
}

} // namespace shardscope
