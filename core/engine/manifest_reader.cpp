// SPDX-License-Identifier: Apache-2.0
#include "core/engine/manifest_reader.h"

#include <nlohmann/json.hpp>

namespace shardscope {

Result<Manifest> parseManifest(const std::string& text)
{
    const nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
    const auto broken = [] { return fail(ErrorCode::Damaged, "the manifest is not one that Shardscope wrote"); };
    if (!root.is_object() || !root.contains("files") || !root["files"].is_array())
        return broken();
    Manifest out;
    for (const auto& entry : root["files"]) {
        if (!entry.is_object() || !entry.contains("path") || !entry["path"].is_string() || !entry.contains("bytes")
            || !entry["bytes"].is_number_unsigned() || !entry.contains("sha256") || !entry["sha256"].is_string())
            return broken();
        out.files[entry["path"].get<std::string>()]
            = {entry["bytes"].get<uint64_t>(), entry["sha256"].get<std::string>()};
    }
    if (root.contains("fingerprint") && root["fingerprint"].is_string())
        out.fingerprint = root["fingerprint"].get<std::string>();
    return out;
}

} // namespace shardscope
