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

bool hasText(const nlohmann::json& object, const char* key)
{
    return object.contains(key) && object[key].is_string();
}

/// Empty if there is none.
std::string digestOf(const nlohmann::json& entry)
{
    std::string out = hasText(entry, "digest") ? entry["digest"].get<std::string>()
        : hasText(entry, "sha256")             ? "sha256:" + entry["sha256"].get<std::string>()
                                               : std::string();
    return io::digestKindOf(out) == io::DigestKind::None ? std::string() : out;
}

void readFingerprint(const nlohmann::json& root, Manifest& out)
{
    if (!hasText(root, "fingerprint"))
        return;
    out.fingerprint = root["fingerprint"].get<std::string>();
    out.fingerprintVersion = DigestVersion::One;
    if (!root.contains("fingerprint_version"))
        return;
    const auto& version = root["fingerprint_version"];
    const uint64_t number = version.is_number_unsigned() ? version.get<uint64_t>() : 0;
    out.fingerprintVersion = number == 1 ? DigestVersion::One : kDigestVersion;
    out.fingerprintIsNewer = number == 0 || number > static_cast<uint64_t>(kDigestVersion);
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
        if (!entry.is_object() || !hasText(entry, "path") || !entry.contains("bytes")
            || !entry["bytes"].is_number_unsigned() || digestOf(entry).empty())
            return broken();
        out.files[pathOf(entry)] = {entry["bytes"].get<uint64_t>(), digestOf(entry)};
        if (out.digestKind() != io::digestKindOf(digestOf(entry)))
            return broken();
    }
    readFingerprint(root, out);
    return out;
}

io::DigestKind Manifest::digestKind() const
{
    return files.empty() ? io::DigestKind::Xxh3 : io::digestKindOf(files.begin()->second.digest);
}

} // namespace shardscope
