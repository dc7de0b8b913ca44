// SPDX-License-Identifier: Apache-2.0
// Ties that no file records, and parameters without elements (tests/data/ties).
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

const fs::path kTies = fs::path(sourceFolder()) / "tests/data/ties";
const Words kNamed{"--tie", "b2.weight=b.weight", "--tie", "b2.bias=b.bias"};

Words withTies(Words words)
{
    words.insert(words.end(), kNamed.begin(), kNamed.end());
    return words;
}

nlohmann::json parameterOf(const nlohmann::json& answer, const std::string& name)
{
    for (const auto& param : answer.at("parameters")) {
        if (param.at("name") == name)
            return param;
    }
    return {};
}

} // namespace

TEST_CASE("a tie that no file records is named with --tie, in every stage")
{
    const TemporaryFolder folder;
    for (const std::string stage : {"0", "1", "2", "3"}) {
        CAPTURE(stage);
        const fs::path out = folder.path() / ("stage" + stage);
        const Words reshard{"reshard", kTies, out, "--world-size", "3", "--stage", stage};
        if (stage != "3") { // here the name is enough
            const auto error = errorOf(reshard, 6, "refused");
            CHECK(error.at("hint").get<std::string>().find("--tie NAME=OWNER") != std::string::npos);
        }
        CHECK(answerOf(withTies(reshard)).at("result").at("verified") == true);
        CHECK(parameterOf(answerOf({"params", out}), "b2.weight").at("shared_with") == "b.weight");
        CHECK(answerOf({"diff", kTies, out}).at("equal") == true);
    }
}

TEST_CASE("an export takes ties, and writes tensors without elements")
{
    const TemporaryFolder folder;
    const Words words{"export", kTies, folder.path() / "out", "--format", "safetensors"};
    CHECK(
        errorOf(words, 6, "refused").at("message").get<std::string>().find("b2.weight") != std::string::npos);
    CHECK(answerOf(withTies(words)).at("result").at("verified") == true);
    const auto answer = answerOf({"params", folder.path() / "out"});
    CHECK(parameterOf(answer, "spare.frozen_empty").at("shape") == nlohmann::json({0, 8}));
    CHECK(parameterOf(answer, "spare.train_empty").at("shape") == nlohmann::json({0, 4}));
}

TEST_CASE("an impossible tie is a usage error")
{
    const TemporaryFolder folder;
    for (const std::string tie : {"b2.weight", "=b.weight", "b2.weight=", "b2.weight=nothing",
             "a.weight=b.weight", "nothing=b.weight"}) {
        CAPTURE(tie);
        errorOf({"reshard", kTies, folder.path() / "out", "--world-size", "3", "--tie", tie}, 2, "usage");
    }
    errorOf({"reshard", samplePath("slices-w4"), folder.path() / "out", "--world-size", "4", "--tie", "a=b"},
        4, "unsupported");
}
