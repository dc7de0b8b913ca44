// SPDX-License-Identifier: Apache-2.0
// The registry: every finding has a complete explanation.
#include "core/base/finding_codes.h"
#include "core/doctor/check_context.h"
#include "core/doctor/diagnosis.h"

#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <string>

using namespace shardscope;

TEST_CASE("every code that readers raise has a diagnosis")
{
    for (const std::string_view code : code::all()) {
        CAPTURE(code);
        CHECK(findDiagnosis(code) != nullptr);
    }
    CHECK(findDiagnosis("no-such-code") == nullptr);
}

TEST_CASE("every diagnosis is complete and differs from the others")
{
    static const std::regex kCode("[a-z0-9]+(-[a-z0-9]+)*");
    static const std::regex kLetter("[LFSNER][0-9]{1,2}");
    std::set<std::string_view> codes;
    REQUIRE(diagnoses().size() > code::all().size());
    for (const Diagnosis* diagnosis : diagnoses()) {
        CAPTURE(diagnosis->code);
        CHECK(std::regex_match(std::string(diagnosis->code), kCode));
        CHECK((diagnosis->letter.empty() || std::regex_match(std::string(diagnosis->letter), kLetter)));
        CHECK(codes.insert(diagnosis->code).second);
        CHECK(!diagnosis->name.empty());
        if (diagnosis->worst == Severity::Info)
            continue;
        // What is wrong is explained, and repaired or not with a reason.
        CHECK((diagnosis->code == "not-examined" || !diagnosis->means.loading.empty()));
        CHECK(diagnosis->remedy.empty() != diagnosis->noRemedy.empty());
        CHECK((!diagnosis->repairs || !diagnosis->remedy.empty()));
    }
}

TEST_CASE("letters are aliases in any case")
{
    const Diagnosis* missing = findDiagnosis(code::kRankMissing);
    REQUIRE(missing != nullptr);
    CHECK(isNamedBy(*missing, "rank-missing"));
    CHECK(isNamedBy(*missing, "l6"));
    CHECK(isNamedBy(*missing, "L6"));
    CHECK(!isNamedBy(*missing, "L"));
    CHECK(!isNamedBy(*missing, ""));
}

TEST_CASE("a target is written with commas")
{
    const auto target = parseCheckTarget("world-size=6,stage=2,memory=64G,disk=/scratch/a=b");
    REQUIRE(target);
    CHECK(target->worldSize == 6u);
    CHECK(target->stage == 2);
    CHECK(target->memoryBytes == uint64_t{64} << 30);
    CHECK(target->disk == io::Path("/scratch/a=b"));
    REQUIRE(parseCheckTarget(""));
    CHECK(checkTargetWord(*target) == "world-size=6,stage=2,memory=64G,disk=/scratch/a=b");
    CHECK(checkTargetWord({}).empty());
    for (const char* odd : {"/a,stage=1", "/a\\,b", "/a,b\\", ",", "/a\\\\"}) {
        CAPTURE(odd);
        const CheckTarget written{{}, 0, 1536, io::Path(odd)};
        const auto again = parseCheckTarget(checkTargetWord(written));
        REQUIRE(again);
        CHECK(again->disk == written.disk);
        CHECK(again->stage == 0);
        CHECK(again->memoryBytes == uint64_t{1536});
    }
    for (const char* wrong : {"world-size=0", "world-size=x", "stage=4", "memory=much", "ranks=4", "stage",
             "stage=1,stage=2", "disk="}) {
        CAPTURE(wrong);
        const auto refused = parseCheckTarget(wrong);
        REQUIRE(!refused);
        CHECK(refused.error().code == ErrorCode::Usage);
    }
}
