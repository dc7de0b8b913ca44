// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/layer_names.h"

#include "core/base/text_cursor.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr std::string_view kTied = kTiedPrefix;
constexpr std::string_view kInferred = "layer_";

} // namespace

std::optional<uint32_t> layerOf(std::string_view name)
{
    uint32_t layer = 0;
    TextCursor cursor(name);
    if (name.empty() || !cursor.takeNumber(layer) || !cursor.rest().starts_with('.'))
        return std::nullopt;
    return layer;
}

std::optional<NumberedName> numberedName(std::string_view name)
{
    constexpr size_t kMaxDigits = 6;
    for (size_t at = 0; at < name.size();) {
        const size_t end = std::min(name.find('.', at), name.size());
        uint32_t number = 0;
        TextCursor cursor(name.substr(at, end - at));
        if (end - at <= kMaxDigits && end > at && cursor.takeNumber(number) && cursor.rest().empty())
            return NumberedName{
                name.substr(0, end), name.substr(0, at), name.substr(std::min(end + 1, name.size())), number};
        at = end + 1;
    }
    return std::nullopt;
}

std::string_view insideTied(std::string_view name)
{
    if (!name.starts_with(kTied))
        return {};
    const size_t dot = name.find('.', kTied.size());
    return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

std::string_view tiedKeyOf(std::string_view name)
{
    if (insideTied(name).empty())
        return {};
    name.remove_prefix(kTied.size());
    return name.substr(0, name.find('.'));
}

std::string inferredTiedKey(uint32_t layer)
{
    const std::string number = std::to_string(layer);
    return std::string(kInferred) + (number.size() < 2 ? "0" : "") + number;
}

bool isInferredTiedKey(std::string_view key)
{
    if (!key.starts_with(kInferred))
        return false;
    uint32_t layer = 0;
    TextCursor cursor(key.substr(kInferred.size()));
    return cursor.takeNumber(layer) && cursor.rest().empty() && key == inferredTiedKey(layer);
}

} // namespace shardscope
