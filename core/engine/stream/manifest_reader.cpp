// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/manifest_reader.h"

#include "core/base/text.h"

#include <nlohmann/json.hpp>

namespace shardscope {

namespace {

/// A path that is not UTF-8 also has its bytes in hex.
std::string pathOf(const nlohmann::json& entry)
{
    if (!entry.contains("path_hex") || !entry["path_hex"].is_string())
        return entry["path"].get<std::string>();
    const auto hex = entry["path_hex"].get<std::string>();
    std::string escaped;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        escaped += "%" + hex.substr(i, 2);
    return percentDecode(escaped).value_or(std::string());
}

} // namespace

Result<Manifest> parseManifest(const std::string& text)
{
    const nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
    const auto broken = [] { return fail(ErrorCode::Damaged, "the manifest was not written by Shardscope"); };
    if (!root.is_object() || !root.contains("files") || !root["files"].is_array())
        return broken();
    Manifest out;
    for (const auto& entry : root["files"]) {
        if (!entry.is_object() || !entry.contains("path") || !entry["path"].is_string()
            || !entry.contains("bytes") || !entry["bytes"].is_number_unsigned() || !entry.contains("sha256")
            || !entry["sha256"].is_string())
            return broken();
        out.files[pathOf(entry)] = {entry["bytes"].get<uint64_t>(), entry["sha256"].get<std::string>()};
    }
    if (root.contains("fingerprint") && root["fingerprint"].is_string())
        out.fingerprint = root["fingerprint"].get<std::string>();
    return out;
}

} // namespace shardscope
