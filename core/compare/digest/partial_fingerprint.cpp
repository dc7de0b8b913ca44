// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/partial_fingerprint.h"

#include "core/base/checked.h"
#include "core/base/finding_codes.h"
#include "core/base/text.h"

#include <algorithm>
#include <map>

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

} // namespace shardscope
