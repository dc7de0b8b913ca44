// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"
#include "core/compare/digest/partial_fingerprint.h"

#include <algorithm>
#include <map>

namespace shardscope {

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
