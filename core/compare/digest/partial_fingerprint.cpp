// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/partial_fingerprint.h"

#include "core/base/checked.h"
#include "core/base/finding_codes.h"
#include "core/base/text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace shardscope {

namespace {

bool isOfState(FileRole role)
{
    return role == FileRole::ModelStates || role == FileRole::OptimStates || role == FileRole::LayerStates
        || role == FileRole::ExpertStates || role == FileRole::Swap;
}

std::string modelDigest(const Checkpoint& checkpoint)
{
    Digest sum;
    for (const Parameter& param : checkpoint.params) {
        // Only the first rank of ZeRO-3 records buffers and ties.
        if (param.role != ParamRole::Buffer && param.unit != kNoUnit)
            sum += digestText(
                param.name, "model", shapeText(param.shape) + " " + std::to_string(param.group));
    }
    return sum.text();
}

StateOrigin originOf(const Checkpoint& checkpoint)
{
    return {checkpoint.tag, std::string(kindName(checkpoint.kind)), checkpoint.parallel,
        checkpoint.steps.globalSteps, modelDigest(checkpoint)};
}

/// Only the first rank contributes data that all ranks have copies of, so others do not expect it.
std::vector<StateShare> expectedShares(const CheckpointPtr& checkpoint)
{
    const TensorTable table(checkpoint);
    std::vector<StateShare> out;
    for (uint32_t i = 0; i < table.size(); ++i) {
        const TensorTable::Entry entry = table.entry(i);
        if (!entry.inFingerprint)
            continue;
        if (table.isWhole(i)) {
            const WholeTensor* whole = checkpoint->wholeOf(entry.param);
            if (whole == nullptr || !whole->run.isPresent()
                || !isOfFirstRank(checkpoint->file(whole->run.file)))
                continue;
        }
        addShare(out, {std::string(entry.state), {}, checkpoint->params[index(entry.param)].elements});
    }
    return out;
}

std::vector<DigestedScalar> scalarsHere(const Checkpoint& checkpoint)
{
    std::vector<DigestedScalar> out = digestedScalars(checkpoint);
    if (checkpoint.isReadable(checkpoint.templateModel)
        && !isOfFirstRank(checkpoint.file(checkpoint.templateModel)))
        std::erase_if(out, [](const DigestedScalar& scalar) { return scalar.name == "lr_scheduler"; });
    return out;
}

std::string text(const ParallelDegrees& parallel)
{
    return "dp " + std::to_string(parallel.dp) + " tp " + std::to_string(parallel.tp) + " pp "
        + std::to_string(parallel.pp) + " ep " + std::to_string(parallel.ep);
}

} // namespace

std::string StateOrigin::differenceTo(const StateOrigin& other) const
{
    const auto step
        = [](const std::optional<int64_t>& steps) { return steps ? std::to_string(*steps) : "none"; };
    if (tag != other.tag)
        return "tag `" + tag + "` and tag `" + other.tag + "`";
    if (kind != other.kind)
        return "kind " + kind + " and kind " + other.kind;
    if (text(parallel) != text(other.parallel))
        return "ranks " + text(parallel) + " and ranks " + text(other.parallel);
    if (globalSteps != other.globalSteps)
        return "step " + step(globalSteps) + " and step " + step(other.globalSteps);
    if (model != other.model)
        return "parameters of digest " + model + " and of digest " + other.model;
    return {};
}

std::vector<StateShare> PartialFingerprint::covered() const
{
    std::vector<StateShare> out;
    for (const StateShare& share : expected)
        out.push_back({share.state, {}, 0});
    for (const FileDigest& file : files) {
        for (const StateShare& share : file.states)
            addShare(out, share);
    }
    return out;
}

std::optional<Digest> PartialFingerprint::whole() const
{
    const std::vector<StateShare> here = covered();
    const bool same = std::equal(here.begin(), here.end(), expected.begin(), expected.end(),
        [](const StateShare& a, const StateShare& b) {
            return a.state == b.state && a.elements == b.elements;
        });
    if (!missing.empty() || !same)
        return std::nullopt;
    Digest sum;
    for (const StateShare& share : here)
        sum += share.digest;
    for (const DigestedScalar& scalar : scalars)
        sum += scalar.digest;
    return sum;
}

