// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/manifest_reader.h"

namespace shardscope {

namespace {

/// Empty if there is none.
std::string digestOf(const JsonNode& entry)
{
    const auto sha256 = entry.at("sha256").text();
    const std::string out = entry.at("digest").text().value_or(sha256 ? "sha256:" + *sha256 : std::string());
    return io::digestKindOf(out) == io::DigestKind::None ? std::string() : out;
}

void readFingerprint(const JsonNode& root, Manifest& out)
{
    const auto fingerprint = root.at("fingerprint").text();
    if (!fingerprint)
        return;
    out.fingerprint = *fingerprint;
    out.fingerprintVersion = DigestVersion::One;
    const JsonNode version = root.at("fingerprint_version");
    if (!version)
        return;
    const uint64_t number = version.integer<uint64_t>().value_or(0);
    out.fingerprintVersion = number == 1 ? DigestVersion::One : kDigestVersion;
    out.fingerprintIsNewer = number == 0 || number > static_cast<uint64_t>(kDigestVersion);
}

} // namespace

Result<Manifest> parseManifest(const std::string& text)
{
    return readManifest(JsonNode::parse(text));
}

Result<Manifest> readManifest(const JsonNode& root)
{
    const auto broken = [] { return fail(ErrorCode::Damaged, "the manifest was not written by Shardscope"); };
    if (!root.at("files").isArray())
        return broken();
    Manifest out;
    for (const JsonNode& entry : root.at("files").items()) {
        const auto bytes = entry.at("bytes").integer<uint64_t>();
        const std::string digest = digestOf(entry);
        std::string problem;
        std::string path;
        JsonIn(entry, problem).name("path", path);
        if (!problem.empty() || !bytes || digest.empty())
            return broken();
        out.files[path] = {*bytes, digest};
        if (out.digestKind() != io::digestKindOf(digest))
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
