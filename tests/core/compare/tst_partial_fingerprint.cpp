// SPDX-License-Identifier: Apache-2.0
// Digests of files that add up to a fingerprint.
#include "core/compare/digest/partial_fingerprint.h"

#include <doctest/doctest.h>

#include <limits>

using namespace shardscope;

namespace {

FileDigest fileOf(const std::string& name, uint64_t number, uint64_t elements)
{
    return {name, 100, "sha of " + name, {{"fp32", {number, number}, elements}}};
}

PartialFingerprint partialOf(std::vector<FileDigest> files, std::vector<std::string> missing)
{
    return {kDigestVersion, {"global_step1", "zero3", {2, 1, 1, 1}, 1, "model"}, std::move(files),
        std::move(missing), {}, {{"fp32", {}, 10}}};
}

const DigestedScalar kStep{"group/0", "step", "1", digestText("group/0", "step", "1"), {}};

} // namespace

TEST_CASE("the sum is whole when no file is missing and every element is covered")
{
    PartialFingerprint sum = partialOf({fileOf("a", 1, 6)}, {"b"});
    sum.scalars = {kStep};
    CHECK(!sum.whole());
    REQUIRE(addPartial(sum, partialOf({fileOf("b", 2, 4)}, {"a"})));
    CHECK(sum.missing.empty());
    Digest expected{3, 3};
    expected += kStep.digest;
    CHECK(sum.whole() == expected);
    // Once more changes nothing.
    REQUIRE(addPartial(sum, partialOf({fileOf("b", 2, 4)}, {"a"})));
    CHECK(sum.whole() == expected);
    CHECK(sum.files.size() == 2);

    PartialFingerprint less = partialOf({fileOf("a", 1, 6)}, {});
    CHECK(!less.whole()); // elements that no file has
    PartialFingerprint more = partialOf({fileOf("a", 1, 11)}, {});
    CHECK(!more.whole());
    more = partialOf({fileOf("a", 1, 10)}, {});
    CHECK(more.whole() == Digest{1, 1});
    more.files[0].states.push_back({"exp_avg", {1, 1}, 1}); // an unexpected state
    CHECK(!more.whole());
}

TEST_CASE("entries that only the first rank lists are expected")
{
    PartialFingerprint sum = partialOf({fileOf("b", 2, 4)}, {"a"});
    PartialFingerprint first = partialOf({fileOf("a", 1, 6)}, {"b"});
    first.expected.push_back({"weight", {}, 3});
    REQUIRE(addPartial(sum, first));
    CHECK(sum.missing.empty());
    CHECK(!sum.whole());
}

TEST_CASE("other contents, values and origins are refused")
{
    const PartialFingerprint one = partialOf({fileOf("a", 1, 6)}, {"b"});
    const auto refuses = [&](const PartialFingerprint& other) {
        PartialFingerprint sum = one;
        sum.scalars = {kStep};
        const auto added = addPartial(sum, other);
        return !added && added.error().code == ErrorCode::Refused;
    };
    PartialFingerprint other = one;
    CHECK(!refuses(other));
    other.files[0].digest = "another";
    CHECK(refuses(other));
    other = one;
    other.version = DigestVersion::One;
    CHECK(refuses(other));
    other = one;
    other.files[0].bytes = 101;
    CHECK(refuses(other));
    other = one;
    other.files[0].states[0].digest.low = 7;
    CHECK(refuses(other));
    other = one;
    other.scalars = {{"group/0", "step", "2", digestText("group/0", "step", "2"), {}}};
    CHECK(refuses(other));
    other = partialOf({fileOf("b", 1, std::numeric_limits<uint64_t>::max())}, {});
    CHECK(refuses(other)); // no sum of sizes wraps around
    const auto origin = [&](auto change) {
        PartialFingerprint changed = one;
        change(changed.origin);
        return refuses(changed);
    };
    CHECK(origin([](StateOrigin& of) { of.tag = "global_step2"; }));
    CHECK(origin([](StateOrigin& of) { of.kind = "zero2"; }));
    CHECK(origin([](StateOrigin& of) { of.parallel.dp = 4; }));
    CHECK(origin([](StateOrigin& of) { of.parallel.ep = 2; }));
    CHECK(origin([](StateOrigin& of) { of.globalSteps = 2; }));
    CHECK(origin([](StateOrigin& of) { of.globalSteps.reset(); }));
    CHECK(origin([](StateOrigin& of) { of.model = "another"; }));
}

TEST_CASE("the text of a digest is parsed back to it")
{
    const Digest digest = digestText("a", "b", "c");
    CHECK(parseDigest(digest.text()) == digest);
    CHECK(parseDigest(std::string(32, 'f')) == Digest{~uint64_t{0}, ~uint64_t{0}});
    for (const std::string& text : {std::string(), std::string(31, '0'), std::string(33, '0'),
             std::string(32, 'F'), std::string(32, ' '), "0x" + std::string(30, '0')})
        CHECK(!parseDigest(text));
}