Result<PartialFingerprint> digestFiles(
    io::FileSystem& files, const CheckpointPtr& checkpoint, const Workers& workers, JobContext& job)
{
    if (isConverted(checkpoint->kind))
        return fail(ErrorCode::Unsupported,
            isDistributed(checkpoint->kind)
                ? "a distributed checkpoint is in one folder, and all of its files need the metadata there"
                : "a universal folder has no files of ranks on other nodes",
            checkpoint->tagFolder.string(), "digest all of it, without --partial");
    const std::vector<std::string> allowed{
        std::string(code::kRankMissing), std::string(code::kModelStatesMissing)};
    SHARDSCOPE_TRY(const CheckpointScan scan, scanSound(files, checkpoint, workers, {.allow = allowed}, job));
    PartialFingerprint out;
    out.origin = originOf(*checkpoint);
    for (const FileScan& file : scan.files)
        out.files.push_back({checkpoint->file(file.file).name, file.bytes, file.digest, file.states});
    for (const CheckpointFile& file : checkpoint->files) {
        if (isOfState(file.role) && file.status == FileStatus::Missing)
            out.missing.push_back(file.name);
    }
    std::ranges::sort(out.files, {}, &FileDigest::name);
    std::ranges::sort(out.missing);
    out.scalars = scalarsHere(*checkpoint);
    out.expected = expectedShares(checkpoint);
    return out;
}

namespace {

tl::unexpected<Error> refuse(const std::string& why)
{
    return fail(ErrorCode::Refused, "the results do not form one training state: " + why, {},
        "digest the files of one tag of one run again, each on its node");
}

Status addFiles(PartialFingerprint& to, const PartialFingerprint& more)
{
    std::map<std::string, const FileDigest*> known;
    std::vector<FileDigest> added;
    for (const FileDigest& file : to.files)
        known[file.name] = &file;
    for (const FileDigest& file : more.files) {
        const auto found = known.find(file.name);
        if (found == known.end()) {
            added.push_back(file);
            continue;
        }
        const FileDigest& other = *found->second;
        if (file.digest != other.digest || file.bytes != other.bytes)
            return refuse("`" + file.name + "` differs between two results (" + other.digest + " and "
                + file.digest + ")");
        if (file.states != other.states)
            return refuse("`" + file.name + "` has the same content but different digests in two results");
    }
    to.files.insert(to.files.end(), added.begin(), added.end());
    std::ranges::sort(to.files, {}, &FileDigest::name);
    return {};
}

Status addScalars(PartialFingerprint& to, const PartialFingerprint& more)
{
    for (const DigestedScalar& scalar : more.scalars) {
        const auto found
            = std::find_if(to.scalars.begin(), to.scalars.end(), [&](const DigestedScalar& known) {
                  return known.name == scalar.name && known.state == scalar.state;
              });
        if (found == to.scalars.end())
            to.scalars.push_back(scalar);
        else if (found->digest != scalar.digest)
            return refuse("`" + scalar.name + " " + scalar.state + "` has different values in two results");
    }
    return {};
}

/// Sums of sizes from untrusted input.
Status requireSums(const PartialFingerprint& partial)
{
    std::map<std::string, uint64_t> sums;
    for (const FileDigest& file : partial.files) {
        for (const StateShare& share : file.states) {
            const auto sum = checkedAdd(sums[share.state], share.elements);
            if (!sum)
                return refuse("`" + share.state + "` has too many elements");
            sums[share.state] = *sum;
        }
    }
    return {};
}

} // namespace

Status addPartial(PartialFingerprint& to, const PartialFingerprint& more)
{
    if (to.version != more.version)
        return refuse("their digests follow version " + std::to_string(static_cast<int>(to.version))
            + " and version " + std::to_string(static_cast<int>(more.version)) + " of the definition");
    if (const std::string difference = to.origin.differenceTo(more.origin); !difference.empty())
        return refuse(difference);
    SHARDSCOPE_CHECK(addFiles(to, more));
    SHARDSCOPE_CHECK(addScalars(to, more));
    SHARDSCOPE_CHECK(requireSums(to));
    // Results with the first rank's files expect more than the others.
    for (const StateShare& share : more.expected) {
        const auto found = std::find_if(to.expected.begin(), to.expected.end(),
            [&](const StateShare& known) { return known.state == share.state; });
        if (found == to.expected.end())
            to.expected.push_back(share);
        else
            found->elements = std::max(found->elements, share.elements);
    }
    to.missing.insert(to.missing.end(), more.missing.begin(), more.missing.end());
    std::ranges::sort(to.missing);
    to.missing.erase(std::unique(to.missing.begin(), to.missing.end()), to.missing.end());
    std::erase_if(to.missing, [&](const std::string& name) {
        return std::ranges::binary_search(to.files, name, {}, &FileDigest::name);
    });
    return {};
}

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
