// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/dcp/dcp_keys.h"

#include <charconv>

namespace shardscope {

namespace {

bool take(std::string_view& text, std::string_view prefix)
{
    if (!text.starts_with(prefix) || text.size() == prefix.size())
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

} // namespace

DcpKey parseDcpKey(std::string_view key)
{
    DcpKey out;
    if (take(key, "model.")) {
        out.kind = DcpKey::Kind::Model;
        out.name = key;
        return out;
    }
    if (!take(key, "optim.") && !take(key, "optimizer."))
        return out;
    if (take(key, "state.")) {
        const size_t dot = key.rfind('.');
        if (dot == std::string_view::npos || dot == 0 || dot + 1 == key.size())
            return out;
        out.kind = DcpKey::Kind::State;
        out.name = key.substr(0, dot);
        out.state = key.substr(dot + 1);
    } else if (take(key, "param_groups.")) {
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), out.group);
        std::string_view rest(end, static_cast<size_t>(key.data() + key.size() - end));
        if (error != std::errc() || out.group >= 1'000'000 || !take(rest, "."))
            return out;
        if (rest == "params") {
            out.kind = DcpKey::Kind::GroupMembers;
        } else if (rest.find('.') == std::string_view::npos) {
            out.kind = DcpKey::Kind::GroupOption;
            out.name = rest;
        }
    }
    return out;
}

} // namespace shardscope
