// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/compare/digest/partial_fingerprint.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardscope {

namespace {

using Json = nlohmann::json;

/// Reads members of objects. Missing members and wrong types are recorded as an error and read as empty.
class Reader
{
public:
    [[nodiscard]] bool failed() const { return m_failed; }

    const Json& member(const Json& object, const char* name)
    {
        static const Json kNothing;
        if (object.is_object() && object.contains(name))
            return object[name];
        m_failed = true;
        return kNothing;
    }
    std::string text(const Json& object, const char* name)
    {
        const Json& value = member(object, name);
        m_failed = m_failed || !value.is_string();
        return m_failed ? std::string() : value.get<std::string>();
    }
    /// A name that is not UTF-8 also has its bytes in hex.
    std::string name(const Json& object, const char* field)
    {
        const std::string hexField = std::string(field) + "_hex";
        if (!object.is_object() || !object.contains(hexField))
            return text(object, field);
        const std::string hex = text(object, hexField.c_str());
        std::string escaped;
        for (size_t i = 0; i + 1 < hex.size(); i += 2)
            escaped += "%" + hex.substr(i, 2);
        const auto bytes = percentDecode(escaped);
        m_failed = m_failed || !bytes || hex.size() % 2 != 0;
        return bytes.value_or(std::string());
    }
    std::vector<std::string> texts(const Json& object, const char* name)
    {
        std::vector<std::string> out;
        for (const Json& entry : list(object, name)) {
            m_failed = m_failed || !entry.is_string();
            if (!m_failed)
                out.push_back(entry.get<std::string>());
        }
        return out;
    }
    uint64_t count(const Json& object, const char* name)
    {
        const Json& value = member(object, name);
        m_failed = m_failed || !value.is_number_unsigned();
        return m_failed ? 0 : value.get<uint64_t>();
    }
    uint32_t degree(const Json& object, const char* name)
    {
        const uint64_t value = count(object, name);
        m_failed = m_failed || value > UINT32_MAX;
        return static_cast<uint32_t>(value);
    }
    Digest digest(const Json& object, const char* name)
    {
        const auto parsed = parseDigest(text(object, name), m_version);
        m_failed = m_failed || !parsed;
        return parsed.value_or(Digest());
    }
    const Json& list(const Json& object, const char* name)
    {
        const Json& value = member(object, name);
        m_failed = m_failed || !value.is_array();
        return value;
    }
    const Json& object(const Json& of, const char* name)
    {
        const Json& value = member(of, name);
        m_failed = m_failed || !value.is_object();
        return value;
    }

    StateOrigin origin(const Json& run)
    {
        StateOrigin out;
        out.tag = name(run, "tag");
        out.kind = text(run, "kind");
        const Json& degrees = object(run, "parallel");
        out.parallel
            = {degree(degrees, "dp"), degree(degrees, "tp"), degree(degrees, "pp"), degree(degrees, "ep")};
        if (const Json& steps = member(run, "global_steps"); steps.is_number_integer())
            out.globalSteps = steps.get<int64_t>();
        else
            m_failed = m_failed || !steps.is_null();
        out.model = digest(run, "model").text();
        return out;
    }
    /// "sha256" in answers of version 1.
    std::string contentDigest(const Json& entry)
    {
        return m_version == DigestVersion::One ? "sha256:" + text(entry, "sha256") : text(entry, "digest");
    }
    FileDigest file(const Json& entry)
    {
        FileDigest out{name(entry, "path"), count(entry, "bytes"), contentDigest(entry), {}};
        for (const auto& [state, share] : object(entry, "states").items())
            out.states.push_back({state, digest(share, "digest"), count(share, "elements")});
        return out;
    }
    DigestedScalar scalar(const Json& entry)
    {
        return {text(entry, "name"), text(entry, "state"), text(entry, "text"), digest(entry, "digest"), {}};
    }

    /// Answers of version 1 do not say it.
    DigestVersion version(const Json& root)
    {
        if (!root.is_object() || !root.contains("fingerprint_version"))
            return m_version = DigestVersion::One;
        const uint64_t value = count(root, "fingerprint_version");
        m_failed = m_failed || value == 0;
        m_isNewer = value > static_cast<uint64_t>(kDigestVersion);
        return m_version = m_isNewer ? kDigestVersion : static_cast<DigestVersion>(value);
    }
    [[nodiscard]] bool isNewer() const { return m_isNewer; }

private:
    DigestVersion m_version = kDigestVersion;
    bool m_isNewer = false;
    bool m_failed = false;
};

} // namespace

Result<PartialFingerprint> parsePartial(const std::string& text, const std::string& path)
{
    const Json root = Json::parse(text, nullptr, false);
    Reader reader;
    PartialFingerprint out;
    const bool ours = root.is_object() && reader.text(root, "schema") == "shardscope/fingerprint/1"
        && root.contains("run");
    if (ours) {
        out.version = reader.version(root);
        if (reader.isNewer())
            return fail(ErrorCode::Unsupported,
                "its digests follow a newer version of the definition than this release knows", path,
                "combine the answers with the release that wrote them");
        out.origin = reader.origin(reader.object(root, "run"));
        for (const Json& entry : reader.list(root, "files"))
            out.files.push_back(reader.file(entry));
        out.missing = reader.texts(root, "missing");
        for (const Json& entry : reader.list(root, "scalars"))
            out.scalars.push_back(reader.scalar(entry));
        for (const auto& [state, share] : reader.object(root, "covered").items())
            out.expected.push_back({state, {}, reader.count(share, "of")});
    }
    const bool ordered = std::ranges::is_sorted(out.files, std::ranges::less(), &FileDigest::name);
    if (!ours || reader.failed() || !ordered)
        return fail(ErrorCode::Damaged, "it is not the output of `shardscope fingerprint --partial --json`",
            path, "combine unchanged outputs");
    return out;
}

} // namespace shardscope
